//! Addresses that may not be reached, in every spelling, by every way a request can take through the
//! proxy (http.md A18, A20, G21): refused, and nothing is connected to.

use crate::world::door::closed_port;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::response::Response;
use crate::world::streams::{Streams, block_on, empty};
use std::net::{SocketAddr, TcpListener};

/// Hosts as a client may write them, all of them this machine, its network, or nobody's.
const PROHIBITED: [&str; 63] = [
    "127.0.0.1",
    "127.0.0.1.",
    "127.1.2.3",
    "127.255.255.254",
    "0.0.0.0",
    "0.0.0.0.",
    "0.1.2.3",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "a.b.LocalHost.",
    "10.0.0.1",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "169.254.169.254",
    "169.254.169.254.",
    "100.64.0.1",
    "100.127.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.7",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "[::127.0.0.1]",
    "[::7f00:1]",
    "[::ffff:127.0.0.1]",
    "[::FFFF:7F00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[::ffff:10.0.0.1]",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[::ffff:0:127.0.0.1]",
    "[::ffff:0.0.0.0]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::10.0.0.1]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]",
    "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
    "[2001:db8::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[febf::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[100::1]",
    "[2606:4700::5efe:10.0.0.1]",
    "[2606:4700::200:5efe:127.0.0.1]",
];

/// Texts that some resolver or parser takes for one of those, and that are no hosts here.
const NO_HOSTS: [&str; 26] = [
    "2130706433",
    "017700000001",
    "0x7f000001",
    "0X7F000001",
    "0x7f.1",
    "127.1",
    "127.0.1",
    "0177.0.0.1",
    "0177.0.0.01",
    "127.0.0.01",
    "0x7f.0x0.0x0.0x1",
    "0xa9fea9fe",
    "2852039166",
    "425.510.425.510",
    "0",
    "127.0.0.1..",
    "[127.0.0.1]",
    "[::1%25lo]",
    "[fe80::1%25eth0]",
    "[fe80::1%eth0]",
    "%31%32%37.0.0.1",
    "shop.test@127.0.0.1",
    "shop.test:80@127.0.0.1",
    "u:p@localhost",
    "127.0.0.1%00.shop.test",
    "[::ffff:0x7f.1]",
];

/// An origin on loopback that nobody may reach, and a proxy that knows no exception but 127.0.0.77.
fn world(more: &str) -> (Origin, World) {
    let origin = Origin::http();
    (origin, World::start(&format!("destinations: {{deny: true, allow: [127.0.0.77]}}\n{more}")))
}

#[track_caller]
fn prohibited(answer: &Response, shown: &str) {
    assert_eq!(answer.status, 403, "{shown}: {}", answer.text());
    let status = answer.header("proxy-status").unwrap_or_default();
    assert!(status.contains("destination_ip_prohibited"), "{shown}: {status}");
}

/// What a CONNECT, and if that gets its 200 a request inside, comes to.
fn tunnelled(world: &World, host: &str, port: u16) -> Response {
    let mut client = world.client();
    client.send(format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n"));
    let answer = client.response_to("CONNECT").unwrap_or_else(|why| panic!("{host}: {why}"));
    match answer.status {
        200 => client.get_path(&format!("{host}:{port}"), "/"),
        _ => answer,
    }
}

#[test]
fn what_is_not_public_is_refused_in_every_spelling_and_by_every_way() {
    let (origin, reads) = world("");
    let passes = World::start("destinations: {deny: true}\ntls: {intercept: false}\n");
    let port = origin.port();
    let mut client = reads.client();
    for host in PROHIBITED {
        prohibited(&client.get(&format!("http://{host}:{port}/")), host);
        prohibited(&tunnelled(&reads, host, port), host);
        let answer = passes.client().connect_to(&format!("{host}:{port}"));
        prohibited(&answer, host);
    }
    for host in NO_HOSTS {
        let mut client = reads.client();
        client.send(format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(client.response().status, 400, "{host}");
        assert_eq!(tunnelled(&reads, host, port).status, 400, "{host}");
        assert_eq!(passes.client().connect_to(&format!("{host}:{port}")).status, 400, "{host}");
    }
    assert_eq!(origin.connections(), 0);
    for world in [&reads, &passes] {
        let metrics = world.metrics();
        let tried = metrics.count("pacegate_attempts_total", &[]);
        let denied = metrics.count("pacegate_attempts_total", &[("class", "denied")]);
        assert_eq!(tried, denied, "only names are looked at in an attempt");
        assert_eq!(metrics.count("pacegate_origin_connect_seconds_count", &[]), 0.0);
    }
}

#[test]
fn a_target_in_disguise_is_what_would_be_connected_to() {
    let (origin, world) = world("");
    let (port, other) = (origin.port(), closed_port().port());
    let here = format!("127.0.0.1:{port}");
    let cases = [
        (format!("GET http://{here}#@shop.test/ HTTP/1.1\r\nHost: shop.test"), 403),
        (format!("GET http://{here}/?@shop.test HTTP/1.1\r\nHost: shop.test"), 403),
        (format!("GET http://{here} HTTP/1.1\r\nHost: 127.0.0.77:{other}"), 403),
        (format!("GET HTTP://{here}/ HTTP/1.1\r\nHost: shop.test"), 403),
        (format!("GET https://{here}/ HTTP/1.1\r\nHost: shop.test"), 403),
        (format!("GET ws://{here}/ HTTP/1.1\r\nHost: shop.test"), 403),
        (format!("GET http://{here}\\@shop.test/ HTTP/1.1\r\nHost: shop.test"), 400),
        (format!("GET http://shop.test\\@{here}/ HTTP/1.1\r\nHost: shop.test"), 400),
        (format!("GET http://shop.test@{here}/ HTTP/1.1\r\nHost: shop.test"), 400),
        (format!("GET / HTTP/1.1\r\nHost: {here}"), 400),
        (format!("GET //{here}/ HTTP/1.1\r\nHost: shop.test"), 400),
        (format!("GET {here} HTTP/1.1\r\nHost: {here}"), 400),
        (format!("GET ftp://{here}/ HTTP/1.1\r\nHost: {here}"), 400),
        (format!("GET file:///etc/passwd HTTP/1.1\r\nHost: {here}"), 400),
        (format!("GET gopher://{here}/_x HTTP/1.1\r\nHost: {here}"), 400),
    ];
    for (head, status) in cases {
        let mut client = world.client();
        client.send(format!("{head}\r\n\r\n"));
        assert_eq!(client.response().status, status, "{head}");
    }
    assert_eq!(origin.connections(), 0);
}

#[test]
fn a_request_inside_a_tunnel_goes_by_its_own_name() {
    let (origin, world) = world("");
    let listener = TcpListener::bind("127.0.0.77:0").expect("all of 127/8 is ours");
    let allowed = Origin::behind(listener, None);
    let (good, here) = (allowed.address().to_string(), format!("127.0.0.1:{}", origin.port()));
    let mut client = world.client();
    assert_eq!(client.connect_to(&good).status, 200);
    assert_eq!(client.get_path(&good, "/").status, 200, "what is allowed is reached");
    for inner in [here.clone(), format!("localhost:{}", origin.port()), "169.254.169.254".into()] {
        prohibited(&client.get_path(&inner, "/"), &inner);
        client.send(format!("GET http://{inner}/ HTTP/1.1\r\nHost: {good}\r\n\r\n"));
        prohibited(&client.response(), &inner);
    }
    block_on(async {
        let mut streams = Streams::open_clear(&world, &good).await;
        let ask = http::Request::get(format!("http://{here}/")).body(empty()).expect("a request");
        assert_eq!(streams.send(ask).await.expect("an answer").status(), 403);
    });
    assert_eq!((origin.connections(), allowed.connections() > 0), (0, true));
}

/// Where the second listener is.
fn everywhere(world: &World) -> u16 {
    let line = world.await_log(&["ready", "0.0.0.0:"]);
    let rest = line.split("0.0.0.0:").nth(1).expect("just found");
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a port")
}

/// This machine's address on its network, if it has one.
fn outside() -> Option<String> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent.
    socket.connect("198.51.100.1:9").ok()?;
    socket.local_addr().ok().map(|address| address.ip().to_string())
}

#[test]
fn our_own_ports_are_no_destination_by_any_address_of_this_machine() {
    let config = "clients: {allow: [private]}\ndestinations: {deny: false}\n";
    let listen = ["--listen", "0.0.0.0:0"];
    let reads = World::start_with(config, &listen);
    let config = format!("{config}tls: {{intercept: false}}\n");
    let passes = World::start_with(&config, &listen);
    for world in [&reads, &passes] {
        let (one, all) = (world.proxy().port(), everywhere(world));
        let admin = world.admin().port();
        let loopback =
            ["127.0.0.1", "127.0.0.1.", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "localhost"];
        let mut own: Vec<(String, u16)> = Vec::new();
        for port in [one, all, admin] {
            own.extend(loopback.map(|host| (host.to_owned(), port)));
        }
        let more = ["127.0.0.2", "127.255.255.254", "[::ffff:127.9.9.9]", "x.localhost"];
        own.extend(more.map(|host| (host.to_owned(), all)));
        own.extend(outside().map(|host| (host, all)));
        for (host, port) in own {
            let url = format!("http://{host}:{port}/metrics");
            let (plain, connect) = (world.client().get(&url), tunnelled(world, &host, port));
            for answer in [plain, connect] {
                let status = answer.header("proxy-status").unwrap_or_default();
                let what = format!("{url}: {} {status}", answer.status);
                assert!(answer.status == 502 && status.contains("proxy_loop_detected"), "{what}");
            }
        }
    }
}

#[test]
fn two_proxies_that_lead_to_each_other_end_what_would_go_round() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let later = listener.local_addr().expect("a bound socket has an address");
    let to = |address: SocketAddr| format!("via: both\nresolve: {{loop.test: \"{address}\"}}\n");
    let first = World::start(&to(later));
    drop(listener);
    let second = World::start_with(&to(first.proxy()), &["--listen", &later.to_string()]);
    for field in ["", "Connection: Upgrade\r\nUpgrade: websocket\r\n"] {
        let answer = first.get_with("http://loop.test/", field);
        assert!(answer.status == 400 || answer.status == 502, "{}", answer.status);
    }
    let mut client = first.client();
    assert_eq!(client.connect_to(&format!("loop.test:{}", later.port())).status, 200);
    client.send("GET http://loop.test/ HTTP/1.1\r\nHost: loop.test\r\n\r\n");
    let answer = client.response();
    assert!(answer.status == 400 || answer.status == 502, "{}", answer.status);
    for world in [&first, &second] {
        let requests = world.metrics().count("pacegate_requests_total", &[]);
        assert!(requests <= 6.0, "{requests} requests came of three");
    }
}
