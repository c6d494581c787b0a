//! The law `ladder` as the gate enforces it, and when rows come and go.

use super::*;
use crate::judge::page::Others;
use crate::state::mark::Mark;

#[test]
fn a_healthy_host_has_no_row_and_never_waits() {
    let world = World::new(PaceRules::default());
    let permits: Vec<_> = (0..1000).map(|client| world.start(&world.ticket(client))).collect();
    drop(permits);
    assert_eq!(world.rung(), None);
    assert_eq!(world.gate.counters().rows, 0);
}

#[test]
fn holds_the_next_request_until_the_rung_has_passed() {
    let world = World::new(PaceRules::default());
    world.climb_to(1);
    let mut held = world.claim(world.ticket(1));
    assert!(held.poll().is_none());
    world.pass(Duration::from_millis(1999));
    assert!(!held.woken());
    world.pass(Duration::from_millis(2));
    assert!(held.woken());
    assert!(held.poll().unwrap().is_ok());
}

#[test]
fn a_page_served_steps_down_and_the_bottom_rung_has_no_row() {
    let world = World::new(PaceRules::default());
    world.climb_to(2);
    let learned = world.teach(PaceMove::StepDown, Class::Served, None);
    assert_eq!((learned.before, learned.after, learned.pace), (2, 1, seconds(2)));
    world.teach(PaceMove::StepDown, Class::Served, None);
    assert_eq!(world.rung(), None);
    assert_eq!(world.gate.counters().evicted_quiet, 1);
}

#[test]
fn a_step_down_takes_effect_for_everybody_at_once() {
    let world = World::new(PaceRules::default());
    world.climb_to(5);
    let mut held = world.claim(world.ticket(1));
    assert!(held.poll().is_none());
    world.pass(seconds(20));
    world.teach(PaceMove::StepDown, Class::Served, None);
    world.pass(seconds(9));
    assert!(!held.woken(), "30 s after the stall, not before");
    world.pass(seconds(2));
    assert!(held.woken());
}

#[test]
fn echoes_of_an_incident_climb_but_do_not_push_the_next_start_away() {
    let world = World::new(PaceRules::default());
    let mut attempts: Vec<_> = (0..6).map(|client| world.start(&world.ticket(client))).collect();
    world.pass(seconds(10));
    let first = attempts[0].learn(&world.gate, stalled(), world.now());
    world.pass(seconds(1));
    let echo = attempts[1].learn(&world.gate, stalled(), world.now());
    assert_eq!((first.after, echo.after), (1, 2));
    let stall = world.now() - seconds(1);
    assert!(echo.next_slot >= stall + seconds(5));
    assert!(echo.next_slot < stall + seconds(5) + Duration::from_millis(1));
}

#[test]
fn with_climb_incident_the_echoes_change_nothing() {
    let rules = PaceRules { climb: crate::pace::rules::Climb::Incident, ..PaceRules::default() };
    let world = World::new(rules);
    let mut attempts: Vec<_> = (0..6).map(|client| world.start(&world.ticket(client))).collect();
    world.pass(seconds(10));
    for attempt in &mut attempts {
        attempt.learn(&world.gate, stalled(), world.now());
    }
    assert_eq!(world.rung(), Some(1));
}

#[test]
fn at_the_top_every_stall_of_a_later_attempt_moves_the_anchor() {
    let world = World::new(PaceRules::default());
    world.climb_to(5);
    for _ in 0..2 {
        world.pass(seconds(61));
        let mut probe = world.start(&world.ticket(1));
        world.pass(seconds(10));
        let learned = probe.learn(&world.gate, stalled(), world.now());
        assert_eq!(learned.after, 5);
        assert!(learned.next_slot >= world.now() + seconds(60));
    }
}

#[test]
fn a_pause_holds_everybody_and_the_row_goes_with_it() {
    let world = World::new(PaceRules::default());
    world.teach(PaceMove::StepDown, Class::ServedWait, Some(30));
    assert!(world.gate.try_claim(&world.ticket(1), world.now()).is_none());
    let mut held = world.claim(world.ticket(1));
    assert!(held.poll().is_none());
    assert_eq!(held.hold.reason().unwrap().word(), "pause");
    world.pass(Duration::from_millis(29_999));
    assert!(!held.woken());
    world.pass(Duration::from_millis(1));
    assert!(held.poll().unwrap().is_ok());
    assert_eq!(world.rung(), None);
}

#[test]
fn after_a_pause_the_line_resumes_by_pace() {
    let world = World::new(PaceRules::default());
    world.teach(PaceMove::Climb, Class::ExplicitWait, Some(30));
    let mut line: Vec<_> = (0..20).map(|client| world.claim(world.ticket(client))).collect();
    line.iter_mut().for_each(|held| assert!(held.poll().is_none()));
    world.pass(seconds(30));
    assert_eq!(line.iter().filter(|held| held.woken()).count(), 1);
}

#[test]
fn leaving_the_first_rung_with_300_held_is_not_a_burst() {
    let world = World::new(PaceRules::default());
    world.climb_to(1);
    let mut line: Vec<_> = (0..300).map(|client| world.claim(world.ticket(client))).collect();
    line.iter_mut().for_each(|held| assert!(held.poll().is_none()));
    world.teach(PaceMove::StepDown, Class::Served, None);
    let mut in_flight = Vec::new();
    for served_so_far in 0..300 {
        for held in line.extract_if(.., |held| held.woken()) {
            let mut held = held;
            in_flight.push(held.poll().unwrap().unwrap());
        }
        assert!(in_flight.len() <= 5, "{served_so_far}: {}", in_flight.len());
        let mut done = in_flight.remove(0);
        done.learn(&world.gate, served(), world.now());
    }
    assert!(line.is_empty() && in_flight.is_empty());
    assert_eq!(world.rung(), None);
}

#[test]
fn an_idle_row_goes_and_one_in_use_stays() {
    let world = World::new(PaceRules::default());
    world.climb_to(3);
    let attempt = {
        world.pass(seconds(20));
        world.start(&world.ticket(1))
    };
    let sweep = |world: &World| {
        let mut sweep = std::pin::pin!(world.gate.sweep());
        let mut context = Context::from_waker(Waker::noop());
        while sweep.as_mut().poll(&mut context).is_pending() {}
    };
    world.pass(seconds(3700));
    sweep(&world);
    assert_eq!(world.rung(), Some(3));
    drop(attempt);
    sweep(&world);
    assert_eq!(world.rung(), None);
    assert_eq!(world.gate.counters().evicted_idle, 1);
}

#[test]
fn a_repeat_keeps_a_row_while_it_is_in_flight_and_sees_what_was_served() {
    let world = World::new(PaceRules::default());
    let failed = world.now();
    world.pass(seconds(1));
    let repeat = world.start(&Ticket { repeat: true, ..world.ticket(1) });
    assert_eq!(world.rung(), Some(0));
    assert!(!repeat.evidence(Some(failed), None).later_served);
    world.pass(seconds(1));
    let mut other = world.start(&world.ticket(2));
    other.learn(&world.gate, served(), world.now());
    let evidence = repeat.evidence(Some(failed), None);
    assert!(evidence.served_since && evidence.later_served);
    assert!(!repeat.evidence(Some(world.now()), None).served_since);
    assert!(!repeat.evidence(None, None).served_since);
    drop(repeat);
    assert_eq!(world.rung(), None);
}

#[test]
fn a_repeat_sees_how_the_others_fared_since_it_failed() {
    let world = World::new(PaceRules::default());
    world.teach(PaceMove::Climb, Class::Reset, None);
    let mut first = Permit::plain(shop(), world.now(), true);
    let failed = first.learn(&world.gate, stalled(), world.now());
    let check = |mark: Mark, served, stalled| {
        let mut held = world.claim(Ticket { repeat: true, ..world.ticket(1) });
        world.pass(seconds(60));
        let repeat = held.poll().expect("its turn").expect("a start");
        let evidence = repeat.evidence(Some(world.now()), Some(mark));
        assert_eq!(evidence.others, Others { served, stalled });
    };
    check(failed.mark, 0, 0);
    world.teach(PaceMove::StepDown, Class::Served, None);
    world.teach(PaceMove::Climb, Class::Reset, None);
    world.teach(PaceMove::Nothing, Class::Soft, None);
    check(failed.mark, 1, 1);
    world.teach(PaceMove::StepDown, Class::Served, None);
    world.teach(PaceMove::StepDown, Class::Served, None);
    assert_eq!(world.rung(), None, "the row goes, and with it its counts");
    check(failed.mark, 1, 0);
}

#[test]
fn an_attempt_that_outlived_its_row_makes_a_new_one() {
    let world = World::new(PaceRules::default());
    world.climb_to(1);
    world.pass(seconds(3));
    let mut late = world.start(&world.ticket(1));
    world.teach(PaceMove::StepDown, Class::Served, None);
    assert_eq!(world.rung(), None);
    late.learn(&world.gate, stalled(), world.now());
    assert_eq!(world.rung(), Some(1));
    drop(late);
    assert_eq!(world.rung(), Some(1));
}

#[test]
fn a_start_given_back_does_not_count() {
    let world = World::new(PaceRules::default());
    world.climb_to(1);
    world.pass(seconds(3));
    drop(world.start(&world.ticket(1)));
    let mut used = world.start(&world.ticket(2));
    used.mark_used();
    drop(used);
    assert!(world.claim(world.ticket(3)).poll().is_none());
}

#[test]
fn a_page_of_preset_off_teaches_nothing() {
    let world = World::new(PaceRules::default());
    let mut pass = world.gate.pass(&shop());
    pass.learn(&world.gate, stalled(), world.now());
    assert_eq!(world.rung(), None);
}

#[test]
fn a_clock_that_jumps_back_lets_nobody_go_early() {
    let world = World::new(PaceRules::default());
    world.climb_to(1);
    let stall = world.now();
    let mut held = world.claim(world.ticket(1));
    assert!(held.poll().is_none());
    world.hand.set(stall - seconds(1000));
    world.gate.serve_due();
    assert!(!held.woken());
    world.hand.set(stall + seconds(3));
    world.gate.serve_due();
    assert!(held.poll().unwrap().is_ok());
}
