//! When the next may go, by the ladder and its throttles.

use super::*;
use crate::judge::verdict::{Class, PaceMove};
use crate::pace::backoff::{Backoff, Rampup};
use crate::pace::jitter::Jitter;
use crate::pace::learn::{Learnt, Move, learn};
use crate::pace::quota::Quota;
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
            Memory { last_stall: at(stall), paused_until: at(pause), ..Memory::NEW };
        match decide(&slot, &memory, &rules, from, Cost::ONE, at(now)) {
            Decision::Go => {
                let anchor = if rung == 0 { Tick::ZERO } else { at(last.max(stall)) };
                prop_assert!(at(now) >= anchor + rules.ladder.pace(rung));
                prop_assert!(delay == 0 || now >= last + delay);
                prop_assert!(now >= pause);
                prop_assert!(most.is_none_or(|most| u32::from(flight) < most));
                prop_assert!(most.is_some() || from == From::Street || u32::from(flight) < rules.drain);
            }
            Decision::Hold { until, why } => {
                prop_assert!(until > at(now));
                prop_assert!(why != Reason::Delay || delay > 0);
                if until != Tick::NEVER {
                    let free = Slot { in_flight: 0, ..slot };
                    prop_assert_eq!(decide(&free, &memory, &rules, from, Cost::ONE, until), Decision::Go);
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
        if decide(&slot, &memory, &rules, From::Street, Cost::ONE, at(now)) != Decision::Go {
            let earlier = at(now.saturating_sub(back));
            let again = decide(&slot, &memory, &rules, From::Street, Cost::ONE, earlier);
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
                class: Class::Overloaded,
                status: None,
                excused: false,
            };
            let before = memory.clone();
            let Learnt { slot: next, memory: remembered, .. } =
                learn(state, memory, &rules, lesson, now);
            prop_assert!(next.rung <= rules.ladder.top());
            prop_assert!(next.rung.abs_diff(state.rung) <= 1);
            prop_assert!(remembered.paused_until >= before.paused_until);
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
        assert_eq!(decide(&slot, &memory, &rules, From::Closing(last), Cost::ONE, at(2000)), want);
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

/// Any law, with every throttle.
fn any_rules() -> impl Strategy<Value = PaceRules> {
    let law = prop_oneof![Just(Law::Ladder), Just(Law::Backoff), Just(Law::Fixed)];
    let rampup = prop_oneof![Just(None), Just(Some(Rampup::default()))];
    let quota = proptest::option::of((1u32..9, 100u64..9000));
    let slots = proptest::option::of((1u32..5, 0u64..3000));
    (law, rampup, quota, slots, 0u64..2000, -0.9f64..0.0, 0.0f64..0.9).prop_map(
        |(law, rampup, quota, slots, delay, low, high)| PaceRules {
            law,
            concurrency: slots.map(|(concurrency, _)| concurrency),
            slot_delay: slots.map(|(_, rest)| Duration::from_millis(rest)),
            delay: Duration::from_millis(delay),
            jitter: Jitter::new(low, high).unwrap(),
            quota: quota.map(|(amount, per)| Quota {
                amount: Cost::new(f64::from(amount)).unwrap(),
                per: Duration::from_millis(per),
            }),
            backoff: Backoff { rampup, quiet: Duration::from_secs(4), ..Backoff::default() },
            ..PaceRules::default()
        },
    )
}

proptest! {
    /// Plays starts, ends and lessons under any rules. A hold ends at the very moment it names, not
    /// before; and at no earlier moment, so that a clock that goes back lets nobody go.
    #[test]
    fn under_every_law_a_hold_ends_when_it_says(
        rules in any_rules(), cost in 0u32..5,
        steps in proptest::collection::vec((0u8..5, 0u64..1500, any::<u32>()), 1..60),
    ) {
        let (mut slot, mut memory, mut now) = (Slot::default(), Memory::NEW, at(1000));
        let cost = Cost::new(f64::from(cost)).unwrap();
        let mut under_way = Vec::new();
        for (step, pass, chance) in steps {
            now = now + Duration::from_millis(pass);
            slot.rung = memory.advance(slot, &rules, now);
            match decide(&slot, &memory, &rules, From::Street, cost, now) {
                Decision::Go => {
                    memory.start(&rules, cost, chance, now);
                    slot = slot.started(now);
                    under_way.push(now);
                }
                Decision::Hold { until, .. } => {
                    prop_assert!(until > now);
                    let at = |moment| decide(&slot, &memory, &rules, From::Street, cost, moment);
                    for part in 0..8 {
                        let before = now + until.since(now).min(Duration::from_secs(900)) * part / 8;
                        prop_assert_ne!(at(before), Decision::Go);
                        prop_assert_ne!(at(now - Duration::from_secs(part.into())), Decision::Go);
                    }
                    let busy = |decision| matches!(decision, Decision::Hold {
                        why: Reason::Concurrency, until: Tick::NEVER
                    });
                    let rests = rules.slot_rest().is_some();
                    let then = at(until);
                    prop_assert!(then == Decision::Go || busy(then) || rests);
                }
            }
            if step > 1 && !under_way.is_empty() {
                let started = under_way.swap_remove(chance as usize % under_way.len());
                let (pace, status) = match step {
                    2 => (PaceMove::Climb, 429),
                    3 => (PaceMove::StepDown, 200),
                    _ => (PaceMove::Climb, 500),
                };
                let pause = (chance % 7 == 0).then(|| Duration::from_secs(3));
                let class = Class::Overloaded;
                let status = Some(status);
                let lesson = Move { pace, pause, started, class, status, excused: false };
                Learnt { slot, memory, .. } = learn(slot, memory, &rules, lesson, now);
                memory.end(&rules, cost, started, true, now);
                slot.in_flight -= 1;
            }
        }
    }
}
