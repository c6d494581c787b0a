//! Claims about what a restart forgets: nothing that holds anybody back.

use super::*;
use crate::judge::verdict::{Class, PaceMove};
use crate::pace::backoff::{Backoff, Rampup};
use crate::pace::decide::{From, earliest};
use crate::pace::jitter::Jitter;
use crate::pace::learn::{Learnt, Move, learn};
use crate::pace::quota::Quota;
use proptest::prelude::*;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn rules(law: Law) -> PaceRules {
    let backoff = Backoff { jitter: Jitter::NONE, ..Backoff::default() };
    let quota = Some(Quota { amount: Cost::new(3.0).unwrap(), per: secs(100) });
    PaceRules { law, quota, backoff, ..PaceRules::default() }
}

/// A state after some failures, pauses and starts.
fn played(rules: &PaceRules, steps: &[(u8, u64)], began: Tick) -> (Slot, Memory, Tick) {
    let (mut slot, mut memory, mut now) = (Slot::default(), Memory::NEW, began);
    for (what, pass) in steps {
        now = now + Duration::from_millis(*pass);
        let (pace, status, pause) = match what % 4 {
            0 => {
                memory.start(rules, Cost::ONE, 0, now);
                slot = Slot { in_flight: 0, ..slot.started(now) };
                continue;
            }
            1 => (PaceMove::Climb, 503, None),
            2 => (PaceMove::Climb, 429, Some(Duration::from_millis(pass * 3))),
            _ => (PaceMove::StepDown, 200, None),
        };
        let (status, started, class) = (Some(status), now, Class::Overloaded);
        let lesson = Move { pace, pause, started, class, status, excused: false };
        let Learnt { slot: next, memory: kept, .. } = learn(slot, memory, rules, lesson, now);
        (slot, memory) = (next, kept);
    }
    (slot, memory, now)
}

fn next(slot: &Slot, memory: &Memory, rules: &PaceRules, now: Tick) -> Duration {
    earliest(slot, memory, rules, From::Line, Cost::ONE).0.since(now)
}

proptest! {
    /// The next start is where it was on the wall's clock, for both clocks begin anywhere.
    #[test]
    fn whoever_waits_waits_on_over_a_restart_and_no_longer(
        law in 0u8..3,
        steps in proptest::collection::vec((any::<u8>(), 0u64..40_000), 0..20),
        elapsed in 0u64..200_000,
        began in 1_000_000u64..2_000_000,
    ) {
        let rules = rules([Law::Ladder, Law::Backoff, Law::Fixed][usize::from(law)]);
        let (slot, memory, now) = played(&rules, &steps, Tick::ZERO + secs(5000));
        let elapsed = Duration::from_millis(elapsed);
        let wanted = next(&slot, &memory, &rules, now).saturating_sub(elapsed);
        let today = Tick::ZERO + secs(began);
        let waits = match Saved::of(slot, &memory, &rules, now) {
            Some(saved) => {
                let (slot, memory) = saved.restored(&rules, today, elapsed);
                next(&slot, &memory, &rules, today)
            }
            None => Duration::ZERO,
        };
        let off = waits.abs_diff(wanted);
        prop_assert!(off < Duration::from_millis(1), "{waits:?}, not {wanted:?}");
    }
}

#[test]
fn a_pause_of_an_hour_is_shorter_by_what_has_gone_by() {
    let saved = Saved { paused: Some(secs(3600)), ..Saved::new(Law::Ladder) };
    let today = Tick::ZERO + secs(77);
    let (_, memory) = saved.restored(&PaceRules::default(), today, secs(600));
    assert_eq!(memory.paused_until, today + secs(3000));
    let (_, memory) = saved.restored(&PaceRules::default(), today, secs(4000));
    assert!(memory.paused_until <= today);
    let (_, memory) = saved.restored(&PaceRules::default(), today, Duration::ZERO);
    assert_eq!(memory.paused_until, today + secs(3600), "a clock set back makes it no longer");
}

#[test]
fn another_law_keeps_the_pause_and_the_quota_and_forgets_the_rest() {
    let learnt = rules(Law::Backoff);
    let (slot, memory, now) = played(&learnt, &[(0, 0), (1, 10), (2, 4000)], Tick::ZERO + secs(10));
    let saved = Saved::of(slot, &memory, &learnt, now).expect("it backs off");
    let (slot, memory) = saved.restored(&rules(Law::Ladder), now, Duration::ZERO);
    assert_eq!((slot.rung, memory.more.pressure.is_none()), (0, true));
    assert_eq!((memory.paused_until.since(now), memory.more.spent.used()), (secs(12), Cost::ONE));
}

#[test]
fn the_rules_of_today_bound_what_was_learnt_under_others() {
    let saved = Saved { rung: 5, ..Saved::new(Law::Ladder) };
    let short = crate::pace::rules::Ladder::new(vec![Duration::ZERO, secs(1)]).unwrap();
    let short = PaceRules { ladder: short, ..PaceRules::default() };
    let now = Tick::ZERO + secs(100);
    assert_eq!(saved.restored(&short, now, Duration::ZERO).0.rung, 1);
    let pressure = SavedPressure {
        delay: Some(secs(9_000_000)),
        ramped: Some(Duration::ZERO),
        slots: u32::MAX,
        window: Some(Duration::MAX),
        ..SavedPressure::default()
    };
    let saved = Saved { pressure: Some(pressure), ..Saved::new(Law::Backoff) };
    let (_, memory) = saved.restored(&rules(Law::Backoff), now, Duration::ZERO);
    assert_eq!(memory.more.pressure.pace(), secs(300));
    let mut ramps = rules(Law::Backoff);
    ramps.backoff.rampup = Some(Rampup { min_delay: secs(1), ..Rampup::default() });
    (ramps.delay, ramps.concurrency) = (secs(2), Some(4));
    let rested = SavedPressure { delay: None, ..pressure };
    let saved = Saved { pressure: Some(rested), ..Saved::new(Law::Backoff) };
    let (_, memory) = saved.restored(&ramps, now, Duration::MAX);
    assert_eq!(memory.more.pressure.delay(&ramps.base()), secs(1));
    assert_eq!(memory.most(&ramps), Some(4));
}

#[test]
fn what_has_nothing_to_say_is_not_saved() {
    let now = Tick::ZERO + secs(100);
    let slot = Slot::default().started(now);
    assert_eq!(Saved::of(slot, &Memory::NEW, &PaceRules::default(), now), None);
}
