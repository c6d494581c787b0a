//! Delays, scopes, turns and trust of one request: what is asked for is what the origin sees.

use crate::world::answer::{Answer, Then};
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use std::thread;
use std::time::Duration;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A proxy user of that label, in Base64.
fn label(label: &str) -> String {
    let token = match label {
        "heavy" => "aGVhdnk6eA==",
        "light" => "bGlnaHQ6eA==",
        other => panic!("no token for {other}"),
    };
    format!("Proxy-Authorization: Basic {token}\r\n")
}

/// Lines these requests up behind one that hangs, in order, and lets the line go: the paths as they
/// arrived.
fn order(config: &str, requests: &[(String, String)]) -> Vec<String> {
    let origin = Origin::http();
    origin.on("/hang", [Answer::nothing(Then::Hang)]);
    let world = World::start(config);
    let mut first = world.client();
    let url = origin.url("shop", "/hang");
    first.send(format!("GET {url} HTTP/1.1\r\nHost: shop\r\n\r\n"));
    origin.await_arrivals(1);
    thread::scope(|scope| {
        for (place, (path, fields)) in requests.iter().enumerate() {
            let url = origin.url("shop", path);
            let world = &world;
            scope.spawn(move || world.get_with(&url, fields));
            world.await_exactly("pacegate_held_requests", &[], (place + 1) as f64);
        }
        drop(first);
    });
    origin.arrivals().iter().skip(1).map(|arrival| arrival.target.clone()).collect()
}

#[test]
fn a_delay_is_waited_once_and_not_before_repeats() {
    let origin = Origin::http();
    origin.on("/page", [Answer::status(503), Answer::page("good")]);
    let world = World::start("pace: {ladder: [0, 0.05]}\n");
    let began = now();
    let answer = world.get_with(&origin.url("shop", "/page"), "Pace-Delay: 1.5\r\n");
    assert_eq!((answer.status, answer.text().as_str()), (200, "good"));
    let arrivals = origin.arrivals();
    let waited = arrivals[0].at.since(began);
    assert!(waited >= millis(1500), "{waited:?}");
    let gap = arrivals[1].at.since(arrivals[0].at);
    assert!(gap < millis(1400), "{gap:?}");
    assert_eq!(world.metrics().count("pacegate_wait_seconds_count", &[("reason", "request")]), 1.0);
    assert!(arrivals.iter().all(|arrival| arrival.headers("pace-delay").is_empty()));
    // A delay doesn't use the window up, and can't outlive a deadline.
    let fields = "Pace-Delay: 0.6\r\nPace-Window: 0.1\r\n";
    assert_eq!(world.get_with(&origin.url("other", "/"), fields).status, 200);
    let fields = "Pace-Delay: 9\r\nPace-Deadline: 5\r\n";
    let refused = world.get_with(&origin.url("third", "/"), fields);
    assert_eq!(refused.status, 503);
    assert!(refused.text().contains("deadline"), "{}", refused.text());
}

#[test]
fn what_is_not_tracked_obeys_the_pace_and_teaches_nothing() {
    let origin = Origin::http();
    origin.on("/busy", [Answer::status(503)]);
    origin.on("/wait", [Answer::status(429).header("Retry-After", "1"), Answer::page("good")]);
    let world = World::start("pace: {ladder: [0, 0.7, 0.8]}\n");
    let url = origin.url("shop", "/busy");
    let untracked = "Pace-Track: no\r\nPace-Retry: off\r\n";
    assert_eq!(world.get_with(&url, untracked).status, 503);
    assert_eq!(world.rung("shop.localhost"), 0.0);
    assert_eq!(world.get_with(&url, "Pace-Retry: off\r\n").status, 503);
    assert_eq!(world.rung("shop.localhost"), 1.0);
    assert_eq!(world.get_with(&url, untracked).status, 503);
    let [_, tracked, last] = &origin.arrivals()[..] else { panic!("three of them") };
    let gap = last.at.since(tracked.at);
    assert!(gap >= millis(600), "it obeys: {gap:?}");
    assert_eq!(world.rung("shop.localhost"), 1.0, "neither up nor down");
    // A pause that nobody is told of is its own.
    let answer = world.get_with(&origin.url("other", "/wait"), "Pace-Track: no\r\n");
    assert_eq!(answer.status, 200);
    let arrivals = origin.arrivals_for("/wait");
    let gap = arrivals[1].at.since(arrivals[0].at);
    assert!(gap >= millis(900), "{gap:?}");
    assert_eq!(world.rung("other.localhost"), 0.0);
}

#[test]
fn a_bypass_goes_past_the_pace_where_it_is_allowed() {
    let origin = Origin::http();
    origin.on("/busy", [Answer::status(503)]);
    let config = "pace: {ladder: [0, 30, 40]}\n";
    for (trust, allowed) in [("loopback", true), ("all", true), ("off", false)] {
        let world = World::start(&format!(
            "control_headers: {trust}\n{config}retry: {{max_attempts: 1}}\n"
        ));
        let host = format!("shop-{trust}");
        assert_eq!(world.get(&origin.url(&host, "/busy")).status, 503);
        assert_eq!(world.rung(&format!("{host}.localhost")), 1.0);
        if allowed {
            let fields = "Pace-Bypass: yes\r\nPace-Deadline: 5\r\n";
            assert_eq!(world.get_with(&origin.url(&host, "/"), fields).status, 200, "{trust}");
            let fields = "Pace-Bypass: no\r\nPace-Deadline: 5\r\n";
            assert_eq!(world.get_with(&origin.url(&host, "/"), fields).status, 503, "{trust}");
            assert_eq!(world.rung(&format!("{host}.localhost")), 1.0, "it teaches nothing");
        } else {
            let mut client = world.client();
            let url = origin.url(&host, "/");
            client.send(format!("GET {url} HTTP/1.1\r\nHost: {host}\r\nPace-Bypass: yes\r\n\r\n"));
            world.await_exactly("pacegate_held_requests", &[], 1.0);
        }
    }
}

#[test]
fn a_trusted_request_names_its_scopes() {
    let origin = Origin::http();
    let world = World::start("scopes: {api: {delay: 0.7s}}\n");
    for fields in [
        "Pace-Scope: api\r\n",
        "Pace-Scope: api;n=2.5\r\n",
        "Proxy-Authorization: Basic eDtzY29wZT1hcGk6eA==\r\n",
    ] {
        assert_eq!(world.get_with(&origin.url("shop", "/"), fields).status, 200);
    }
    let arrivals = origin.arrivals();
    for pair in arrivals.windows(2) {
        let gap = pair[1].at.since(pair[0].at);
        assert!(gap >= millis(550), "{gap:?}");
    }
    let ours = |name: &str| arrivals.iter().all(|arrival| arrival.headers(name).is_empty());
    assert!(ours("pace-scope") && ours("proxy-authorization"));
}

#[test]
fn urgent_requests_of_a_client_have_more_of_its_turns() {
    let fields = |urgency: u8| format!("Priority: u={urgency}, i\r\n");
    let mut requests: Vec<_> = (0..6).map(|n| (format!("/late-{n}"), fields(6))).collect();
    requests.extend((0..3).map(|n| (format!("/soon-{n}"), fields(1))));
    let arrived = order("pace: {concurrency: 1}\n", &requests);
    assert_eq!(arrived.len(), 9);
    let late = arrived.iter().take(4).filter(|path| path.starts_with("/late")).count();
    assert_eq!(late, 1, "{arrived:?}");
}

#[test]
fn labels_share_a_line_by_their_weights() {
    let mut requests: Vec<_> = (0..6).map(|n| (format!("/light-{n}"), label("light"))).collect();
    requests.extend((0..6).map(|n| (format!("/heavy-{n}"), label("heavy"))));
    let config = "pace: {concurrency: 1}\nclients: {weights: {heavy: 3}}\n";
    let arrived = order(config, &requests);
    let heavy = arrived.iter().take(8).filter(|path| path.starts_with("/heavy")).count();
    assert_eq!((arrived.len(), heavy), (12, 6), "{arrived:?}");
}

#[test]
fn a_priority_is_passed_on_and_a_bad_one_is_no_error() {
    let origin = Origin::http();
    let world = World::start("");
    for value in ["u=1, i", "u=9", "nonsense;;"] {
        let answer = world.get_with(&origin.url("shop", "/"), &format!("Priority: {value}\r\n"));
        assert_eq!(answer.status, 200);
        assert_eq!(origin.arrivals().last().expect("it came").headers("priority"), [value]);
    }
}
