//! The verdict table from outside: what each answer and each fault does to the rung, and whether
//! its request is repeated.

use crate::world::answer::{Answer, Then};
use crate::world::authority::Authority;
use crate::world::door::{Deaf, closed_port};
use crate::world::origin::Origin;
use crate::world::proxy::World;
use std::thread;

/// What is expected of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pace {
    Climbs,
    Stays,
    /// Down one, which takes the host back to no row.
    Steps,
}

/// One row: what the origin does, and what comes of it.
struct Row {
    name: String,
    answers: Vec<Answer>,
    class: &'static str,
    pace: Pace,
    /// The status of a second attempt's answer; `None`: there is no second attempt.
    repeated: bool,
    status: u16,
}

fn row(
    status: u16,
    bend: impl Fn(Answer) -> Answer,
    class: &'static str,
    pace: Pace,
    repeated: bool,
) -> Row {
    let answers = vec![bend(Answer::status(status).body("first")), Answer::page("second")];
    let delivered = if repeated { 200 } else { status };
    Row { name: format!("s{status}-{class}"), answers, class, pace, repeated, status: delivered }
}

fn plain(status: u16, class: &'static str, pace: Pace, repeated: bool) -> Row {
    row(status, |answer| answer, class, pace, repeated)
}

fn waiting(status: u16, class: &'static str, pace: Pace, repeated: bool) -> Row {
    let bend = |answer: Answer| answer.header("Retry-After", "1");
    let row = row(status, bend, class, pace, repeated);
    Row { name: format!("wait-{}", row.name), ..row }
}

fn fault(
    name: &str,
    answer: Answer,
    class: &'static str,
    pace: Pace,
    repeated: bool,
    status: u16,
) -> Row {
    let answers = vec![answer, Answer::page("second")];
    Row { name: name.to_owned(), answers, class, pace, repeated, status }
}

fn table() -> Vec<Row> {
    use Pace::{Climbs, Stays, Steps};
    let mut rows = vec![
        waiting(429, "explicit_wait", Climbs, true),
        waiting(430, "explicit_wait", Climbs, true),
        waiting(503, "explicit_wait", Climbs, true),
        waiting(413, "explicit_wait", Climbs, true),
        waiting(302, "served_wait", Steps, false),
        waiting(500, "overloaded", Climbs, true),
        plain(429, "rate_limited", Climbs, true),
        plain(430, "rate_limited", Climbs, true),
        plain(999, "blocked", Stays, false),
        plain(525, "tls", Stays, false),
        plain(526, "tls", Stays, false),
        Row { status: 502, ..plain(407, "unreachable", Stays, false) },
    ];
    for status in [408, 425] {
        rows.push(plain(status, "soft", Stays, true));
    }
    for status in [500, 502, 503, 504, 507, 508, 509, 520, 521, 524, 529, 530, 598] {
        rows.push(plain(status, "overloaded", Climbs, true));
    }
    for status in [201, 300, 302, 304, 400, 401, 403, 404, 410, 413, 451, 501, 505, 506, 511, 998] {
        rows.push(plain(status, "served", Steps, false));
    }
    rows.extend([
        fault("reset", Answer::nothing(Then::Reset), "reset", Climbs, true, 200),
        fault("closed", Answer::nothing(Then::Close), "reset", Climbs, true, 200),
        fault(
            "half-a-head",
            Answer::raw("HTTP/1.1 200 OK\r\nX: ").then(Then::Close),
            "reset",
            Climbs,
            true,
            200,
        ),
        fault(
            "cut",
            Answer::page("0123456789").cut(3, Then::Reset),
            "truncated",
            Climbs,
            true,
            200,
        ),
        fault("hang", Answer::nothing(Then::Hang), "response_timeout", Climbs, true, 200),
        fault(
            "not-http",
            Answer::raw("220 mail.example ESMTP\r\n\r\n").then(Then::Close),
            "unreachable",
            Stays,
            false,
            502,
        ),
    ]);
    rows
}

const CONFIG: &str = "pace: {ladder: [0, 0.05, 0.1]}\n\
    retry: {window: 10s, response_timeout: 400ms, connect_timeout: 300ms}\n";

/// Checks what metrics say of a host after its one request.
fn check(world: &World, host: &str, class: &str, pace: Pace, repeated: bool) {
    let metrics = world.metrics();
    let count = |name: &str, labels: &[(&str, &str)]| {
        let mut labels = labels.to_vec();
        labels.push(("host", host));
        metrics.count(name, &labels)
    };
    assert_eq!(count("pacegate_attempts_total", &[("class", class)]), 1.0, "{host} is a {class}");
    let attempts = if repeated { 2.0 } else { 1.0 };
    assert_eq!(count("pacegate_attempts_total", &[]), attempts, "{host}");
    let climbed = count("pacegate_rung_changes_total", &[("direction", "up"), ("class", class)]);
    assert_eq!(climbed, f64::from(u8::from(pace == Pace::Climbs)), "{host}");
    let retried = count("pacegate_retries_total", &[("class", class)]);
    assert_eq!(retried, f64::from(u8::from(repeated)), "{host}");
    // What failed and wasn't repeated stays where it was; all else ended with a served page.
    assert_eq!(count("pacegate_host_rung", &[]), 0.0, "{host}");
}

#[test]
fn every_answer_moves_rung_and_request_as_the_table_says() {
    let origin = Origin::http();
    let world = World::start(CONFIG);
    let rows = table();
    for row in &rows {
        origin.on(&format!("/{}", row.name), row.answers.clone());
    }
    let halves: Vec<_> = rows.chunks(rows.len().div_ceil(8)).collect();
    thread::scope(|scope| {
        for rows in halves {
            scope.spawn(|| rows.iter().for_each(|row| play(&world, &origin, row)));
        }
    });
}

fn play(world: &World, origin: &Origin, row: &Row) {
    let path = format!("/{}", row.name);
    let answer = world.get(&origin.url(&row.name, &path));
    assert_eq!(answer.status, row.status, "{}: {}", row.name, answer.text());
    let attempts = origin.arrivals_for(&path);
    assert_eq!(attempts.len(), 1 + usize::from(row.repeated), "{}", row.name);
    check(world, &format!("{}.localhost", row.name), row.class, row.pace, row.repeated);
    if row.name == "s407-unreachable" {
        let status = answer.header("proxy-status").expect("it is ours");
        assert!(status.contains("error=http_protocol_error"), "{status}");
        assert!(status.contains("received-status=407"), "{status}");
    }
}

#[test]
fn a_step_down_is_one_rung_a_page() {
    let origin = Origin::http();
    for status in [404, 501, 302] {
        let path = format!("/{status}");
        origin.on(&path, [Answer::status(status).header("Retry-After", "0")]);
    }
    origin.on("/stall", [Answer::status(500)]);
    let world = World::start(CONFIG);
    for (status, rung) in [(500, 1), (500, 2), (404, 1), (500, 2), (501, 1), (302, 0)] {
        let path = if status == 500 { "/stall".to_owned() } else { format!("/{status}") };
        let answer = world.get_with(&origin.url("shop", &path), "Pace-Retry: 0\r\n");
        assert_eq!(answer.status, status);
        assert_eq!(world.rung("shop.localhost"), f64::from(rung), "after {status}");
    }
}

#[test]
fn a_refused_connection_is_answered_at_once_and_does_not_climb() {
    let world = World::start(CONFIG);
    let answer = world.get(&format!("http://shut.localhost:{}/", closed_port().port()));
    assert_eq!(answer.status, 502);
    check(&world, "shut.localhost", "refused", Pace::Stays, false);
}

#[test]
fn a_connection_that_never_comes_about_climbs_and_is_repeated() {
    let deaf = Deaf::new();
    let world = World::start(CONFIG);
    let url = format!("http://deaf.localhost:{}/", deaf.port());
    let answer = world.get_with(&url, "Pace-Retry: 1\r\n");
    assert_eq!(answer.status, 504, "{}", answer.text());
    let labels = [("host", "deaf.localhost"), ("class", "connect_timeout")];
    let metrics = world.metrics();
    assert_eq!(metrics.count("pacegate_attempts_total", &labels), 2.0);
    assert_eq!(metrics.count("pacegate_retries_total", &labels), 1.0);
    assert_eq!(world.rung("deaf.localhost"), 2.0);
}

#[test]
fn a_certificate_that_does_not_hold_is_answered_at_once_and_does_not_climb() {
    let origin = Origin::https(&Authority::new(), &["bad.localhost"]);
    let world = World::start(CONFIG);
    let mut client = world.tunnel(&format!("bad.localhost:{}", origin.port()));
    let answer = client.get_path("bad.localhost", "/");
    assert_eq!(answer.status, 502);
    check(&world, "bad.localhost", "tls", Pace::Stays, false);
}

#[test]
fn a_switch_of_protocols_is_served_at_its_head() {
    let origin = Origin::http();
    let switch = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n\
        Upgrade: websocket\r\n\r\n";
    origin.on("/socket", [Answer::raw(switch).then(Then::Echo)]);
    let world = World::start("pace: {concurrency: 1}\n");
    let mut client = world.client();
    let fields = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    client.say("GET", &origin.url("shop", "/socket"), fields, "");
    assert_eq!(client.response().status, 101);
    world.await_metric("pacegate_attempts_total", &[("class", "served")], 1.0);
    assert_eq!(world.get(&origin.url("shop", "/")).status, 200, "its slot is free");
    client.send("ping");
    client.finish();
    assert_eq!(client.rest().expect("an orderly end"), b"ping");
}
