//! The laws `backoff` and `fixed` over real sockets: each setting so that it shows if it is ignored.

use crate::world::answer::Answer;
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use std::time::Duration;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn origin() -> Origin {
    let origin = Origin::http();
    for status in [418, 429, 500, 503] {
        origin.on(&format!("/{status}"), [Answer::status(status)]);
    }
    origin
}

impl World {
    /// One attempt that is not repeated, whatever it comes to.
    fn once(&self, origin: &Origin, path: &str) {
        self.get_with(&origin.url("shop", path), "Pace-Retry: 0\r\n");
    }

    fn delay(&self) -> f64 {
        self.metrics().sum("pacegate_host_delay_seconds", &[]).unwrap_or_default()
    }
}

#[test]
fn triggers_multiply_the_delay_from_the_least_to_the_most() {
    let origin = origin();
    let world = World::start(
        "pace: {law: backoff}\nbackoff: {min: 200ms, factor: 3, max: 700ms, jitter: 0, quiet: 1h}\n",
    );
    let delays = [0.2, 0.6, 0.7, 0.7];
    for (place, want) in delays.into_iter().enumerate() {
        world.once(&origin, "/429");
        assert!((world.delay() - want).abs() < 1e-9, "{place}: {}", world.delay());
        assert_eq!(world.rung("shop.localhost"), [1.0, 2.0, 2.0, 2.0][place], "steps back");
    }
    assert_eq!(world.get(&origin.url("shop", "/page")).status, 200);
    assert!((world.delay() - 0.7).abs() < 1e-9, "a page changes nothing");
    let arrivals = origin.arrivals();
    for (pair, least) in arrivals.windows(2).zip(delays) {
        let gap = pair[1].at.since(pair[0].at);
        assert!(gap >= Duration::from_secs_f64(least), "{gap:?} after {least}");
    }
}

#[test]
fn the_configured_delay_is_what_grows() {
    let origin = origin();
    let world =
        World::start("pace: {law: backoff, delay: 100ms}\nbackoff: {min: 10ms, jitter: 0}\n");
    world.once(&origin, "/503");
    world.once(&origin, "/503");
    assert!((world.delay() - 0.4).abs() < 1e-9, "{}", world.delay());
}

#[test]
fn quiet_spells_bring_the_delay_back_without_anybody_asking() {
    let origin = origin();
    let world = World::start(
        "pace: {law: backoff}\nbackoff: {min: 100ms, factor: 2, jitter: 0, quiet: 300ms}\n",
    );
    let began = now();
    world.once(&origin, "/429");
    world.once(&origin, "/429");
    world.await_exactly("pacegate_host_rung", &[], 0.0);
    assert!(now().since(began) >= millis(600), "two steps back");
    assert_eq!(world.delay(), 0.0);
}

#[test]
fn what_is_named_triggers_and_nothing_else() {
    let origin = origin();
    let world = World::start(
        "pace: {law: backoff}\nbackoff: {statuses: 418, errors: refused, min: 10ms, jitter: 0}\n\
         scopes: {own.localhost: {backoff: {statuses: 500}}}\n",
    );
    for path in ["/429", "/500", "/503"] {
        world.once(&origin, path);
        assert_eq!(world.delay(), 0.0, "{path}");
    }
    world.once(&origin, "/418");
    assert!((world.delay() - 0.01).abs() < 1e-9, "{}", world.delay());
    let nobody = {
        let gone = Origin::http();
        gone.url("nobody", "/page")
    };
    assert_eq!(world.get(&nobody).status, 502);
    assert_eq!(world.rung("nobody.localhost"), 1.0);
    world.get_with(&origin.url("own", "/500"), "Pace-Retry: 0\r\n");
    assert_eq!(world.rung("own.localhost"), 1.0);
}

#[test]
fn the_jitter_of_backing_off_takes_the_place_of_the_other() {
    let origin = origin();
    let world = World::start(
        "pace: {law: backoff, jitter: [-1, -1]}\nbackoff: {min: 200ms, jitter: [1, 1]}\n",
    );
    world.once(&origin, "/429");
    world.once(&origin, "/page");
    let arrivals = origin.arrivals();
    let gap = arrivals[1].at.since(arrivals[0].at);
    assert!(gap >= millis(400), "{gap:?}");
}

#[test]
fn a_named_wait_is_kept_up_to_the_most() {
    for (named, least, most) in [(1, 1000, 15_000), (19, 1500, 15_000)] {
        let origin = Origin::http();
        let wait = Answer::status(429).header("Retry-After", &named.to_string());
        origin.on("/page", [wait, Answer::page("x")]);
        let world = World::start("pace: {law: backoff}\nbackoff: {min: 100ms, max: 1500ms}\n");
        assert_eq!(world.get(&origin.url("shop", "/page")).status, 200);
        let arrivals = origin.arrivals();
        let gap = arrivals[1].at.since(arrivals[0].at);
        assert!(gap >= millis(least) && gap < millis(most), "{named}: {gap:?}");
    }
}

#[test]
fn under_the_law_fixed_a_host_is_not_slowed_and_a_failed_request_waits_by_itself() {
    let origin = origin();
    let bad = Answer::status(503);
    origin.on("/flaky", [bad.clone(), bad.clone(), bad, Answer::page("x")]);
    let world = World::start("pace: {law: fixed, ladder: [0, 0.3, 0.5]}\n");
    assert_eq!(world.get(&origin.url("shop", "/flaky")).status, 200);
    let flaky = origin.arrivals_for("/flaky");
    // The first repeat goes at once, the next two a rung each.
    let span = flaky[3].at.since(flaky[0].at);
    assert!(span >= millis(800), "{span:?}");
    assert_eq!(world.delay(), 0.0);
    assert_eq!(world.metrics().count("pacegate_rung_changes_total", &[]), 0.0);
}
