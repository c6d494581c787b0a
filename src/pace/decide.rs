//! Slot × rules × now → go, or hold until when and why.
//!
//! This room changes nothing: what a start or a lesson does to the state is `slot`'s and `learn`'s.

#[cfg(test)]
mod tests;

use crate::clock::Tick;
use crate::pace::memory::Memory;
use crate::pace::quota::Cost;
use crate::pace::rules::{Law, PaceRules};
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
    /// `delay` between two starts, or `slot_delay` between two of a slot.
    Delay,
    /// What may be spent in a span has been.
    Quota,
    /// The request's own ladder.
    Request,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Reason; 6] = [
        Reason::Pace,
        Reason::Pause,
        Reason::Concurrency,
        Reason::Delay,
        Reason::Quota,
        Reason::Request,
    ];

    /// The word for logs and metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Reason::Pace => "pace",
            Reason::Pause => "pause",
            Reason::Concurrency => "concurrency",
            Reason::Delay => "delay",
            Reason::Quota => "quota",
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

/// May the next attempt, which costs so much, start at `now`?
///
/// With several reasons the one that ends last is named. Moments are absolute, so a clock that
/// jumps back holds longer and never lets anybody go earlier.
pub fn decide(
    slot: &Slot,
    memory: &Memory,
    rules: &PaceRules,
    from: From,
    cost: Cost,
    now: Tick,
) -> Decision {
    let (until, why) = earliest(slot, memory, rules, from, cost);
    if until > now {
        return Decision::Hold { until, why };
    }
    let in_flight = u32::from(slot.in_flight);
    let most = memory.most(rules);
    if most.is_some_and(|most| in_flight >= most) || slot.in_flight == Slot::MOST_IN_FLIGHT {
        return Decision::Hold { until: Tick::NEVER, why: Reason::Concurrency };
    }
    if from == From::Line && most.is_none() && in_flight >= rules.drain.max(1) {
        return Decision::Hold { until: Tick::NEVER, why: Reason::Pace };
    }
    match most.filter(|_| rules.slot_rest().is_some()) {
        Some(most) => match memory.rested(in_flight, most, now) {
            until if until > now => Decision::Hold { until, why: Reason::Delay },
            _ => Decision::Go,
        },
        None => Decision::Go,
    }
}

/// The earliest moment the clock allows, and what sets it (attempts in flight and slots apart).
pub fn earliest(
    slot: &Slot,
    memory: &Memory,
    rules: &PaceRules,
    from: From,
    cost: Cost,
) -> (Tick, Reason) {
    let mut latest = match from {
        From::Street | From::Line => (Tick::ZERO, Reason::Pace),
        From::Closing(last) => {
            (last.map_or(Tick::ZERO, |last| last + CLOSING_SPACING), Reason::Pace)
        }
    };
    let mut later = |until: Tick, why: Reason| {
        if until > latest.0 {
            latest = (until, why);
        }
    };
    let closing = matches!(from, From::Closing(_));
    match rules.law {
        Law::Backoff => match memory.next(*slot, rules) {
            (_, true) if closing => later(next_by_delay(slot, memory, rules), Reason::Delay),
            (next, true) => later(next, Reason::Pace),
            (next, false) => later(next, Reason::Delay),
        },
        Law::Ladder | Law::Fixed => {
            if !closing && rules.law == Law::Ladder {
                later(next_by_pace(slot, memory, rules), Reason::Pace);
            }
            later(next_by_delay(slot, memory, rules), Reason::Delay);
        }
    }
    later(memory.paused_until, Reason::Pause);
    if let Some(quota) = &rules.quota {
        later(memory.more.spent.next(quota, cost), Reason::Quota);
    }
    latest
}

/// The best case: when a request with `ahead` others before it could start at the earliest, if
/// every page before it is served at once and the rung steps down each time.
pub fn best_case(slot: &Slot, memory: &Memory, rules: &PaceRules, ahead: usize, now: Tick) -> Tick {
    let first = earliest(slot, memory, rules, From::Line, Cost::NONE).0.max(now);
    let delay = shortest(rules);
    let mut start = first;
    let stepping = match rules.law {
        Law::Ladder => ahead.min(usize::from(slot.rung)),
        Law::Backoff | Law::Fixed => 0,
    };
    for step in 1..=stepping {
        let rung = slot.rung - step as u8;
        start = start + rules.ladder.pace(rung).max(delay);
    }
    let rest = u32::try_from(ahead - stepping).unwrap_or(u32::MAX);
    start + delay.saturating_mul(rest)
}

/// Anchor + pace: the anchor is the later of the last start and the last stall that counts.
fn next_by_pace(slot: &Slot, memory: &Memory, rules: &PaceRules) -> Tick {
    match slot.rung {
        0 => Tick::ZERO,
        rung => slot.last_start.max(memory.last_stall) + rules.ladder.pace(rung),
    }
}

/// The last start + what is configured.
fn next_by_delay(slot: &Slot, memory: &Memory, rules: &PaceRules) -> Tick {
    match slot.last_start == Tick::ZERO || rules.delay.is_zero() {
        true => Tick::ZERO,
        false => slot.last_start + rules.jitter.apply(rules.delay, memory.more.chance),
    }
}

/// Two starts of a healthy scope are at least so far apart.
fn shortest(rules: &PaceRules) -> Duration {
    let ramped = rules.backoff.rampup.filter(|_| rules.law == Law::Backoff);
    let delay = ramped.map_or(rules.delay, |rampup| rampup.min_delay.min(rules.delay));
    rules.jitter.shortest(delay)
}

/// Spec 2.1: attempts past their window start this far apart in a scope.
pub const CLOSING_SPACING: Duration = Duration::from_secs(2);
