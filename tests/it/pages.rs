//! One page's fault is not the site's: a page that always fails among healthy ones.

use crate::world::answer::{Answer, Then};
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::response::Response;
use pacegate::clock::Tick;
use std::sync::Mutex;
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

/// A page that fails so always gets its last answer, and the crawl is not slowed down by it: the
/// host climbs so often at most.
fn check(failure: Answer, class: &str, want: u16, climbs: f64) {
    let origin = Origin::http();
    origin.on("/bad", [failure]);
    origin.on("/page", [Answer::page("good").after(millis(20))]);
    let world = World::start("pace: {ladder: [0, 0.2, 0.4, 0.8]}\nretry: {window: 15s}\n");
    let (bad, served) = crawl(&world, &origin);
    assert_eq!(bad.status, want, "{}", bad.text());
    let attempts = world.metrics().count("pacegate_attempts_total", &[("class", class)]);
    assert!((3.0..=climbs + 3.0).contains(&attempts), "page_faults is 3: {attempts} attempts");
    // Where a pooled connection dies at once, an attempt arrives twice.
    let tries = origin.arrivals_for("/bad").len() as f64;
    assert!((attempts..=attempts * 2.0).contains(&tries), "{tries} for {attempts} attempts");
    let up = [("direction", "up"), ("class", class)];
    let climbed = world.metrics().count("pacegate_rung_changes_total", &up);
    assert!(climbed <= climbs, "one page made the site climb {climbed} times");
    assert!(served > 20, "the others went on meanwhile: {served}");
    world.await_exactly("pacegate_host_rung", &[("host", "shop.localhost")], 0.0);
}

#[test]
fn a_page_that_always_answers_500_gets_its_last_answer_and_slows_nothing() {
    check(Answer::status(500).body("broken page"), "overloaded", 500, 3.0);
}

#[test]
fn a_page_that_always_breaks_does_not_slow_the_crawl() {
    // An attempt that started later is served meanwhile.
    check(Answer::nothing(Then::Reset).after(millis(700)), "reset", 502, 3.0);
}

#[test]
fn a_page_that_breaks_at_once_is_singled_out_as_soon_as_enough_others_were_served() {
    check(Answer::nothing(Then::Reset), "reset", 502, 8.0);
    check(Answer::page("0123456789").cut(3, Then::Reset), "truncated", 502, 8.0);
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

/// Sixty pages by twelve clients at a shop that resets some attempts; every page must come.
fn all_pages_come(decide: impl Fn() -> Answer + Send + Sync + 'static) {
    let origin = Origin::http();
    origin.decide("/page", move |_| decide());
    let world = World::start("pace: {ladder: [0, 0.05, 0.1, 0.2]}\nretry: {window: 120s}\n");
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let answer = world.get(&origin.url("shop", "/page"));
                    assert_eq!(answer.status, 200, "a page was lost: {}", answer.text());
                }
            });
        }
    });
    let resets = world.metrics().count("pacegate_attempts_total", &[("class", "reset")]);
    assert!(resets > 5.0, "{resets} resets: no overload");
    assert!(world.metrics().count("pacegate_rung_changes_total", &[]) > 5.0, "the pace reacts");
}

#[test]
fn a_shop_that_resets_what_is_too_much_for_it_loses_no_page() {
    let busy: Mutex<Vec<Tick>> = Mutex::default();
    all_pages_come(move || {
        let (mut busy, now) = (busy.lock().expect("nobody panics with it"), now());
        busy.retain(|end| *end > now);
        if busy.len() >= 2 {
            return Answer::nothing(Then::Reset);
        }
        busy.push(now + millis(60));
        Answer::page("good").after(millis(60))
    });
}

#[test]
fn a_shop_that_resets_every_other_attempt_loses_no_page() {
    let count = AtomicUsize::new(0);
    all_pages_come(move || match count.fetch_add(1, Ordering::Relaxed) % 2 {
        0 => Answer::nothing(Then::Reset),
        _ => Answer::page("good").after(millis(5)),
    });
}

#[test]
fn a_bad_page_that_asked_first_does_not_keep_the_rest_of_its_client_out() {
    let origin = Origin::http();
    let pages = ["/1", "/2", "/3", "/4"];
    origin.on("/bad", [Answer::status(500)]);
    for page in pages {
        // The site has a hiccup: everybody fails once, and waits for a repeat.
        origin.on(page, [Answer::status(503), Answer::page("good")]);
    }
    let world = World::start("pace: {ladder: [0, 0.1, 0.2, 0.4]}\nretry: {window: 12s}\n");
    thread::scope(|scope| {
        let (world, origin) = (&world, &origin);
        let get = move |path: &'static str| world.client().get(&origin.url("shop", path)).status;
        let bad = scope.spawn(move || get("/bad"));
        origin.await_arrivals(1);
        let good = pages.map(|page| scope.spawn(move || get(page)));
        for answer in good {
            assert_eq!(answer.join().expect("no panic"), 200);
        }
        assert_eq!(bad.join().expect("no panic"), 500);
    });
    assert!(origin.arrivals_for("/bad").len() <= 8, "page_faults is 3");
}
