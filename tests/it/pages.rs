//! One page's fault is not the site's: a page that always fails among healthy ones.

use crate::world::answer::{Answer, Then};
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::response::Response;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Crawls healthy pages with five clients for as long as a sixth waits for the bad one.
fn crawl(world: &World, origin: &Origin) -> (Response, usize) {
    let (over, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    let bad = thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| {
                let mut client = world.client();
                while !over.load(Ordering::Relaxed) {
                    assert_eq!(client.get(&origin.url("shop", "/page")).status, 200);
                    served.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let bad = world.get(&origin.url("shop", "/bad"));
        over.store(true, Ordering::Relaxed);
        bad
    });
    (bad, served.into_inner())
}

/// A page that fails so always gets its last answer, and the crawl is not slowed down by it.
fn check(failure: Answer, class: &str, want: u16) {
    let origin = Origin::http();
    origin.on("/bad", [failure]);
    origin.on("/page", [Answer::page("good").after(millis(20))]);
    let world = World::start("pace: {ladder: [0, 0.2, 0.4, 0.8]}\nretry: {window: 15s}\n");
    let (bad, served) = crawl(&world, &origin);
    assert_eq!(bad.status, want, "{}", bad.text());
    let tries = origin.arrivals_for("/bad").len();
    assert!((3..=6).contains(&tries), "page_faults is 3: {tries} attempts");
    let attempts = world.metrics().count("pacegate_attempts_total", &[("class", class)]);
    assert_eq!(attempts, tries as f64, "each is counted once");
    let climbs = [("direction", "up"), ("class", class)];
    let climbed = world.metrics().count("pacegate_rung_changes_total", &climbs);
    assert!(climbed <= 3.0, "one page made the site climb {climbed} times");
    assert!(served > 20, "the others went on meanwhile: {served}");
    world.await_exactly("pacegate_host_rung", &[("host", "shop.localhost")], 0.0);
}

#[test]
fn a_page_that_always_answers_500_gets_its_last_answer_and_slows_nothing() {
    check(Answer::status(500).body("broken page"), "overloaded", 500);
}

#[test]
fn a_page_that_always_breaks_does_not_slow_the_crawl() {
    // An attempt that started later must be served meanwhile: a break at once tells nothing.
    check(Answer::nothing(Then::Reset).after(millis(700)), "reset", 502);
}

#[test]
fn without_page_faults_every_failure_is_the_sites() {
    let origin = Origin::http();
    origin.on("/bad", [Answer::status(500)]);
    let config = "pace: {ladder: [0, 0.05]}\nretry: {window: 1s, page_faults: none}\n";
    let world = World::start(config);
    let (bad, _) = crawl(&world, &origin);
    assert_eq!(bad.status, 500);
    assert!(origin.arrivals_for("/bad").len() > 4);
}
