//! One attempt: from its permit to the answer's head, or to its last byte where the answer is read
//! whole before anything of it goes out (spec 2.9).

use crate::clock::Tick;
use crate::flow::gather::{Gathered, gather};
use crate::flow::job::{Job, Share};
use crate::flow::journal::Start;
use crate::flow::planned;
use crate::flow::settings::{Preset, Via};
use crate::flow::works::Flow;
use crate::judge::classify::classify_as;
use crate::judge::outcome::{Answer, Fault, FaultKind, Outcome, Sent};
use crate::judge::verdict::{Class, PaceMove, Repeat};
use crate::net::exchange::{Exchanged, Limits};
use crate::net::headers::response::forward;
use crate::net::headers::status::disown;
use crate::net::inbound::Inbound;
use crate::state::permit::Permit;
use crate::state::visit::Lesson;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap};
use http::{Response, StatusCode, response};
use http_body::Body;
use std::future::ready;
use std::time::Duration;

/// An attempt that was made.
pub struct Attempted {
    pub permit: Permit,
    pub came: Came,
    pub timing: Timing,
}

/// How long its connection and its answer's head took, where they came about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
}

/// What it came to.
pub enum Came {
    /// The whole answer.
    Whole(Whole),
    /// An answer whose body is still coming.
    Flowing {
        parts: response::Parts,
        first: Bytes,
        rest: Inbound,
    },
    /// The connection now speaks what the client asked for.
    Switched(Response<Inbound>),
    Fault(Fault),
    /// The client left, with no head yet if `headless`.
    Left {
        headless: bool,
    },
    /// The client's stated end came first, with no head yet if `headless`.
    Late {
        headless: bool,
    },
}

/// A whole answer.
pub struct Whole {
    pub parts: response::Parts,
    pub body: Bytes,
    pub trailers: Option<HeaderMap>,
    /// Of `limits.response_total`, if the body is large.
    pub share: Option<Share>,
}

/// Makes an attempt.
pub async fn make(flow: &Flow, job: &mut Job, permit: Permit) -> Attempted {
    let permit = if job.is_tracked() { permit } else { permit.untaught() };
    job.tries.attempts += 1;
    job.trip.attempt_began();
    if let Some(class) = job.tries.failure {
        flow.meter.retry(&job.target.host, class);
    }
    if let Some(interim) = &job.interim {
        interim.forget();
    }
    if let Some(journal) = &flow.journal {
        journal.started(Start { due: permit.due(), rung: permit.rung() });
    }
    let job = &*job;
    let mut underway = Underway { flow, job, permit: Some(permit), headless: true };
    let mut timing = Timing::default();
    let came = tokio::select! {
        biased;
        came = exchange(flow, job, &mut underway, &mut timing) => came,
        () = job.presence.left(ready(job.fin_in_flight())) => Came::Left { headless: true },
        () = flow.clock.sleep_until(job.limits.deadline.unwrap_or(Tick::NEVER)) => Came::Late { headless: true },
    };
    let headless = underway.headless;
    let came = match came {
        Came::Left { .. } => Came::Left { headless },
        Came::Late { .. } => Came::Late { headless },
        Came::Whole(_) | Came::Flowing { .. } | Came::Switched(_) | Came::Fault(_) => came,
    };
    Attempted { permit: underway.finish(), came, timing }
}

/// A permit in use. If the request is dropped meanwhile (a reset HTTP/2 stream), the scope still
/// learns that its client gave up on it.
struct Underway<'a> {
    flow: &'a Flow,
    job: &'a Job,
    permit: Option<Permit>,
    headless: bool,
}

impl Underway<'_> {
    fn permit(&mut self) -> &mut Permit {
        self.permit.as_mut().expect("the permit leaves with the guard")
    }

    fn finish(mut self) -> Permit {
        self.permit.take().expect("the permit leaves with the guard")
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        if let Some(mut permit) = self.permit.take() {
            given_up(self.flow, self.job, &mut permit, self.headless);
        }
    }
}

/// Counts an attempt that was not waited for to its end, and teaches what that means: after
/// `retry.abandoned_after` without a head it was the site that hung.
pub fn given_up(flow: &Flow, job: &Job, permit: &mut Permit, headless: bool) -> Class {
    let now = flow.clock.now();
    // A client counts from before it connected to us: what gives up after 5 s leaves after 4.99.
    let terms = &job.terms;
    let patience = terms.retry.abandoned_after - terms.retry.abandoned_after / 50;
    let hung = headless && now.since(permit.started()) >= patience;
    let (class, pace) = match hung {
        true => {
            let class = Class::Abandoned;
            (class, terms.verdicts.pace(class, PaceMove::Climb))
        }
        false => (Class::ClientGone, PaceMove::Nothing),
    };
    flow.meter.attempt(&job.target.host, class);
    if job.is_tracked() {
        flow.learn(&job.target.host, permit, Lesson::new(class, pace), now);
    }
    class
}

async fn exchange(
    flow: &Flow,
    job: &Job,
    underway: &mut Underway<'_>,
    timing: &mut Timing,
) -> Came {
    let limits = Limits { response_timeout: job.limits.response_timeout };
    let permit = underway.permit();
    match job.terms.pool.exchange(permit, &job.target, &job.outbound, limits).await {
        Ok(Exchanged { response, connect, first_byte, .. }) => {
            *timing = Timing { connect, first_byte: Some(first_byte) };
            underway.headless = false;
            read(flow, job, response).await
        }
        Err(fault) => Came::Fault(fault),
    }
}

async fn read(flow: &Flow, job: &Job, response: Response<Inbound>) -> Came {
    let (mut parts, body) = response.into_parts();
    let version = parts.version;
    if let Err(kind) = forward(&mut parts, job.upgrade.is_some(), || flow.clock.wall()) {
        return Came::Fault(unusable(job, kind));
    }
    disown(&mut parts.headers, &job.terms.name);
    if job.terms.via != Via::Off {
        flow.pseudonym.sign(&mut parts.headers, version);
    }
    if parts.status == StatusCode::SWITCHING_PROTOCOLS {
        return Came::Switched(Response::from_parts(parts, body));
    }
    let most = job.terms.buffers.response;
    let exact = body.size_hint().exact();
    let failed = may_be_discarded(flow, job, &parts);
    let at_once = job.preset == Preset::Off
        || parts.status == StatusCode::PARTIAL_CONTENT
        || (is_event_stream(&parts.headers) && !failed)
        || exact.is_some_and(|size| size > most as u64);
    if at_once && exact != Some(0) {
        return Came::Flowing { parts, first: Bytes::new(), rest: body };
    }
    let patience = match exact {
        // Whoever drips it may take for ever: at the window's end the client gets what there is.
        Some(_) => job.limits.window_end.since(flow.clock.now()).max(job.limits.response_timeout),
        None if failed => job.limits.response_timeout,
        None => UNKNOWN_PATIENCE,
    };
    match gather(body, most, patience, &flow.answers).await {
        Ok(Gathered::Whole { body, trailers, share }) => {
            Came::Whole(Whole { parts, body, trailers, share })
        }
        Ok(Gathered::Part(first, rest)) => Came::Flowing { parts, first, rest },
        Err(fault) => Came::Fault(fault),
    }
}

/// Whether the answer's head says that the request goes round again: then nobody waits for its
/// bytes, and a slow body is no reason to pass the failure on.
fn may_be_discarded(flow: &Flow, job: &Job, parts: &response::Parts) -> bool {
    let wall = flow.clock.wall();
    let answer = Answer { status: parts.status, headers: &parts.headers, arrived: wall };
    let said = planned::status(job, parts.status, &parts.headers);
    let verdict = classify_as(&Outcome::Answer(answer), said, &job.measure(b"")).verdict;
    verdict.repeat == Repeat::InWindow
        && job.is_repeatable(Sent::Perhaps, job.terms.retry.unsafe_methods)
}

fn unusable(job: &Job, kind: FaultKind) -> Fault {
    let host = &job.target.host;
    let detail = if let FaultKind::NotHttp(why) = &kind {
        format!("{host}: {why}")
    } else {
        format!("{host} switched protocols without being asked")
    };
    Fault { kind, sent: Sent::Perhaps, detail }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let stream = "text/event-stream";
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.get(..stream.len()))
        .is_some_and(|value| value.eq_ignore_ascii_case(stream))
}

/// Of a body of unknown length so much time is read before its head goes out (spec 2.9).
const UNKNOWN_PATIENCE: Duration = Duration::from_millis(250);
