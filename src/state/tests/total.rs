//! `limits.attempts`: one limit on the attempts of all hosts, healthy ones without a row among them.

use super::*;
use crate::state::limits::Limits;
use proptest::prelude::*;

fn limited(attempts: usize, default: PaceRules) -> GateRules {
    let limits = Limits { attempts: Some(attempts), ..Limits::default() };
    GateRules { default, limits, ..GateRules::default() }
}

fn world(attempts: usize) -> World {
    World::with(limited(attempts, PaceRules::default()))
}

fn host(name: u64) -> Scope {
    Scope::named(&format!("host-{name}.example")).unwrap()
}

impl World {
    fn at(&self, name: u64) -> Held {
        self.claim(Ticket { claims: Claims::of(host(name)), ..self.ticket(1) })
    }

    #[track_caller]
    fn goes(&self, name: u64) -> Permit {
        self.at(name).poll().expect("does not wait").expect("a start")
    }

    #[track_caller]
    fn waits(&self, name: u64) -> Held {
        let mut held = self.at(name);
        assert!(held.poll().is_none(), "{name} goes");
        held
    }
}

#[test]
fn attempts_at_all_hosts_are_one_number_and_cells_take_turns_for_what_is_freed() {
    let world = world(2);
    let (first, second) = (world.goes(1), world.goes(2));
    let mut line = [world.waits(1), world.waits(1), world.waits(3)];
    assert_eq!(line[2].hold.reason().map(|why| why.word()), Some("concurrency"));
    drop(first);
    assert_eq!(line.each_ref().map(Held::woken), [true, false, false]);
    let third = line[0].poll().expect("its turn");
    drop(second);
    assert_eq!(line.each_ref().map(Held::woken), [false, false, true], "not the same host again");
    let fourth = line[2].poll().expect("its turn");
    drop(third);
    assert!(line[1].poll().expect("its turn").is_ok());
    drop(fourth);
    assert_eq!(world.gate.counters().rows, 0);
    let _both = (world.goes(5), world.goes(6));
}

#[test]
fn a_newcomer_does_not_take_what_was_freed_for_another() {
    let world = world(1);
    let first = world.goes(1);
    let mut waits = world.waits(2);
    drop(first);
    let mut newcomer = world.waits(3);
    drop(waits.poll().expect("its turn").expect("a start"));
    assert!(newcomer.poll().expect("its turn").is_ok());
}

#[test]
fn who_leaves_passes_it_on_whether_it_was_handed_a_start_or_not() {
    let world = world(1);
    let first = world.goes(1);
    let (gone, handed, mut last) = (world.waits(2), world.waits(3), world.waits(4));
    drop(gone);
    drop(first);
    assert!(handed.woken() && !last.woken());
    drop(handed);
    assert!(last.poll().expect("its turn").is_ok());
}

#[test]
fn a_host_that_may_not_go_passes_it_on() {
    let world = world(1);
    let first = world.goes(1);
    let (mut paused, mut free) = (world.waits(2), world.waits(3));
    world.gate.pause(&host(2), seconds(30));
    drop(first);
    assert!(!paused.woken());
    drop(free.poll().expect("its turn").expect("a start"));
    world.pass(seconds(31));
    assert!(paused.poll().expect("its turn").is_ok());
}

#[test]
fn another_limit_serves_who_waits_and_none_serves_all() {
    let world = world(1);
    let _first = world.goes(1);
    let mut line = [world.waits(2), world.waits(3), world.waits(4)];
    world.gate.reload(limited(2, PaceRules::default()));
    assert_eq!(line.each_ref().map(Held::woken), [true, false, false]);
    let _second = line[0].poll().expect("its turn");
    world.gate.reload(GateRules::default());
    assert!(line[1].poll().is_some() && line[2].poll().is_some());
}

#[test]
fn what_keeps_no_pace_is_counted_and_not_held() {
    let world = world(1);
    let passes = [world.gate.pass(&host(1)), world.gate.pass(&host(2))];
    let mut held = world.waits(3);
    drop(passes);
    assert!(held.poll().expect("its turn").is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Any crowd at four hosts with throttles of their own: never more under way than the limit, and
    /// everybody who stays is served.
    #[test]
    fn no_crowd_exceeds_it_and_nobody_is_forgotten(
        crowd in proptest::collection::vec(
            (0u64..800, 0u64..4, 1u64..300, proptest::option::weighted(0.2, 0u64..500)), 1..60),
        most in 1usize..5, delay in 0u64..60, slots in proptest::option::of(1u32..3),
    ) {
        let delay = Duration::from_millis(delay);
        let default = PaceRules { delay, concurrency: slots, ..PaceRules::default() };
        let world = World::with(limited(most, default));
        let (mut line, mut under_way) = (Vec::new(), Vec::new());
        let (mut coming, mut done, mut time) = (crowd.clone(), 0, 0);
        while done < crowd.len() {
            under_way.retain(|(end, _)| *end > time);
            for (comes, name, takes, leaves) in coming.extract_if(.., |(comes, ..)| *comes <= time) {
                line.push((comes + leaves.unwrap_or(1 << 40), takes, world.at(name)));
            }
            done += line.extract_if(.., |(leaves, ..)| *leaves <= time).count();
            for (_, takes, held) in line.iter_mut().filter(|(.., held)| held.woken()) {
                if let Some(permit) = held.poll() {
                    let mut permit = permit.expect("nobody is refused");
                    permit.mark_used();
                    under_way.push((time + *takes, permit));
                    done += 1;
                    prop_assert!(under_way.len() <= most);
                }
            }
            line.retain(|(.., held)| held.hold.waits());
            world.pass(Duration::from_millis(1));
            time += 1;
            prop_assert!(time < 60_000, "{} wait for ever", line.len());
        }
        drop(under_way);
        prop_assert_eq!(world.gate.counters().held, 0);
        let all: Vec<_> = (10..10 + most as u64).map(|name| world.at(name).poll()).collect();
        prop_assert!(all.iter().all(Option::is_some), "every place is free again");
    }
}
