//! A request to upgrade (WebSocket): a connection of its own, with a task, over HTTP/1.1.
//!
//! It must not know what is spoken after the switch.

use crate::judge::outcome::{Fault, Sent};
use crate::net::exchange::{Exchanged, Sender};
use crate::net::fault;
use crate::net::http1;
use crate::net::inbound::{Carrier, Inbound, TaskGuard};
use crate::net::patience::Alarm;
use crate::net::tls::Offer;
use http::header::UPGRADE;
use http::{HeaderValue, Response, StatusCode};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper_util::rt::TokioIo;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

impl Sender<'_> {
    /// Sends it; after a 101 the response has the connection.
    pub(super) async fn upgrade(&self) -> Result<Exchanged, Fault> {
        let dialled = self.pool.dialler.http(self.to, Offer::Http1).await?;
        let (connect, began) = (Some(dialled.took), self.pool.clock.now());
        let meter = dialled.io.meter().clone();
        meter.mute();
        let failed = |error| fault::before_head(self.to, &error, Sent::Nothing);
        let io = TokioIo::new(dialled.io);
        let (mut sender, connection) = http1::builder().handshake(io).await.map_err(failed)?;
        let open = self.pool.open();
        let task = tokio::spawn(async move {
            let _open = open;
            // How it ended is told to whoever reads the answer or the upgraded connection.
            let _ended = connection.with_upgrades().await;
        });
        let task = TaskGuard::new(task.abort_handle());
        let sent = meter.sent();
        meter.await_head();
        let mut answer = pin!(sender.try_send_request(self.request.for_http1(self.to)));
        let (mut patience, mut alarm) = (self.patience(began), Alarm::default());
        let waited = poll_fn(|context| {
            if let Poll::Ready(answer) = answer.as_mut().poll(context) {
                return Poll::Ready(Ok(answer));
            }
            patience.poll(&mut alarm, Some(&meter), context).map(Err)
        });
        let answer = waited.await.map_err(|expired| self.expired(expired).fault)?;
        meter.head_came();
        let failed =
            |error: TrySendError<_>| self.failed(&error.into_error(), meter.sent() == sent).fault;
        let mut response = answer.map_err(failed)?;
        let carrier = match response.status() == StatusCode::SWITCHING_PROTOCOLS {
            true => {
                self.check_switch(&response)?;
                task.let_go();
                Carrier::Gone
            }
            false => {
                self.check(&mut response).map_err(|failed| failed.fault)?;
                Carrier::Task(task)
            }
        };
        let first_byte = self.pool.clock.now().since(began);
        let pool = self.pool;
        let response =
            response.map(|body| Inbound::new(body, carrier, pool.clock.clone(), pool.idle_timeout));
        Ok(Exchanged { response, connect, first_byte, reused: false })
    }

    /// RFC 9110 §7.8: a switch must be to something that was asked for.
    fn check_switch(&self, response: &Response<Incoming>) -> Result<(), Fault> {
        let asked = self.request.head.headers.get_all(UPGRADE);
        let mut chosen = response.headers().get_all(UPGRADE).iter().peekable();
        let was_asked = |chosen: &HeaderValue| {
            tokens(chosen).all(|token| {
                asked.iter().flat_map(tokens).any(|asked| asked.eq_ignore_ascii_case(token))
            })
        };
        if chosen.peek().is_none() {
            return Err(fault::upgrade(self.to, "to nothing it named"));
        }
        match chosen.all(was_asked) {
            true => Ok(()),
            false => Err(fault::upgrade(self.to, "to a protocol nobody asked for")),
        }
    }
}

fn tokens(value: &HeaderValue) -> impl Iterator<Item = &[u8]> {
    value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}
