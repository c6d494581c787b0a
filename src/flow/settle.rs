//! After an attempt: the verdict, what scope and metrics learn of it, and how the request goes on.
//!
//! This room asks `judge` and does what it says.

use crate::clock::Tick;
use crate::flow::attempt::{Attempted, Came, Whole, given_up};
use crate::flow::ending::{Case, Ending};
use crate::flow::job::{Job, LastAnswer, Share};
use crate::flow::planned;
use crate::flow::robots;
use crate::flow::settings::{Preset, most_attempts};
use crate::flow::works::Flow;
use crate::judge::again::{self, Bounds, Next, Standing, Why};
use crate::judge::classify::{Judged, classify_as};
use crate::judge::outcome::{Answer, Fault, Outcome, Sent};
use crate::judge::page::{self, Evidence};
use crate::judge::verdict::{Class, PaceMove, Verdict};
use crate::metrics::labels::{self, Final};
use crate::net::inbound::Inbound;
use crate::state::permit::Permit;
use crate::state::visit::Lesson;
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, response};
use std::time::Duration;

/// How a request goes on.
#[expect(clippy::large_enum_variant, reason = "handed on once, by value")]
pub enum Course {
    Deliver(Delivery),
    Again,
    /// No more attempts: its last answer, or this.
    GiveUp(Ending),
    /// The client left.
    Left,
}

/// What the client gets of its origin.
pub enum Delivery {
    Whole(Whole, Class),
    /// The permit stays with the body: the attempt ends with its last byte.
    Flowing {
        parts: response::Parts,
        first: Bytes,
        rest: Inbound,
        permit: Permit,
        class: Class,
    },
    Switched(Response<Inbound>),
}

/// Judges an attempt, teaches, and decides.
pub fn settle(flow: &Flow, job: &mut Job, attempted: Attempted) -> Course {
    let Attempted { mut permit, came, timing } = attempted;
    flow.timed(&timing);
    let meant = match &came {
        Came::Left { headless } => {
            let class = given_up(flow, job, &mut permit, *headless);
            job.tries.class = Some(class);
            return Course::Left;
        }
        Came::Late { headless } => {
            let class = given_up(flow, job, &mut permit, *headless);
            job.tries.class = Some(class);
            return Course::GiveUp(late(job));
        }
        Came::Whole(Whole { parts, body, .. }) => {
            answered(flow, job, &permit, (parts.status, &parts.headers), body)
        }
        Came::Flowing { parts, first, .. } => {
            answered(flow, job, &permit, (parts.status, &parts.headers), first)
        }
        Came::Switched(response) => {
            answered(flow, job, &permit, (response.status(), response.headers()), b"")
        }
        Came::Fault(fault) => Meant {
            judged: judge(flow, job, &Outcome::Fault(fault), None, b""),
            status: None,
            tracked: permit.teaches(),
        },
    };
    let Meant { judged, .. } = &meant;
    if let Some((parts, body)) = page(&came) {
        robots::overheard(flow, job, parts.status, &parts.headers, body);
    }
    let lesson = teach(flow, job, &mut permit, &meant);
    let next = decide(flow, job, &came, &meant, lesson);
    job.tries.class = Some(judged.verdict.class);
    go_on(flow, job, permit, came, judged, next)
}

/// An answer, and its body as far as it is there.
fn page(came: &Came) -> Option<(&response::Parts, &Bytes)> {
    match came {
        Came::Whole(Whole { parts, body, .. }) | Came::Flowing { parts, first: body, .. } => {
            Some((parts, body))
        }
        Came::Switched(_) | Came::Fault(_) | Came::Left { .. } | Came::Late { .. } => None,
    }
}

/// What an attempt meant.
struct Meant {
    judged: Judged,
    /// The status that an answer was judged as.
    status: Option<StatusCode>,
    /// Whether it teaches the pace.
    tracked: bool,
}

/// `text` is the answer's body, as far as it is there.
fn answered(
    flow: &Flow,
    job: &Job,
    permit: &Permit,
    head: (StatusCode, &HeaderMap),
    text: &[u8],
) -> Meant {
    let (status, headers) = head;
    let answer = Answer { status, headers, arrived: flow.clock.wall() };
    let said = planned::said(flow, job, status, headers);
    let untracked = said.as_ref().is_some_and(|said| said.untracked);
    let tracked = permit.teaches() && !untracked;
    let said = said.and_then(|said| StatusCode::from_u16(said.status?).ok());
    let judged = judge(flow, job, &Outcome::Answer(answer), said, text);
    Meant { judged, status: Some(said.unwrap_or(status)), tracked }
}

fn judge(
    flow: &Flow,
    job: &Job,
    outcome: &Outcome<'_>,
    said: Option<StatusCode>,
    text: &[u8],
) -> Judged {
    let judged = classify_as(outcome, said, &job.measure(text));
    for (field, read) in judged.hints.results() {
        flow.meter.hint(field.word(), read.word());
    }
    judged
}

/// What the verdict did.
#[derive(Clone, Copy)]
struct Taught {
    /// The failure was the page's own.
    own: bool,
    /// The scope holds the request back.
    scope_waits: bool,
    now: Tick,
}

fn teach(flow: &Flow, job: &mut Job, permit: &mut Permit, meant: &Meant) -> Taught {
    let now = flow.clock.now();
    let verdict = &meant.judged.verdict;
    flow.meter.attempt(&job.target.host, verdict.class);
    if !meant.tracked {
        return Taught { own: false, scope_waits: false, now };
    }
    let seen = permit.evidence(job.tries.failed, job.tries.mark);
    let others = job.tries.others.and(seen.others);
    let evidence =
        Evidence { served_since: seen.served_since, later_served: seen.later_served, others };
    let own =
        job.terms.retry.page_faults.is_some() && page::is_its_own(verdict.page_fault, evidence);
    let mut pace = page::pace_move(verdict, own);
    let ours = flow.is_our_own_trouble(verdict.class, &job.target.host, now);
    if ours {
        pace = match pace {
            PaceMove::Climb => PaceMove::Nothing,
            PaceMove::Nothing | PaceMove::StepDown => pace,
        };
    }
    let lesson = Lesson {
        pause: pause(job, permit, verdict),
        status: meant.status.map(|status| job.terms.verdicts.meant(status).as_u16()),
        excused: own || ours,
        ..Lesson::new(verdict.class, pace)
    };
    let learned = flow.learn(&job.target.host, permit, lesson, now);
    job.trip.rung = learned.after;
    job.tries.mark = Some(learned.mark);
    job.tries.others = others;
    job.tries.own_faults += u32::from(own);
    Taught { own, scope_waits: learned.slows, now }
}

fn decide(flow: &Flow, job: &Job, came: &Came, meant: &Meant, taught: Taught) -> Next {
    if job.preset == Preset::Off {
        return Next::Deliver;
    }
    let verdict = &meant.judged.verdict;
    let waits = matches!(verdict.class, Class::ExplicitWait | Class::RateLimited);
    if waits && job.preset.answers_pauses() {
        return Next::Deliver;
    }
    let (sent, status) = match came {
        Came::Fault(fault) => (fault.sent, None),
        Came::Whole(_) | Came::Flowing { .. } => {
            (Sent::Perhaps, meant.status.map(|status| status.as_u16()))
        }
        Came::Switched(_) | Came::Left { .. } | Came::Late { .. } => (Sent::Perhaps, None),
    };
    let standing = Standing {
        now: taught.now,
        attempts: job.tries.attempts,
        repeatable: job.is_repeatable(sent, job.terms.retry.unsafe_methods),
        own_faults: if taught.own { job.tries.own_faults } else { 0 },
        scope_waits: taught.scope_waits,
        window_end: job.limits.window_end,
        deadline: job.limits.deadline,
    };
    let rules = flow.gate.rules(&job.claims.first.scope);
    let bounds = Bounds {
        page_faults: job.terms.retry.page_faults,
        max_attempts: most_attempts(job.preset, &job.terms.retry),
        min_attempt: job.terms.retry.min_attempt,
        ladder: rules.ladder.paces(),
    };
    again::next(verdict, status, &standing, &bounds, &job.preset.repeats(job.wishes.retry.as_ref()))
}

/// The pause a verdict puts on its scopes. A preset that answers pauses makes one where a site says
/// no and not until when: longer each time, as the rung it was asked from tells.
fn pause(job: &Job, permit: &Permit, verdict: &Verdict) -> Option<Duration> {
    let unhinted = verdict.pause.is_none() && verdict.class == Class::RateLimited;
    if !(unhinted && job.preset.answers_pauses()) {
        return verdict.pause;
    }
    let longer = 2_u32.saturating_pow(u32::from(permit.rung()));
    Some(UNHINTED.saturating_mul(longer).min(job.terms.retry.retry_after_max))
}

fn go_on(
    flow: &Flow,
    job: &mut Job,
    permit: Permit,
    came: Came,
    judged: &Judged,
    next: Next,
) -> Course {
    let class = judged.verdict.class;
    match (came, next) {
        (Came::Fault(fault), Next::Again { not_before }) => {
            round_again(flow, job, class, not_before);
            job.trip.fault = Some(fault);
            Course::Again
        }
        (Came::Fault(fault), Next::Deliver | Next::GiveUp(_)) => {
            exhausted(flow, job, class, next);
            let ending = faulted(job, &fault, next);
            job.trip.fault = Some(fault);
            Course::GiveUp(ending)
        }
        (Came::Whole(whole), Next::Deliver | Next::GiveUp(_)) => {
            exhausted(flow, job, class, next);
            match judged.withheld {
                true => Course::GiveUp(withheld(job, whole.parts.status)),
                false => Course::Deliver(Delivery::Whole(whole, class)),
            }
        }
        (Came::Whole(whole), Next::Again { not_before }) => match keep(flow, job, whole) {
            Ok(last) => {
                round_again(flow, job, class, not_before);
                let size = last.body.len() as u64;
                flow.meter.transferred(labels::Flow::Received, Final::No, size);
                job.tries.last = Some(last);
                Course::Again
            }
            Err(whole) => Course::Deliver(Delivery::Whole(*whole, class)),
        },
        (Came::Flowing { parts, first, rest }, _) => match judged.withheld {
            true => Course::GiveUp(withheld(job, parts.status)),
            false => Course::Deliver(Delivery::Flowing { parts, first, rest, permit, class }),
        },
        (Came::Switched(response), _) => Course::Deliver(Delivery::Switched(response)),
        (Came::Left { .. } | Came::Late { .. }, _) => Course::Left,
    }
}

fn round_again(flow: &Flow, job: &mut Job, class: Class, not_before: Option<Tick>) {
    job.tries.not_before = not_before;
    job.tries.failed = Some(flow.clock.now());
    job.tries.failure = Some(class);
}

fn exhausted(flow: &Flow, job: &Job, class: Class, next: Next) {
    if next == Next::GiveUp(Why::Window) {
        flow.meter.window_exhausted(&job.target.host, class);
    }
}

/// Keeps an answer for the case that there is no better one, if there is room for it.
fn keep(flow: &Flow, job: &Job, whole: Whole) -> Result<LastAnswer, Box<Whole>> {
    let size = whole.body.len();
    if size > job.terms.buffers.kept_answer {
        return Err(Box::new(whole));
    }
    match Share::take(&flow.kept, size) {
        Some(share) => {
            let Whole { parts, body, trailers, .. } = whole;
            Ok(LastAnswer { parts, body, trailers, share })
        }
        None => Err(Box::new(whole)),
    }
}

fn late(job: &Job) -> Ending {
    Ending::late(&job.target.host, job.tries.attempts, job.trip.fault.as_ref())
}

fn withheld(job: &Job, status: StatusCode) -> Ending {
    let host = &job.target.host;
    let text = format!("{host} answered {status}, which would ask for the proxy's credentials");
    Ending { received: Some(status), ..Ending::new(Case::NotHttp, text) }
}

fn faulted(job: &Job, fault: &Fault, next: Next) -> Ending {
    let (host, attempts) = (&job.target.host, job.tries.attempts);
    match next {
        Next::GiveUp(Why::Window) => {
            return Ending::unanswered(host, "the window", attempts, Some(fault));
        }
        Next::GiveUp(Why::Deadline) => {
            return Ending::late(host, attempts, Some(fault));
        }
        Next::GiveUp(Why::Unrepeatable | Why::Asked | Why::Attempts | Why::Page)
        | Next::Deliver
        | Next::Again { .. } => {}
    }
    let tail = if attempts > 1 { format!(" ({attempts} attempts)") } else { String::new() };
    let ending = Ending::new(Case::of(&fault.kind), format!("{}{tail}", fault.detail));
    let method = &job.outbound.head.method;
    let once = next == Next::GiveUp(Why::Unrepeatable) && !method.is_idempotent();
    Ending { advice: once.then_some(ONCE), ..ending }
}

/// Spec section 7, `strict`: where a site doesn't say for how long.
const UNHINTED: Duration = Duration::from_secs(30);
const ONCE: &str = "It was sent once only, for what it asks for may have been done. If it does no \
    harm twice, send it with an Idempotency-Key field and it is repeated.";
