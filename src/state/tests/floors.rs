//! What somebody else asks of a scope, under its own rules.

use super::*;
use crate::pace::floor::Floor;

const fn floor(delay: u64, concurrency: u32) -> Floor {
    Floor { delay: Duration::from_secs(delay), concurrency: Some(concurrency) }
}

/// Starts are stamped up to 33 µs late.
const STAMP: Duration = Duration::from_millis(1);

/// Whether a request starts at once; its attempt ends at once as well.
fn starts(world: &World) -> bool {
    let mut held = world.claim(world.ticket(1));
    match held.poll() {
        Some(permit) => {
            permit.expect("a start").mark_used();
            true
        }
        None => false,
    }
}

#[test]
fn a_floor_spaces_starts_until_it_is_taken_away() {
    let world = World::new(PaceRules::default());
    let scope = world.ticket(1).claims.first.scope;
    assert!(starts(&world) && starts(&world));
    world.gate.set_floor(&scope, floor(5, 1));
    assert!(starts(&world) && !starts(&world));
    world.pass(seconds(4));
    assert!(!starts(&world));
    world.pass(seconds(1) + STAMP);
    assert!(starts(&world) && !starts(&world));
    world.gate.set_floor(&scope, floor(2, 1));
    world.pass(seconds(2) + STAMP);
    assert!(starts(&world) && !starts(&world));
    world.gate.set_floor(&scope, Floor::default());
    assert!(starts(&world) && starts(&world));
}

#[test]
fn a_floor_lets_as_many_go_at_once_as_it_says() {
    let world = World::new(PaceRules::default());
    let scope = world.ticket(1).claims.first.scope;
    world.gate.set_floor(&scope, Floor { delay: Duration::ZERO, concurrency: Some(1) });
    let mut first = world.claim(world.ticket(1));
    let permit = first.poll().expect("it starts").expect("a permit");
    let mut second = world.claim(world.ticket(2));
    assert!(second.poll().is_none());
    drop(permit);
    assert!(second.poll().is_some());
}

#[test]
fn a_reload_keeps_the_floor_and_the_slower_of_both_counts() {
    let world = World::new(PaceRules::default());
    let scope = world.ticket(1).claims.first.scope;
    world.gate.set_floor(&scope, floor(5, 1));
    let with_delay = |secs| PaceRules { delay: seconds(secs), ..PaceRules::default() };
    world.gate.reload(GateRules { default: with_delay(9), ..GateRules::default() });
    assert_eq!(world.gate.rules(&scope).delay, seconds(9));
    world.gate.reload(GateRules { default: with_delay(1), ..GateRules::default() });
    assert_eq!(world.gate.rules(&scope).delay, seconds(5));
    assert!(starts(&world) && !starts(&world));
    world.gate.set_floor(&scope, Floor::default());
    assert_eq!(world.gate.rules(&scope).delay, seconds(1));
}

#[test]
fn who_waits_already_waits_by_the_new_floor() {
    let world = World::new(PaceRules { delay: seconds(60), ..PaceRules::default() });
    let scope = world.ticket(1).claims.first.scope;
    assert!(starts(&world));
    let mut held = world.claim(world.ticket(2));
    assert!(held.poll().is_none());
    world.gate.set_floor(&scope, floor(90, 1));
    world.pass(seconds(60));
    assert!(held.poll().is_none());
    world.pass(seconds(30) + STAMP);
    assert!(held.poll().is_some());
}
