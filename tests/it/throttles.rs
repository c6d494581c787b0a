//! What is configured for a healthy host, seen from its origin: each setting so that it shows if it is
//! ignored. Lower bounds are hard, upper ones leave a loaded machine its time.

use crate::world::answer::Answer;
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use pacegate::clock::Tick;
use std::thread;
use std::time::Duration;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// So many requests at once, all served.
fn crowd(world: &World, url: &str, count: usize) {
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| assert_eq!(world.get(url).status, 200));
        }
    });
}

/// When the requests of a crowd arrive after its beginning.
fn arrivals(config: &str, count: usize) -> Vec<Duration> {
    let origin = Origin::http();
    let world = World::start(config);
    let began = now();
    crowd(&world, &origin.url("shop", "/page"), count);
    since(began, &origin, "/page")
}

fn since(began: Tick, origin: &Origin, path: &str) -> Vec<Duration> {
    origin.arrivals_for(path).iter().map(|arrival| arrival.at.since(began)).collect()
}

#[test]
fn two_slots_that_rest_a_second_start_at_0_and_300_and_1000() {
    let found = arrivals("pace: {concurrency: 2, delay: 300ms, slot_delay: 1s}\n", 3);
    assert!(found[0] < millis(300) && found[1] < millis(1000), "{found:?}");
    assert!(found[1] >= millis(300) && found[2] >= millis(1000), "{found:?}");
}

#[test]
fn a_jitter_makes_delays_longer_or_shorter() {
    let found = arrivals("pace: {delay: 100ms, jitter: [0.9, 1]}\n", 5);
    assert!(found[4] >= millis(4 * 190), "{found:?}");
    let found = arrivals("scopes: {shop.localhost: {delay: 3s, jitter: [-0.95, -0.9]}}\n", 4);
    assert!(found[3] >= millis(3 * 150) && found[3] < millis(8500), "not 9 s: {found:?}");
}

#[test]
fn requests_a_minute_are_a_delay() {
    let found = arrivals("pace: {target_rpm: 300, delay: 10ms}\n", 4);
    assert!(found[3] >= millis(600), "{found:?}");
}

#[test]
fn a_quota_is_spent_in_its_span_and_no_faster() {
    let found = arrivals("pace: {quota: 2.5, per: 700ms}\n", 5);
    for (place, least) in [(2, 700), (4, 1400)] {
        assert!(found[place] >= millis(least), "{place}: {found:?}");
    }
    assert!(found[1] < millis(700), "two fit: {found:?}");
}

#[test]
fn all_hosts_together_have_so_many_attempts_under_way() {
    let origin = Origin::http();
    origin.on("/page", [Answer::page("x").after(millis(200))]);
    let world = World::start("limits: {attempts: 2}\n");
    let began = now();
    thread::scope(|scope| {
        for name in ["a", "b", "c", "d", "e", "f"] {
            let (world, url) = (&world, origin.url(name, "/page"));
            scope.spawn(move || assert_eq!(world.get(&url).status, 200));
        }
    });
    let found = since(began, &origin, "/page");
    for (place, at) in found.iter().enumerate().skip(2) {
        assert!(*at >= found[place - 2] + millis(200), "a third one under way: {found:?}");
    }
    let labels = [("reason", "concurrency")];
    assert!(world.metrics().count("pacegate_wait_seconds_count", &labels) >= 4.0);
}

#[test]
fn rampup_begins_with_the_least_and_ends_with_the_most_at_once() {
    let origin = Origin::http();
    origin.on("/page", [Answer::page("x").after(millis(200))]);
    let world = World::start(
        "pace: {law: backoff, concurrency: 4, min_concurrency: 2}\n\
         backoff: {quiet: 1s, rampup: {target: 1}}\n",
    );
    let began = now();
    crowd(&world, &origin.url("shop", "/page"), 60);
    let found = since(began, &origin, "/page");
    let at_once = |place: usize| {
        let under_way = |at: &&Duration| **at + millis(190) > found[place];
        found[..=place].iter().filter(under_way).count()
    };
    let (early, late): (Vec<_>, Vec<_>) =
        (0..found.len()).partition(|place| found[*place] < millis(990));
    assert!(early.iter().all(|place| at_once(*place) <= 2), "{found:?}");
    assert!(late.iter().all(|place| at_once(*place) <= 4), "{found:?}");
    assert!(late.iter().any(|place| at_once(*place) > 2), "{found:?}");
}
