//! When an answer's head goes out, and what becomes of one that breaks off.

use crate::world::answer::{Answer, Then};
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::response::Response;
use std::time::Duration;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const CONFIG: &str = "pace: {ladder: [0, 0.1, 0.2]}\n\
    limits: {response_buffer: 1KiB}\nretry: {idle_timeout: 1200ms, window: 10s}\n";

/// Gets a page that is answered so; the world and the origin as they are afterwards.
fn play(answers: impl IntoIterator<Item = Answer>) -> (World, Origin, Response) {
    let origin = Origin::http();
    origin.on("/", answers);
    let world = World::start(CONFIG);
    let answer = world.get(&origin.url("shop", "/"));
    (world, origin, answer)
}

fn check_repeated(broken: Answer, class: &str) {
    let name = format!("{broken:?}");
    let whole = Answer::page("whole").header("X-Which", "second");
    let (world, origin, answer) = play([broken.header("X-Which", "first"), whole]);
    assert_eq!((answer.status, answer.text().as_str(), answer.whole), (200, "whole", true));
    assert_eq!(answer.headers("x-which"), ["second"], "{name}");
    assert_eq!(origin.arrivals().len(), 2, "{name}");
    let labels = [("class", class)];
    assert_eq!(world.metrics().count("pacegate_attempts_total", &labels), 1.0, "{name}");
    let labels = [("class", class), ("direction", "up")];
    assert_eq!(world.metrics().count("pacegate_rung_changes_total", &labels), 1.0, "{name}");
}

#[test]
fn a_body_of_known_length_that_breaks_off_is_repeated() {
    check_repeated(Answer::page("0123456789").cut(4, Then::Close), "truncated");
    check_repeated(Answer::page("0123456789").cut(4, Then::Reset), "truncated");
}

#[test]
fn a_body_that_stands_still_is_repeated() {
    check_repeated(Answer::page("0123456789").cut(4, Then::Hang), "truncated");
}

#[test]
fn a_chunked_body_that_breaks_off_early_is_repeated() {
    check_repeated(Answer::page("").chunked("0123456789", 5).cut(8, Then::Close), "truncated");
}

#[test]
fn a_failure_whose_body_is_slow_is_repeated() {
    let slow = Answer::status(503).chunked("please wait a moment", 4).drip(9, millis(90));
    check_repeated(slow, "overloaded");
}

/// An answer that goes out before its body has ended: its head is there before the body begins.
fn check_at_once(answer: Answer, head_within: Duration) -> Response {
    let began = now();
    let (_world, _origin, answer) = play([answer]);
    assert!(answer.whole);
    let waited = answer.end_at.since(answer.head_at);
    assert!(waited >= millis(600), "its body came {waited:?} after its head");
    let late = answer.head_at.since(began);
    assert!(late < head_within + millis(2000), "{late:?}");
    answer
}

#[test]
fn streams_parts_and_large_bodies_go_out_at_once() {
    let late = |answer: Answer| answer.body_after(millis(700));
    let stream = Answer::status(200)
        .header("Content-Type", "Text/Event-Stream; charset=utf-8")
        .chunked("data: 1\n\n", 9);
    check_at_once(late(stream), millis(0));
    let part = Answer::status(206).header("Content-Range", "bytes 0-4/10").body("01234");
    check_at_once(late(part), millis(0));
    let large = check_at_once(late(Answer::page("x".repeat(2000))), millis(0));
    assert_eq!(large.body.len(), 2000);
}

#[test]
fn a_body_of_unknown_length_streams_after_a_quarter_of_a_second() {
    let slow = Answer::page("").chunked("one two three four", 4).drip(9, millis(400));
    let answer = check_at_once(slow, millis(250));
    assert_eq!(answer.text(), "one two three four");
}

#[test]
fn a_body_of_unknown_length_that_ends_soon_is_read_whole() {
    let (_, _, answer) = play([Answer::page("").chunked("one two", 4).drip(9, millis(20))]);
    assert_eq!(answer.text(), "one two");
    let (_, _, answer) = play([Answer::page("").until_close("one two")]);
    assert_eq!(answer.text(), "one two");
}

#[test]
fn a_later_break_ends_the_clients_connection_visibly_and_climbs() {
    let ways = [
        Answer::page("x".repeat(5000)).cut(2500, Then::Close),
        Answer::page("x".repeat(5000)).cut(2500, Then::Hang),
        Answer::page("")
            .chunked("0123456789".repeat(9), 10)
            .drip(15, millis(300))
            .cut(45, Then::Close),
    ];
    for way in ways {
        let name = format!("{way:?}");
        let (world, origin, answer) = play([way]);
        assert_eq!((answer.status, answer.whole), (200, false), "{name}");
        assert_eq!(origin.arrivals().len(), 1, "what was begun is not begun again");
        world.await_exactly("pacegate_host_rung", &[("host", "shop.localhost")], 1.0);
        let labels = [("class", "truncated"), ("direction", "up")];
        assert_eq!(world.metrics().count("pacegate_rung_changes_total", &labels), 1.0, "{name}");
        let labels = [("outcome", "origin_error")];
        assert_eq!(world.metrics().count("pacegate_requests_total", &labels), 1.0, "{name}");
    }
}

#[test]
fn a_discarded_attempt_leaves_nothing_behind() {
    let failed = Answer::status(503)
        .header("Set-Cookie", "a=1")
        .header("X-Bad", "1")
        .header("Trailer", "x")
        .interim("HTTP/1.1 103 Early Hints\r\nLink: </bad>\r\n\r\n")
        .body("broken");
    let good = Answer::raw("HTTP/1.1 200 Fine\r\nDate: Thu, 01 Jan 1970 00:00:01 GMT\r\n")
        .header("X-Good", "1")
        .body("good");
    let (world, origin, answer) = play([failed.clone(), failed, good]);
    assert_eq!(origin.arrivals().len(), 3);
    let head = String::from_utf8(answer.head.clone()).expect("ASCII");
    let (ours, theirs): (Vec<_>, Vec<_>) =
        head.split("\r\n").partition(|line| line.starts_with("pace-status: "));
    assert_eq!(
        theirs.join("\r\n"),
        "HTTP/1.1 200 Fine\r\nDate: Thu, 01 Jan 1970 00:00:01 GMT\r\nX-Good: 1\r\n\
         Content-Length: 4\r\n\r\n"
    );
    assert_eq!(ours.len(), 1);
    assert!(ours[0].contains("attempts=3") && ours[0].contains("last=503"), "{}", ours[0]);
    assert!(answer.interim.is_empty(), "{:?}", answer.interim);
    let metrics = world.metrics();
    assert_eq!(metrics.count("pacegate_request_duration_seconds_count", &[]), 1.0);
    assert_eq!(metrics.count("pacegate_attempts_total", &[("class", "overloaded")]), 2.0);
    assert_eq!(metrics.count("pacegate_requests_total", &[("outcome", "repeated")]), 1.0);
    let took = metrics.count("pacegate_request_duration_seconds_sum", &[]);
    assert!(took >= 0.3, "waits are part of it: {took}");
}

#[test]
fn a_failure_too_large_to_keep_is_delivered_and_not_repeated() {
    let origin = Origin::http();
    let large = "x".repeat(70_000);
    origin.on("/large", [Answer::status(503).body(&large)]);
    origin.on("/small", [Answer::status(503).body("small")]);
    let pace = "pace: {ladder: [0, 0.05]}\nretry: {window: 1s}\n";
    let world = World::start(pace);
    let answer = world.get(&origin.url("a", "/large"));
    assert_eq!((answer.status, answer.body.len(), answer.whole), (503, large.len(), true));
    assert_eq!(origin.arrivals().len(), 1);
    assert_eq!(world.rung("a.localhost"), 1.0, "it climbed all the same");
    let world = World::start(&format!("{pace}limits: {{kept_total: 3}}\n"));
    let answer = world.get(&origin.url("a", "/small"));
    assert_eq!((answer.status, answer.text().as_str()), (503, "small"));
    assert_eq!(origin.arrivals_for("/small").len(), 1, "there is no room for it");
}
