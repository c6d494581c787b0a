//! Once more, or is this the answer? Verdict × attempts × window × what the client asked for.
//!
//! Whether the request *may* be sent twice is `replay`'s answer, whether the failure is the page's
//! own is `page`'s; both come in as facts. When the scope lets it go is the pace's business: this
//! room only names a moment before which the request itself has no reason to try.

#[cfg(test)]
mod tests;

use crate::clock::Tick;
use crate::judge::verdict::{Class, Repeat, Verdict};
use std::time::Duration;

/// What to do with a request after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Hand over what this attempt brought: its answer, or the reply that stands for its fault.
    Deliver,
    /// Go round again, not before the moment (`None`: as soon as the scope allows).
    Again { not_before: Option<Tick> },
    /// It would be worth another attempt, but it gets none: the last answer the origin gave, or
    /// where there is none the reply that stands for the fault.
    GiveUp(Why),
}

/// Why a request that could do with another attempt gets none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// Sent twice it might do harm, or it can't be sent again.
    Unrepeatable,
    /// The client wanted no (more) repeats, or none after this class.
    Asked,
    /// `retry.max_attempts`.
    Attempts,
    /// `retry.page_faults`: the page itself is broken.
    Page,
    /// The window has ended, or ends before the wait does.
    Window,
    /// The stated deadline leaves no room for the wait and an attempt.
    Deadline,
}

/// Where the request stands after the attempt just judged.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    pub now: Tick,
    /// Attempts made, this one included.
    pub attempts: u32,
    /// From `replay::repeatable`; and no byte of an answer has reached the client.
    pub repeatable: bool,
    /// How many failures were the page's own, this one included; 0 if this one was not.
    pub own_faults: u32,
    /// The verdict, after `page` and `ourselves`, moved the scope's pace up or paused it: then the
    /// scope holds the request back. If not, the request waits on a ladder of its own.
    pub scope_waits: bool,
    pub window_end: Tick,
    /// The client's stated end.
    pub deadline: Option<Tick>,
}

/// What bounds repeats: from `retry`, and the ladder of the scope.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'a> {
    pub page_faults: Option<u32>,
    pub max_attempts: Option<u32>,
    /// With less than this left until a stated deadline no attempt starts.
    pub min_attempt: Duration,
    /// Paces from rung 0; never empty.
    pub ladder: &'a [Duration],
}

/// `Pace-Retry`: what the client wants repeated. It only ever narrows what the table repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// At most so many attempts after the first. `None`: nothing said.
    pub extra: Option<u32>,
    /// Only after these. Empty: after all that the table repeats.
    pub only: Vec<After>,
}

/// What a repeat may come after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Statuses from the first to the last.
    Status(u16, u16),
    Class(Class),
}

/// Decides. `status` is that of the answer, if the attempt brought one.
pub fn next(
    verdict: &Verdict,
    status: Option<u16>,
    standing: &Standing,
    bounds: &Bounds<'_>,
    wish: &Wish,
) -> Next {
    if verdict.repeat == Repeat::No {
        return Next::Deliver;
    }
    if let Some(why) = barred(verdict, status, standing, bounds, wish) {
        return Next::GiveUp(why);
    }
    // A pause holds the whole scope, this request in its line with the others; one that the scope
    // was not told of the request waits out by itself.
    let own = match verdict.pause {
        Some(_) if standing.scope_waits => None,
        Some(pause) => Some(pause),
        None => own_wait(standing, bounds),
    };
    let not_before = own.map(|wait| standing.now + wait);
    let start = standing.now + verdict.pause.or(own).unwrap_or_default();
    if start >= standing.window_end {
        return Next::GiveUp(Why::Window);
    }
    match standing.deadline {
        Some(deadline) if start + bounds.min_attempt > deadline => Next::GiveUp(Why::Deadline),
        Some(_) | None => Next::Again { not_before },
    }
}

fn barred(
    verdict: &Verdict,
    status: Option<u16>,
    standing: &Standing,
    bounds: &Bounds<'_>,
    wish: &Wish,
) -> Option<Why> {
    if !standing.repeatable {
        return Some(Why::Unrepeatable);
    }
    if !wish.wants(verdict.class, status, standing.attempts) {
        return Some(Why::Asked);
    }
    if bounds.max_attempts.is_some_and(|most| standing.attempts >= most) {
        return Some(Why::Attempts);
    }
    let faults = standing.own_faults;
    let broken = faults > 0 && bounds.page_faults.is_some_and(|most| faults >= most);
    broken.then_some(Why::Page)
}

impl Wish {
    fn wants(&self, class: Class, status: Option<u16>, attempts: u32) -> bool {
        let more = self.extra.is_none_or(|extra| attempts <= extra);
        let named = |after: &After| match *after {
            After::Class(wanted) => wanted == class,
            After::Status(first, last) => status.is_some_and(|s| (first..=last).contains(&s)),
        };
        more && (self.only.is_empty() || self.only.iter().any(named))
    }
}

/// How long the request itself has to wait, whatever the scope says. After a page's own failure:
/// the ladder, a rung per such failure. Where nothing slows the scope down (`soft`, our own
/// trouble): the same, but the first repeat goes at once.
fn own_wait(standing: &Standing, bounds: &Bounds<'_>) -> Option<Duration> {
    let rung = match (standing.own_faults, standing.scope_waits) {
        (0, true) => return None,
        (0, false) => standing.attempts.saturating_sub(1),
        (faults, _) => faults,
    };
    let top = bounds.ladder.len().saturating_sub(1);
    let rung = usize::try_from(rung).map_or(top, |rung| rung.min(top));
    bounds.ladder.get(rung).copied().filter(|wait| !wait.is_zero())
}
