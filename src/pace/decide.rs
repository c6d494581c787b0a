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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::verdict::PaceMove;
    use crate::pace::learn::{Move, learn};
    use proptest::prelude::*;

    fn rules(delay: u64, concurrency: Option<u32>) -> PaceRules {
        PaceRules { delay: Duration::from_millis(delay), concurrency, ..PaceRules::default() }
    }

    fn at(millis: u64) -> Tick {
        Tick::ZERO + Duration::from_millis(millis)
    }

    fn slot(rung: u8, last_start: u64, in_flight: u16) -> Slot {
        Slot { rung, last_start: Slot::stamp(at(last_start)), in_flight, ..Slot::default() }
    }

    fn from() -> impl Strategy<Value = From> {
        prop_oneof![Just(From::Street), Just(From::Line)]
    }

    proptest! {
        #[test]
        fn nobody_goes_before_every_reason_has_passed(
            rung in 0u8..=5, last in 1u64..100_000, stall in 0u64..100_000,
            pause in 0u64..100_000, now in 0u64..200_000, delay in 0u64..5000,
            flight in 0u16..9, most in proptest::option::of(1u32..9), from in from(),
        ) {
            let rules = rules(delay, most);
            let slot = slot(rung, last, flight);
            let memory =
                Memory { last_stall: at(stall), paused_until: at(pause), last_climb: None };
            match decide(&slot, &memory, &rules, from, at(now)) {
                Decision::Go => {
                    let anchor = if rung == 0 { Tick::ZERO } else { at(last.max(stall)) };
                    prop_assert!(at(now) >= anchor + rules.ladder.pace(rung));
                    prop_assert!(delay == 0 || now >= last + delay);
                    prop_assert!(now >= pause);
                    prop_assert!(most.is_none_or(|most| u32::from(flight) < most));
                    prop_assert!(from == From::Street || u32::from(flight) < rules.drain);
                }
                Decision::Hold { until, why } => {
                    prop_assert!(until > at(now));
                    prop_assert!(why != Reason::Delay || delay > 0);
                    if until != Tick::NEVER {
                        let free = Slot { in_flight: 0, ..slot };
                        prop_assert_eq!(decide(&free, &memory, &rules, from, until), Decision::Go);
                    }
                }
            }
        }

        #[test]
        fn a_clock_that_goes_back_never_turns_a_hold_into_a_start(
            rung in 0u8..=5, last in 1u64..100_000, now in 0u64..200_000, back in 0u64..200_000,
        ) {
            let (rules, memory) = (rules(0, None), Memory::default());
            let slot = slot(rung, last, 0);
            if decide(&slot, &memory, &rules, From::Street, at(now)) != Decision::Go {
                let earlier = at(now.saturating_sub(back));
                let again = decide(&slot, &memory, &rules, From::Street, earlier);
                prop_assert_ne!(again, Decision::Go);
            }
        }

        #[test]
        fn lessons_keep_the_rung_on_the_ladder_and_a_pause_never_shrinks(
            moves in proptest::collection::vec((0u8..3, 0u64..100, proptest::option::of(0u64..99)), 0..60),
        ) {
            let rules = PaceRules::default();
            let (mut state, mut memory) = (Slot::default(), Memory::default());
            let mut now = at(1000);
            for (kind, age, pause) in moves {
                let pace = [PaceMove::Nothing, PaceMove::StepDown, PaceMove::Climb][usize::from(kind)];
                let lesson = Move {
                    pace,
                    pause: pause.map(Duration::from_secs),
                    started: now - Duration::from_secs(age),
                };
                let (next, remembered) = learn(state, memory, &rules, lesson, now);
                prop_assert!(next.rung <= rules.ladder.top());
                prop_assert!(next.rung.abs_diff(state.rung) <= 1);
                prop_assert!(remembered.paused_until >= memory.paused_until);
                prop_assert_eq!(next.last_start, state.last_start);
                (state, memory) = (next, remembered);
                now = now + Duration::from_millis(700);
            }
        }

        #[test]
        fn the_best_case_is_never_later_with_fewer_ahead(
            rung in 0u8..=5, last in 1u64..9000, ahead in 0usize..40, delay in 0u64..3000,
        ) {
            let (rules, memory) = (rules(delay, None), Memory::default());
            let slot = slot(rung, last, 0);
            let best = |ahead| best_case(&slot, &memory, &rules, ahead, at(5000));
            prop_assert!(best(ahead) <= best(ahead + 1));
        }
    }

    #[test]
    fn past_the_window_the_ladder_is_skipped_and_nothing_else() {
        let check = |memory: Memory, rules: PaceRules, last, want: Decision| {
            let slot = slot(5, 1000, 3);
            assert_eq!(decide(&slot, &memory, &rules, From::Closing(last), at(2000)), want);
        };
        let hold = |until, why| Decision::Hold { until, why };
        let paused = Memory { paused_until: at(9000), ..Memory::default() };
        check(Memory::default(), rules(0, None), None, Decision::Go);
        check(Memory::default(), rules(0, None), Some(at(1000)), hold(at(3000), Reason::Pace));
        check(paused, rules(0, None), None, hold(at(9000), Reason::Pause));
        let delayed = Slot::stamp(at(1000)) + Duration::from_secs(4);
        check(Memory::default(), rules(4000, None), None, hold(delayed, Reason::Delay));
        let full = hold(Tick::NEVER, Reason::Concurrency);
        check(Memory::default(), rules(0, Some(3)), None, full);
    }
}
