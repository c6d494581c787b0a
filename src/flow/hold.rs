//! Claims a permit, and waits for it where the scope isn't free: the only place that waits for a
//! pace. A held request owns nothing but memory.

use crate::clock::Tick;
use crate::flow::ending::{Case, Ending};
use crate::flow::job::Job;
use crate::flow::planned;
use crate::flow::record::seconds;
use crate::flow::settings::WindowClose;
use crate::flow::works::Flow;
use crate::metrics::host::HoldMark;
use crate::metrics::labels::{Reason, Waits};
use crate::pace::decide as pace;
use crate::pace::scope::{Host, Scope};
use crate::policy::patience::Patience;
use crate::state::hold::Hold;
use crate::state::ledger;
use crate::state::permit::Permit;
use crate::state::ticket::{Bound, Refusal, Ticket};
use std::time::Duration;

/// How a claim ended.
pub enum Held {
    Go(Permit),
    /// No attempt may start any more: the last answer, or this.
    Over(Ending),
    /// The client left.
    Left,
}

/// Claims in the request's scope; holds while it isn't free.
pub async fn claim(flow: &Flow, job: &mut Job) -> Held {
    if job.bypasses() {
        return Held::Go(flow.gate.pass(&Scope::of(&job.target.host)));
    }
    let soonest = job.tries.not_before.unwrap_or(Tick::ZERO).max(flow.clock.now());
    if last_start(job) < soonest {
        let host = &job.target.host;
        return Held::Over(never_sent(
            flow,
            host,
            "the stated deadline, less the time of an attempt,",
        ));
    }
    if job.terms.scoping.goes_by_address()
        && job.tries.attempts == 0
        && !Box::pin(located(flow, job)).await
    {
        return Held::Left;
    }
    match flow.gate.try_claim(&job.ticket(), flow.clock.now()) {
        Some(permit) => Held::Go(permit),
        None => {
            let ticket = remembering(flow, job);
            Box::pin(wait(flow, job, flow.gate.claim(ticket))).await
        }
    }
}

/// Finds out where the request's host is, and with it the scope. False if the client left.
async fn located(flow: &Flow, job: &mut Job) -> bool {
    let address = tokio::select! {
        biased;
        address = job.terms.pool.place(&job.target) => address,
        () = job.presence.left(job.fin_while_held()) => return false,
        () = flow.clock.sleep_until(last_start(job)) => None,
    };
    let scoping = job.terms.scoping;
    let own = scoping.claims(&job.target.host, job.target.port, address);
    job.claims = planned::claims(scoping, own, job.plan.as_deref(), job.wishes.scopes.as_ref());
    true
}

/// Its place in the line, with what is remembered of its client: a seat that was kept; and how long
/// that waits, which only ever refuses what could not be in time.
fn remembering(flow: &Flow, job: &mut Job) -> Ticket {
    let now = flow.clock.now();
    if job.tries.attempts == 0 {
        let seat = flow.remembered.seat(&job.trip.facts, now);
        job.trip.facts.seat = seat.unwrap_or(job.trip.facts.seat);
    }
    let mut ticket = job.ticket();
    if job.terms.patience == Patience::Enforce
        && let Some(patience) = flow.remembered.patience(&job.trip.facts, now)
    {
        let end = job.limits.accepted + patience;
        if ticket.deadline.is_none_or(|deadline| end < deadline) {
            (ticket.deadline, job.tries.patience) = (Some(end), Some(patience));
        }
    }
    ticket
}

async fn wait(flow: &Flow, job: &mut Job, hold: Hold) -> Held {
    let Some(reason) = hold.reason().map(reason) else {
        return match hold.await {
            Ok(permit) => Held::Go(permit),
            Err(refusal) => Held::Over(sent_away(flow, job, &refusal)),
        };
    };
    job.trip.hold_began(hold.since().unwrap_or(job.limits.accepted), reason);
    let mut waiting = Waiting::new(flow, &job.target.host, hold);
    flow.notice_crowd(job.terms.warn_held);
    let held = in_line(flow, job, waiting.hold()).await;
    job.trip.hold_ended(&waiting.end());
    held
}

/// A hold that is counted, however it ends: also when whoever waits is dropped.
pub struct Waiting<'a> {
    flow: &'a Flow,
    hold: Hold,
    mark: Option<HoldMark>,
}

impl<'a> Waiting<'a> {
    pub fn new(flow: &'a Flow, host: &Host, hold: Hold) -> Waiting<'a> {
        Waiting { flow, mark: Some(flow.meter.hold_began(host)), hold }
    }

    pub fn hold(&mut self) -> &mut Hold {
        &mut self.hold
    }

    /// It waits no more; what it has waited, from its place in the line to its permit.
    pub fn end(mut self) -> Waits {
        self.close()
    }

    fn close(&mut self) -> Waits {
        let waited = waits(&self.hold.leave());
        if let Some(mark) = self.mark.take() {
            self.flow.meter.hold_ended(mark, &waited);
        }
        waited
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.close();
    }
}

/// What was waited, as metrics have it.
pub fn waits(waited: &ledger::Waits) -> Waits {
    let mut waits = Waits::default();
    for why in pace::Reason::ALL {
        waits[reason(why) as usize] = waited.of(why);
    }
    waits
}

/// What a hold waits for, as metrics have it.
pub const fn reason(why: pace::Reason) -> Reason {
    match why {
        pace::Reason::Pace => Reason::Pace,
        pace::Reason::Pause => Reason::Pause,
        pace::Reason::Concurrency => Reason::Concurrency,
        pace::Reason::Delay => Reason::Delay,
        pace::Reason::Quota => Reason::Quota,
        pace::Reason::Request => Reason::Request,
    }
}

async fn in_line(flow: &Flow, job: &Job, hold: &mut Hold) -> Held {
    let mut closing = false;
    loop {
        tokio::select! {
            biased;
            claimed = &mut *hold => return match claimed {
                Ok(permit) => Held::Go(permit),
                Err(refusal) => Held::Over(sent_away(flow, job, &refusal)),
            },
            () = job.presence.left(job.fin_while_held()) => return Held::Left,
            () = flow.clock.sleep_until(end(job, closing)) => match at_end(flow, job) {
                AtEnd::LastSend => {
                    closing = true;
                    hold.close();
                }
                AtEnd::Over(ending) => return Held::Over(ending),
            },
        }
    }
}

/// When the wait ends whatever the line does.
fn end(job: &Job, closing: bool) -> Tick {
    let last = last_start(job);
    if closing { last } else { last.min(job.limits.window_end) }
}

/// After this no attempt starts: too little would be left of the client's stated time.
fn last_start(job: &Job) -> Tick {
    job.limits.deadline.map_or(Tick::NEVER, |deadline| deadline - job.terms.retry.min_attempt)
}

enum AtEnd {
    /// One last attempt that skips the ladder.
    LastSend,
    Over(Ending),
}

fn at_end(flow: &Flow, job: &Job) -> AtEnd {
    let late = last_start(job) <= flow.clock.now();
    let unsent = job.tries.attempts == 0;
    if unsent && !late && job.terms.retry.window_close == WindowClose::Send {
        return AtEnd::LastSend;
    }
    if let Some(class) = job.tries.class.filter(|_| !late) {
        flow.meter.window_exhausted(&job.target.host, class);
    }
    let (host, attempts) = (&job.target.host, job.tries.attempts);
    let last = job.trip.fault.as_ref();
    AtEnd::Over(match (unsent, late) {
        (true, true) => never_sent(flow, host, "the stated deadline"),
        (true, false) => never_sent(flow, host, "the window"),
        (false, true) => Ending::late(host, attempts, last),
        (false, false) => Ending::unanswered(host, "the window", attempts, last),
    })
}

fn never_sent(flow: &Flow, host: &Host, what: &str) -> Ending {
    let pace = flow.gate.row(&Scope::of(host)).map_or(Duration::ZERO, |row| row.pace);
    let text = format!("{what} ended before {host} had a slot (its pace is {pace:?})");
    Ending::new(Case::Infeasible, text).after(pace)
}

/// The same for a request: its seat is kept, where it may come back for it.
fn sent_away(flow: &Flow, job: &Job, refusal: &Refusal) -> Ending {
    let host = &job.target.host;
    let (wait, patience) = match refusal {
        Refusal::Infeasible { retry_after } => (Some(*retry_after), job.tries.patience),
        Refusal::LineFull { retry_after, .. } => (Some(*retry_after), None),
        Refusal::PausedBeyondWindow { .. } | Refusal::ShuttingDown | Refusal::WindowClosed => {
            (None, None)
        }
    };
    if let Some(wait) = wait {
        flow.remembered.keep_seat(&job.trip.facts, wait, flow.clock.now());
    }
    let ending = refused(flow, host, refusal);
    if let (Refusal::PausedBeyondWindow { .. }, true) = (refusal, job.preset.answers_pauses()) {
        return Ending { case: Case::Paused, ..ending };
    }
    let Some(patience) = patience else { return ending };
    let patience = seconds(patience);
    let what = format!("{host} has no slot within {patience} s, after which this client leaves");
    Ending { what, advice: Some(IMPATIENT), ..ending }
}

/// The ending for a refusal of the gate.
pub fn refused(flow: &Flow, host: &Host, refusal: &Refusal) -> Ending {
    match refusal {
        Refusal::LineFull { which, retry_after } => {
            let text = match which {
                Bound::Scope => format!("the line for {host} is full"),
                Bound::Client => "this client has as many requests waiting as it may".to_owned(),
                Bound::All => "the proxy holds as many requests as it may".to_owned(),
            };
            Ending::new(Case::LineFull, text).after(*retry_after)
        }
        Refusal::Infeasible { retry_after } => {
            let text = format!("{host} has no slot before the stated deadline");
            Ending::new(Case::Infeasible, text).after(*retry_after)
        }
        Refusal::PausedBeyondWindow { until } => {
            let wait = until.since(flow.clock.now());
            let text = format!("{host} asked for a pause of {} s more", wait.as_secs() + 1);
            Ending::new(Case::Infeasible, text).after(wait)
        }
        Refusal::ShuttingDown => {
            let text = format!("it held this request for {host}");
            Ending::new(Case::ShuttingDown, text).after(RESTART)
        }
        Refusal::WindowClosed => never_sent(flow, host, "the window"),
    }
}

const IMPATIENT: &str = "Come back after Retry-After, or give the client a longer time-out: it has \
    left after this time twice (`patience: enforce`).";
/// How long a restart may take.
const RESTART: Duration = Duration::from_secs(5);
