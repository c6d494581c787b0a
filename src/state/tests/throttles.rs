//! What is configured for a healthy host: concurrency, delay, slot delay, jitter, quota; and who
//! leaves meanwhile.

use super::*;
use crate::pace::claims::{Asked, Claims};
use crate::pace::jitter::Jitter;
use crate::pace::quota::{Cost, Quota, Reconcile};
use crate::pace::rules::Law;
use proptest::prelude::*;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn throttled(concurrency: u32, delay: u64, slot_delay: u64) -> PaceRules {
    PaceRules {
        law: Law::Fixed,
        concurrency: Some(concurrency),
        delay: millis(delay),
        slot_delay: Some(millis(slot_delay)),
        ..PaceRules::default()
    }
}

/// When requests that all come at once start, in milliseconds, if each attempt takes so long.
fn starts(rules: PaceRules, count: usize, takes: u64) -> Vec<u64> {
    let world = World::new(rules);
    let began = world.now();
    let mut line: Vec<_> = (0..count).map(|_| world.claim(world.ticket(1))).collect();
    let (mut starts, mut under_way) = (Vec::new(), Vec::new());
    while starts.len() < count {
        under_way.retain(|(end, _)| *end > world.now());
        for held in line.iter_mut().filter(|held| held.woken()) {
            if let Some(permit) = held.poll() {
                let mut permit = permit.expect("a start");
                permit.mark_used();
                starts.push(world.now().since(began).as_millis() as u64);
                under_way.push((world.now() + millis(takes), permit));
            }
        }
        line.retain(|held| held.hold.waits());
        world.pass(millis(1));
        assert!(world.now().since(began) < seconds(600), "{starts:?}");
    }
    starts
}

/// A start is stamped up to 33 µs late: the millisecond after may be the first.
#[track_caller]
fn check(rules: PaceRules, takes: u64, want: &[u64]) {
    let starts = starts(rules, want.len(), takes);
    let close = |(at, want): (&u64, &u64)| (*want..=want + 5).contains(at);
    assert!(starts.iter().zip(want).all(close), "{starts:?} should be {want:?}");
}

#[test]
fn of_two_slots_that_rest_a_second_starts_are_at_0_and_300_and_1000() {
    check(throttled(2, 300, 1000), 5, &[0, 300, 1000, 1300, 2000, 2300]);
    check(throttled(2, 300, 1000), 900, &[0, 300, 1000, 1300]);
    check(throttled(1, 300, 1000), 5, &[0, 1000, 2000]);
    check(throttled(3, 0, 500), 5, &[0, 0, 0, 500, 500, 500, 1000]);
}

#[test]
fn a_slot_is_taken_until_its_attempt_ends_however_long_it_has_rested() {
    check(throttled(2, 300, 1000), 1500, &[0, 300, 1500, 1800]);
    let plain = PaceRules { slot_delay: None, ..throttled(2, 300, 0) };
    check(plain.clone(), 5, &[0, 300, 600, 900]);
    check(plain, 1000, &[0, 300, 1000, 1300]);
}

#[test]
fn more_slots_than_the_drain_are_all_in_use_while_a_line_waits() {
    let rules = PaceRules { concurrency: Some(16), ..PaceRules::default() };
    let starts = starts(rules, 48, 100);
    assert!(starts[16..32].iter().all(|at| (100..105).contains(at)), "{starts:?}");
}

#[test]
fn a_jitter_scatters_the_delays_between_its_ends() {
    let jitter = Jitter::new(-0.1, 0.3).unwrap();
    let rules = PaceRules { delay: millis(100), jitter, ..PaceRules::default() };
    let starts = starts(rules, 60, 0);
    let gaps: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // To the millisecond the clock is moved by, on both sides.
    assert!(gaps.iter().all(|gap| (89..=132).contains(gap)), "{gaps:?}");
    assert!(gaps.iter().any(|gap| *gap < 100) && gaps.iter().any(|gap| *gap > 115), "{gaps:?}");
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    assert!((104.0..118.0).contains(&mean), "{mean}");
}

fn quota(amount: f64) -> PaceRules {
    let quota = Quota { amount: Cost::new(amount).unwrap(), per: seconds(60) };
    PaceRules { quota: Some(quota), ..PaceRules::default() }
}

fn priced(world: &World, client: u64, cost: f64) -> Held {
    let cost = Cost::new(cost).unwrap();
    let claims = Claims { first: Asked { cost, ..Asked::new(shop()) }, rest: Vec::new() };
    world.claim(Ticket { claims, ..world.ticket(client) })
}

#[track_caller]
fn used(mut held: Held) {
    let mut permit = held.poll().expect("does not wait").expect("a start");
    permit.mark_used();
}

#[test]
fn what_does_not_fit_waits_for_the_next_window_and_a_large_cost_is_its_first() {
    let world = World::new(quota(10.0));
    used(priced(&world, 1, 2.5));
    used(priced(&world, 1, 7.0));
    let mut large = priced(&world, 2, 30.0);
    let mut small: Vec<_> = (0..5).map(|client| priced(&world, 3 + client, 0.25)).collect();
    assert!(large.poll().is_none());
    assert_eq!(large.hold.reason().map(|why| why.word()), Some("quota"));
    small.iter_mut().for_each(|held| assert!(held.poll().is_none(), "no one overtakes"));
    world.pass(millis(59_999));
    assert!(!large.woken());
    world.pass(millis(1));
    used(large);
    assert!(small.iter().all(|held| !held.woken()), "the window is overdrawn");
    world.pass(seconds(60));
    // Handed over one after the other: a small line drains at once.
    small.into_iter().for_each(used);
}

#[test]
fn a_start_given_back_has_spent_nothing() {
    let world = World::new(quota(3.0));
    drop(priced(&world, 1, 3.0));
    let mut unused = priced(&world, 1, 3.0);
    drop(unused.poll().expect("free").expect("a start"));
    used(priced(&world, 1, 3.0));
    assert!(priced(&world, 1, 0.5).poll().is_none());
}

#[test]
fn what_answers_say_of_the_quota_holds_and_frees() {
    let world = World::new(quota(10.0));
    used(priced(&world, 1, 2.0));
    assert!(world.gate.reconcile(&shop(), Reconcile::Remaining(0.5)));
    let mut held = priced(&world, 1, 1.0);
    assert!(held.poll().is_none());
    assert!(world.gate.reconcile(&shop(), Reconcile::Consumed(-4.0)));
    used(held);
    let other = World::new(PaceRules::default());
    assert!(!other.gate.reconcile(&shop(), Reconcile::Remaining(0.0)), "it has no quota");
}

#[test]
fn a_window_that_is_spent_outlives_every_sweep() {
    let world = World::new(PaceRules { idle: seconds(1), ..quota(1.0) });
    used(priced(&world, 1, 1.0));
    for _ in 0..5 {
        world.pass(seconds(11));
        let mut sweep = std::pin::pin!(world.gate.sweep());
        while sweep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {}
        assert!(priced(&world, 1, 1.0).poll().is_none());
    }
    world.pass(seconds(6));
    used(priced(&world, 1, 1.0));
}

/// A request of the simulation.
#[derive(Clone, Copy, Debug)]
struct Visitor {
    comes: u64,
    takes: u64,
    /// Leaves its place after so long; a start it was handed meanwhile is never picked up.
    leaves: Option<u64>,
    /// Gives its start back unused.
    unused: bool,
}

fn visitor() -> impl Strategy<Value = Visitor> {
    let leaves = proptest::option::weighted(0.2, 0u64..900);
    (0u64..1500, 0u64..700, leaves, proptest::bool::weighted(0.1))
        .prop_map(|(comes, takes, leaves, unused)| Visitor { comes, takes, leaves, unused })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Any crowd, with departures and starts given back: never more in flight than slots, never two
    /// starts nearer than the delay, no slot used again before it has rested, and everybody who
    /// stays is served.
    #[test]
    fn a_crowd_keeps_every_throttle_and_nobody_who_stays_is_forgotten(
        crowd in proptest::collection::vec(visitor(), 1..40),
        slots in 1u32..4, delay in 0u64..120, slot_delay in 0u64..500,
    ) {
        let world = World::new(throttled(slots, delay, slot_delay));
        let began = world.now();
        let mut line: Vec<(Visitor, Held)> = Vec::new();
        let mut under_way: Vec<(Tick, Permit)> = Vec::new();
        let mut starts: Vec<u64> = Vec::new();
        let (mut coming, mut done) = (crowd.clone(), 0);
        let mut time = 0;
        while done < crowd.len() {
            under_way.retain(|(end, _)| *end > world.now());
            for visitor in coming.extract_if(.., |visitor| visitor.comes <= time) {
                line.push((visitor, world.claim(world.ticket(visitor.comes % 3))));
            }
            let gone = |(visitor, _): &mut (Visitor, Held)| {
                visitor.leaves.is_some_and(|after| visitor.comes + after <= time)
            };
            done += line.extract_if(.., gone).count();
            for (visitor, held) in line.iter_mut().filter(|(_, held)| held.woken()) {
                let Some(permit) = held.poll() else { continue };
                let mut permit = permit.expect("nobody is refused");
                done += 1;
                if visitor.unused {
                    continue;
                }
                permit.mark_used();
                starts.push(world.now().since(began).as_millis() as u64);
                under_way.push((world.now() + millis(visitor.takes), permit));
                prop_assert!(under_way.len() <= slots as usize);
            }
            line.retain(|(_, held)| held.hold.waits());
            world.pass(millis(1));
            time += 1;
            prop_assert!(time < 120_000, "{} wait for ever", line.len());
        }
        prop_assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= delay), "{starts:?}");
        let rest = slots as usize;
        let rested = |pair: &[u64]| pair[rest] - pair[0] >= slot_delay;
        prop_assert!(starts.windows(rest + 1).all(rested), "{starts:?}");
        drop(under_way);
        world.pass(seconds(11));
        let mut sweep = std::pin::pin!(world.gate.sweep());
        while sweep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {}
        prop_assert_eq!(world.gate.counters().rows, 0);
        prop_assert_eq!(world.gate.counters().held, 0);
    }
}
