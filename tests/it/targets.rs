//! Which origin a plain request is for, and what its `Host` has to say about it (http.md, rows 1 to
//! 18).

use crate::world::answer::Answer;
use crate::world::client::Client;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::resolve;

fn shop() -> (Origin, World) {
    let origin = Origin::http();
    let world = World::start(&resolve(&[("shop.test", origin.address())]));
    (origin, world)
}

#[test]
fn a_url_is_sent_on_as_path_and_host_byte_for_byte() {
    let (origin, world) = shop();
    let cases: [(&[u8], &[u8], &str); 14] = [
        (b"GET http://shop.test/a HTTP/1.1", b"GET /a HTTP/1.1", "shop.test"),
        (b"GET HTTP://shop.test/a HTTP/1.1", b"GET /a HTTP/1.1", "shop.test"),
        (b"GET hTTp://SHOP.test/ HTTP/1.1", b"GET / HTTP/1.1", "SHOP.test"),
        (b"GET http://shop.test HTTP/1.1", b"GET / HTTP/1.1", "shop.test"),
        (b"GET http://shop.test?q=1 HTTP/1.1", b"GET /?q=1 HTTP/1.1", "shop.test"),
        (b"GET http://shop.test/? HTTP/1.1", b"GET /? HTTP/1.1", "shop.test"),
        (b"GET http://shop.test:80/p HTTP/1.1", b"GET /p HTTP/1.1", "shop.test:80"),
        (b"GET http://shop.test./p HTTP/1.1", b"GET /p HTTP/1.1", "shop.test."),
        (
            b"GET http://shop.test/a/../b//c?x=%2f%2F&&= HTTP/1.1",
            b"GET /a/../b//c?x=%2f%2F&&= HTTP/1.1",
            "shop.test",
        ),
        (
            "GET http://shop.test/käse?ö=ü HTTP/1.1".as_bytes(),
            "GET /käse?ö=ü HTTP/1.1".as_bytes(),
            "shop.test",
        ),
        (b"GET http://shop.test/a#part HTTP/1.1", b"GET /a HTTP/1.1", "shop.test"),
        (b"PURGE-ll http://shop.test/a HTTP/1.1", b"PURGE-ll /a HTTP/1.1", "shop.test"),
        (b"OPTIONS http://shop.test/ HTTP/1.1", b"OPTIONS / HTTP/1.1", "shop.test"),
        (b"OPTIONS http://shop.test HTTP/1.1", b"OPTIONS * HTTP/1.1", "shop.test"),
    ];
    for (number, (line, want, host)) in cases.into_iter().enumerate() {
        let mut client = world.client();
        client.send([line, b"\r\nHost: evil.test\r\n\r\n"].concat());
        let shown = String::from_utf8_lossy(line).into_owned();
        let answer = client.response();
        assert_eq!(answer.status, 200, "{shown}: {}", answer.text());
        let arrival = origin.await_arrivals(number + 1).remove(number);
        assert!(arrival.head.starts_with(&[want, b"\r\n"].concat()), "{shown}: {arrival:?}");
        assert_eq!(arrival.headers("host"), [host], "{shown}");
    }
}

#[test]
fn a_websocket_url_is_an_http_url() {
    let (origin, world) = shop();
    for (number, url) in ["ws://shop.test/chat", "WS://shop.test/chat"].into_iter().enumerate() {
        let mut client = world.client();
        client.send(format!("GET {url} HTTP/1.1\r\nHost: shop.test\r\n\r\n"));
        assert_eq!(client.response().status, 200, "{url}");
        assert_eq!(origin.await_arrivals(number + 1)[number].target, "/chat");
    }
}

/// Sends a head on a connection of its own. The refusal says why, and nothing reaches an origin.
#[track_caller]
fn refused(world: &World, head: impl AsRef<[u8]>, status: u16, why: &str) {
    let mut client = world.client();
    client.send([head.as_ref(), b"\r\n\r\n"].concat());
    let shown = String::from_utf8_lossy(head.as_ref()).into_owned();
    let answer = client.response_to("GET").unwrap_or_else(|error| panic!("{shown}: {error}"));
    assert_eq!(answer.status, status, "{shown}: {}", answer.text());
    let line = answer.header("proxy-status").unwrap_or_else(|| panic!("{shown}: not ours"));
    assert!(line.starts_with("pacegate; error=http_request_"), "{shown}: {line}");
    assert!(answer.text().contains(why), "{shown}: {}", answer.text());
    assert!(answer.header("date").is_some() && answer.whole, "{shown}");
}

#[test]
fn what_names_no_target_or_two_is_refused_with_the_reason() {
    let (origin, world) = shop();
    let get = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: shop.test");
    refused(&world, get("/page"), 400, "whole URL");
    refused(&world, "GET http://shop.test/ HTTP/1.1", 400, "Host");
    let url = "GET http://shop.test/ HTTP/1.1\r\n";
    refused(&world, format!("{url}Host: shop.test\r\nHost: shop.test"), 400, "more than one Host");
    refused(&world, format!("{url}Host: shop .test"), 400, "host");
    refused(&world, format!("{url}Host: u@shop.test"), 400, "user name");
    refused(&world, format!("{url}Host: a.test,b.test"), 400, "host");
    refused(&world, format!("{url}Host:"), 400, "host is empty");
    refused(&world, get("http://u:p@shop.test/"), 400, "user name");
    refused(&world, get("ftp://shop.test/"), 400, "http and https");
    refused(&world, get("http://shop.test:99999/"), 400, "port");
    refused(&world, get("http://shop.test:0/"), 400, "port");
    refused(&world, get("http://0x7f.1/"), 400, "IPv4");
    refused(&world, get("http:///x"), 400, "");
    refused(&world, "GET * HTTP/1.1\r\nHost: shop.test", 400, "");
    refused(&world, get("http://shop.test/<a>"), 400, "");
    refused(&world, b"GET http://shop.test/\xb0\xa1 HTTP/1.1\r\nHost: shop.test", 400, "");
    assert!(origin.arrivals().is_empty(), "{:#?}", origin.arrivals());
}

#[test]
fn what_can_be_read_in_two_ways_is_refused_and_its_connection_closed() {
    let (origin, world) = shop();
    let post =
        |fields: &str| format!("POST http://shop.test/ HTTP/1.1\r\nHost: shop.test\r\n{fields}");
    let cases = [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", 400),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5", 400),
        ("Transfer-Encoding: gzip", 400),
        ("Transfer-Encoding: gzip, chunked", 501),
        ("Transfer-Encoding: identity, chunked", 501),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 501),
        ("Content-Length: 5\r\nContent-Length: 6", 400),
        ("Content-Length: +5", 400),
        ("Content-Length: 0x5", 400),
        ("Content-Length: 5 5", 400),
        ("Content-Length:", 400),
        ("Content-Length: 99999999999999999999", 400),
        ("Content-Length : 5", 400),
        ("X: a\r\n folded", 400),
        ("X: a\0b", 400),
        ("no colon", 400),
    ];
    for (fields, status) in cases {
        let mut client = world.client();
        client.send(format!(
            "{}\r\n\r\nGET http://shop.test/smuggled HTTP/1.1\r\nHost: shop.test\r\n\r\n",
            post(fields)
        ));
        let answer = client.response_to("POST").unwrap_or_else(|error| panic!("{fields}: {error}"));
        assert_eq!(answer.status, status, "{fields}: {}", answer.text());
        assert!(answer.header("proxy-status").is_some(), "{fields}: {:?}", answer.fields());
        assert_eq!(client.rest().unwrap_or_default(), b"", "{fields}: closed");
    }
    assert!(origin.arrivals().is_empty(), "{:#?}", origin.arrivals());
}

#[test]
fn a_head_has_limits_and_their_refusal_is_ours() {
    let (origin, world) = shop();
    let url = "GET http://shop.test/ HTTP/1.1\r\nHost: shop.test";
    let ok = format!("{url}\r\nX-Long: {}\r\n\r\n", "x".repeat(60 * 1024));
    let mut client = world.client();
    client.send(&ok);
    assert_eq!(client.response().status, 200);
    let many = |count: usize| (0..count).map(|n| format!("\r\nX-{n}: y")).collect::<String>();
    client.send(format!("{url}{}\r\n\r\n", many(199)));
    assert_eq!(client.response().status, 200);
    refused(&world, format!("{url}{}", many(200)), 431, "limits.header_fields");
    refused(&world, format!("{url}\r\nX-Long: {}", "x".repeat(66 * 1024)), 431, "header");
    for size in [100 * 1024, 1024 * 1024] {
        let mut client = world.client();
        // It may be answered and closed before all is sent.
        client.try_send(format!("{url}\r\nX-Long: {}\r\n\r\n", "x".repeat(size))).ok();
        if let Ok(answer) = client.response_to("GET") {
            assert_eq!(answer.status, 431, "{}", answer.text());
        }
    }
    let long = |size: usize| {
        format!("GET http://shop.test/{} HTTP/1.1\r\nHost: shop.test", "p".repeat(size))
    };
    let mut client = world.client();
    client.send(format!("{}\r\n\r\n", long(8000)));
    assert_eq!(client.response().status, 200);
    refused(&world, long(66 * 1024), 414, "");
    assert_eq!(origin.arrivals().len(), 3);
}

#[test]
fn an_origins_own_400_is_not_replaced() {
    let (origin, world) = shop();
    origin.on("/", [Answer::raw("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")]);
    let mut client = world.client();
    for _ in 0..2 {
        let answer = client.get("http://shop.test/");
        assert_eq!((answer.status, answer.header("proxy-status")), (400, None));
        assert_eq!(answer.header("content-length").as_deref(), Some("0"));
    }
}

#[test]
fn our_own_names_and_addresses_are_answered_here() {
    let (origin, world) = shop();
    let port = world.proxy().port();
    let own =
        [format!("127.0.0.1:{port}"), format!("localhost:{port}"), "pacegate.internal".into()];
    for host in &own {
        for path in ["/ca.pem", "/metrics"] {
            let mut client = world.client();
            let answer = client.get_path(host, path);
            assert_eq!(answer.status, 200, "{host}{path}: {}", answer.text());
            let want = if path == "/ca.pem" { "BEGIN CERTIFICATE" } else { "pacegate_" };
            assert!(answer.text().contains(want), "{host}{path}: {}", answer.text());
        }
    }
    let page = world.client().get("http://pacegate.internal/ca.pem");
    assert!(page.text().contains("BEGIN CERTIFICATE"));
    assert!(page.header("date").is_some(), "{:?}", page.fields());
    let mut tunnel = world.tunnel("pacegate.internal:443");
    assert!(tunnel.get_path("pacegate.internal", "/ca.pem").text().contains("BEGIN CERTIFICATE"));
    for url in [format!("http://127.0.0.1:{port}/x"), format!("http://[::ffff:127.0.0.1]:{port}/x")]
    {
        let answer = world.client().get(&url);
        assert_eq!(answer.status, 502, "{url}");
        let line = answer.header("proxy-status").expect("ours");
        assert!(line.contains("proxy_loop_detected"), "{url}: {line}");
    }
    let answer = world.client().connect_to(&format!("127.0.0.1:{port}"));
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(origin.arrivals().is_empty());
}

#[test]
fn an_https_url_on_the_plain_port_is_fetched_over_tls_for_callers_from_here() {
    let authority = crate::world::authority::Authority::new();
    let origin = Origin::https(&authority, &["safe.test"]);
    origin.on("/x", [Answer::page("safe")]);
    let roots = format!("tls: {{roots: {}}}\n", authority.file().display());
    let world = World::start(&(resolve(&[("safe.test", origin.address())]) + &roots));
    let mut client = world.client();
    client.send("GET https://safe.test/x HTTP/1.1\r\nHost: safe.test\r\n\r\n");
    let answer = client.response();
    assert_eq!((answer.status, answer.text().as_str()), (200, "safe"));
    client.send("GET HTTPS://safe.test/x HTTP/1.1\r\nHost: safe.test\r\n\r\n");
    assert_eq!(client.response().text(), "safe");
}

#[test]
fn max_forwards_of_nought_is_answered_here_and_others_count_down() {
    let (origin, world) = shop();
    let ask = |client: &mut Client, method: &str, hops: &str| {
        client.send(format!(
            "{method} http://shop.test/t HTTP/1.1\r\nHost: shop.test\r\nMax-Forwards: {hops}\r\n\
             Authorization: Basic secret\r\nCookie: secret\r\nPace-Tag: secret\r\nX-Seen: yes\r\n\r\n"
        ));
        client.response()
    };
    let mut client = world.client();
    let options = ask(&mut client, "OPTIONS", "0");
    assert!(options.status == 200 || options.status == 204, "{options:?}");
    assert!(options.header("allow").is_some(), "{options:?}");
    let trace = ask(&mut client, "TRACE", "0");
    assert_eq!(
        (trace.status, trace.header("content-type").as_deref()),
        (200, Some("message/http"))
    );
    assert!(trace.text().to_lowercase().contains("x-seen: yes"), "{}", trace.text());
    assert!(trace.text().starts_with("TRACE http://shop.test/t HTTP/1.1\r\n"), "{}", trace.text());
    assert!(!trace.text().contains("secret"), "{}", trace.text());
    assert!(origin.arrivals().is_empty());
    ask(&mut client, "OPTIONS", "3");
    assert_eq!(origin.await_arrivals(1)[0].headers("max-forwards"), ["2"]);
    ask(&mut client, "GET", "0");
    assert_eq!(origin.await_arrivals(2)[1].headers("max-forwards"), ["0"]);
}
