//! Answers that are something else than their status says: blocks, and limits that come as a 403.

use crate::world::answer::Answer;
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use std::time::Duration;

const CONFIG: &str = "pace: {ladder: [0, 0.05, 0.1]}\nretry: {window: 20s}\n";
const SECOND: Duration = Duration::from_secs(1);

// squirrelscan/squirrelscan#196, scrapy-zyte-smartproxy#39: a field tells the meanings of a 503 apart.
#[test]
fn a_challenge_is_handed_on_at_once_and_slows_nobody_down() {
    let origin = Origin::http();
    let world = World::start(CONFIG);
    let challenge =
        |status| Answer::status(status).header("cf-mitigated", "challenge").body("prove it");
    for (status, answer) in
        [(403, challenge(403)), (503, challenge(503)), (999, Answer::status(999).body("prove it"))]
    {
        let path = format!("/{status}");
        origin.on(&path, [answer, Answer::page("good")]);
        let got = world.get(&origin.url(&format!("h{status}"), &path));
        assert_eq!((got.status, got.text().as_str()), (status, "prove it"));
        assert_eq!(origin.arrivals_for(&path).len(), 1);
        let host = format!("h{status}.localhost");
        let class = [("host", &*host), ("class", "blocked")];
        assert!(world.metrics().count("pacegate_attempts_total", &class) >= 1.0, "{status}");
        assert!(
            world.metrics().sum("pacegate_host_rung", &[("host", &host)]).is_none_or(|r| r == 0.0)
        );
    }
    // Without the mark a 503 is what it always is.
    origin.on("/plain", [Answer::status(503), Answer::page("good")]);
    assert_eq!(world.get(&origin.url("plain", "/plain")).status, 200);
    assert_eq!(origin.arrivals_for("/plain").len(), 2);
}

// octokit/plugin-throttling.js#566: a limit may come as a 403.
#[test]
fn under_the_preset_api_a_403_with_the_marks_of_a_limit_is_waited_for() {
    let origin = Origin::http();
    let world = World::start(CONFIG);
    let limit = || Answer::status(403).header("Retry-After", "1").body("slow down");
    origin.on("/limit", [limit(), Answer::page("good")]);
    let got = world.get_with(&origin.url("api", "/limit"), "Pace-Preset: api\r\n");
    assert_eq!(got.status, 200);
    let arrivals = origin.arrivals_for("/limit");
    assert!(arrivals[1].at.since(arrivals[0].at) >= SECOND, "early");
    // Elsewhere it is an answer like any other.
    origin.on("/plain", [limit(), Answer::page("good")]);
    assert_eq!(world.get(&origin.url("plain", "/plain")).status, 403);
    assert_eq!(origin.arrivals_for("/plain").len(), 1);
}

#[test]
fn a_limit_told_by_its_text_alone_is_a_minute() {
    let origin = Origin::http();
    let world = World::start("preset: api\nretry: {window: 20s}\n");
    let text = "{\"message\": \"You have exceeded a secondary rate limit.\"}";
    let limit = Answer::status(403).header("X-RateLimit-Remaining", "4990").body(text);
    origin.on("/secondary", [limit]);
    origin.on("/private", [Answer::status(403).body("not yours")]);
    let began = now();
    let got = world.get(&origin.url("api", "/secondary"));
    assert_eq!((got.status, got.text().as_str()), (403, text), "the wait doesn't fit the window");
    assert!(now().since(began) < SECOND * 3, "at once");
    let next = world.get(&origin.url("api", "/next"));
    let wait: u64 = next.header("retry-after").expect("it has one").parse().expect("seconds");
    assert!(next.status == 503 && (50..=60).contains(&wait), "{} {wait}", next.status);
    assert_eq!(world.get(&origin.url("other", "/private")).status, 403);
    assert_eq!(world.get(&origin.url("other", "/next")).status, 200);
}

#[test]
fn under_the_preset_api_two_repeats_are_enough() {
    let origin = Origin::http();
    let world = World::start(&format!("{CONFIG}preset: api\n"));
    origin.on("/", [Answer::status(429).body("later")]);
    let got = world.get(&origin.url("api", "/"));
    assert_eq!((got.status, got.text().as_str()), (429, "later"));
    assert_eq!(origin.arrivals().len(), 3);
}
