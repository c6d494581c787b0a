//! CONNECT: what it may say, and what its first bytes decide.

use crate::world::answer::Answer;
use crate::world::authority::{Authority, trusting};
use crate::world::client::Client;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::{now, resolve};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::time::Duration;

const NAMES: [&str; 4] = ["shop.test", "*.shop.test", "127.0.0.1", "::1"];

/// An origin that speaks TLS, behind a proxy that trusts it.
fn safe(more: &str) -> (Origin, World) {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &NAMES);
    let long = format!("{}.shop.test", "n".repeat(63));
    let names = ["shop.test", "other.shop.test", &long];
    let pairs: Vec<(&str, SocketAddr)> =
        names.iter().map(|name| (*name, origin.address())).collect();
    let roots = format!("tls: {{roots: {}}}\n", authority.file().display());
    let world = World::start(&(resolve(&pairs) + &roots + more));
    (origin, world)
}

#[test]
fn every_way_to_ask_for_a_tunnel_gets_a_bare_200() {
    let (_origin, world) = safe("");
    let heads = [
        "CONNECT shop.test:443 HTTP/1.1\r\nHost: shop.test:443\r\n\r\n",
        "CONNECT shop.test:443 HTTP/1.0\r\n\r\n",
        "CONNECT shop.test:443 HTTP/1.1\r\n\r\n",
        "CONNECT shop.test:443 HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n\r\n",
        "CONNECT shop.test:443 HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 0\r\n\r\n",
        "CONNECT SHOP.test.:443 HTTP/1.1\r\nHost: shop.test\r\nProxy-Connection: keep-alive\r\n\r\n",
    ];
    for head in heads {
        let mut client = world.client();
        client.send(head);
        let answer =
            client.response_to("CONNECT").unwrap_or_else(|error| panic!("{head}: {error}"));
        assert_eq!(answer.status, 200, "{head}: {}", answer.text());
        for name in ["content-length", "transfer-encoding", "connection"] {
            assert_eq!(answer.header(name), None, "{head}");
        }
        let mut client = client.secure("shop.test", world.trust()).expect("our certificate");
        assert_eq!(client.get_path("shop.test", "/").text(), "unscripted", "{head}");
    }
}

#[test]
fn a_tunnel_to_nowhere_or_with_a_body_is_refused() {
    let (origin, world) = safe("tunnel: {deny_ports: [25, 26]}\n");
    let cases = [
        ("shop.test", "", 400),
        ("shop.test:0", "", 400),
        ("shop.test:99999", "", 400),
        ("shop.test:http", "", 400),
        (":443", "", 400),
        ("u:p@shop.test:443", "", 400),
        ("http://shop.test:443/", "", 400),
        ("/", "", 400),
        ("shop.test:443", "Content-Length: 5\r\n", 400),
        ("shop.test:443", "Transfer-Encoding: chunked\r\n", 400),
        ("shop.test:443:443", "", 400),
        ("shop.test:25", "", 403),
        ("shop.test:26", "", 403),
    ];
    for (target, fields, status) in cases {
        let mut client = world.client();
        client.send(format!("CONNECT {target} HTTP/1.1\r\nHost: shop.test\r\n{fields}\r\n"));
        let answer =
            client.response_to("CONNECT").unwrap_or_else(|error| panic!("{target}: {error}"));
        assert_eq!(answer.status, status, "{target} {fields}: {}", answer.text());
        assert!(answer.text().starts_with("pacegate: "), "{target}: {}", answer.text());
        assert!(answer.header("proxy-status").is_some(), "{target}");
    }
    assert_eq!(origin.connections(), 0);
}

#[test]
fn addresses_and_odd_names_are_intercepted_too() {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &NAMES);
    let long = format!("{}.shop.test", "n".repeat(63));
    let roots = format!("tls: {{roots: {}}}\n", authority.file().display());
    let names = [(long.as_str(), origin.address()), ("shop.test", origin.address())];
    let sixth = SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, origin.port()));
    let world = World::start(&(resolve(&names) + &roots));
    let port = origin.port();
    let v4 = format!("127.0.0.1:{port}");
    let mut client = world.tunnel(&v4);
    assert_eq!(client.get_path(&v4, "/").text(), "unscripted");
    assert_eq!(client.certificates().len(), 1, "a leaf");
    let mut client = world.tunnel(&format!("{long}:443"));
    assert_eq!(client.get_path(&long, "/").text(), "unscripted");
    let mut client = world.client();
    assert_eq!(client.connect_to("shop.test.:443").status, 200);
    let mut client = client.secure("shop.test", world.trust()).expect("without the dot");
    assert_eq!(client.get_path("shop.test.", "/").status, 200);
    // Nothing listens there, so what is shown is that the target is understood.
    for target in [format!("[::1]:{port}"), format!("::1:{port}")] {
        let mut client = world.client();
        assert_eq!(client.connect_to(&target).status, 200, "{target} ({sixth})");
        let mut client = client.secure("::1", world.trust()).expect("a leaf for an address");
        let answer = client.get_path(&format!("[::1]:{port}"), "/");
        assert_eq!(answer.status, 502, "{target}: {}", answer.text());
        assert!(answer.text().contains(&format!("[::1]:{port}")), "{}", answer.text());
    }
}

#[test]
fn an_inner_name_that_differs_is_fetched_and_paced_as_itself() {
    let (origin, world) = safe("pace: {ladder: [0s, 60s]}\nretry: {window: 100ms}\n");
    origin.on("other.shop.test/", [Answer::page("other")]);
    origin.on("shop.test/", [Answer::page("shop")]);
    let mut client = world.tunnel("shop.test:443");
    assert_eq!(client.get_path("other.shop.test", "/").text(), "other");
    assert_eq!(client.get_path("shop.test", "/").text(), "shop");
    assert_eq!(client.get_path("shop.test:443", "/").text(), "unscripted", "as it was sent");
    let hosts: Vec<_> = origin.arrivals().iter().map(|it| it.header("host").unwrap()).collect();
    assert_eq!(hosts, ["other.shop.test", "shop.test", "shop.test:443"]);
    client.send("GET http://shop.test/ HTTP/1.1\r\nHost: shop.test\r\n\r\n");
    assert_eq!(client.response().status, 400, "no clear text from inside a tunnel of TLS");
    let mut client = world.tunnel("shop.test:443");
    client.send("GET https://other.shop.test/ HTTP/1.1\r\nHost: shop.test\r\n\r\n");
    assert_eq!(client.response().text(), "other");
    client.send("CONNECT other.shop.test:443 HTTP/1.1\r\nHost: other.shop.test\r\n\r\n");
    assert_eq!(client.response_to("CONNECT").expect("an answer").status, 400);
}

#[test]
fn first_bytes_may_come_one_by_one() {
    let (_origin, world) = safe("");
    let mut client = world.client();
    assert_eq!(client.connect_to("shop.test:443").status, 200);
    let mut client = client.secure_in_drops("shop.test", world.trust()).expect("a handshake");
    assert_eq!(client.get_path("shop.test", "/").status, 200);
}

#[test]
fn clear_text_http_in_a_tunnel_takes_the_same_journey() {
    let origin = Origin::http();
    let ladder = "pace: {ladder: [0s, 200ms]}\n";
    let world = World::start(&(resolve(&[("shop.test", origin.address())]) + ladder));
    origin.on("/", [Answer::status(503), Answer::page("page")]);
    origin.decide("/echo", |arrival| Answer::page(&arrival.body));
    let mut client = world.client();
    assert_eq!(client.connect_to("shop.test:80").status, 200);
    for byte in b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n" {
        client.send([*byte]);
    }
    let answer = client.response();
    assert_eq!((answer.status, answer.text().as_str()), (200, "page"));
    let arrivals = origin.await_arrivals(2);
    assert!(arrivals[1].at.since(arrivals[0].at) >= Duration::from_millis(200));
    client.send("HEAD / HTTP/1.1\r\nHost: shop.test\r\n\r\n");
    let answer = client.response_to("HEAD").expect("an answer");
    assert_eq!((answer.status, answer.header("content-length").as_deref()), (200, Some("4")));
    client.send("POST /echo HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 4\r\n\r\nbody");
    assert_eq!(client.response().text(), "body");
    assert_eq!(
        world.metrics().count("pacegate_client_tunnels_total", &[("mode", "plain_http")]),
        1.0
    );
    for method in ["POST", "HEAD"] {
        let mut client = world.client();
        assert_eq!(client.connect_to("shop.test:80").status, 200);
        client.send(format!(
            "{method} /echo HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 0\r\n\r\n"
        ));
        assert_eq!(client.response_to(method).expect("an answer").status, 200);
    }
}

/// A server that says hello first, then sends back what it gets and says goodbye after the end.
fn banner() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                stream.write_all(b"220 mail\r\n").ok();
                let mut all = Vec::new();
                stream.read_to_end(&mut all).ok();
                stream.write_all(&[&all[..], b"bye"].concat()).ok();
                stream.shutdown(Shutdown::Write).ok();
            });
        }
    });
    address
}

#[test]
fn other_protocols_are_copied_both_ways_with_half_closes() {
    let mail = banner();
    let world = World::start(&resolve(&[("mail.test", mail)]));
    // The server speaks first: after three seconds of silence the tunnel is opened for it.
    let mut client = world.client();
    assert_eq!(client.connect_to("mail.test:587").status, 200);
    let asked = now();
    client.send(""); // nothing
    let hello = client.exactly(10);
    assert_eq!(hello, b"220 mail\r\n");
    assert!(now().since(asked) >= Duration::from_secs(2));
    client.send("EHLO me\r\n");
    client.finish();
    assert_eq!(client.rest().expect("an orderly end"), b"EHLO me\r\nbye");
    // The client speaks first, and not HTTP.
    let mut client = world.client();
    assert_eq!(client.connect_to("mail.test:587").status, 200);
    client.send(b"\x00\x01binary");
    client.finish();
    assert_eq!(client.rest().expect("an orderly end"), b"220 mail\r\n\x00\x01binarybye");
    // Bytes of the tunnel that come with the CONNECT are not lost.
    let mut client = world.client();
    client.send(b"CONNECT mail.test:587 HTTP/1.1\r\nHost: mail.test\r\n\r\n\x00early");
    assert_eq!(client.response_to("CONNECT").expect("an answer").status, 200);
    client.finish();
    assert_eq!(client.rest().expect("an orderly end"), b"220 mail\r\n\x00earlybye");
    assert_eq!(world.metrics().count("pacegate_client_tunnels_total", &[("mode", "opaque")]), 3.0);
}

#[test]
fn a_passthrough_name_is_copied_unread() {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["bank.test", "a.bank.example", "shop.test"]);
    let to = origin.address();
    let names =
        [("bank.test", to), ("a.bank.example", to), ("bank.example", to), ("shop.test", to)];
    let tls = format!(
        "tls: {{roots: {}, passthrough: [bank.test, '*.bank.example']}}\n",
        authority.file().display()
    );
    let world = World::start(&(resolve(&names) + &tls));
    for name in ["bank.test", "a.bank.example"] {
        let mut client = world.client();
        assert_eq!(client.connect_to(&format!("{name}:443")).status, 200);
        // The origin's own certificate comes through.
        let mut client =
            client.secure(name, trusting(authority.file(), &[])).expect("the origin's");
        assert_eq!(client.get_path(name, "/").status, 200);
    }
    world.tunnel("shop.test:443");
    let count = |mode| world.metrics().count("pacegate_client_tunnels_total", &[("mode", mode)]);
    assert_eq!((count("passthrough"), count("intercepted")), (2.0, 1.0));
}

#[test]
fn a_passthrough_that_cannot_be_dialled_fails_on_the_connect() {
    let dead = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let config = resolve(&[("bank.test", dead)]) + "tls: {passthrough: [bank.test]}\n";
    let world = World::start(&config);
    let answer = world.client().connect_to("bank.test:443");
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(answer.header("proxy-status").expect("ours").contains("connection_refused"));
}

#[test]
fn blind_tunnels_are_paced_by_their_connects() {
    let mail = banner();
    let config = resolve(&[("mail.test", mail)])
        + "scopes: {mail.test: {delay: 400ms}}\ntls: {passthrough: [mail.test]}\n";
    let world = World::start(&config);
    let began = now();
    for _ in 0..3 {
        let mut client = world.client();
        assert_eq!(client.connect_to("mail.test:587").status, 200);
        assert_eq!(client.exactly(10), b"220 mail\r\n");
    }
    assert!(now().since(began) >= Duration::from_millis(800));
}

#[test]
fn silence_on_443_ends() {
    let (origin, world) = safe("");
    let mut client = world.client();
    assert_eq!(client.connect_to("shop.test:443").status, 200);
    let asked = now();
    assert_eq!(client.rest().unwrap_or_default(), b"");
    assert!(now().since(asked) >= Duration::from_secs(5));
    assert_eq!(origin.connections(), 0);
}

#[test]
fn a_client_that_refuses_our_certificate_is_named_once_with_the_remedy() {
    let (origin, world) = safe("");
    let stranger = Authority::new();
    for _ in 0..3 {
        let mut client = world.client();
        client.send(
            "CONNECT shop.test:443 HTTP/1.1\r\nHost: shop.test\r\nUser-Agent: strict/1\r\n\r\n",
        );
        assert_eq!(client.response_to("CONNECT").expect("an answer").status, 200);
        let refused = client.secure("shop.test", trusting(stranger.file(), &[]));
        assert!(refused.is_err(), "it does not trust us");
    }
    world.await_metric("pacegate_client_tls_failures_total", &[("reason", "unknown_ca")], 3.0);
    let line = world.await_log(&["refused our certificate", "strict/1", "shop.test"]);
    assert!(line.contains("pacegate run") && line.contains("ca.pem"), "{line}");
    // One that closes after the handshake without a word.
    for _ in 0..2 {
        let mut client = world.client();
        client.send("CONNECT shop.test:443 HTTP/1.1\r\nUser-Agent: shy/1\r\n\r\n");
        assert_eq!(client.response_to("CONNECT").expect("an answer").status, 200);
        let mut client = client.secure("shop.test", world.trust()).expect("trusted");
        client.finish();
    }
    world.await_metric("pacegate_client_tls_failures_total", &[("reason", "closed")], 2.0);
    world.await_log(&["refused our certificate", "shy/1", "shop.test"]);
    let named = world.log().iter().filter(|line| line.contains("refused our certificate")).count();
    assert_eq!(named, 2, "{:#?}", world.log());
    assert_eq!(origin.connections(), 0);
}

#[test]
fn a_handshake_without_a_name_gets_the_connects() {
    let (_origin, world) = safe("");
    let mut client = world.client();
    assert_eq!(client.connect_to("shop.test:443").status, 200);
    let mut config = (*world.trust()).clone();
    config.enable_sni = false;
    let mut client = client.secure("shop.test", std::sync::Arc::new(config)).expect("a leaf");
    assert_eq!(client.get_path("shop.test", "/").status, 200);
}

#[test]
fn an_origins_bad_certificate_is_a_502_inside_the_tunnel() {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["shop.test"]);
    let world = World::start(&resolve(&[("shop.test", origin.address())]));
    let mut client = world.tunnel("shop.test:443");
    for _ in 0..2 {
        let answer = client.get_path("shop.test", "/");
        assert_eq!(answer.status, 502, "{}", answer.text());
        assert!(answer.header("proxy-status").expect("ours").contains("tls_certificate_error"));
    }
    assert!(origin.arrivals().is_empty());
}

#[test]
fn a_handshake_that_never_ends_is_ended() {
    let (_origin, world) = safe("");
    let mut client = world.client();
    assert_eq!(client.connect_to("shop.test:443").status, 200);
    client.send([0x16, 3, 1, 2, 0, 1]);
    client.rest().ok();
    world.await_metric("pacegate_client_tls_failures_total", &[("reason", "timeout")], 1.0);
}

#[test]
fn the_proxys_password_stays_here() {
    let origin = Origin::http();
    let world = World::start(&resolve(&[("shop.test", origin.address())]));
    let mut client: Client = world.client();
    client.send("GET http://shop.test/ HTTP/1.1\r\nHost: shop.test\r\nProxy-Authorization: Basic c2NyYXBlcjp4\r\n\r\n");
    assert_eq!(client.response().status, 200);
    let mut client = world.client();
    client.send("CONNECT shop.test:80 HTTP/1.1\r\nHost: shop.test\r\nProxy-Authorization: Basic c2NyYXBlcjp4\r\n\r\n");
    assert_eq!(client.response_to("CONNECT").expect("an answer").status, 200);
    client.send("GET / HTTP/1.1\r\nHost: shop.test\r\nProxy-Authorization: Basic c2NyYXBlcjp4\r\nAuthorization: Basic b3duOng=\r\n\r\n");
    assert_eq!(client.response().status, 200);
    let arrivals = origin.arrivals();
    assert_eq!(arrivals.len(), 2);
    assert!(arrivals.iter().all(|it| it.header("proxy-authorization").is_none()), "{arrivals:#?}");
    assert_eq!(arrivals[1].headers("authorization"), ["Basic b3duOng="]);
}

#[test]
fn a_tunnel_that_has_said_nothing_does_not_hold_up_the_end() {
    let (_origin, mut world) = safe("");
    let mut client = world.client();
    assert_eq!(client.connect_to("shop.test:443").status, 200);
    let told = now();
    world.signal("TERM");
    assert!(world.wait().success());
    assert!(now().since(told) < Duration::from_secs(8), "not for its ten seconds");
    assert_eq!(client.rest().unwrap_or_default(), b"");
}
