//! The laws `backoff` and `fixed` as the gate enforces them, and what keeps their rows.

use super::*;
use crate::pace::backoff::{Backoff, Rampup};
use crate::pace::jitter::Jitter;
use crate::pace::rules::Law;
use crate::state::limits::Limits;

fn backoff(jitter: Jitter) -> PaceRules {
    let backoff = Backoff { jitter, ..Backoff::default() };
    PaceRules { law: Law::Backoff, backoff, ..PaceRules::default() }
}

/// An answer that is judged as this status.
fn answer(class: Class, pace: PaceMove, status: u16) -> Lesson {
    Lesson { status: Some(status), ..Lesson::new(class, pace) }
}

fn too_many() -> Lesson {
    answer(Class::RateLimited, PaceMove::Climb, 429)
}

impl World {
    /// Teaches by an attempt that nobody counts.
    fn learn(&self, lesson: Lesson) -> Learned {
        Permit::plain(shop(), self.now(), true).learn(&self.gate, lesson, self.now())
    }

    fn pace(&self) -> Option<f64> {
        self.gate.row(&shop()).map(|row| row.pace.as_secs_f64())
    }

    fn sweep(&self) {
        let mut sweep = std::pin::pin!(self.gate.sweep());
        let mut context = Context::from_waker(Waker::noop());
        while sweep.as_mut().poll(&mut context).is_pending() {}
    }
}

#[test]
fn a_healthy_host_has_no_row_under_the_law_backoff_either() {
    let world = World::new(backoff(Jitter::TENTH));
    for _ in 0..10 {
        let mut permit = world.start(&world.ticket(1));
        permit.learn(&world.gate, answer(Class::Served, PaceMove::StepDown, 200), world.now());
    }
    assert_eq!(world.gate.counters().rows, 0);
}

#[test]
fn triggers_hold_the_next_and_time_alone_brings_the_delay_back() {
    let world = World::new(backoff(Jitter::NONE));
    for want in [1.0, 2.0, 4.0] {
        let learned = world.learn(too_many());
        assert!(learned.slows);
        assert_eq!(world.pace(), Some(want));
    }
    assert_eq!(world.rung(), Some(3));
    let mut held = world.claim(world.ticket(1));
    assert!(held.poll().is_none());
    assert_eq!(held.hold.reason().map(|why| why.word()), Some("pace"));
    world.pass(Duration::from_millis(3999));
    assert!(!held.woken());
    world.pass(Duration::from_millis(2));
    let mut permit = held.poll().expect("its turn").expect("a start");
    let served = answer(Class::Served, PaceMove::StepDown, 200);
    let learned = permit.learn(&world.gate, served, world.now());
    assert_eq!((learned.before, learned.after), (3, 3), "what is served changes nothing");
    world.pass(seconds(56));
    assert_eq!((world.rung(), world.pace()), (Some(2), Some(2.0)), "60 s after the last trigger");
    world.pass(seconds(60));
    assert_eq!((world.rung(), world.pace()), (Some(1), Some(1.0)));
    drop(permit);
    world.pass(seconds(61));
    world.sweep();
    assert_eq!(world.rung(), None);
}

#[test]
fn a_line_goes_faster_the_moment_a_step_is_taken_back() {
    let mut rules = backoff(Jitter::NONE);
    rules.backoff.quiet = seconds(5);
    rules.backoff.min = seconds(64);
    let world = World::new(rules);
    world.learn(too_many());
    let mut held = world.claim(world.ticket(1));
    assert!(held.poll().is_none());
    world.pass(Duration::from_millis(4999));
    assert!(!held.woken());
    world.pass(Duration::from_millis(2));
    assert!(held.poll().expect("the delay is over").is_ok());
}

#[test]
fn only_what_is_named_is_a_trigger_and_no_page_of_its_own_fault() {
    let world = World::new(backoff(Jitter::NONE));
    let check = |lesson: Lesson, slows: bool| {
        assert_eq!(world.learn(lesson).slows, slows, "{lesson:?}");
        world.gate.reset(&shop());
    };
    check(answer(Class::Overloaded, PaceMove::Climb, 503), true);
    check(answer(Class::Overloaded, PaceMove::Climb, 500), false);
    check(Lesson::new(Class::Reset, PaceMove::Climb), true);
    check(Lesson::new(Class::Abandoned, PaceMove::Climb), false);
    check(Lesson { excused: true, ..answer(Class::Overloaded, PaceMove::Nothing, 502) }, false);
    check(Lesson { excused: true, ..Lesson::new(Class::ConnectTimeout, PaceMove::Nothing) }, false);
    let mut rules = backoff(Jitter::NONE);
    rules.backoff.statuses = vec![(403, 403)];
    let world = World::new(rules);
    assert!(world.learn(answer(Class::Served, PaceMove::StepDown, 403)).slows, "without a row");
}

#[test]
fn a_named_wait_is_a_hard_minimum_up_to_the_most() {
    for (named, kept) in [(30, 30), (900, 300)] {
        let world = World::new(backoff(Jitter::TENTH));
        let wait = Some(seconds(named));
        let learned = world.learn(Lesson { pause: wait, class: Class::ExplicitWait, ..too_many() });
        assert_eq!(learned.paused_until, Some(world.now() + seconds(kept)));
        let mut line: Vec<_> = (0..9).map(|client| world.claim(world.ticket(client))).collect();
        line.iter_mut().for_each(|held| assert!(held.poll().is_none()));
        world.pass(seconds(kept) - Duration::from_millis(1));
        assert!(line.iter().all(|held| !held.woken()));
        world.pass(Duration::from_millis(1));
        let woken = line.iter().filter(|held| held.woken()).count();
        // After 60 s without a trigger there is no delay left: then the drain bounds the herd.
        assert_eq!(woken, if kept < 60 { 1 } else { 5 });
    }
}

#[test]
fn the_jitter_of_a_delay_is_drawn_and_stays_within_its_bounds() {
    let mut waits = Vec::new();
    for _ in 0..40 {
        let world = World::new(backoff(Jitter::TENTH));
        world.learn(too_many());
        let next = world.gate.row(&shop()).expect("a row").next_slot;
        waits.push(next.since(world.now()).as_secs_f64());
    }
    assert!(waits.iter().all(|wait| (0.9..1.11).contains(wait)), "{waits:?}");
    let (least, most) = waits.iter().fold((9.0_f64, 0.0_f64), |(a, b), w| (a.min(*w), b.max(*w)));
    assert!(most - least > 0.05, "{waits:?}");
}

#[test]
fn a_running_backoff_is_never_evicted() {
    let limits = Limits { scopes: 1, ..Limits::default() };
    let mut default = backoff(Jitter::NONE);
    default.idle = seconds(5);
    let world = World::with(GateRules { default, limits, ..GateRules::default() });
    world.learn(too_many());
    world.learn(too_many());
    world.pass(seconds(30));
    world.sweep();
    assert_eq!(world.pace(), Some(2.0), "idle for long, and nobody waits");
    let other = Scope::named("other.example").unwrap();
    Permit::plain(other, world.now(), true).learn(&world.gate, too_many(), world.now());
    assert_eq!(world.pace(), Some(2.0), "nor for another's sake");
    let counters = world.gate.counters();
    assert_eq!((counters.evicted_idle, counters.evicted_full), (0, 0));
}

#[test]
fn rampup_lets_one_more_go_after_each_window_that_is_quiet() {
    let mut rules = backoff(Jitter::NONE);
    rules.backoff.rampup = Some(Rampup::default());
    let world = World::new(rules);
    let mut in_flight = vec![world.start(&world.ticket(1))];
    let mut line: Vec<_> = (0..5).map(|_| world.claim(world.ticket(1))).collect();
    line.iter_mut().for_each(|held| assert!(held.poll().is_none()));
    assert_eq!(line[0].hold.reason().map(|why| why.word()), Some("concurrency"));
    for want in 2..5 {
        world.pass(seconds(61));
        let mut held = line.remove(0);
        assert!(held.woken(), "{want}");
        in_flight.push(held.poll().expect("its turn").expect("a start"));
        assert!(line.iter().all(|held| !held.woken()));
    }
    // One trigger is the target, the second is beyond it.
    assert!(!in_flight[0].learn(&world.gate, too_many(), world.now()).slows);
    assert!(in_flight[1].learn(&world.gate, too_many(), world.now()).slows);
    in_flight.truncate(3);
    assert!(line.iter().all(|held| !held.woken()), "three are still three");
}

#[test]
fn the_law_fixed_learns_nothing_but_keeps_pauses_and_the_evidence() {
    let world = World::new(PaceRules { law: Law::Fixed, ..PaceRules::default() });
    for _ in 0..5 {
        let learned = world.learn(answer(Class::Overloaded, PaceMove::Climb, 503));
        assert_eq!((learned.after, learned.slows), (0, false));
        assert!(world.claim(world.ticket(1)).poll().expect("at once").is_ok());
    }
    let failed = world.now();
    world.pass(seconds(60));
    let repeat = world.start(&Ticket { repeat: true, ..world.ticket(1) });
    assert!(!repeat.evidence(Some(failed), None).served_since, "nobody was served since");
    drop(repeat);
    world.pass(seconds(61));
    world.sweep();
    assert_eq!(world.rung(), None);
    let wait = Some(seconds(900));
    assert!(world.learn(Lesson { pause: wait, ..too_many() }).slows);
    let mut held = world.claim(Ticket { window_end: Tick::NEVER, ..world.ticket(1) });
    assert!(held.poll().is_none());
    world.pass(seconds(899));
    assert!(!held.woken());
    world.pass(seconds(1));
    assert!(held.poll().expect("its turn").is_ok());
}

#[test]
fn a_host_may_have_another_law_and_a_reload_changes_it_for_those_who_wait() {
    let scopes = [(shop(), backoff(Jitter::NONE))].into();
    let world = World::with(GateRules { scopes, ..GateRules::default() });
    world.learn(too_many());
    assert_eq!(world.pace(), Some(1.0));
    let mut held = world.claim(world.ticket(1));
    assert!(held.poll().is_none());
    let default = PaceRules { law: Law::Fixed, ..PaceRules::default() };
    world.gate.reload(GateRules { default, ..GateRules::default() });
    assert!(held.poll().expect("no law holds it").is_ok());
    world.gate.reload(GateRules::default());
    world.climb_to(2);
    assert_eq!(world.pace(), Some(5.0), "the ladder again");
}

#[test]
fn an_operator_pins_a_step_and_resets_it() {
    let world = World::new(backoff(Jitter::NONE));
    world.gate.pin(&shop(), 3);
    world.learn(too_many());
    world.pass(seconds(900));
    assert_eq!(world.pace(), Some(4.0));
    world.gate.reset(&shop());
    assert!(world.claim(world.ticket(1)).poll().expect("free").is_ok());
}
