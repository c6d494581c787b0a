//! Order: everybody once, turns by weight, urgency and cost.

use super::*;
use crate::pace::turn::{Urgency, Weight};
use proptest::prelude::*;
use std::time::Duration;

fn client(origin: u64) -> Client {
    Client { origin, lane: 0 }
}

fn at(seconds: u64) -> Tick {
    Tick::ZERO + Duration::from_secs(seconds)
}

fn first(origin: u64, accepted: u64) -> Entry {
    let (client, accepted) = (client(origin), at(accepted));
    Entry { client, accepted, repeat: false, turn: Turn::default(), cost: Cost::ONE }
}

fn repeat(origin: u64, accepted: u64) -> Entry {
    Entry { repeat: true, ..first(origin, accepted) }
}

fn weighing(weight: u8, entry: Entry) -> Entry {
    let weight = Weight::new(weight).unwrap();
    Entry { turn: Turn { weight, ..entry.turn }, ..entry }
}

fn urgent(urgency: u8, entry: Entry) -> Entry {
    let urgency = Urgency::new(urgency).unwrap();
    Entry { turn: Turn { urgency, ..entry.turn }, ..entry }
}

fn costing(cost: f64, entry: Entry) -> Entry {
    Entry { cost: Cost::new(cost).unwrap(), ..entry }
}

fn served(line: &mut Line) -> Vec<usize> {
    std::iter::from_fn(|| line.take()).collect()
}

/// Lines up a request for each number.
fn line_up(line: &mut Line, numbers: std::ops::Range<usize>, entry: Entry) {
    for who in numbers {
        line.join(entry, who);
    }
}

/// Keeps lines of these entries long, and counts how often each is served in so many turns.
fn shares(entries: &[Entry], turns: usize) -> Vec<usize> {
    let mut line = Line::default();
    for (who, entry) in entries.iter().enumerate() {
        (0..3).for_each(|_| line_up(&mut line, who..who + 1, *entry));
    }
    let mut served = vec![0; entries.len()];
    for _ in 0..turns {
        let who = line.take().expect("all are waiting");
        served[who] += 1;
        line.join(entries[who], who);
    }
    served
}

proptest! {
    /// Joins, departures and turns in any order: nobody is lost or served twice, and of what is
    /// equally urgent to a client first attempts go by acceptance, repeats by when they lined up.
    #[test]
    fn everybody_is_served_once_in_order(
        steps in proptest::collection::vec(
            (0u8..4, 0u64..4, 0u64..50, any::<bool>(), 0u8..3, 0u8..4), 0..300),
    ) {
        let mut line = Line::default();
        let mut inside: Vec<(usize, Place, Entry)> = Vec::new();
        for (who, (step, origin, accepted, again, urgency, cost)) in steps.into_iter().enumerate() {
            if step >= 2 {
                let entry = Entry { repeat: again, ..first(origin, accepted) };
                let weight = u8::try_from(origin).unwrap() + 1;
                let entry = costing(f64::from(cost), urgent(urgency, weighing(weight, entry)));
                inside.push((who, line.join(entry, who), entry));
            } else if step == 1 && !inside.is_empty() {
                let (who, place, ..) = inside.swap_remove(accepted as usize % inside.len());
                prop_assert_eq!(line.leave(place), who);
            } else {
                let next = line.head().map(|(_, who)| who);
                prop_assert_eq!(line.take(), next);
                let Some(next) = next else { continue };
                let index = inside.iter().position(|(who, ..)| *who == next).unwrap();
                let (_, _, gone) = inside.swap_remove(index);
                let rank = |it: &Entry| (it.client, it.turn.urgency, it.repeat);
                let mut peers = inside.iter().filter(|(_, _, it)| rank(it) == rank(&gone));
                let in_order = peers.all(|(who, _, peer)| match gone.repeat {
                    true => *who > next,
                    false => peer.accepted >= gone.accepted,
                });
                prop_assert!(in_order);
            }
            prop_assert_eq!(line.len(), inside.len());
        }
        inside.truncate(inside.len().saturating_sub(served(&mut line).len()));
        prop_assert!(inside.is_empty() && line.queues.is_empty() && line.by_client.is_empty());
    }

    /// However weights, urgencies and costs are mixed, whoever comes waits for one round.
    #[test]
    fn nobody_starves(
        others in proptest::collection::vec((1u8..5, 0u8..8, 0u8..6), 1..6),
        (weight, urgency, cost) in (1u8..5, 0u8..8, 0u8..10),
    ) {
        let mut line = Line::default();
        let entry = |origin, (weight, urgency, cost): (u8, u8, u8)| {
            costing(f64::from(cost), urgent(urgency, weighing(weight, first(origin, 1))))
        };
        for (origin, kind) in others.iter().enumerate() {
            (0..4).for_each(|_| line_up(&mut line, origin..origin + 1, entry(origin as u64, *kind)));
        }
        line.join(entry(99, (weight, urgency, cost)), 99);
        let most: u32 = others.iter().map(|(weight, ..)| u32::from(*weight)).sum();
        for turn in 0.. {
            let who = line.take().expect("somebody waits");
            if who == 99 {
                break;
            }
            prop_assert!(turn <= most, "still waiting after {} turns", turn);
            line.join(entry(who as u64, others[who]), who);
        }
    }
}

#[test]
fn what_fails_again_and_again_leaves_every_other_turn_to_the_rest() {
    let mut line = Line::default();
    for who in 0..4 {
        line.join(repeat(1, who), usize::try_from(who).unwrap());
    }
    let mut served = Vec::new();
    while let Some(who) = line.take() {
        served.push(who);
        if who == 0 && served.len() < 8 {
            line.join(repeat(1, 0), 0);
        }
    }
    assert_eq!(served[..5], [0, 1, 2, 3, 0]);
}

#[test]
fn turns_go_round_whatever_the_lengths() {
    let mut line = Line::default();
    for who in 0..6 {
        line.join(first(u64::from(who >= 4), 0), who);
    }
    assert_eq!(served(&mut line), [0, 4, 1, 5, 2, 3]);
}

#[test]
fn who_comes_with_one_request_waits_for_one_turn_of_a_crowd() {
    let mut line = Line::default();
    line_up(&mut line, 0..1000, first(1, 0));
    let _ = line.take();
    line.join(first(2, 50), 5000);
    let turns = served(&mut line).iter().position(|who| *who == 5000);
    assert!(turns.unwrap() <= 1, "{turns:?}");
}

#[test]
fn clients_share_by_weight() {
    assert_eq!(shares(&[weighing(1, first(1, 0)), weighing(3, first(2, 0))], 400), [100, 300]);
    let three = [weighing(5, first(1, 0)), first(2, 0), weighing(2, first(3, 0))];
    assert_eq!(shares(&three, 800), [500, 100, 200]);
}

#[test]
fn what_is_dear_takes_as_many_turns_and_comes_about() {
    assert_eq!(shares(&[costing(4.0, first(1, 0)), first(2, 0)], 500), [100, 400]);
    let both = [costing(6.0, weighing(3, first(1, 0))), costing(2.0, first(2, 0))];
    assert_eq!(shares(&both, 200), [100, 100]);
    let cheap = [costing(0.0, first(1, 0)), costing(0.25, first(2, 0)), first(3, 0)];
    assert_eq!(shares(&cheap, 300), [100, 100, 100], "a start is one");
}

#[test]
fn what_is_dear_is_not_stuck_behind_what_is_cheap_and_is_paid_for_afterwards() {
    let mut line = Line::default();
    line_up(&mut line, 0..100, first(1, 0));
    line_up(&mut line, 500..503, costing(10.0, first(2, 0)));
    let dear: Vec<_> = served(&mut line).iter().map(|who| *who >= 500).collect();
    let places: Vec<_> = (0..dear.len()).filter(|place| dear[*place]).collect();
    assert_eq!(places, [1, 12, 23]);
}

#[test]
fn what_is_owed_is_not_forgotten_by_leaving_for_a_moment_and_not_kept_for_ever() {
    let mut line = Line::default();
    line_up(&mut line, 0..1000, first(1, 0));
    let mut dear = 0;
    for _ in 0..110 {
        if !line.by_client.contains_key(&client(2)) || dear == 0 {
            line.join(costing(10.0, first(2, 0)), 5000);
        }
        dear += usize::from(line.take() == Some(5000));
    }
    assert_eq!(dear, 10);
    assert!(served(&mut line).len() > 800 && line.queues.is_empty());
}

#[test]
fn urgencies_of_a_client_share_its_turns_and_none_of_anothers() {
    let own = [urgent(2, first(1, 0)), first(1, 0), urgent(5, first(1, 0))];
    assert_eq!(shares(&own, 1300), [800, 400, 100]);
    let two = [urgent(0, first(1, 0)), urgent(7, first(2, 0))];
    assert_eq!(shares(&two, 200), [100, 100]);
}

#[test]
fn an_urgency_that_comes_up_late_makes_up_for_nothing() {
    let mut line = Line::default();
    line_up(&mut line, 0..100, urgent(0, first(1, 0)));
    (0..50).for_each(|_| assert!(line.take() < Some(100)));
    line_up(&mut line, 100..130, first(1, 0));
    let next: Vec<_> = (0..18).filter_map(|_| line.take()).collect();
    assert_eq!(next.iter().filter(|who| **who >= 100).count(), 2, "{next:?}");
    // One at a time, it gets no more than its share either.
    let mut line = Line::default();
    line_up(&mut line, 100..109, first(1, 0));
    line.join(urgent(0, first(1, 0)), 0);
    let mut late = 0;
    for _ in 0..45 {
        let who = line.take().unwrap();
        late += usize::from(who >= 100);
        line.join(if who == 0 { urgent(0, first(1, 0)) } else { first(1, 0) }, who);
    }
    assert_eq!(late, 5);
}

#[test]
fn a_client_with_only_repeats_is_passed_over_once_and_keeps_its_turn() {
    let mut line = Line::default();
    let repeats = [line.join(repeat(1, 0), 0), line.join(repeat(1, 0), 1)];
    assert_ne!(repeats[0], repeats[1]);
    line.join(repeat(2, 9), 2);
    line.join(first(3, 9), 3);
    line.join(first(3, 9), 4);
    assert_eq!(served(&mut line), [0, 3, 2, 4, 1]);
}

#[test]
fn only_what_is_certain_counts_as_ahead() {
    let mut line = Line::default();
    line.join(first(1, 1), 0);
    line.join(first(1, 2), 1);
    for who in 2..9 {
        line.join(first(2, 1), who);
    }
    assert_eq!(line.ahead_of(&first(1, 3)), 4);
    assert_eq!(line.ahead_of(&first(1, 0)), 0);
    assert_eq!(line.ahead_of(&first(3, 3)), 0);
    assert_eq!(line.ahead_of(&urgent(2, first(1, 3))), 0);
    line.join(costing(9.0, first(2, 1)), 9);
    assert_eq!(line.ahead_of(&first(1, 3)), 2, "the other may sit out");
}
