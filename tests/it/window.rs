//! A request's window: what happens at its end, and what a pause beyond it does.

use crate::world::answer::{Answer, Then};
use crate::world::door::Deaf;
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use std::thread;
use std::time::Duration;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Puts a host on rung 1 with one request that isn't repeated.
fn stall(world: &World, url: &str) {
    let answer = world.get_with(url, "Pace-Retry: 0\r\n");
    assert_eq!(answer.status, 500, "{}", answer.text());
}

#[test]
fn at_the_windows_end_the_client_gets_the_last_answer_untouched() {
    let origin = Origin::http();
    origin.decide("/", |arrival| {
        let number = format!("at {:?}", arrival.at);
        Answer::raw("HTTP/1.1 503 Rather Busy\r\n")
            .header("X-ODD-case", "1")
            .header("Set-Cookie", "a=1")
            .header("Date", "Thu, 01 Jan 1970 00:00:01 GMT")
            .header("Set-Cookie", "b=2")
            .body(number)
    });
    let world = World::start("pace: {ladder: [0, 0.1, 0.2]}\nretry: {window: 900ms}\n");
    let began = now();
    let answer = world.get(&origin.url("shop", "/"));
    let arrivals = origin.arrivals();
    assert!(arrivals.len() >= 3, "it was repeated: {}", arrivals.len());
    let last = arrivals.last().expect("there is one");
    assert_eq!((answer.status, answer.text()), (503, format!("at {:?}", last.at)));
    assert!(last.at.since(began) < millis(900), "no attempt starts after the window");
    let fields = answer.fields();
    let names: Vec<_> = fields.iter().map(|(name, _)| name.as_str()).collect();
    let want = ["X-ODD-case", "Set-Cookie", "Set-Cookie", "Date", "Content-Length", "pace-status"];
    assert_eq!(names, want);
    assert!(answer.head.starts_with(b"HTTP/1.1 503 Rather Busy\r\n"));
    let exhausted = [("host", "shop.localhost"), ("class", "overloaded")];
    assert_eq!(world.metrics().count("pacegate_window_exhausted_total", &exhausted), 1.0);
    let ended = [("outcome", "origin_error")];
    assert_eq!(world.metrics().count("pacegate_requests_total", &ended), 1.0);
}

#[test]
fn what_was_attempted_and_never_answered_gets_504() {
    let origin = Origin::http();
    origin.on("/reset", [Answer::nothing(Then::Reset)]);
    origin.on("/hang", [Answer::nothing(Then::Hang)]);
    let deaf = Deaf::new();
    let world = World::start(
        "pace: {ladder: [0, 0.2]}\n\
         retry: {window: 700ms, response_timeout: 150ms, connect_timeout: 150ms}\n",
    );
    let cases = [
        (origin.url("a", "/reset"), "http_response_timeout"),
        (origin.url("b", "/hang"), "http_response_timeout"),
        (format!("http://c.localhost:{}/", deaf.port()), "connection_timeout"),
    ];
    thread::scope(|scope| {
        for (url, error) in &cases {
            let world = &world;
            scope.spawn(move || {
                let answer = world.get(url);
                assert_eq!(answer.status, 504, "{url}: {}", answer.text());
                let status = answer.header("proxy-status").expect("it is ours");
                assert!(status.contains(&format!("error={error};")), "{url}: {status}");
                assert!(answer.text().contains("target_timeout"), "{}", answer.text());
            });
        }
    });
    assert!(origin.arrivals_for("/reset").len() >= 2);
}

#[test]
fn what_was_never_sent_gets_one_last_attempt_and_such_starts_are_two_seconds_apart() {
    let origin = Origin::http();
    origin.on("/stall", [Answer::status(500)]);
    origin.on("/late", [Answer::status(503).body("no"), Answer::page("unasked for")]);
    let world = World::start("pace: {ladder: [0, 60]}\nretry: {window: 300ms}\n");
    let (stall_url, late) = (origin.url("shop", "/stall"), origin.url("shop", "/late"));
    stall(&world, &stall_url);
    let began = now();
    let answers = thread::scope(|scope| {
        let asked: Vec<_> = (0..2).map(|_| scope.spawn(|| world.get(&late))).collect();
        asked.into_iter().map(|asked| asked.join().expect("an answer").status).collect::<Vec<_>>()
    });
    let arrivals = origin.arrivals_for("/late");
    assert_eq!(arrivals.len(), 2, "one attempt each");
    assert!(arrivals[0].at.since(began) >= millis(300), "not before the window's end");
    assert!(arrivals[0].at.since(began) < millis(1500), "the ladder is skipped");
    assert!(arrivals[1].at.since(began) >= millis(2300), "2 s after the first start");
    let mut statuses = answers;
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 503], "and what it brings is the answer");
}

#[test]
fn with_answer_the_never_sent_get_503_at_the_windows_end() {
    let origin = Origin::http();
    origin.on("/stall", [Answer::status(500)]);
    let world =
        World::start("pace: {ladder: [0, 60]}\nretry: {window: 300ms, window_close: answer}\n");
    stall(&world, &origin.url("shop", "/stall"));
    let began = now();
    let answer = world.get(&origin.url("shop", "/late"));
    assert_eq!(answer.status, 503);
    assert!(answer.head_at.since(began) >= millis(300));
    assert!(answer.text().contains("deadline_infeasible"), "{}", answer.text());
    let wait: u64 = answer.header("retry-after").expect("on every 503").parse().expect("seconds");
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(origin.arrivals_for("/late").len(), 0);
}

#[test]
fn an_attempt_under_way_at_the_windows_end_runs_to_its_own_limit() {
    let origin = Origin::http();
    origin.on("/", [Answer::page("late").after(millis(600))]);
    let world = World::start("retry: {window: 200ms}\n");
    assert_eq!(world.get(&origin.url("shop", "/")).text(), "late");
    origin.on("/", [Answer::nothing(Then::Hang)]);
    let world = World::start("retry: {window: 200ms, response_timeout: 500ms}\n");
    let began = now();
    assert_eq!(world.get(&origin.url("shop", "/")).status, 504);
    assert!(now().since(began) >= millis(500));
}

#[test]
fn a_pause_beyond_the_window_is_answered_at_once_in_both_modes() {
    let origin = Origin::http();
    let busy = Answer::status(503).header("Retry-After", "30").header("X-A", "b").body("later");
    origin.on("/", [busy]);
    for close in ["send", "answer"] {
        let text = format!("retry: {{window: 5s, window_close: {close}}}\n");
        let world = World::start(&text);
        let began = now();
        let first = world.get(&origin.url("shop", "/"));
        assert_eq!((first.status, first.text().as_str()), (503, "later"), "its own answer");
        assert_eq!(first.header("retry-after"), Some("30".into()));
        assert_eq!(first.header("x-a"), Some("b".into()));
        let second = world.get(&origin.url("shop", "/other"));
        assert_eq!(second.status, 503);
        let wait: u64 = second.header("retry-after").expect("it has one").parse().expect("seconds");
        assert!((25..=30).contains(&wait), "the remaining seconds: {wait}");
        assert!(second.header("proxy-status").is_some(), "it is ours");
        assert!(now().since(began) < millis(4000), "at once");
        assert!(origin.arrivals_for("/other").is_empty());
    }
}

#[test]
fn who_waits_when_a_pause_beyond_the_window_comes_gets_its_last_answer_at_once() {
    let origin = Origin::http();
    origin.on("/a", [Answer::status(500).body("mine")]);
    let slow = Answer::status(429).header("Retry-After", "40").after(millis(500));
    origin.on("/b", [slow]);
    let world = World::start("pace: {ladder: [0, 20, 25]}\nretry: {window: 30s}\n");
    thread::scope(|scope| {
        let pausing = scope.spawn(|| world.get(&origin.url("shop", "/b")));
        let arrived = origin.await_arrivals(1)[0].at;
        let waiting = world.get(&origin.url("shop", "/a"));
        assert_eq!((waiting.status, waiting.text().as_str()), (500, "mine"));
        assert!(waiting.head_at.since(arrived) >= millis(500), "once the pause was known");
        let paused = pausing.join().expect("an answer");
        assert_eq!((paused.status, paused.header("retry-after")), (429, Some("40".into())));
    });
}
