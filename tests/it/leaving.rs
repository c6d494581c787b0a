//! A client that leaves, and one that only seems to: while its request is held and while an attempt
//! is under way. And what a held request does not have.

use crate::world::answer::{Answer, Then};
use crate::world::authority::Authority;
use crate::world::client::Client;
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use std::time::Duration;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const GONE: &str = "pacegate_client_gone_total";
const ATTEMPTS: &str = "pacegate_attempts_total";

/// A host on rung 1 with so long a pace, and its origin.
fn stalled(pace: &str) -> (World, Origin) {
    let origin = Origin::http();
    origin.on("/stall", [Answer::status(500)]);
    let config = format!("pace: {{ladder: [0, {pace}]}}\nretry: {{abandoned_after: 300ms}}\n");
    let world = World::start(&config);
    let answer = world.get_with(&origin.url("shop", "/stall"), "Pace-Retry: 0\r\n");
    assert_eq!(answer.status, 500);
    (world, origin)
}

/// After a departure nothing is left of the request, and the host is where it was.
fn check_gone(world: &World, origin: &Origin, phase: &str) {
    world.await_metric(GONE, &[("phase", phase)], 1.0);
    world.await_held(0);
    world.await_exactly("pacegate_requests_in_flight", &[], 0.0);
    assert_eq!(world.rung("shop.localhost"), 1.0);
    assert!(origin.arrivals_for("/page").is_empty(), "no attempt starts any more");
}

#[test]
fn a_reset_ends_a_hold_at_once() {
    let (world, origin) = stalled("30");
    let mut client = world.client();
    client.say("GET", &origin.url("shop", "/page"), "", "");
    world.await_held(1);
    client.reset();
    let left = now();
    check_gone(&world, &origin, "held");
    assert!(now().since(left) < millis(2000));
}

#[test]
fn a_client_that_closes_while_held_is_found_out_by_an_interim_answer() {
    let (world, origin) = stalled("30");
    let mut client = world.client();
    client.say("GET", &origin.url("shop", "/page"), "", "");
    world.await_held(1);
    drop(client);
    check_gone(&world, &origin, "held");
}

#[test]
fn a_client_that_half_closes_while_held_gets_its_answer() {
    let (world, origin) = stalled("0.7");
    let mut client = world.client();
    client.say("GET", &origin.url("shop", "/page"), "", "");
    client.finish();
    let answer = client.response();
    assert_eq!((answer.status, answer.text().as_str()), (200, "unscripted"));
    assert_eq!(answer.interim, [100], "asked once whether it is there");
    assert_eq!(world.metrics().count(GONE, &[]), 0.0);
}

#[test]
fn a_client_that_half_closes_after_a_whole_body_gets_its_answer() {
    let (world, origin) = stalled("0.7");
    for (body, sent) in [("abc", "Content-Length: 3\r\n\r\nabc"), ("ab", CHUNKED)] {
        let mut client = world.client();
        let url = origin.url("shop", "/page");
        client.send(format!("POST {url} HTTP/1.1\r\nHost: shop\r\n{sent}"));
        client.finish();
        let answer = client.response_to("POST").unwrap_or_else(|e| panic!("{sent}: {e}"));
        assert_eq!(answer.status, 200);
        assert_eq!(origin.arrivals_for("/page").last().expect("it came").body, body.as_bytes());
        let stalled = world.get_with(&origin.url("shop", "/stall"), "Pace-Retry: 0\r\n");
        assert_eq!(stalled.status, 500);
    }
}

const CHUNKED: &str = "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";

#[test]
fn a_finish_from_http_1_0_or_with_an_unfinished_body_is_a_departure() {
    let heads = [
        "GET {url} HTTP/1.0\r\n\r\n",
        "POST {url} HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf",
        "POST {url} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal",
    ];
    for head in heads {
        let (world, origin) = stalled("30");
        let mut client = world.client();
        client.send(head.replace("{url}", &origin.url("shop", "/page")));
        world.await_held(1);
        client.finish();
        let left = now();
        let rest = client.rest().unwrap_or_default();
        assert!(rest.is_empty(), "{head}: {:?}", String::from_utf8_lossy(&rest));
        assert!(now().since(left) < millis(5000), "{head}");
        check_gone(&world, &origin, "held");
    }
}

#[test]
fn a_reset_in_flight_cancels_the_attempt_and_moves_no_rung() {
    let origin = Origin::http();
    origin.on("/hang", [Answer::nothing(Then::Hang)]);
    let world = World::start("pace: {concurrency: 1}\n");
    let mut client = world.client();
    client.say("GET", &origin.url("shop", "/hang"), "", "");
    origin.await_arrivals(1);
    client.reset();
    origin.await_departures(1);
    world.await_metric(GONE, &[("phase", "attempt")], 1.0);
    world.await_metric(ATTEMPTS, &[("class", "client_gone")], 1.0);
    assert_eq!(world.rung("shop.localhost"), 0.0);
    assert_eq!(world.get(&origin.url("shop", "/")).status, 200, "its slot is free");
}

/// A client that gives up on a hanging shop after `patience`, the way `leave` says.
fn give_up(patience: Duration, leave: impl Fn(Client)) -> (World, Origin) {
    let origin = Origin::http();
    origin.on("/hang", [Answer::nothing(Then::Hang)]);
    let world = World::start("retry: {abandoned_after: 400ms}\n");
    let mut client = world.client();
    client.say("GET", &origin.url("shop", "/hang"), "", "");
    origin.await_arrivals(1);
    assert!(client.is_quiet_for(patience));
    leave(client);
    world.await_exactly("pacegate_requests_in_flight", &[], 0.0);
    origin.await_departures(1);
    (world, origin)
}

#[test]
fn a_client_that_gave_up_on_a_hanging_shop_counts_against_the_shop() {
    let ways: [fn(Client); 2] = [Client::reset, drop];
    for leave in ways {
        let (world, _origin) = give_up(millis(450), leave);
        let counted = world.metrics().count(ATTEMPTS, &[("class", "abandoned")]);
        assert_eq!((counted, world.rung("shop.localhost")), (1.0, 1.0));
        let changes = [("direction", "up"), ("class", "abandoned")];
        assert_eq!(world.metrics().count("pacegate_rung_changes_total", &changes), 1.0);
    }
}

#[test]
fn a_client_that_just_left_does_not() {
    let ways: [fn(Client); 2] = [Client::reset, drop];
    for leave in ways {
        let (world, _origin) = give_up(millis(50), leave);
        let counted = world.metrics().count(ATTEMPTS, &[("class", "client_gone")]);
        assert_eq!((counted, world.rung("shop.localhost")), (1.0, 0.0));
    }
}

#[test]
fn a_client_in_a_tunnel_that_gave_up_counts_as_well() {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["shop.localhost"]);
    origin.on("/hang", [Answer::nothing(Then::Hang)]);
    let roots = authority.file().display();
    let world =
        World::start(&format!("tls: {{roots: {roots}}}\nretry: {{abandoned_after: 300ms}}\n"));
    let mut client = world.tunnel(&format!("shop.localhost:{}", origin.port()));
    client.send("GET /hang HTTP/1.1\r\nHost: shop.localhost\r\n\r\n");
    origin.await_arrivals(1);
    assert!(client.is_quiet_for(millis(350)));
    drop(client);
    world.await_metric(ATTEMPTS, &[("class", "abandoned")], 1.0);
    assert_eq!(world.rung("shop.localhost"), 1.0);
    origin.await_departures(1);
}

#[test]
fn a_held_request_owns_no_connection_to_its_origin_and_no_slot() {
    let origin = Origin::http();
    origin.on("/stall", [Answer::status(500).then(Then::Close)]);
    let world = World::start("pace: {ladder: [0, 30], concurrency: 1}\n");
    world.get_with(&origin.url("shop", "/stall"), "Pace-Retry: 0\r\n");
    let before = origin.connections();
    let mut clients: Vec<_> = (0..4).map(|_| world.client()).collect();
    for client in &mut clients {
        client.say("POST", &origin.url("shop", "/page"), "", "body");
    }
    world.await_held(4);
    assert!(clients[0].is_quiet_for(millis(100)));
    assert_eq!(origin.connections(), before);
    world.await_exactly("pacegate_origin_connections", &[], 0.0);
    assert_eq!(world.get(&origin.url("other", "/")).status, 200, "other hosts go on");
}

#[test]
fn a_client_in_a_tunnel_that_closes_while_held_is_found_out() {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["shop.localhost"]);
    origin.on("/stall", [Answer::status(500)]);
    let roots = authority.file().display();
    let world = World::start(&format!("tls: {{roots: {roots}}}\npace: {{ladder: [0, 1.2]}}\n"));
    let to = format!("shop.localhost:{}", origin.port());
    let stall = |client: &mut Client| {
        client.send("GET /stall HTTP/1.1\r\nHost: shop.localhost\r\nPace-Retry: 0\r\n\r\n");
        assert_eq!(client.response().status, 500);
    };
    let mut client = world.tunnel(&to);
    stall(&mut client);
    client.send("GET /page HTTP/1.1\r\nHost: shop.localhost\r\n\r\n");
    client.finish();
    let answer = client.response();
    assert_eq!((answer.status, answer.interim), (200, vec![100]), "it only half-closed");
    for polite in [true, false] {
        let mut client = world.tunnel(&to);
        stall(&mut client);
        client.send("GET /left HTTP/1.1\r\nHost: shop.localhost\r\n\r\n");
        world.await_held(1);
        if polite {
            client.finish();
        }
        drop(client);
        world.await_held(0);
    }
    world.await_metric(GONE, &[("phase", "held")], 2.0);
    assert!(origin.arrivals_for("/left").is_empty());
}
