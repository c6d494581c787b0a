//! What presets change: who repeats, and what is answered during a pause.

use crate::world::answer::{Answer, Then};
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use std::time::Duration;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// An origin with its troubles, and how often each was asked in the end.
fn troubled() -> Origin {
    let origin = Origin::http();
    origin.on("/limited", [Answer::status(429).body("slow down")]);
    origin.on("/wait", [Answer::status(503).header("Retry-After", "40").body("later")]);
    origin.on("/busy", [Answer::status(503).body("busy")]);
    origin.on("/broken", [Answer::status(500).body("broken")]);
    origin.on("/gone", [Answer::nothing(Then::Reset)]);
    origin
}

#[test]
fn strict_passes_a_no_on_and_answers_others_until_the_pause_is_over() {
    let origin = troubled();
    let world = World::start("pace: {ladder: [0, 0.05]}\n");
    let strict = "Pace-Preset: strict\r\n";
    for (host, path, status, least, most) in
        [("a", "/limited", 429, 25, 30), ("b", "/wait", 503, 35, 40)]
    {
        let answer = world.get_with(&origin.url(host, path), strict);
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(answer.header("proxy-status"), None, "it is the site's own");
        let answer = world.get_with(&origin.url(host, "/"), strict);
        assert_eq!(answer.status, 429, "{path}");
        assert!(answer.text().contains("(target_rate_limited)"), "{}", answer.text());
        let status = answer.header("proxy-status").expect("it is ours");
        assert!(status.contains("error=http_request_denied"), "{status}");
        let left: u64 = answer.header("retry-after").expect("a wait").parse().expect("seconds");
        assert!((least..=most).contains(&left), "{left}");
        assert_eq!(world.get_with(&origin.url(&format!("{host}{host}"), "/"), strict).status, 200);
    }
    assert_eq!(origin.arrivals_for("/limited").len() + origin.arrivals_for("/wait").len(), 2);
}

#[test]
fn strict_repeats_twice_what_has_no_answer() {
    let origin = troubled();
    let world = World::start("preset: strict\npace: {ladder: [0, 0.05]}\n");
    for (path, status, attempts) in [("/busy", 503, 3), ("/gone", 502, 3), ("/broken", 500, 1)] {
        let answer = world.get(&origin.url(&format!("h{attempts}{status}"), path));
        assert_eq!((answer.status, origin.arrivals_for(path).len()), (status, attempts), "{path}");
    }
}

#[test]
fn scrapy_leaves_repeats_to_the_client_and_begins_with_its_pace() {
    let origin = troubled();
    let world = World::start("preset: scrapy\npace: {delay: 0.6s, jitter: 0}\n");
    let began = now();
    assert_eq!(world.get(&origin.url("shop", "/broken")).status, 500);
    assert_eq!(world.get(&origin.url("shop", "/broken")).status, 500);
    assert_eq!(origin.arrivals().len(), 2, "no repeats");
    let took = now().since(began);
    assert!(took >= millis(600), "its own delay, in place of the preset's: {took:?}");
    let other = World::start("pace: {ladder: [0, 0.05]}\n");
    let answer = other.get_with(&origin.url("other", "/busy"), "Pace-Preset: scrapy\r\n");
    assert_eq!((answer.status, origin.arrivals_for("/busy").len()), (503, 1));
    let both = "Pace-Preset: scrapy\r\nPace-Retry: 1\r\n";
    let answer = other.get_with(&origin.url("other", "/busy"), both);
    assert_eq!((answer.status, origin.arrivals_for("/busy").len()), (503, 3));
}
