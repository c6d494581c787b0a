//! Who is served when, and what happens to those who leave.

use super::*;

/// A line on rung 1 in which everybody has been polled once.
fn line_up(world: &World, tickets: Vec<Ticket>) -> Vec<Held> {
    let mut line: Vec<_> = tickets.into_iter().map(|ticket| world.claim(ticket)).collect();
    line.iter_mut().for_each(|held| assert!(held.poll().is_none()));
    line
}

/// Waits a pace; who may go.
fn next(world: &World, line: &mut [Option<Held>]) -> Option<usize> {
    world.pass(Duration::from_millis(2001));
    let who = line.iter().position(|held| held.as_ref().is_some_and(Held::woken))?;
    let mut permit = line[who].take().unwrap().poll().unwrap().unwrap();
    permit.mark_used();
    Some(who)
}

fn order(world: &World, line: Vec<Held>) -> Vec<usize> {
    let mut line: Vec<_> = line.into_iter().map(Some).collect();
    (0..line.len()).filter_map(|_| next(world, &mut line)).collect()
}

fn struggling() -> World {
    let world = World::new(PaceRules::default());
    world.climb_to(1);
    world
}

#[test]
fn clients_take_turns_and_within_one_the_first_accepted_is_first() {
    let world = struggling();
    let later = |ticket: Ticket, millis| {
        let accepted = ticket.accepted + Duration::from_millis(millis);
        Ticket { accepted, ..ticket }
    };
    let line = line_up(
        &world,
        vec![
            later(world.ticket(1), 30),
            later(world.ticket(1), 10),
            later(world.ticket(1), 20),
            later(world.ticket(2), 40),
        ],
    );
    assert_eq!(order(&world, line), [1, 3, 2, 0]);
}

#[test]
fn one_request_beside_a_thousand_waits_two_paces_at_most() {
    let world = struggling();
    let mut line = line_up(&world, vec![world.ticket(1); 1000]);
    line.extend(line_up(&world, vec![world.ticket(2)]));
    let mut line: Vec<_> = line.into_iter().map(Some).collect();
    let served = [next(&world, &mut line), next(&world, &mut line)];
    assert!(served.contains(&Some(1000)), "{served:?}");
}

#[test]
fn a_repeat_never_takes_two_slots_in_a_row_while_a_first_attempt_waits() {
    let world = struggling();
    let repeat = Ticket { repeat: true, ..world.ticket(1) };
    let late = world.now() + seconds(1);
    let first = |client| Ticket { accepted: late, ..world.ticket(client) };
    let tickets = vec![repeat.clone(), repeat.clone(), repeat, first(1), first(2)];
    let line = line_up(&world, tickets);
    assert_eq!(order(&world, line), [0, 4, 1, 3, 2]);
}

#[test]
fn newcomers_never_overtake() {
    let world = struggling();
    let mut line = line_up(&world, vec![world.ticket(1); 2]);
    world.pass(seconds(2));
    assert!(world.gate.try_claim(&world.ticket(2), world.now()).is_none());
    world.pass(Duration::from_millis(1));
    assert!(world.gate.try_claim(&world.ticket(2), world.now()).is_none());
    assert!(line[0].woken() && !line[1].woken());
    let mut permit = line[0].poll().unwrap().unwrap();
    permit.mark_used();
}

#[test]
fn whoever_leaves_makes_room_without_waking_anybody() {
    let world = struggling();
    let mut line = line_up(&world, vec![world.ticket(1); 3]);
    drop(line.remove(1));
    drop(line.remove(0));
    assert_eq!(world.gate.counters().wakeups, 0);
    world.pass(seconds(3));
    assert!(line[0].poll().unwrap().is_ok());
    assert_eq!(world.gate.counters().held, 0);
}

#[test]
fn a_start_handed_to_one_who_left_passes_on_at_once() {
    let world = struggling();
    let mut line = line_up(&world, vec![world.ticket(1); 2]);
    world.pass(seconds(3));
    assert!(line[0].woken() && !line[1].woken());
    drop(line.remove(0));
    assert!(line[0].woken());
    assert!(line[0].poll().unwrap().is_ok());
}

#[test]
fn a_start_given_back_unused_passes_on_at_once() {
    let world = struggling();
    let mut line = line_up(&world, vec![world.ticket(1); 2]);
    world.pass(seconds(3));
    let permit = line[0].poll().unwrap().unwrap();
    assert!(!line[1].woken());
    drop(permit);
    assert!(line[1].woken());
}

#[test]
fn the_pace_counts_from_when_a_start_is_picked_up() {
    let world = struggling();
    let mut line = line_up(&world, vec![world.ticket(1); 2]);
    world.pass(Duration::from_millis(2001));
    world.pass(Duration::from_millis(700));
    let mut permit = line[0].poll().unwrap().unwrap();
    permit.mark_used();
    world.pass(Duration::from_millis(1999));
    assert!(!line[1].woken());
    world.pass(Duration::from_millis(2));
    assert!(line[1].woken());
}

#[test]
fn one_who_never_looks_does_not_stop_the_line() {
    let world = struggling();
    let line = line_up(&world, vec![world.ticket(1); 2]);
    world.pass(seconds(10));
    assert!(line[0].woken() && line[1].woken());
}

#[test]
fn a_request_on_its_own_ladder_is_not_in_the_line() {
    let world = struggling();
    let apart =
        Ticket { repeat: true, not_before: Some(world.now() + seconds(30)), ..world.ticket(1) };
    let mut line = line_up(&world, vec![apart, world.ticket(1), world.ticket(1)]);
    assert_eq!(line[0].hold.reason().unwrap().word(), "request");
    assert_eq!(line[1].hold.reason().unwrap().word(), "pace");
    world.pass(Duration::from_millis(2001));
    assert!(line[1].woken());
    drop(line.remove(1));
    drop(line.remove(1));
    world.pass(seconds(27));
    assert!(!line[0].woken());
    world.pass(seconds(1));
    assert!(line[0].poll().unwrap().is_ok());
}

#[test]
fn a_request_on_its_own_ladder_waits_on_a_healthy_host_too_and_keeps_the_row() {
    let world = World::new(PaceRules::default());
    let apart =
        Ticket { repeat: true, not_before: Some(world.now() + seconds(5)), ..world.ticket(1) };
    let mut held = world.claim(apart);
    assert!(held.poll().is_none());
    let mut other = world.start(&world.ticket(2));
    other.learn(&world.gate, served(), world.now());
    assert_eq!(world.rung(), Some(0));
    world.pass(seconds(5));
    let repeat = held.poll().unwrap().unwrap();
    assert!(repeat.evidence(Some(world.now() - seconds(6)), None).served_since);
}

#[test]
fn past_the_window_the_ladder_is_skipped_two_seconds_apart() {
    let world = World::new(PaceRules::default());
    world.climb_to(5);
    let mut line = line_up(&world, vec![world.ticket(1); 3]);
    world.pass(seconds(10));
    line.iter_mut().for_each(|held| held.hold.close());
    assert_eq!(line.iter().filter(|held| held.woken()).count(), 1);
    assert!(line[0].poll().unwrap().is_ok_and(|mut permit| {
        permit.mark_used();
        true
    }));
    world.pass(Duration::from_millis(1999));
    assert!(!line[1].woken());
    world.pass(Duration::from_millis(2));
    assert!(line[1].woken() && !line[2].woken());
}

#[test]
fn what_is_unsent_a_minute_past_the_window_is_refused() {
    let world = World::new(PaceRules { concurrency: Some(1), ..PaceRules::default() });
    let busy = world.start(&world.ticket(1));
    let mut line = line_up(&world, vec![world.ticket(1)]);
    assert_eq!(line[0].hold.reason().unwrap().word(), "concurrency");
    line[0].hold.close();
    world.pass(seconds(59));
    assert!(!line[0].woken());
    world.pass(seconds(1));
    assert!(matches!(line[0].poll(), Some(Err(Refusal::WindowClosed))));
    drop(busy);
}

#[test]
fn concurrency_counts_attempts_and_hands_over_when_one_ends() {
    let world = World::new(PaceRules { concurrency: Some(2), ..PaceRules::default() });
    let mut first = world.start(&world.ticket(1));
    let _second = world.start(&world.ticket(1));
    let mut line = line_up(&world, vec![world.ticket(1); 2]);
    first.mark_used();
    drop(first);
    assert!(line[0].woken() && !line[1].woken());
    let _third = line[0].poll().unwrap().unwrap();
}

#[test]
fn a_delay_spaces_starts_on_a_healthy_host() {
    let world = World::new(PaceRules { delay: Duration::from_millis(300), ..PaceRules::default() });
    let mut first = world.start(&world.ticket(1));
    first.learn(&world.gate, served(), world.now());
    drop(first);
    let mut line = line_up(&world, vec![world.ticket(1)]);
    assert_eq!(line[0].hold.reason().unwrap().word(), "delay");
    world.pass(Duration::from_millis(299));
    assert!(!line[0].woken());
    world.pass(Duration::from_millis(2));
    assert!(line[0].poll().unwrap().is_ok());
}
