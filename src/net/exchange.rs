//! One attempt on the wire: a request goes out on a pooled or a fresh connection, the head of its
//! answer comes back.
//!
//! A pooled connection that turns out dead is replaced, once and silently, where that can't send
//! anything twice. It must not know whether another attempt follows.

use crate::clock::Tick;
use crate::judge::outcome::{Fault, FaultKind, Sent};
use crate::net::dial::Protocol;
use crate::net::fault;
use crate::net::http1::{Http1, Sending};
use crate::net::inbound::{Carrier, Inbound};
use crate::net::lease::{Home, Stream};
use crate::net::outbound::Outbound;
use crate::net::patience::{Alarm, Expired, Patience};
use crate::net::pool::{Freshness, Inner, Pool, Taken};
use crate::net::target::Target;
use crate::net::tls::Offer;
use crate::state::permit::Permit;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE};
use http::{Response, StatusCode};
use hyper::body::Incoming;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// How long an attempt may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the last byte of the request to the head.
    pub response_timeout: Duration,
}

/// What came of an attempt.
#[derive(Debug)]
pub struct Exchanged {
    pub response: Response<Inbound>,
    /// How long name, TCP and TLS took; `None`: a connection was at hand.
    pub connect: Option<Duration>,
    /// From handing the request over to the head.
    pub first_byte: Duration,
    /// The connection had served before.
    pub reused: bool,
}

/// A sending that brought no head.
pub(super) struct Failed {
    pub(super) fault: Fault,
    /// Another sending would not send anything twice, or doesn't matter.
    again: bool,
    /// Only over this.
    insists_on_http1: bool,
}

/// What a request goes out on.
pub(super) enum Connection {
    Http1(Box<Http1>),
    Http2(Stream),
}

/// One sending, in what all its steps need.
pub(super) struct Sender<'a> {
    pub(super) pool: &'a Arc<Inner>,
    pub(super) to: &'a Target,
    pub(super) request: &'a Outbound,
    limits: Limits,
}

impl Pool {
    /// Sends a request and waits for the head of its answer. Asking to upgrade (`Upgrade` is in
    /// its fields) makes a connection of its own, over HTTP/1.1; after a 101 `hyper::upgrade::on`
    /// the response gives the connection.
    ///
    /// # Errors
    ///
    /// The fault, if there is no head.
    pub async fn exchange(
        &self,
        permit: &mut Permit,
        to: &Target,
        request: &Outbound,
        limits: Limits,
    ) -> Result<Exchanged, Fault> {
        permit.mark_used();
        let sender = Sender { pool: &self.inner, to, request, limits };
        if request.head.headers.contains_key(UPGRADE) {
            return Box::pin(sender.upgrade()).await;
        }
        let fresh = match request.is_repeatable() {
            true => Freshness::Any,
            false => Freshness::Recent,
        };
        let Some(taken) = self.inner.take(to, fresh) else {
            return Box::pin(sender.on_fresh(Offer::Any)).await;
        };
        let connection = match taken {
            Taken::Http1(connection) => Connection::Http1(connection),
            Taken::Http2(stream) => Connection::Http2(stream),
        };
        match sender.send(connection, None).await {
            Ok(exchanged) => Ok(exchanged),
            Err(failed) if failed.again => {
                self.inner.resends(&failed.fault);
                Box::pin(sender.on_fresh(failed.offer())).await
            }
            Err(failed) => Err(failed.fault),
        }
    }
}

impl Failed {
    fn offer(&self) -> Offer {
        if self.insists_on_http1 { Offer::Http1 } else { Offer::Any }
    }
}

impl Sender<'_> {
    async fn on_fresh(&self, offer: Offer) -> Result<Exchanged, Fault> {
        let began = self.pool.clock.now();
        let connection = self.connect(offer).await?;
        let took = self.pool.clock.now().since(began);
        let failed = match self.send(connection, Some(took)).await {
            Ok(exchanged) => return Ok(exchanged),
            Err(failed) => failed,
        };
        if !(failed.insists_on_http1 && failed.again && offer == Offer::Any) {
            return Err(failed.fault);
        }
        self.pool.resends(&failed.fault);
        let connection = self.connect(Offer::Http1).await?;
        self.send(connection, Some(took)).await.map_err(|failed| failed.fault)
    }

    async fn send(
        &self,
        connection: Connection,
        connect: Option<Duration>,
    ) -> Result<Exchanged, Failed> {
        let began = self.pool.clock.now();
        let (response, carrier) = match connection {
            Connection::Http1(connection) => {
                self.send_http1(connection, connect.is_none(), began).await?
            }
            Connection::Http2(stream) => self.send_http2(stream, connect.is_none(), began).await?,
        };
        let first_byte = self.pool.clock.now().since(began);
        let pool = self.pool;
        let response =
            response.map(|body| Inbound::new(body, carrier, pool.clock.clone(), pool.idle_timeout));
        Ok(Exchanged { response, connect, first_byte, reused: connect.is_none() })
    }

    async fn send_http1(
        &self,
        mut connection: Box<Http1>,
        reused: bool,
        began: Tick,
    ) -> Result<(Response<Incoming>, Carrier), Failed> {
        let (sent, received) = (connection.meter().sent(), connection.meter().received());
        connection.meter().await_head();
        let mut answer = pin!(connection.send(self.request.for_http1(self.to)));
        let mut patience = self.patience(began);
        let waited = poll_fn(|context| {
            // Whether it has ended shows in the answer.
            let _ended = connection.drive(context);
            if let Poll::Ready(answer) = answer.as_mut().poll(context) {
                return Poll::Ready(Ok(answer));
            }
            let (alarm, meter) = connection.alarm();
            patience.poll(alarm, Some(meter), context).map(Err)
        });
        let answer = waited.await.map_err(|expired| self.expired(expired))?;
        let meter = connection.meter();
        meter.head_came();
        let unsent = meter.sent() == sent;
        let died_idle = reused && meter.received() == received && self.is_crossing(began);
        let mut response = answer.map_err(|error| {
            let mut failed = self.failed(&error.into_error(), unsent);
            failed.again = reused && self.may_send_again(&failed.fault, died_idle);
            failed
        })?;
        let reusable = self.check(&mut response)?;
        let home = || Home { inner: self.pool.clone(), target: self.to.clone() };
        let home = reusable.then(home);
        Ok((response, Carrier::Http1 { connection, home }))
    }

    async fn send_http2(
        &self,
        mut stream: Stream,
        reused: bool,
        began: Tick,
    ) -> Result<(Response<Incoming>, Carrier), Failed> {
        let mut answer = stream.connection.send(self.request.for_http2(self.to));
        let (mut patience, mut alarm) = (self.patience(began), Alarm::default());
        let waited = poll_fn(|context| {
            if let Poll::Ready(answer) = answer.as_mut().poll(context) {
                return Poll::Ready(Ok(answer));
            }
            patience.poll(&mut alarm, None, context).map(Err)
        });
        let answer: Sending = match waited.await {
            Ok(answer) => answer,
            Err(expired) => {
                stream.retire();
                return Err(self.expired(expired));
            }
        };
        let mut response = answer.map_err(|mut error| {
            let unsent = error.take_message().is_some();
            let error = error.into_error();
            let mut failed = self.failed(&error, unsent);
            failed.insists_on_http1 =
                fault::h2_reason(&error) == Some(h2::Reason::HTTP_1_1_REQUIRED);
            let leaving = fault::is_going_away(&error) || stream.connection.is_closed();
            if failed.insists_on_http1 || leaving {
                stream.retire();
            }
            if failed.insists_on_http1 {
                self.pool.learn(self.to, Protocol::Http1);
                failed.again = self.request.body.repeatable();
            } else {
                failed.again = reused && leaving && {
                    let died_idle = self.is_crossing(began);
                    self.may_send_again(&failed.fault, died_idle)
                };
            }
            failed
        })?;
        stream.connection.answered();
        self.check(&mut response)?;
        Ok((response, Carrier::Http2(stream)))
    }

    pub(super) fn patience(&self, base: Tick) -> Patience<'_> {
        let (response, idle) = (self.limits.response_timeout, self.pool.idle_timeout);
        Patience::new(&self.pool.clock, &self.request.body, response, idle, base)
    }

    pub(super) fn failed(&self, error: &hyper::Error, unsent: bool) -> Failed {
        let sent = if unsent { Sent::Nothing } else { Sent::Perhaps };
        let fault = match self.request.body.broke() {
            true => fault::client_body("its client left it unfinished"),
            false => fault::before_head(self.to, error, sent),
        };
        Failed { fault, again: false, insists_on_http1: false }
    }

    pub(super) fn expired(&self, expired: Expired) -> Failed {
        let fault = match expired {
            Expired::NoHead => fault::response_timeout(self.to, self.limits.response_timeout),
            Expired::NotTaken => fault::not_taken(self.to, self.pool.idle_timeout),
            Expired::ClientSilent => fault::client_body("its client sends nothing more"),
        };
        Failed { fault, again: false, insists_on_http1: false }
    }

    /// Whether a pooled connection that failed so may be replaced: nothing was sent, or what was
    /// sent may be sent twice and the connection died without a byte of an answer (spec 2.8).
    fn may_send_again(&self, fault: &Fault, died_idle: bool) -> bool {
        if !self.request.body.repeatable() || fault.kind == FaultKind::ClientBody {
            return false;
        }
        fault.sent == Sent::Nothing
            || (died_idle && fault.kind == FaultKind::Reset && self.request.is_repeatable())
    }

    /// Whether a request sent at `began` can still have crossed the close of an idle connection on
    /// its way. Later the origin had it: what failed then is the attempt.
    fn is_crossing(&self, began: Tick) -> bool {
        self.pool.clock.now().since(began) < CROSSING
    }

    /// Whether the connection may serve again after this answer.
    pub(super) fn check(&self, response: &mut Response<Incoming>) -> Result<bool, Failed> {
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let fault = fault::upgrade(self.to, "it was not asked to");
            return Err(Failed { fault, again: false, insists_on_http1: false });
        }
        let headers = response.headers_mut();
        // RFC 9112 §6.3: what has both is suspicious. It was read as chunked.
        let both = headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH);
        if both {
            headers.remove(CONTENT_LENGTH);
        }
        Ok(!both)
    }
}

/// More than a round trip takes almost anywhere.
const CROSSING: Duration = Duration::from_millis(500);
