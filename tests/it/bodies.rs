//! Bodies: trailers, interim answers, early ones, and connections that turn into something else.

use crate::world::answer::{Answer, Then};
use crate::world::authority::Authority;
use crate::world::client::Client;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::{now, resolve, until};
use std::time::Duration;

fn shop() -> (Origin, World) {
    let origin = Origin::http();
    let ladder = "pace: {ladder: [0s, 400ms]}\n";
    let world = World::start(&(resolve(&[("shop.test", origin.address())]) + ladder));
    (origin, world)
}

fn safe() -> (Origin, World) {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["shop.test"]);
    let roots = format!("tls: {{roots: {}}}\n", authority.file().display());
    let world = World::start(&(resolve(&[("shop.test", origin.address())]) + &roots));
    (origin, world)
}

#[test]
fn trailers_of_an_answer_reach_who_reads_them() {
    let (origin, world) = shop();
    let head = "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n";
    let body = "4\r\npage\r\n0\r\nX-Sum: 1\r\nContent-Length: 9\r\n\r\n";
    origin.on("/", [Answer::raw(&format!("{head}{body}"))]);
    let mut client = world.client();
    client.send("GET http://shop.test/ HTTP/1.1\r\nHost: shop.test\r\nTE: trailers\r\nConnection: close, TE\r\n\r\n");
    let raw = String::from_utf8(client.rest().expect("an orderly end")).expect("text");
    assert!(raw.to_lowercase().ends_with("\r\n4\r\npage\r\n0\r\nx-sum: 1\r\n\r\n"), "{raw}");
    assert_eq!(origin.await_arrivals(1)[0].headers("te"), ["trailers"]);
    let mut client = world.client();
    client.send("GET http://shop.test/ HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n");
    let raw = String::from_utf8(client.rest().expect("an orderly end")).expect("text");
    assert!(raw.ends_with("page") || raw.ends_with("page\r\n0\r\n\r\n"), "{raw}");
    assert_eq!(origin.await_arrivals(2)[1].header("te"), None);
}

#[test]
fn trailers_of_a_request_reach_the_origin() {
    let (origin, world) = shop();
    origin.on("/", [Answer::page("ok").early().then(Then::Close)]);
    // The stage reads no trailers: a bare listener does.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let bare = World::start(&resolve(&[("bare.test", listener.local_addr().expect("an address"))]));
    let mut client = bare.client();
    client.send(
        "POST http://bare.test/ HTTP/1.1\r\nHost: bare.test\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n\
         4\r\nbody\r\n0\r\nX-Sum: 1\r\nHost: evil\r\n\r\n",
    );
    let (stream, _) = listener.accept().expect("the proxy comes");
    let mut origin_side = Client::of(stream);
    let text = origin_side.until_text("0\r\n");
    let text = text + &origin_side.until_text("\r\n\r\n");
    assert!(text.to_lowercase().contains("x-sum: 1"), "{text}");
    assert!(!text.contains("evil"), "{text}");
    drop((origin, world));
}

#[test]
fn an_expected_100_comes_when_the_body_is_read_and_no_sooner() {
    let (origin, world) = shop();
    origin.on("/", [Answer::status(503), Answer::page("ok")]);
    assert_eq!(world.client().get("http://shop.test/").status, 200);
    // Rung 1 or on its way down: a body is asked for only once the request has its turn.
    origin.on("/up", [Answer::page("taken")]);
    for expectation in ["100-continue", "100-Continue"] {
        let mut client = world.client();
        client.send(format!("POST http://shop.test/up HTTP/1.1\r\nHost: shop.test\r\nExpect: {expectation}\r\nContent-Length: 4\r\n\r\n"));
        let interim = client.head();
        assert!(interim.starts_with(b"HTTP/1.1 100 "), "{}", String::from_utf8_lossy(&interim));
        client.send("body");
        let answer = client.response();
        assert_eq!(
            (answer.status, answer.text().as_str(), answer.interim.len()),
            (200, "taken", 0)
        );
    }
    let arrivals = origin.arrivals_for("/up");
    assert_eq!(arrivals.len(), 2);
    assert!(arrivals.iter().all(|it| it.header("expect").is_none() && it.body == b"body"));
}

#[test]
fn nothing_is_said_to_an_expecting_client_while_it_is_held() {
    let origin = Origin::http();
    let config = resolve(&[("shop.test", origin.address())]) + "scopes: {shop.test: {delay: 1s}}\n";
    let world = World::start(&config);
    assert_eq!(world.client().get("http://shop.test/").status, 200);
    let mut client = world.client();
    let sent = now();
    client.send("POST http://shop.test/up HTTP/1.1\r\nHost: shop.test\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    assert!(client.is_quiet_for(Duration::from_millis(500)), "held");
    assert!(client.head().starts_with(b"HTTP/1.1 100 "));
    assert!(now().since(sent) >= Duration::from_millis(700));
    client.send("body");
    assert_eq!(client.response().status, 200);
}

#[test]
fn errors_come_before_any_100() {
    let (origin, world) = shop();
    let post = |url: &str, fields: &str| {
        format!("POST {url} HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 4\r\n{fields}\r\n")
    };
    for (text, status) in [
        (post("http://shop.test/", "Expect: 200-ok\r\n"), 417),
        (post("http://shop.test/", "Expect: 100-continue, x\r\n"), 417),
        (post("ftp://shop.test/", "Expect: 100-continue\r\n"), 400),
        (post("http://shop.test/", "Expect: 100-continue\r\nPace-Window: x\r\n"), 400),
    ] {
        let mut client = world.client();
        client.send(&text);
        let answer = client.response();
        assert_eq!((answer.status, answer.interim.len()), (status, 0), "{text}");
    }
    assert!(origin.arrivals().is_empty());
}

#[test]
fn an_early_answer_to_an_upload_gets_through() {
    for (origin, world, tls) in [(shop(), false), (safe(), true)].map(|((o, w), tls)| (o, w, tls)) {
        origin.on(
            "/",
            [Answer::status(413).header("X-Why", "size").body("too big").early().then(Then::Close)],
        );
        for _ in 0..5 {
            let mut client = if tls { world.tunnel("shop.test:443") } else { world.client() };
            let target = if tls { "/" } else { "http://shop.test/" };
            let size = if tls { 4 } else { 28 } * 1024 * 1024;
            client.send(format!(
                "POST {target} HTTP/1.1\r\nHost: shop.test\r\nContent-Length: {size}\r\n\r\n"
            ));
            let block = vec![b'u'; 64 * 1024];
            for _ in 0..size / block.len() {
                if client.try_send(&block).is_err() {
                    break;
                }
            }
            let answer = client.response_to("POST").expect("the answer");
            assert_eq!((answer.status, answer.text().as_str()), (413, "too big"));
            assert_eq!(answer.interim.len(), 0);
        }
        assert_eq!(origin.arrivals().len(), 5, "none was repeated");
    }
}

#[test]
fn an_answer_before_the_end_of_the_body_says_that_the_connection_ends() {
    let (origin, world) = shop();
    origin.on("/", [Answer::page("early").early(), Answer::page("late")]);
    let ask = "POST http://shop.test/ HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 4\r\n\r\n";
    let mut client = world.client();
    client.send(ask);
    let answer = client.response_to("POST").expect("the answer");
    assert_eq!(
        (answer.text().as_str(), answer.header("connection").as_deref()),
        ("early", Some("close"))
    );
    let mut client = world.client();
    client.send(format!("{ask}body"));
    let answer = client.response_to("POST").expect("the answer");
    assert_eq!((answer.text().as_str(), answer.header("connection")), ("late", None));
}

#[test]
fn curl_uploads_with_and_without_expect() {
    let (origin, world) = shop();
    origin.decide("/", |arrival| Answer::page(arrival.body.len().to_string()));
    let folder = crate::world::folder::Folder::new();
    let file = folder.write("body", &"b".repeat(2 * 1024 * 1024));
    for more in [&[][..], &["-H", "Expect: 100-continue"], &["-H", "Expect:"], &["--http1.0"]] {
        let output = std::process::Command::new("curl")
            .args(["-sS", "--noproxy", "", "-x", &format!("http://{}", world.proxy())])
            .args(["-d", &format!("@{}", file.display()), "http://shop.test/"])
            .args(more)
            .output();
        let Ok(output) = output else { return }; // no curl here
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text, "2097152", "{more:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n";

fn upgrade(target: &str) -> String {
    format!(
        "GET {target} HTTP/1.1\r\nHost: shop.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: k\r\n\r\n"
    )
}

#[test]
fn a_websocket_is_copied_both_ways_plain_and_inside_tls() {
    for (origin, world, tls) in [(shop(), false), (safe(), true)].map(|((o, w), tls)| (o, w, tls)) {
        origin.on("/chat", [Answer::raw(&format!("{SWITCH}hello")).then(Then::Echo)]);
        let mut client = if tls { world.tunnel("shop.test:443") } else { world.client() };
        client.send(upgrade(if tls { "/chat" } else { "ws://shop.test/chat" }));
        let answer = client.response();
        assert_eq!(answer.status, 101, "{}", answer.text());
        assert_eq!(answer.header("upgrade").as_deref(), Some("websocket"));
        assert_eq!(answer.header("sec-websocket-accept").as_deref(), Some("x"));
        assert_eq!(client.exactly(5), b"hello");
        for word in ["ping", "\u{0}\u{1}", "a longer message"] {
            client.send(word);
            assert_eq!(client.exactly(word.len()), word.as_bytes());
        }
        client.finish();
        assert_eq!(client.rest().expect("an orderly end"), b"");
        let arrival = origin.await_arrivals(1).remove(0);
        assert_eq!(arrival.headers("upgrade"), ["websocket"]);
        assert!(arrival.header("connection").expect("one").eq_ignore_ascii_case("upgrade"));
        assert_eq!(world.metrics().count("pacegate_requests_in_flight", &[]), 0.0);
    }
}

#[test]
fn a_refused_upgrade_is_a_normal_answer() {
    let (origin, world) = shop();
    origin.on("/chat", [Answer::page("no sockets here")]);
    let mut client = world.client();
    for _ in 0..2 {
        client.send(upgrade("http://shop.test/chat"));
        let answer = client.response();
        assert_eq!((answer.status, answer.text().as_str()), (200, "no sockets here"));
    }
}

#[test]
fn a_101_nobody_asked_for_is_a_502() {
    let (origin, world) = shop();
    let other = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n";
    origin.on("/unasked", [Answer::raw(SWITCH).then(Then::Echo)]);
    origin.on("/other", [Answer::raw(other).then(Then::Echo)]);
    let mut client = world.client();
    let answer = client.get("http://shop.test/unasked");
    assert_eq!(answer.status, 502);
    assert!(answer.header("proxy-status").expect("ours").contains("http_upgrade_failed"));
    client.send(upgrade("http://shop.test/other"));
    let answer = client.response();
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(answer.header("proxy-status").expect("ours").contains("http_upgrade_failed"));
    // h2c is not passed on, so its 101 is not asked for either.
    client.send("GET http://shop.test/h2c HTTP/1.1\r\nHost: shop.test\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: x\r\n\r\n");
    assert_eq!(client.response().status, 200);
    assert_eq!(origin.arrivals_for("/h2c")[0].header("upgrade"), None);
}

#[test]
fn a_truncated_answer_ends_the_clients_connection_visibly() {
    let (origin, world) = shop();
    let big = "x".repeat(600 * 1024);
    origin.on("/length", [Answer::page(&big).cut(300 * 1024, Then::Close)]);
    origin.on("/chunks", [Answer::page("").chunked(&big, 64 * 1024).cut(400 * 1024, Then::Close)]);
    for path in ["/length", "/chunks"] {
        let mut client = world.client();
        let answer = client.get(&format!("http://shop.test{path}"));
        assert_eq!((answer.status, answer.whole), (200, false), "{path}");
    }
}

#[test]
fn a_client_that_leaves_while_its_answer_flows_ends_the_origins_too() {
    let (origin, world) = shop();
    let big = "x".repeat(64 * 1024 * 1024);
    origin.on("/", [Answer::page(&big)]);
    let mut client = world.client();
    client.send("GET http://shop.test/ HTTP/1.1\r\nHost: shop.test\r\n\r\n");
    client.exactly(100_000);
    client.reset();
    origin.await_departures(1);
    let idle = || (world.metrics().count("pacegate_requests_in_flight", &[]) == 0.0).then_some(());
    until(idle).expect("nothing is in flight");
}

#[test]
fn an_upload_that_breaks_off_never_looks_complete_to_the_origin() {
    let (origin, world) = shop();
    for head in
        ["Content-Length: 1000\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"]
    {
        let mut client = world.client();
        client.send(format!("POST http://shop.test/ HTTP/1.1\r\nHost: shop.test\r\n{head}"));
        std::thread::sleep(Duration::from_millis(50));
        client.finish();
        client.rest().ok();
    }
    let idle = || (world.metrics().count("pacegate_requests_in_flight", &[]) == 0.0).then_some(());
    until(idle).expect("nothing is in flight");
    assert!(origin.arrivals().is_empty(), "the stage notes whole requests only");
}

#[test]
fn interim_answers_come_before_the_final_one_and_those_of_a_discarded_attempt_never() {
    let (origin, world) = shop();
    let hints =
        "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\n";
    let busy = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n";
    origin.on("/", [Answer::status(503).interim(hints), Answer::page("x").interim(busy)]);
    origin.on("/hints", [Answer::page("x").interim(hints)]);
    let mut client = world.client();
    let answer = client.get("http://shop.test/");
    assert_eq!((answer.status, answer.interim), (200, vec![102]));
    client.send("GET http://shop.test/hints HTTP/1.1\r\nHost: shop.test\r\n\r\n");
    let head = String::from_utf8(client.head()).expect("text");
    assert_eq!(head, "HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n");
    assert_eq!(client.response().text(), "x");
    for more in ["HTTP/1.0\r\n", "HTTP/1.1\r\nHost: a\r\nUser-Agent: python-requests/2.32\r\n"] {
        let mut client = world.client();
        client.send(format!("GET http://shop.test/hints {more}\r\n"));
        let answer = client.response();
        assert_eq!((answer.status, answer.interim), (200, vec![]), "{more}");
    }
}
