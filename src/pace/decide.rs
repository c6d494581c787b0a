//! Slot × rules × now → go, or hold until when and why.
//!
//! This room changes nothing: what a start or a lesson does to the state is `slot`'s and `learn`'s.

use crate::clock::Tick;
use crate::pace::learn::Memory;
use crate::pace::rules::PaceRules;
use crate::pace::slot::Slot;
use std::time::Duration;

/// Whether the next attempt of a scope may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Go,
    /// Not before `until`; [`Tick::NEVER`] means that an attempt must end first.
    Hold {
        until: Tick,
        why: Reason,
    },
}

/// What a request waits for. The words are metric and log values: they don't change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The rung's pace, or the few that may be in flight while a line drains.
    Pace,
    /// The server named a wait.
    Pause,
    /// `concurrency` attempts are in flight.
    Concurrency,
    /// `delay` between two starts.
    Delay,
    /// The request's own ladder.
    Request,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Reason; 5] =
        [Reason::Pace, Reason::Pause, Reason::Concurrency, Reason::Delay, Reason::Request];

    /// The word for logs and metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Reason::Pace => "pace",
            Reason::Pause => "pause",
            Reason::Concurrency => "concurrency",
            Reason::Delay => "delay",
            Reason::Request => "request",
        }
    }
}

/// From which line the next attempt would start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// Nobody waits: `drain` does not apply.
    Street,
    /// The head of the line.
    Line,
    /// A never-sent request past its window: skips the ladder (pace and `drain`), nothing else.
    /// The moment is the last such start, if there was one.
    Closing(Option<Tick>),
}

/// May the next attempt start at `now`?
///
/// With several reasons the one that ends last is named. Moments are absolute, so a clock that
/// jumps back holds longer and never lets anybody go earlier.
pub fn decide(slot: &Slot, memory: &Memory, rules: &PaceRules, from: From, now: Tick) -> Decision {
    let (until, why) = earliest(slot, memory, rules, from);
    if until > now {
        return Decision::Hold { until, why };
    }
    let full = |most: u32| u32::from(slot.in_flight) >= most;
    if rules.concurrency.is_some_and(full) || slot.in_flight == Slot::MOST_IN_FLIGHT {
        return Decision::Hold { until: Tick::NEVER, why: Reason::Concurrency };
    }
    if from == From::Line && full(rules.drain.max(1)) {
        return Decision::Hold { until: Tick::NEVER, why: Reason::Pace };
    }
    Decision::Go
}

/// The earliest moment the clock allows, and what sets it (attempts in flight apart).
pub fn earliest(slot: &Slot, memory: &Memory, rules: &PaceRules, from: From) -> (Tick, Reason) {
    let pace = match from {
        From::Street | From::Line => next_by_pace(slot, memory, rules),
        From::Closing(last) => last.map_or(Tick::ZERO, |last| last + CLOSING_SPACING),
    };
    let delay = match slot.last_start == Tick::ZERO || rules.delay.is_zero() {
        true => Tick::ZERO,
        false => slot.last_start + rules.delay,
    };
    let mut latest = (pace, Reason::Pace);
    if delay > latest.0 {
        latest = (delay, Reason::Delay);
    }
    if memory.paused_until > latest.0 {
        latest = (memory.paused_until, Reason::Pause);
    }
    latest
}

/// The best case: when a request with `ahead` others before it could start at the earliest, if
/// every page before it is served at once and the rung steps down each time.
pub fn best_case(slot: &Slot, memory: &Memory, rules: &PaceRules, ahead: usize, now: Tick) -> Tick {
    let first = earliest(slot, memory, rules, From::Line).0.max(now);
    let mut start = first;
    let stepping = ahead.min(usize::from(slot.rung));
    for step in 1..=stepping {
        let rung = slot.rung - step as u8;
        start = start + rules.ladder.pace(rung).max(rules.delay);
    }
    let rest = u32::try_from(ahead - stepping).unwrap_or(u32::MAX);
    start + rules.delay.saturating_mul(rest)
}

/// Anchor + pace: the anchor is the later of the last start and the last stall that counts.
fn next_by_pace(slot: &Slot, memory: &Memory, rules: &PaceRules) -> Tick {
    match slot.rung {
        0 => Tick::ZERO,
        rung => slot.last_start.max(memory.last_stall) + rules.ladder.pace(rung),
    }
}

/// Spec 2.1: attempts past their window start this far apart in a scope.
pub const CLOSING_SPACING: Duration = Duration::from_secs(2);
