//! The stage itself: what a scripted origin is told to do, a raw client sees.

use crate::world::answer::{Answer, Then};
use crate::world::authority::{Authority, trusting};
use crate::world::client::Client;
use crate::world::metrics::Metrics;
use crate::world::origin::Origin;
use crate::world::proxy::address_after;
use crate::world::response::Response;
use std::time::Duration;

/// Asks a fresh origin that plays `answers` for `/` once.
fn ask(answers: impl IntoIterator<Item = Answer>) -> (Origin, std::io::Result<Response>) {
    let origin = Origin::http();
    origin.on("/", answers);
    let mut client = Client::connect(origin.address());
    client.send("GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n");
    let response = client.response_to("GET");
    (origin, response)
}

#[test]
fn answers_come_in_order_and_the_last_one_stays() {
    let origin = Origin::http();
    origin.on("/page", [Answer::status(503).header("Retry-After", "1"), Answer::page("hello")]);
    let mut client = Client::connect(origin.address());
    let first = client.get_path("shop.test", "/page");
    assert_eq!((first.status, first.header("retry-after")), (503, Some("1".into())));
    for _ in 0..2 {
        let page = client.get_path("shop.test", "/page?again");
        assert_eq!((page.status, page.text()), (200, "hello".into()));
    }
    assert_eq!(origin.connections(), 1, "kept alive");
    assert_eq!(origin.await_arrivals(3)[0].headers("HOST"), ["shop.test"]);
}

#[test]
fn a_host_with_a_path_goes_before_the_path() {
    let origin = Origin::http();
    origin.on("/", [Answer::page("any")]);
    origin.on("b.test/", [Answer::page("b")]);
    let mut client = Client::connect(origin.address());
    assert_eq!(client.get_path("a.test", "/").text(), "any");
    assert_eq!(client.get_path("b.test", "/").text(), "b");
}

#[test]
fn a_decision_sees_the_body_of_the_request() {
    let origin = Origin::http();
    origin.decide("/echo", |arrival| Answer::page(&arrival.body).header("X-Odd", &arrival.method));
    let mut client = Client::connect(origin.address());
    let chunks = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.send(format!("{chunks}3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"));
    let answer = client.response();
    assert_eq!((answer.text().as_str(), answer.header("x-odd")), ("abcde", Some("POST".into())));
}

#[test]
fn an_answer_is_reset_closed_or_cut() {
    let (_, reset) = ask([Answer::nothing(Then::Reset)]);
    assert_eq!(reset.expect_err("no head").kind(), std::io::ErrorKind::ConnectionReset);
    let (_, closed) = ask([Answer::nothing(Then::Close)]);
    assert_eq!(closed.expect_err("no head").kind(), std::io::ErrorKind::UnexpectedEof);
    for then in [Then::Reset, Then::Close] {
        let (_, cut) = ask([Answer::page("0123456789").cut(4, then)]);
        let cut = cut.expect("a head");
        assert_eq!((cut.whole, cut.header("content-length")), (false, Some("10".into())));
    }
}

#[test]
fn bodies_are_framed_by_length_by_chunks_and_by_the_end() {
    let ways = [
        Answer::page("a page of text"),
        Answer::page("").chunked("a page of text", 5),
        Answer::page("").until_close("a page of text"),
        Answer::page("a page of text").drip(3, Duration::from_millis(1)),
    ];
    for way in ways {
        let (_, answer) = ask([way]);
        let answer = answer.expect("a whole answer");
        assert_eq!((answer.text().as_str(), answer.whole), ("a page of text", true));
    }
}

#[test]
fn a_late_head_is_late_and_a_departure_is_noted() {
    let (_, late) = ask([Answer::page("x").after(Duration::from_millis(60))]);
    assert!(late.expect("an answer").status == 200);
    let origin = Origin::http();
    origin.on("/", [Answer::nothing(Then::Hang)]);
    let mut client = Client::connect(origin.address());
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let arrival = origin.await_arrivals(1).remove(0);
    assert!(client.is_quiet_for(Duration::from_millis(30)));
    client.reset();
    assert!(origin.await_departures(1)[0].at.since(arrival.at) >= Duration::from_millis(30));
}

#[test]
fn interim_answers_and_early_ones_are_told_apart() {
    let (_, answer) = ask([Answer::page("x").interim("HTTP/1.1 103 Early Hints\r\n\r\n")]);
    assert_eq!(answer.expect("an answer").interim, [103]);
    let origin = Origin::http();
    origin.on("/", [Answer::status(413).early().then(Then::Close)]);
    let mut client = Client::connect(origin.address());
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n");
    assert_eq!(client.response().status, 413);
}

#[test]
fn an_upgraded_connection_echoes() {
    let switch = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\n";
    let origin = Origin::http();
    origin.on("/", [Answer::raw(switch).then(Then::Echo)]);
    let mut client = Client::connect(origin.address());
    client.send("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: echo\r\nConnection: upgrade\r\n\r\n");
    assert_eq!(client.response().status, 101);
    client.send("ping");
    client.finish();
    assert_eq!(client.rest().expect("an orderly end"), b"ping");
}

#[test]
fn an_https_origin_has_the_authoritys_certificate() {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["shop.test", "127.0.0.1"]);
    origin.on("/", [Answer::page("safe")]);
    for name in ["shop.test", "127.0.0.1"] {
        let client = Client::connect(origin.address());
        let mut client = client.secure(name, trusting(authority.file(), &[])).expect("trusted");
        assert_eq!(client.get_path(name, "/").text(), "safe");
    }
    let stranger = Authority::new();
    let refused = Client::connect(origin.address())
        .secure("shop.test", trusting(stranger.file(), &[]))
        .err()
        .expect("another authority's certificate is refused");
    assert!(refused.to_string().contains("invalid peer certificate"), "{refused}");
}

#[test]
fn metrics_are_summed_by_label() {
    let text = "# HELP a_total x\na_total{host=\"a\",class=\"served\"} 2\n\
                a_total{host=\"b\",class=\"served\"} 3\na 1.5\n";
    let metrics = Metrics::new(text.into());
    assert_eq!(metrics.count("a_total", &[("class", "served")]), 5.0);
    assert_eq!(metrics.sum("a_total", &[("host", "b"), ("class", "served")]), Some(3.0));
    assert_eq!(metrics.sum("a_total", &[("host", "c")]), None);
    assert_eq!(metrics.sum("a", &[]), Some(1.5));
}

#[test]
fn the_ready_line_is_read_as_text_and_as_json() {
    let here = "127.0.0.1:4711".parse().ok();
    let lines = [
        "ready proxy=127.0.0.1:4711 admin=127.0.0.1:9",
        "ready admin=127.0.0.1:9 proxy=http://127.0.0.1:4711",
        r#"{"fields":{"message":"ready","proxy":"127.0.0.1:4711","admin":"127.0.0.1:9"}}"#,
    ];
    for line in lines {
        assert_eq!(address_after(line, "proxy"), here, "{line}");
        assert_eq!(address_after(line, "admin"), "127.0.0.1:9".parse().ok(), "{line}");
    }
}
