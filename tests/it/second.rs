//! HTTP/2 between clients and the proxy, inside TLS.

use crate::world::answer::{Answer, Then};
use crate::world::authority::Authority;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::streams::{Streams, block_on, bytes, empty};
use crate::world::{resolve, until};
use http::{Request, StatusCode};
use std::time::Duration;

fn safe(more: &str) -> (Origin, World) {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["shop.test", "other.test"]);
    let roots = format!("tls: {{roots: {}}}\n", authority.file().display());
    let names = resolve(&[("shop.test", origin.address()), ("other.test", origin.address())]);
    let world = World::start(&(names + &roots + more));
    (origin, world)
}

#[test]
fn an_http2_client_reaches_an_http1_origin() {
    let (origin, world) = safe("");
    origin.decide("/echo", |arrival| Answer::page(&arrival.body).header("X-Odd", "1"));
    block_on(async {
        let mut streams = Streams::open(&world, "shop.test:443").await;
        let answer = streams
            .send(Request::get("https://shop.test/a?b").body(empty()).unwrap())
            .await
            .unwrap();
        assert_eq!((answer.status(), answer.body().as_ref()), (StatusCode::OK, &b"unscripted"[..]));
        let request = Request::get("https://shop.test/crumbs")
            .header("cookie", "a=1")
            .header("cookie", "b=2")
            .header("cookie", "c=3")
            .header("te", "trailers")
            .header("accept-encoding", "br");
        streams.send(request.body(empty()).unwrap()).await.unwrap();
        // A GET with a body of unknown length, and a POST.
        for request in
            [Request::get("https://shop.test/echo"), Request::post("https://shop.test/echo")]
        {
            let answer = streams.send(request.body(bytes(&["bo", "dy"])).unwrap()).await.unwrap();
            assert_eq!(answer.body().as_ref(), b"body");
            assert_eq!(answer.headers()["x-odd"], "1");
        }
        // Another authority on the same connection goes where it says.
        streams.send(Request::get("https://other.test/").body(empty()).unwrap()).await.unwrap();
    });
    let arrivals = origin.arrivals();
    assert!(arrivals[0].head.starts_with(b"GET /a?b HTTP/1.1\r\n"));
    assert_eq!(arrivals[1].headers("cookie"), ["a=1; b=2; c=3"]);
    assert_eq!(arrivals[1].headers("accept-encoding"), ["br"]);
    assert_eq!(arrivals[2].body, b"body");
    let hosts: Vec<_> = arrivals.iter().map(|it| it.headers("host")).collect();
    assert!(hosts[..4].iter().all(|it| *it == ["shop.test"]), "{hosts:?}");
    assert_eq!(hosts[4], ["other.test"]);
}

#[test]
fn an_answer_may_be_large() {
    let (origin, world) = safe("");
    let big: Vec<u8> = (0..3_000_000_u32).map(|n| n as u8).collect();
    origin.on("/", [Answer::page(&big)]);
    origin.on("/chunks", [Answer::page("").chunked(&big, 70_000)]);
    block_on(async {
        let mut streams = Streams::open(&world, "shop.test:443").await;
        for path in ["", "chunks"] {
            let url = format!("https://shop.test/{path}");
            let answer = streams.send(Request::get(url).body(empty()).unwrap()).await.unwrap();
            assert!(answer.body().as_ref() == big, "{} bytes", answer.body().len());
        }
    });
}

#[test]
fn streams_that_are_held_block_no_others() {
    let (origin, world) = safe("scopes: {shop.test: {concurrency: 1}}\n");
    origin.on("shop.test/hang", [Answer::nothing(Then::Hang)]);
    block_on(async {
        let mut streams = Streams::open(&world, "shop.test:443").await;
        let mut held = Vec::new();
        for _ in 0..99 {
            held.push(tokio::spawn(
                streams.begin(Request::get("https://shop.test/hang").body(empty()).unwrap()),
            ));
        }
        world.await_metric("pacegate_held_requests", &[], 98.0);
        let answer =
            streams.send(Request::get("https://other.test/").body(empty()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        held.into_iter().for_each(|stream| stream.abort());
        let free = || (world.metrics().count("pacegate_held_requests", &[]) == 0.0).then_some(());
        until(free).expect("reset streams leave the line");
        let idle =
            || (world.metrics().count("pacegate_requests_in_flight", &[]) == 0.0).then_some(());
        until(idle).expect("and nothing is in flight");
        let answer = streams
            .send(Request::get("https://shop.test/ok").body(empty()).unwrap())
            .await
            .unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "the slot is free again");
    });
}

#[test]
fn a_lost_connection_cancels_what_it_held() {
    let (origin, world) = safe("scopes: {shop.test: {concurrency: 1}}\n");
    origin.on("/hang", [Answer::nothing(Then::Hang)]);
    block_on(async {
        let streams = Streams::open(&world, "shop.test:443").await;
        for _ in 0..20 {
            tokio::spawn(
                streams
                    .clone()
                    .begin(Request::get("https://shop.test/hang").body(empty()).unwrap()),
            );
        }
        world.await_metric("pacegate_held_requests", &[], 19.0);
        origin.await_arrivals(1);
    });
    // The runtime is gone, and its connection with it.
    let free = || (world.metrics().count("pacegate_requests_in_flight", &[]) == 0.0).then_some(());
    until(free).expect("all were cancelled");
    assert_eq!(origin.arrivals().len(), 1);
}

#[test]
fn malformed_heads_are_refused_on_their_stream_only() {
    let (origin, world) = safe("");
    block_on(async {
        let mut streams = Streams::open(&world, "shop.test:443").await;
        for (request, status) in [
            (Request::get("https://shop.test/").header("host", "other.test"), 400),
            (Request::get("https://u:p@shop.test/"), 400),
            (Request::get("http://shop.test/"), 400),
            (Request::get("https://shop.test/").header("expect", "odd"), 417),
        ] {
            let answer = streams.send(request.body(empty()).unwrap()).await.unwrap();
            assert_eq!(answer.status().as_u16(), status, "{answer:?}");
            assert!(answer.headers().contains_key("proxy-status"));
        }
        let answer =
            streams.send(Request::get("https://shop.test/").body(empty()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        for fields in [1, 300] {
            let mut request = Request::get("https://shop.test/");
            for number in 0..fields {
                let value = "x".repeat(68 * 1024 / fields);
                request = request.header(format!("x-{number}"), value);
            }
            let answer = streams.send(request.body(empty()).unwrap()).await.unwrap();
            assert_eq!(answer.status().as_u16(), 431, "{answer:?}");
            assert!(answer.headers().contains_key("proxy-status"), "ours");
        }
        let long = "x".repeat(40 * 1024);
        let request = Request::get("https://shop.test/").header("x-long", long);
        assert_eq!(
            streams.send(request.body(empty()).unwrap()).await.unwrap().status(),
            StatusCode::OK
        );
    });
    assert_eq!(origin.arrivals().len(), 2);
}

#[test]
fn trailers_come_through() {
    let (origin, world) = safe("");
    let head = "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n";
    origin.on("/", [Answer::raw(&format!("{head}4\r\npage\r\n0\r\nX-Sum: 1\r\n\r\n"))]);
    block_on(async {
        let mut streams = Streams::open(&world, "shop.test:443").await;
        let request = Request::get("https://shop.test/").header("te", "trailers");
        let (answer, trailers) =
            streams.send_for_trailers(request.body(empty()).unwrap()).await.unwrap();
        assert_eq!(answer.body().as_ref(), b"page");
        assert_eq!(trailers.expect("trailers")["x-sum"], "1");
    });
}

#[test]
fn draining_says_goaway_and_answers_what_is_under_way() {
    let (origin, mut world) = safe("");
    origin.on("/slow", [Answer::page("slow").after(Duration::from_millis(600))]);
    block_on(async {
        let mut streams = Streams::open(&world, "shop.test:443").await;
        let slow = tokio::spawn(
            streams.begin(Request::get("https://shop.test/slow").body(empty()).unwrap()),
        );
        origin.await_arrivals(1);
        world.signal("TERM");
        let answer = slow.await.unwrap().unwrap();
        assert_eq!(answer.body().as_ref(), b"slow");
        // GOAWAY: the connection takes no more.
        tokio::time::timeout(Duration::from_secs(10), streams.closed()).await.expect("closed");
        assert!(
            streams.send(Request::get("https://shop.test/").body(empty()).unwrap()).await.is_err()
        );
    });
    assert!(world.wait().success());
}

#[test]
fn clear_text_http2_in_a_tunnel_is_understood() {
    let origin = Origin::http();
    let world = World::start(&resolve(&[("shop.test", origin.address())]));
    block_on(async {
        let mut streams = Streams::open_clear(&world, "shop.test:80").await;
        let answer =
            streams.send(Request::get("http://shop.test/x").body(empty()).unwrap()).await.unwrap();
        assert_eq!(answer.body().as_ref(), b"unscripted");
    });
    assert!(origin.arrivals()[0].head.starts_with(b"GET /x HTTP/1.1\r\n"));
}
