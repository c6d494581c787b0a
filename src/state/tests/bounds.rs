//! Who is sent away, and when.

use super::*;
use crate::state::limits::Limits;
use crate::state::ticket::Bound;

#[test]
fn every_bound_on_held_requests_refuses_at_once() {
    let limits = Limits { held: 3, held_per_scope: 2, held_per_client: 1, ..Limits::default() };
    let world = World::with(GateRules { limits, ..GateRules::default() });
    world.climb_to(1);
    let check = |client: u64, want: Bound| {
        let refused = world.claim(world.ticket(client)).poll();
        let Some(Err(Refusal::LineFull { which, retry_after })) = refused else {
            panic!("{client} is held")
        };
        assert_eq!((which, retry_after), (want, seconds(2)));
    };
    let first = world.claim(world.ticket(1));
    check(1, Bound::Client);
    let _second = world.claim(world.ticket(2));
    check(3, Bound::Scope);
    drop(first);
    let _third = world.claim(world.ticket(1));
    assert_eq!(world.gate.counters().held, 2);
}

#[test]
fn a_pause_beyond_the_window_sends_away_who_waits_and_who_comes() {
    let world = World::new(PaceRules::default());
    world.climb_to(2);
    let short = Ticket { window_end: world.now() + seconds(45), ..world.ticket(1) };
    let mut held = world.claim(short.clone());
    let mut patient = world.claim(world.ticket(2));
    assert!(held.poll().is_none() && patient.poll().is_none());
    world.teach(PaceMove::Climb, Class::ExplicitWait, Some(60));
    let until = world.now() + seconds(60);
    assert!(held.woken() && !patient.woken());
    let away = |result: Option<Result<Permit, Refusal>>| match result {
        Some(Err(Refusal::PausedBeyondWindow { until })) => Some(until),
        Some(Ok(_) | Err(_)) | None => None,
    };
    assert_eq!(away(held.poll()), Some(until));
    assert_eq!(away(world.claim(short).poll()), Some(until));
}

#[test]
fn a_stated_deadline_is_refused_only_if_the_best_case_misses_it() {
    let world = World::new(PaceRules::default());
    world.climb_to(3);
    let until = |seconds| Some(world.now() + Duration::from_secs(seconds));
    let claim = |deadline| world.claim(Ticket { deadline, ..world.ticket(1) }).poll();
    let Some(Err(Refusal::Infeasible { retry_after })) = claim(until(14)) else {
        panic!("15 s can't be met in 14")
    };
    assert_eq!(retry_after.as_secs(), 15);
    assert!(claim(until(16)).is_none());
    // Best case with two before it: 15 s, then 5, then 2 (every page served).
    let _ahead = [world.claim(world.ticket(1)), world.claim(world.ticket(1))];
    assert!(claim(until(23)).is_none());
    assert!(claim(until(21)).is_some());
}

#[test]
fn shutting_down_refuses_the_held_and_those_that_would_be() {
    let world = World::new(PaceRules::default());
    world.climb_to(1);
    let mut held = world.claim(world.ticket(1));
    assert!(held.poll().is_none());
    world.gate.drain();
    assert!(held.woken());
    assert!(matches!(held.poll(), Some(Err(Refusal::ShuttingDown))));
    assert!(matches!(world.claim(world.ticket(1)).poll(), Some(Err(Refusal::ShuttingDown))));
    let healthy =
        Ticket { claims: Claims::of(Scope::named("other.example").unwrap()), ..world.ticket(1) };
    assert!(world.claim(healthy).poll().unwrap().is_ok());
}

#[test]
fn when_all_rows_are_taken_newcomers_share_one() {
    let limits = Limits { scopes: 2, ..Limits::default() };
    let world = World::with(GateRules { limits, ..GateRules::default() });
    for name in ["a.example", "b.example", "c.example", "d.example"] {
        let mut attempt = Permit::plain(Scope::named(name).unwrap(), world.now(), true);
        attempt.learn(&world.gate, stalled(), world.now());
    }
    assert_eq!(world.gate.counters().rows, 3);
    let shared = Scope::named("e.example").unwrap();
    assert_eq!(world.gate.row(&shared).map(|row| row.rung), Some(2));
    assert!(world.claim(Ticket { claims: Claims::of(shared), ..world.ticket(1) }).poll().is_none());
}

#[test]
fn a_row_that_keeps_nobody_makes_way_for_a_newcomer_and_no_other_does() {
    let limits = Limits { scopes: 3, ..Limits::default() };
    let world = World::with(GateRules { limits, ..GateRules::default() });
    let host = |name: &str| Scope::named(name).unwrap();
    let ticket = |name| Ticket { claims: Claims::of(host(name)), ..world.ticket(1) };
    let teach = |name, pause| {
        let mut attempt = Permit::plain(host(name), world.now(), true);
        attempt.learn(&world.gate, Lesson { pause, ..stalled() }, world.now());
    };
    teach("free.example", None);
    teach("paused.example", Some(seconds(60)));
    teach("waits.example", None);
    let held = [world.claim(ticket("waits.example")), world.claim(ticket("waits.example"))];
    // All rows keep somebody: a newcomer that fails shares one, and so does the next.
    teach("new.example", None);
    assert!(world.gate.try_claim(&ticket("other.example"), world.now()).is_none());
    world.pass(seconds(3));
    let healthy = world.gate.try_claim(&ticket("other.example"), world.now());
    assert!(healthy.is_some(), "strangers are none of its business");
    teach("new.example", None);
    let row = |name| world.gate.row(&host(name)).map(|row| row.rung);
    assert_eq!((row("free.example"), row("new.example")), (None, Some(1)));
    assert_eq!((row("paused.example"), row("waits.example")), (Some(1), Some(1)));
    assert!(world.gate.counters().evicted_full >= 1);
    drop(held);
}

#[test]
fn hosts_have_rules_of_their_own() {
    let slow = PaceRules { delay: seconds(1), ..PaceRules::default() };
    let scopes = [(shop(), slow)].into();
    let world = World::with(GateRules { scopes, ..GateRules::default() });
    let _first = world.start(&world.ticket(1));
    assert!(world.claim(world.ticket(1)).poll().is_none());
    let other =
        Ticket { claims: Claims::of(Scope::named("other.example").unwrap()), ..world.ticket(1) };
    assert!(world.gate.try_claim(&other, world.now()).is_some());
    assert!(world.gate.try_claim(&other, world.now()).is_some());
}

#[test]
fn the_picture_shows_who_waits_since_when_and_for_what() {
    let world = World::new(PaceRules::default());
    world.climb_to(2);
    let accepted = world.now();
    let _held = [world.claim(world.ticket(1)), world.claim(world.ticket(2))];
    world.pass(seconds(1));
    let picture = world.gate.picture();
    let row = &picture.rows[0];
    assert_eq!((row.rung, row.pace, row.held, row.in_flight), (2, seconds(5), 2, 0));
    assert_eq!((row.oldest, row.cause), (Some(accepted), Some(Class::Overloaded)));
    assert_eq!((row.next_slot.since(accepted).as_secs(), row.paused_until), (5, None));
}

#[tokio::test(start_paused = true)]
async fn one_task_keeps_time_for_all() {
    let clock = Clock::runtime();
    let gate = Gate::new(GateRules::default(), clock.clone());
    tokio::spawn(gate.clone().keep_time());
    tokio::task::yield_now().await;
    let mut attempt = Permit::plain(shop(), clock.now(), true);
    attempt.learn(&gate, stalled(), clock.now());
    let stall = clock.now();
    let ticket = Ticket {
        claims: Claims::of(shop()),
        client: Client { origin: 1, lane: 0 },
        turn: Turn::default(),
        accepted: stall,
        repeat: false,
        not_before: None,
        window_end: stall + seconds(600),
        deadline: None,
    };
    for turn in 1..=3 {
        let mut permit = gate.claim(ticket.clone()).await.unwrap();
        permit.mark_used();
        let waited = permit.started().since(stall);
        assert!(waited >= seconds(2 * turn) && waited < seconds(2 * turn + 1), "{waited:?}");
    }
}

#[test]
fn new_rules_keep_rungs_and_everybody_held() {
    let world = World::new(PaceRules::default());
    world.climb_to(2);
    let mut held = world.claim(world.ticket(1));
    assert!(held.poll().is_none());
    let delay = seconds(20);
    let default = PaceRules { delay, ..PaceRules::default() };
    world.gate.reload(GateRules { default, ..GateRules::default() });
    assert_eq!((world.rung(), world.gate.counters().held), (Some(2), 1));
    world.pass(seconds(19));
    assert!(!held.woken());
    world.pass(seconds(2));
    let mut permit = held.poll().unwrap().unwrap();
    permit.mark_used();
    world.pass(seconds(6));
    assert!(
        world.gate.try_claim(&world.ticket(2), world.now()).is_none(),
        "no way past the new rules"
    );
    let healthy =
        Ticket { claims: Claims::of(Scope::named("other.example").unwrap()), ..world.ticket(1) };
    let _first = world.start(&healthy);
    assert!(world.claim(healthy).poll().is_none());
}

#[test]
fn an_operator_pauses_resumes_pins_and_resets_a_host() {
    let world = World::new(PaceRules::default());
    let host = shop();
    assert!(!world.gate.reset(&host));
    world.gate.pause(&host, seconds(60));
    let mut held = world.claim(world.ticket(1));
    assert!(held.poll().is_none());
    assert!(world.gate.resume(&host));
    assert!(held.poll().unwrap().is_ok());
    world.gate.pin(&host, 3);
    world.teach(PaceMove::StepDown, Class::Served, None);
    assert_eq!(world.rung(), Some(3));
    world.start(&world.ticket(1)).mark_used();
    let mut held = [world.claim(world.ticket(1)), world.claim(world.ticket(1))];
    held.iter_mut().for_each(|held| assert!(held.poll().is_none()));
    assert!(world.gate.reset(&host));
    held.iter_mut().for_each(|held| assert!(held.woken()));
    drop(held);
    assert_eq!(world.rung(), None);
}
