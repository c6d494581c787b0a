//! What never ends by itself: interim answers, bodies in drips, clients and connections that have
//! gone quiet. None of it may keep a request, a slot or anybody else for good.

use crate::world::answer::{Answer, Then};
use crate::world::client::Client;
use crate::world::folder::Folder;
use crate::world::origin::Origin;
use crate::world::proxy::{World, address_after, pacegate, send_signal};
use crate::world::{now, until};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

#[test]
fn interim_answers_without_end_are_no_answer() {
    let flood = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(200_000);
    let origin = Origin::http();
    origin.on("/flood", [Answer::page("late").interim(&flood)]);
    origin.on("/few", [Answer::page("soon").interim(&flood[..41 * 2000])]);
    let world = World::start("");
    for (method, fields) in [("GET", ""), ("POST", ""), ("GET", UPGRADE)] {
        let answer = world.ask(method, &origin.url("shop", "/flood"), fields, "");
        let status = answer.header("proxy-status").unwrap_or_default();
        assert_eq!(answer.status, 502, "{method}: {}", answer.text());
        assert!(status.contains("http_protocol_error") && status.contains("interim"), "{status}");
    }
    assert_eq!(origin.arrivals_for("/flood").len(), 3, "nothing is repeated");
    let few = world.get(&origin.url("shop", "/few"));
    assert_eq!((few.status, few.text().as_str()), (200, "soon"));
}

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\n";

#[test]
fn a_reset_within_an_answer_ends_it_while_the_origin_pauses() {
    let half = || Answer::page("x".repeat(300_000)).cut(1000, Then::Hang);
    let events =
        Answer::raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n");
    for answer in [half(), events.then(Then::Hang)] {
        let origin = Origin::http();
        origin.on("/long", [answer]);
        let world = World::start("");
        let mut client = world.client();
        client.say("GET", &origin.url("shop", "/long"), "", "");
        client.head();
        client.reset();
        let left = now();
        origin.await_departures(1);
        world.await_metric("pacegate_client_gone_total", &[("phase", "answer")], 1.0);
        world.await_exactly("pacegate_requests_in_flight", &[], 0.0);
        assert!(now().since(left) < Duration::from_secs(5));
        assert_eq!(world.metrics().count("pacegate_rung_changes_total", &[]), 0.0);
    }
}

#[test]
fn a_short_body_in_drips_reaches_its_client_at_the_windows_end() {
    let drip = Duration::from_millis(100);
    let origin = Origin::http();
    origin.on("/drips", [Answer::page("0123456789".repeat(4)).drip(1, drip)]);
    let world = World::start("retry: {window: 800ms, response_timeout: 400ms}\n");
    let mut client = world.client();
    client.say("GET", &origin.url("shop", "/drips"), "", "");
    let answer = client.response();
    let (head, end) = (answer.head_at, answer.end_at);
    assert_eq!((answer.status, answer.text()), (200, "0123456789".repeat(4)));
    assert!(end.since(head) > Duration::from_secs(2), "its head came with its end");
}

#[test]
fn a_log_that_nobody_reads_stops_nobody() {
    let folder = Folder::new();
    let mut child = pacegate(&folder)
        .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut log = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
    let ready = log.find_map(|line| line.ok().filter(|line| line.contains("ready")));
    let proxy = address_after(&ready.expect("it says so"), "proxy").expect("an address");
    let origin = Origin::http();
    let url = origin.url("shop", &format!("/{}", "x".repeat(190)));
    let mut client = Client::connect(proxy);
    // A pipe holds 64 KiB, a request is a line of some 400 bytes.
    for _ in 0..400 {
        assert_eq!(client.get(&url).status, 200);
    }
    send_signal(child.id(), "TERM");
    let ended = until(|| child.try_wait().expect("our own child"));
    child.kill().ok();
    child.wait().ok();
    assert!(ended.is_some_and(|status| status.success()), "it ends when told to: {ended:?}");
    drop(log);
}
