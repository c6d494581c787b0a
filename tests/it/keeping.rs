//! HTTP/1 connections of clients: versions, keep-alive, pipelining, their ends.

use crate::world::answer::{Answer, Then};
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::{now, resolve};
use std::time::Duration;

fn shop() -> (Origin, World) {
    let origin = Origin::http();
    let ladder = "pace: {ladder: [0s, 300ms, 600ms]}\n";
    let world = World::start(&(resolve(&[("shop.test", origin.address())]) + ladder));
    (origin, world)
}

const HEAD: &str = "HTTP/1.1\r\nHost: shop.test\r\n";

#[test]
fn http_1_0_clients_get_no_chunks_and_no_second_answer() {
    let (origin, world) = shop();
    origin.on("/chunked", [Answer::page("").chunked("a page of text", 5)]);
    origin.on("/close", [Answer::page("").until_close("a page of text")]);
    origin.on("/length", [Answer::page("a page of text")]);
    for path in ["/chunked", "/close", "/length"] {
        for connection in ["", "Connection: keep-alive\r\n", "Proxy-Connection: keep-alive\r\n"] {
            let mut client = world.client();
            client.send(format!("GET http://shop.test{path} HTTP/1.0\r\n{connection}\r\n"));
            let answer = client.response();
            assert_eq!((answer.status, answer.text().as_str()), (200, "a page of text"), "{path}");
            assert_eq!(answer.header("transfer-encoding"), None, "{path}");
            assert_eq!(answer.headers("connection"), ["close"], "{path} {connection}");
            assert!(answer.whole);
            // The other end closes; nothing has to be sent first.
            assert_eq!(client.rest().expect("an orderly end"), b"", "{path} {connection}");
        }
    }
    let arrival = origin.arrivals().remove(0);
    assert!(arrival.head.starts_with(b"GET /chunked HTTP/1.1\r\n"));
    assert_eq!(arrival.headers("host"), ["shop.test"]);
}

#[test]
fn an_http_1_0_origin_is_passed_on_as_1_1() {
    let (origin, world) = shop();
    let old = "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n";
    origin.on("/length", [Answer::raw(old).body("old page").then(Then::Close)]);
    origin.on("/close", [Answer::raw(&format!("{old}\r\nold page")).then(Then::Close)]);
    let mut client = world.client();
    for path in ["/length", "/close", "/close", "/length"] {
        let answer = client.get(&format!("http://shop.test{path}"));
        assert_eq!(answer.text(), "old page");
        assert!(answer.head.starts_with(b"HTTP/1.1 200 OK\r\n"), "{answer:?}");
        assert!(answer.whole);
    }
}

#[test]
fn a_connection_is_kept_until_its_client_says_close() {
    let (origin, world) = shop();
    let mut client = world.client();
    for _ in 0..3 {
        assert_eq!(client.get("http://shop.test/").status, 200);
    }
    client.send(format!("GET http://shop.test/last {HEAD}Connection: close\r\n\r\nGET http://shop.test/more {HEAD}\r\n"));
    let answer = client.response();
    assert_eq!(answer.header("connection").as_deref(), Some("close"));
    assert_eq!(client.rest().unwrap_or_default(), b"");
    assert!(origin.arrivals_for("/more").is_empty());
    assert_eq!(origin.connections(), 1);
}

#[test]
fn pipelined_requests_are_answered_in_order_and_paced_one_by_one() {
    let (origin, world) = shop();
    origin.on("/slow", [Answer::status(503), Answer::page("slow")]);
    origin.decide("/", |arrival| Answer::page(&arrival.target));
    let mut client = world.client();
    let asks: String = ["/slow", "/?b", "/?c"]
        .iter()
        .map(|p| format!("GET http://shop.test{p} {HEAD}\r\n"))
        .collect();
    client.send(asks);
    let texts: Vec<String> = (0..3).map(|_| client.response().text()).collect();
    assert_eq!(texts, ["slow", "/?b", "/?c"]);
    let arrivals = origin.arrivals();
    let targets: Vec<&str> = arrivals.iter().map(|arrival| arrival.target.as_str()).collect();
    assert_eq!(targets, ["/slow", "/slow", "/?b", "/?c"]);
    assert!(arrivals[1].at.since(arrivals[0].at) >= Duration::from_millis(300));
}

#[test]
fn garbage_after_a_good_request_ends_the_connection_after_its_answer() {
    let (origin, world) = shop();
    let mut client = world.client();
    client.send(format!("GET http://shop.test/ {HEAD}\r\n\u{1}\u{2} garbage\r\n\r\n"));
    assert_eq!(client.response().status, 200);
    let answer = client.response();
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("pacegate"), "{answer:?}");
    assert_eq!(client.rest().unwrap_or_default(), b"");
    assert_eq!(origin.arrivals().len(), 1);
}

#[test]
fn leading_empty_lines_are_skipped() {
    let (_origin, world) = shop();
    let mut client = world.client();
    client.send(format!("\r\nGET http://shop.test/ {HEAD}\r\n"));
    assert_eq!(client.response().status, 200);
}

#[test]
fn a_head_that_dribbles_in_is_refused_after_ten_seconds() {
    let (origin, world) = shop();
    let mut client = world.client();
    let began = now();
    client.send("GET http://shop.test/ HTTP/1.1\r\n");
    while client.is_quiet_for(Duration::from_millis(700)) {
        assert!(now().since(began) < Duration::from_secs(30), "it never ends");
        if client.try_send("X: y\r\n").is_err() {
            break;
        }
    }
    let answer = client.response();
    assert_eq!(answer.status, 408, "{}", answer.text());
    assert!(answer.header("proxy-status").is_some());
    assert!(now().since(began) >= Duration::from_secs(9));
    assert!(origin.arrivals().is_empty());
}
