//! Tunnels that are passed through: decided, paced and dialled before their 200.

use crate::world::answer::{Answer, Then};
use crate::world::client::Client;
use crate::world::door::{Deaf, closed_port};
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::until;
use std::time::Duration;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const CONFIG: &str = "tls: {passthrough: [\"*.localhost\"]}\n\
    tunnel: {hold: 800ms}\nretry: {connect_timeout: 300ms}\n";

fn world(pace: &str) -> World {
    World::start(&format!("{CONFIG}pace: {{ladder: [0, {pace}]}}\n"))
}

#[test]
fn a_name_passed_through_is_dialled_and_copied() {
    let origin = Origin::http();
    origin.on("/", [Answer::page("seen")]);
    let world = world("0.5");
    let mut client = world.client();
    let answer = client.connect_to(&format!("shop.localhost:{}", origin.port()));
    assert_eq!(answer.status, 200);
    let odd = |(name, _): &(String, String)| {
        let name = name.to_lowercase();
        name == "content-length" || name == "transfer-encoding"
    };
    assert!(!answer.fields().iter().any(odd), "{:?}", answer.fields());
    until(|| (origin.connections() == 1).then_some(())).expect("dialled before the first bytes");
    assert_eq!(client.get_path("shop.localhost", "/").text(), "seen");
    assert_eq!(origin.arrivals()[0].fields(), [("Host".to_owned(), "shop.localhost".to_owned())]);
    let metrics = world.metrics();
    assert_eq!(metrics.count("pacegate_client_tunnels_total", &[("mode", "passthrough")]), 1.0);
    assert_eq!(metrics.count("pacegate_attempts_total", &[("class", "served")]), 1.0);
}

#[test]
fn a_connect_that_fails_says_how() {
    let deaf = Deaf::new();
    let world = world("0.2");
    let cases = [
        (format!("shut.localhost:{}", closed_port().port()), 502, "connection_refused"),
        ("mail.localhost:25".to_owned(), 403, "http_request_denied"),
        (format!("deaf.localhost:{}", deaf.port()), 504, "connection_timeout"),
    ];
    for (to, status, error) in cases {
        let answer = world.client().connect_to(&to);
        assert_eq!(answer.status, status, "{to}: {}", answer.text());
        let why = answer.header("proxy-status").expect("it is ours");
        assert!(why.contains(&format!("error={error}")), "{to}: {why}");
        assert!(answer.text().starts_with("pacegate: "), "{to}: {}", answer.text());
    }
    assert_eq!(world.rung("deaf.localhost"), 1.0, "a connect time-out climbs");
    assert_eq!(world.rung("shut.localhost"), 0.0);
    let metrics = world.metrics();
    assert_eq!(metrics.count("pacegate_client_tunnels_total", &[("mode", "denied")]), 1.0);
    assert_eq!(metrics.count("pacegate_attempts_total", &[("class", "connect_timeout")]), 1.0);
}

/// Puts a name on rung 1 by a connection that never comes about.
fn stall(world: &World, name: &str) {
    let deaf = Deaf::new();
    let answer = world.client().connect_to(&format!("{name}.localhost:{}", deaf.port()));
    assert_eq!(answer.status, 504, "{}", answer.text());
    assert_eq!(world.rung(&format!("{name}.localhost")), 1.0);
}

#[test]
fn a_connect_is_held_for_its_pace() {
    let origin = Origin::http();
    let world = world("0.5");
    stall(&world, "shop");
    let began = now();
    let answer = world.client().connect_to(&format!("shop.localhost:{}", origin.port()));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.head_at.since(began) >= millis(300), "held");
    world.await_exactly("pacegate_host_rung", &[("host", "shop.localhost")], 0.0);
}

#[test]
fn a_connect_held_too_long_gets_503() {
    let origin = Origin::http();
    let world = world("30");
    stall(&world, "shop");
    let began = now();
    let mut client = world.client();
    let to = format!("shop.localhost:{}", origin.port());
    client.send(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n"));
    world.await_held(1);
    assert_eq!(origin.connections(), 0, "a held CONNECT owns nothing");
    let answer = client.response_to("CONNECT").expect("an answer");
    assert_eq!(answer.status, 503);
    assert!(answer.head_at.since(began) >= millis(800));
    assert!(answer.text().contains("deadline_infeasible"), "{}", answer.text());
    let wait: u64 = answer.header("retry-after").expect("it has one").parse().expect("seconds");
    assert!((1..=30).contains(&wait), "{wait}");
    assert_eq!(origin.connections(), 0);
}

#[test]
fn a_held_connect_whose_client_leaves_is_forgotten() {
    let world = world("30");
    stall(&world, "shop");
    for leave in [Client::reset, drop] {
        let mut client = world.client();
        client.send("CONNECT shop.localhost:443 HTTP/1.1\r\nHost: shop.localhost:443\r\n\r\n");
        world.await_held(1);
        leave(client);
        world.await_held(0);
    }
    world.await_metric("pacegate_client_gone_total", &[("phase", "held")], 2.0);
    let early = [("kind", "deadline_infeasible")];
    assert_eq!(world.metrics().count("pacegate_early_answers_total", &early), 0.0);
}

#[test]
fn opaque_bytes_in_a_tunnel_are_paced_and_copied() {
    let origin = Origin::http();
    let echo = Answer::raw("HTTP/1.1 101 Switching Protocols\r\n\r\n").then(Then::Echo);
    origin.on("/", [echo]);
    let world = World::start("pace: {ladder: [0, 0.3]}\nretry: {connect_timeout: 300ms}\n");
    let mut client = world.client();
    assert_eq!(client.connect_to(&format!("shop.localhost:{}", origin.port())).status, 200);
    assert_eq!(origin.connections(), 0, "the first bytes decide");
    // Not a method: no HTTP.
    client.send("\u{0}\u{1}hello");
    world.await_metric("pacegate_client_tunnels_total", &[("mode", "opaque")], 1.0);
    world.await_metric("pacegate_attempts_total", &[("class", "served")], 1.0);
    client.finish();
    client.rest().ok();
    assert_eq!(origin.connections(), 1);
    let mut refused = world.client();
    assert_eq!(refused.connect_to(&format!("shut.localhost:{}", closed_port().port())).status, 200);
    refused.send("\u{0}\u{1}hello");
    assert!(refused.rest().unwrap_or_default().is_empty(), "failure closes");
}
