//! Waits that origins name: never early, for nobody, and what can't be read is no wait.

use crate::world::answer::Answer;
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use std::thread;
use std::time::{Duration, SystemTime};

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const CONFIG: &str = "pace: {ladder: [0, 0.05, 0.1]}\nretry: {window: 20s}\n";

/// One way to name a wait: the status, the field lines, the least wait, and how it is read.
type Hint = (u16, Vec<(&'static str, String)>, u64, &'static str);

fn date(ahead: u64) -> String {
    // Any fixed moment will do: the wait counts from the answer's own Date.
    let base = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    httpdate::fmt_http_date(base + Duration::from_secs(ahead))
}

fn hints() -> Vec<Hint> {
    let after = |text: &str| ("Retry-After", text.to_owned());
    let dated = |ahead| vec![("Date", date(10)), ("Retry-After", date(ahead))];
    vec![
        (429, vec![after("1")], 1000, "ok"),
        (503, vec![after("001")], 1000, "ok"),
        (413, vec![after("1")], 1000, "ok"),
        (429, dated(11), 1000, "ok"),
        (503, dated(10), 1000, "ok"),
        (429, vec![after("0"), after("2"), after("1")], 2000, "ok"),
        (429, vec![("Date", date(0)), after("1800000002")], 2000, "epoch"),
        (429, vec![after("0")], 0, "zero"),
        (503, vec![after("-3")], 0, "negative"),
        (429, dated(9), 0, "past"),
        (503, vec![after("120junk")], 0, "malformed"),
        (429, vec![after("+3")], 0, "malformed"),
        (503, vec![after("1.5")], 0, "malformed"),
        (429, vec![after("")], 0, "malformed"),
        (429, vec![("Date", "soon".into()), after("Sun, 06 Nov 1994 08:49:37 GMT")], 0, "past"),
    ]
}

#[test]
fn a_named_wait_is_never_cut_short_and_nonsense_is_no_wait() {
    let origin = Origin::http();
    let world = World::start(CONFIG);
    thread::scope(|scope| {
        for (number, hint) in hints().into_iter().enumerate() {
            let (world, origin) = (&world, &origin);
            scope.spawn(move || check(world, origin, number, &hint));
        }
    });
}

fn check(world: &World, origin: &Origin, number: usize, hint: &Hint) {
    let (status, fields, least, read) = hint;
    let mut first = Answer::status(*status);
    for (name, value) in fields {
        first = first.header(name, value);
    }
    let path = format!("/{number}");
    origin.on(&path, [first, Answer::page("good")]);
    let answer = world.get(&origin.url(&format!("h{number}"), &path));
    let what = format!("{status} {fields:?}");
    assert_eq!(answer.status, 200, "{what}");
    let arrivals = origin.arrivals_for(&path);
    assert_eq!(arrivals.len(), 2, "{what}");
    let gap = arrivals[1].at.since(arrivals[0].at);
    assert!(gap >= millis(*least), "{what}: {gap:?} is early");
    if *least == 0 {
        assert!(gap >= millis(50), "{what}: the normal step applies");
    }
    let labels = [("header", "retry-after"), ("result", *read)];
    assert!(world.metrics().count("pacegate_hints_total", &labels) >= 1.0, "{what}: {read}");
    let pause = [("host", &*format!("h{number}.localhost")), ("class", "explicit_wait")];
    let paused = world.metrics().count("pacegate_attempts_total", &pause);
    assert_eq!(paused, f64::from(u8::from(*least > 0)), "{what}");
    let waited = [("host", &*format!("h{number}.localhost")), ("reason", "pause")];
    let waited = world.metrics().count("pacegate_host_wait_seconds_total", &waited);
    assert_eq!(waited > 0.0, *least > 0, "{what}: {waited} s of a pause");
}

#[test]
fn waits_too_long_to_keep_are_answered_at_once_with_the_field_intact() {
    let origin = Origin::http();
    let world = World::start("retry: {window: 4s}\nretry_after: {max: 60s}\n");
    let texts = ["9999999999", "99999999999999999999999999", "61", "3600", "5"];
    for (number, text) in texts.into_iter().enumerate() {
        for status in [429, 503] {
            let path = format!("/{status}-{number}");
            origin.on(&path, [Answer::status(status).header("Retry-After", text).body("later")]);
            let began = now();
            let answer = world.get(&origin.url(&format!("h{status}-{number}"), &path));
            assert_eq!((answer.status, answer.text().as_str()), (status, "later"));
            assert_eq!(answer.headers("retry-after"), [text]);
            assert!(now().since(began) < millis(3000), "at once");
            assert_eq!(origin.arrivals_for(&path).len(), 1);
        }
    }
    // The pause is capped, and the scope keeps it.
    let answer = world.get(&origin.url("h429-0", "/next"));
    let wait: u64 = answer.header("retry-after").expect("it has one").parse().expect("seconds");
    assert_eq!(answer.status, 503);
    assert!((50..=60).contains(&wait), "{wait}");
}

#[test]
fn a_pause_is_for_everybody_and_the_line_resumes_by_pace() {
    let origin = Origin::http();
    origin.on("/stop", [Answer::status(429).header("Retry-After", "1"), Answer::page("on")]);
    let pace = millis(150);
    let world = World::start("pace: {ladder: [0, 0.15, 0.16, 0.17]}\nretry: {window: 20s}\n");
    thread::scope(|scope| {
        let stopped = scope.spawn(|| world.get(&origin.url("shop", "/stop")));
        let first = origin.await_arrivals(1)[0].at;
        world.await_metric("pacegate_host_rung", &[("host", "shop.localhost")], 1.0);
        let others: Vec<_> =
            (0..3).map(|_| scope.spawn(|| world.get(&origin.url("shop", "/page")))).collect();
        for other in others {
            assert_eq!(other.join().expect("an answer").status, 200);
        }
        assert_eq!(stopped.join().expect("an answer").status, 200);
        let arrivals = origin.arrivals();
        assert!(arrivals[1].at.since(first) >= millis(1000), "nobody before the pause is over");
        // The first after the pause is served and takes the host back to rung 0: the rest follow.
        let last = arrivals.last().expect("there is one").at;
        assert!(last.since(first) < millis(1000) + pace * 20);
    });
    let waited = [("host", "shop.localhost"), ("reason", "pause")];
    assert!(world.metrics().count("pacegate_host_wait_seconds_total", &waited) >= 2.0);
}

#[test]
fn a_redirect_that_names_a_wait_is_delivered_and_the_next_one_waits() {
    let origin = Origin::http();
    let moved = Answer::status(302).header("Retry-After", "1").header("Location", "/next");
    origin.on("/", [moved]);
    let world = World::start(CONFIG);
    let began = now();
    let answer = world.get(&origin.url("shop", "/"));
    assert_eq!((answer.status, answer.header("retry-after")), (302, Some("1".into())));
    assert!(now().since(began) < millis(900));
    assert_eq!(world.get(&origin.url("shop", "/next")).status, 200);
    let arrivals = origin.arrivals();
    assert!(arrivals[1].at.since(arrivals[0].at) >= millis(1000));
}
