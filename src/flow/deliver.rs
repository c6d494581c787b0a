//! Hands a request's answer to its client: the origin's, whole or as it flows, or one of ours.

use crate::clock::Tick;
use crate::flow::attempt::Whole;
use crate::flow::ending::Ending;
use crate::flow::job::{Job, LastAnswer};
use crate::flow::record::{Trip, seconds};
use crate::flow::reply::{Asked, reply};
use crate::flow::settings::ResponseHeaders;
use crate::flow::settle::Delivery;
use crate::flow::works::Flow;
use crate::judge::outcome::Fault;
use crate::judge::verdict::{Class, PaceMove};
use crate::metrics::labels::{self, Final, RequestOutcome, Source};
use crate::net::fault;
use crate::net::headers::response::forward_trailers;
use crate::net::inbound::Inbound;
use crate::net::tunnel;
use crate::pace::scope::Host;
use crate::state::permit::Permit;
use crate::state::visit::Lesson;
use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use hyper_util::rt::TokioIo;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// An answer's body on its way to the client.
pub enum Reply {
    Empty,
    Whole { body: Option<Bytes>, trailers: Option<HeaderMap> },
    Flowing(Box<Flowing>),
}

/// A body that is still coming. The attempt, and the request, end with it.
pub struct Flowing {
    first: Option<Bytes>,
    rest: Inbound,
    /// What it does to the pace if it breaks off.
    pace: PaceMove,
    /// It broke off; said once what came before is out.
    broken: Option<Fault>,
    /// Done when the client has left: an origin that pauses gives no write to find it out by.
    left: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Done at the client's stated end, if it stated one.
    late: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    permit: Option<Permit>,
    host: Host,
    trip: Option<Trip>,
    outcome: RequestOutcome,
    status: StatusCode,
    flow: Arc<Flow>,
}

/// The origin's answer.
pub fn answer(flow: &Flow, mut job: Job, delivery: Delivery) -> Response<Reply> {
    job.trip.answer_began();
    if let Some(interim) = &job.interim {
        interim.tell(&job.presence);
    }
    match delivery {
        Delivery::Whole(whole, class) => origin(flow, job, whole, outcome(class)),
        Delivery::Flowing { mut parts, first, rest, permit, class } => {
            mark(&job, &mut parts.headers);
            let outcome = repeated(outcome(class), job.trip.attempts());
            let flowing = Flowing {
                first: Some(first).filter(|first| !first.is_empty()),
                rest,
                pace: job.terms.verdicts.pace(Class::Truncated, PaceMove::Climb),
                broken: None,
                left: job.presence.reset(),
                late: job.limits.deadline.map(|end| late(flow, end)),
                permit: Some(permit),
                host: job.target.host.clone(),
                outcome,
                status: parts.status,
                flow: job.trip.flow().clone(),
                trip: Some(job.trip),
            };
            Response::from_parts(parts, Reply::Flowing(Box::new(flowing)))
        }
        Delivery::Switched(response) => switched(job, response),
    }
}

fn late(flow: &Flow, end: Tick) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let clock = flow.clock.clone();
    Box::pin(async move { clock.sleep_until(end).await })
}

fn origin(flow: &Flow, job: Job, whole: Whole, outcome: RequestOutcome) -> Response<Reply> {
    let Whole { mut parts, body, trailers, share } = whole;
    mark(&job, &mut parts.headers);
    flow.meter.transferred(labels::Flow::Received, Final::Yes, body.len() as u64);
    let outcome = repeated(outcome, job.trip.attempts());
    job.trip.end(outcome, parts.status, Source::Origin);
    // Until its client has taken it.
    let body = match share {
        Some(share) => share.with(body),
        None => body,
    };
    Response::from_parts(parts, Reply::Whole { body: Some(body), trailers })
}

/// The origin's last answer, or where there is none, ours.
pub fn last(flow: &Flow, mut job: Job, ending: Ending) -> Response<Reply> {
    match job.tries.last.take() {
        Some(last) => {
            let LastAnswer { parts, body, trailers, share } = last;
            let whole = Whole { parts, body, trailers, share: Some(share) };
            job.trip.answer_began();
            origin(flow, job, whole, RequestOutcome::OriginError)
        }
        None => own(flow, job, &ending),
    }
}

fn own(flow: &Flow, job: Job, ending: &Ending) -> Response<Reply> {
    let asked = Asked {
        accept: job.accept.iter().collect(),
        host: job.target.host.as_str(),
        name: &job.terms.name,
        wall: flow.clock.wall(),
    };
    let (mut parts, body) = reply(ending, &asked);
    mark(&job, &mut parts.headers);
    flow.meter.early_answer(ending.case.row().kind);
    job.trip.end(ending.case.outcome(), parts.status, Source::Proxy);
    Response::from_parts(parts, Reply::Whole { body: Some(body), trailers: None })
}

/// Nobody is left to answer: the connection, or the stream, ends without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

impl std::fmt::Display for Gone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the client has left")
    }
}

impl std::error::Error for Gone {}

/// Joins client and origin after a 101.
fn switched(mut job: Job, mut response: Response<Inbound>) -> Response<Reply> {
    let theirs = hyper::upgrade::on(&mut response);
    let ours = job.upgrade.take();
    let (alive, idle) = (job.trip.flow().alive.clone(), job.terms.tunnel.idle);
    let (parts, _) = response.into_parts();
    job.trip.end(RequestOutcome::Served, parts.status, Source::Origin);
    if let Some(ours) = ours {
        tokio::spawn(async move {
            if let (Ok(client), Ok(origin)) = tokio::join!(ours, theirs) {
                tunnel::join(TokioIo::new(client), TokioIo::new(origin), idle).await;
            }
            drop(alive);
        });
    }
    Response::from_parts(parts, Reply::Empty)
}

fn outcome(class: Class) -> RequestOutcome {
    match class {
        Class::Served | Class::ServedWait => RequestOutcome::Served,
        Class::Blocked
        | Class::ExplicitWait
        | Class::RateLimited
        | Class::Overloaded
        | Class::ConnectTimeout
        | Class::ResponseTimeout
        | Class::Abandoned
        | Class::Reset
        | Class::Truncated
        | Class::Soft
        | Class::Refused
        | Class::Dns
        | Class::Tls
        | Class::Unreachable
        | Class::Denied
        | Class::ClientGone => RequestOutcome::OriginError,
    }
}

fn repeated(outcome: RequestOutcome, attempts: u32) -> RequestOutcome {
    if outcome == RequestOutcome::Served && attempts > 1 {
        return RequestOutcome::Repeated;
    }
    outcome
}

/// `Preference-Applied` (RFC 7240 §3), and `Pace-Status` where there is something to say, or where
/// it was asked for.
fn mark(job: &Job, headers: &mut HeaderMap) {
    if let Some(wait) = job.wishes.prefer_wait {
        let value = HeaderValue::try_from(format!("wait={wait}")).expect("digits are ASCII");
        headers.append(HeaderName::from_static("preference-applied"), value);
    }
    let waited = job.trip.waited();
    let debug = job.wishes.debug == Some(true);
    let something = !waited.is_zero() || job.trip.attempts() > 1 || debug;
    let wanted = match job.terms.response_headers {
        ResponseHeaders::Minimal => something,
        ResponseHeaders::Full => true,
        ResponseHeaders::Off => debug,
    };
    if !wanted {
        return;
    }
    let last = job.tries.last.as_ref().map(|last| last.parts.status.as_u16().to_string());
    let last = last.or_else(|| {
        let failure = job.tries.failure.filter(|_| job.trip.attempts() > 1);
        failure.map(|class| class.word().to_owned())
    });
    let mut text = format!(
        "wait={:.3}, attempts={}, rung={}",
        seconds(waited),
        job.trip.attempts(),
        job.trip.rung
    );
    if let Some(last) = last {
        text.push_str(", last=");
        text.push_str(&last);
    }
    let value = HeaderValue::try_from(text).expect("numbers and class words are visible ASCII");
    headers.insert(HeaderName::from_static("pace-status"), value);
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        match self.get_mut() {
            Reply::Empty => Poll::Ready(None),
            Reply::Whole { body, trailers } => {
                let data = body.take().filter(|body| !body.is_empty()).map(Frame::data);
                Poll::Ready(data.or_else(|| trailers.take().map(Frame::trailers)).map(Ok))
            }
            Reply::Flowing(flowing) => flowing.poll(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Reply::Empty => true,
            Reply::Whole { body, trailers } => {
                body.as_ref().is_none_or(Bytes::is_empty) && trailers.is_none()
            }
            Reply::Flowing(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Reply::Empty => SizeHint::with_exact(0),
            Reply::Whole { body, trailers: None } => {
                SizeHint::with_exact(body.as_ref().map_or(0, Bytes::len) as u64)
            }
            Reply::Whole { .. } => SizeHint::default(),
            Reply::Flowing(flowing) => flowing.size_hint(),
        }
    }
}

impl Flowing {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        if let Some(first) = self.first.take() {
            self.count(first.len());
            if self.rest.is_end_stream() {
                self.end(self.outcome);
            }
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        if let Some(fault) = self.broken.take() {
            return Poll::Ready(Some(Err(fault)));
        }
        let late = self.late.as_mut().filter(|_| self.trip.is_some());
        if late.is_some_and(|late| late.as_mut().poll(cx).is_ready()) {
            return self.cut(cx);
        }
        let Poll::Ready(mut frame) = Pin::new(&mut self.rest).poll_frame(cx) else {
            return self.poll_left(cx);
        };
        if let Some(Ok(frame)) = &mut frame
            && let Some(trailers) = frame.trailers_mut()
        {
            forward_trailers(trailers);
        }
        match &frame {
            Some(Ok(frame)) => {
                self.count(frame.data_ref().map_or(0, Bytes::len));
                // With a length that was announced nobody asks for more than it.
                if self.rest.is_end_stream() {
                    self.end(self.outcome);
                }
            }
            Some(Err(fault)) => {
                let fault = fault.clone();
                self.broke(fault.clone());
                return self.break_off(fault, cx);
            }
            None => self.end(self.outcome),
        }
        Poll::Ready(frame)
    }

    /// The library drops what it has not written when it hears of an error, and writes when there
    /// is nothing to read.
    fn break_off(
        &mut self,
        fault: Fault,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        self.broken = Some(fault);
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Nothing of a request outlives its stated end. It moves no rung: the origin has answered.
    fn cut(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        self.late = None;
        let fault = fault::deadline();
        if let Some(trip) = &mut self.trip {
            trip.fault = Some(fault.clone());
        }
        self.end(RequestOutcome::GaveUp);
        self.break_off(fault, cx)
    }

    /// The attempt ends with its client. It moves no rung: the origin has answered.
    fn poll_left(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        let left = self.left.as_mut().is_some_and(|left| left.as_mut().poll(cx).is_ready());
        if !left {
            return Poll::Pending;
        }
        self.left = None;
        self.permit = None;
        self.trip = None;
        Poll::Ready(Some(Err(fault::client_left())))
    }

    fn count(&self, bytes: usize) {
        self.flow.meter.transferred(labels::Flow::Received, Final::Yes, bytes as u64);
    }

    fn end(&mut self, outcome: RequestOutcome) {
        self.permit = None;
        if let Some(trip) = self.trip.take() {
            trip.end(outcome, self.status, Source::Origin);
        }
    }

    /// The client's connection ends visibly, and the scope climbs (spec 2.9).
    fn broke(&mut self, fault: Fault) {
        if let Some(mut permit) = self.permit.take() {
            let class = Class::Truncated;
            let lesson = Lesson::new(class, self.pace);
            self.flow.learn(&self.host, &mut permit, lesson, self.flow.clock.now());
        }
        if let Some(trip) = &mut self.trip {
            trip.fault = Some(fault);
        }
        self.end(RequestOutcome::OriginError);
    }

    fn size_hint(&self) -> SizeHint {
        let first = self.first.as_ref().map_or(0, Bytes::len) as u64;
        let rest = self.rest.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower() + first);
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper + first);
        }
        hint
    }
}
