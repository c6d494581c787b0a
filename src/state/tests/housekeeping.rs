//! What is forgotten, what never is, and that names which nobody meant cost little.

use super::*;
use crate::pace::rules::Ladder;
use crate::state::limits::Limits;

fn fails(world: &World, name: &str, pause: Option<Duration>) {
    let scope = Scope::named(name).unwrap();
    let mut attempt = Permit::plain(scope, world.now(), true);
    attempt.learn(&world.gate, Lesson { pause, ..stalled() }, world.now());
}

fn sweep(world: &World) {
    let mut sweep = Box::pin(world.gate.sweep());
    while sweep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {}
}

#[test]
fn a_pause_outlives_its_idle_time_and_newcomers_and_goes_when_it_is_over() {
    let limits = Limits { scopes: 2, ..Limits::default() };
    let ladder = Ladder::new(vec![Duration::ZERO, seconds(1)]).unwrap();
    let default = PaceRules { idle: seconds(5), ladder, ..PaceRules::default() };
    let world = World::with(GateRules { default, limits, ..GateRules::default() });
    fails(&world, "paused.example", Some(seconds(3600)));
    fails(&world, "pinned.example", None);
    world.gate.pin(&Scope::named("pinned.example").unwrap(), 1);
    let kept = || {
        let row = |name| world.gate.row(&Scope::named(name).unwrap());
        let paused = row("paused.example").is_some_and(|row| row.paused_until.is_some());
        let pinned = row("pinned.example").is_some_and(|row| row.pinned == Some(1));
        (paused, pinned)
    };
    for newcomer in 0..100 {
        world.pass(seconds(20));
        sweep(&world);
        fails(&world, &format!("h{newcomer}.example"), None);
        assert_eq!(kept(), (true, true), "{newcomer}");
    }
    world.pass(seconds(1700));
    sweep(&world);
    assert!(!kept().0, "nobody asked for it since its pause was over");
}

/// As many as `PACEGATE_MANY` says; a tenth of a million in an ordinary run.
fn many() -> usize {
    std::env::var("PACEGATE_MANY").ok().and_then(|many| many.parse().ok()).unwrap_or(100_000)
}

#[test]
fn made_up_hosts_and_scopes_leave_no_more_rows_than_there_may_be() {
    let limits = Limits { scopes: 1000, ..Limits::default() };
    let world = World::with(GateRules { limits, ..GateRules::default() });
    for number in 0..many() {
        let name = match number % 2 {
            0 => format!("h{number}.example"),
            _ => format!("api/{number}"),
        };
        fails(&world, &name, Some(seconds(1)).filter(|_| number % 3 == 0));
        if number % 1000 == 0 {
            world.pass(seconds(1));
            sweep(&world);
        }
        let rows = world.gate.counters().rows;
        assert!(rows <= 1001, "{number}: {rows}");
    }
    assert!(world.gate.counters().evicted_full > 0, "the free ones made way");
    // Whoever comes now and never failed is not held up by them.
    world.pass(seconds(3600));
    let healthy = Scope::named("healthy.example").unwrap();
    let ticket = Ticket { claims: Claims::of(healthy), ..world.ticket(1) };
    assert!(world.claim(ticket).poll().is_some_and(|claimed| claimed.is_ok()));
    world.pass(seconds(3600));
    sweep(&world);
    assert!(world.gate.counters().rows <= 1, "all that was made up is forgotten");
}
