//! What users of other proxies reported, where no other test plays that kind of fault already. Each
//! names the report it comes from.

use crate::world::answer::{Answer, Then};
use crate::world::authority::Authority;
use crate::world::client::Client;
use crate::world::door::Deaf;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::streams::{Streams, block_on, empty};
use crate::world::{now, resolve};
use std::io::{Read, Write};
use std::net::{Ipv6Addr, TcpListener, TcpStream};
use std::time::Duration;

// mitmproxy#6796, #6382, #5316: names that aren't ASCII, or were made so, broke certificates.
#[test]
fn names_beyond_ascii_are_a_labels_or_a_400() {
    let name = "xn--bcher-kva.test";
    let authority = Authority::new();
    let origin = Origin::https(&authority, &[name]);
    let roots = format!("tls: {{roots: {}}}\n", authority.file().display());
    let world = World::start(&(resolve(&[(name, origin.address())]) + &roots));
    for spelt in [name, "XN--bcher-kva.test"] {
        let mut client = world.client();
        assert_eq!(client.connect_to(&format!("{spelt}:443")).status, 200);
        let mut client = client.secure(name, world.trust()).expect("a leaf for the A-label");
        assert_eq!(client.get_path(spelt, "/").text(), "unscripted", "{spelt}");
    }
    for head in [
        "GET http://b\u{fc}cher.test/ HTTP/1.1\r\nHost: b\u{fc}cher.test\r\n\r\n",
        "CONNECT b\u{fc}cher.test:443 HTTP/1.1\r\nHost: b\u{fc}cher.test:443\r\n\r\n",
        "GET http://b\u{1F4DA}.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n",
    ] {
        for bytes in [head.as_bytes().to_vec(), head.chars().map(|c| c as u8).collect()] {
            let mut client = world.client();
            client.send(bytes);
            let answer = client.response();
            assert_eq!(answer.status, 400, "{head}: {}", answer.text());
            assert!(answer.text().starts_with("pacegate: "), "{head}: {}", answer.text());
        }
    }
}

// squid bug 5449: space behind a chunk's size.
#[test]
fn space_behind_a_chunks_size_is_none_of_it() {
    let origin = Origin::http();
    let world = World::start(&resolve(&[("shop.test", origin.address())]));
    for (number, space) in [" ", "  ", "\t", " \t "].into_iter().enumerate() {
        let path = format!("/{number}");
        let chunks = format!("4{space}\r\npage\r\n0{space}\r\n\r\n");
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        origin.on(&path, [Answer::raw(&format!("{head}{chunks}"))]);
        let answer = world.client().get(&format!("http://shop.test{path}"));
        assert_eq!((answer.status, answer.text().as_str()), (200, "page"), "{space:?}");
    }
}

// mitmproxy#553, goproxy#367: a final answer to a request that waits for its 100.
#[test]
fn an_origin_may_refuse_what_it_was_asked_to_expect() {
    let origin = Origin::http();
    let world = World::start(&resolve(&[("shop.test", origin.address())]));
    for status in [413, 417, 401] {
        let path = format!("/{status}");
        origin.on(&path, [Answer::status(status).body("no").early().then(Then::Close)]);
        let mut client = world.client();
        client.send(format!(
            "POST http://shop.test{path} HTTP/1.1\r\nHost: shop.test\r\nExpect: 100-continue\r\n\
             Content-Length: 2097152\r\n\r\n"
        ));
        // It may be refused before or after the body was asked for.
        let first = client.head();
        if first.starts_with(b"HTTP/1.1 100") {
            client.try_send(vec![0; 2 * 1024 * 1024]).ok();
            let answer = client.response();
            assert_eq!((answer.status, answer.text().as_str()), (status, "no"));
        } else {
            assert!(first.starts_with(format!("HTTP/1.1 {status}").as_bytes()));
        }
        assert_eq!(origin.arrivals_for(&path).len(), 1, "{status} was not repeated");
    }
}

/// A server that answers one request a connection and hangs up a moment later, unasked.
fn forgetful(after: Duration) -> (std::net::SocketAddr, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("a bound socket has an address");
    let (heard, all) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let heard = heard.clone();
            std::thread::spawn(move || forget(stream, after, &heard));
        }
    });
    (address, all)
}

fn forget(mut stream: TcpStream, after: Duration, heard: &std::sync::mpsc::Sender<String>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        head.push(byte[0]);
    }
    let line = String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_owned();
    heard.send(line).ok();
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage").ok();
    std::thread::sleep(after);
}

// mitmproxy#3038, envoy#1979: requests that meet the moment in which the origin closes.
#[test]
fn an_origin_that_closes_idle_connections_costs_nobody_an_answer() {
    let idle = Duration::from_millis(60);
    let (address, heard) = forgetful(idle);
    let resolve = resolve(&[("shop.test", address)]);
    // A POST that is lost climbs.
    let world = World::start(&format!("{resolve}pace: {{ladder: [0, 0.05]}}\n"));
    let mut clients: Vec<Client> = (0..5).map(|_| world.client()).collect();
    let mut sent = 0;
    for round in 0..12_u32 {
        for (number, client) in clients.iter_mut().enumerate() {
            let method = if number % 2 == 0 { "GET" } else { "POST" };
            let path = format!("/{round}/{number}");
            client.send(format!(
                "{method} http://shop.test{path} HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 0\r\n\r\n"
            ));
            sent += usize::from(method == "GET");
        }
        for (number, client) in clients.iter_mut().enumerate() {
            let answer = client.response();
            // A POST that was on its way when the end came may have been done: it isn't sent again.
            let lost = number % 2 == 1 && answer.status == 502;
            assert!(lost || answer.text() == "page", "round {round}: {}", answer.text());
        }
        std::thread::sleep(idle - Duration::from_millis(u64::from(round % 6)));
    }
    let lines: Vec<String> = heard.try_iter().filter(|line| !line.is_empty()).collect();
    let posts: Vec<_> = lines.iter().filter(|line| line.starts_with("POST")).collect();
    let once: std::collections::HashSet<_> = posts.iter().collect();
    assert_eq!(once.len(), posts.len(), "a POST came twice");
    let gets = lines.iter().filter(|line| line.starts_with("GET")).count();
    assert!(gets >= sent, "{gets} of {sent}");
}

// tinyproxy#392, docker-registry-proxy#108: one address of a name is dead, the other is well.
#[test]
fn a_dead_address_of_two_costs_a_moment() {
    let deaf = Deaf::new();
    let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, deaf.port())) else {
        return; // no IPv6 here, or the port is somebody's
    };
    let origin = Origin::behind(listener, None);
    let world = World::start("");
    let began = now();
    let answer = world.get(&origin.url("shop", "/"));
    assert_eq!((answer.status, answer.text().as_str()), (200, "unscripted"));
    let took = now().since(began);
    // Half the connect time-out would be a wait for the dead one.
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(world.rung("shop.localhost"), 0.0);
}

// morph#880, mitmproxy#5428: two hosts behind one client connection, bodies beyond 64 KiB.
#[test]
fn two_hosts_behind_one_connection_keep_their_bodies_apart() {
    let authority = Authority::new();
    let names = ["a.test", "b.test"];
    let body = |name: &str| name.repeat(40_000);
    let origins = names.map(|name| {
        let origin = Origin::https(&authority, &[name]);
        origin.on("/big", [Answer::page(body(name))]);
        origin
    });
    let plain = names.map(|name| {
        let origin = Origin::http();
        origin.on("/big", [Answer::page("").chunked(body(name), 9000)]);
        origin
    });
    let roots = format!("tls: {{roots: {}}}\n", authority.file().display());
    let config = |origins: &[Origin; 2]| {
        resolve(&[("a.test", origins[0].address()), ("b.test", origins[1].address())])
    };
    let world = World::start(&(config(&origins) + &roots));
    block_on(async {
        let streams = Streams::open(&world, "a.test:443").await;
        for _ in 0..4 {
            let ask = |name: &str| {
                let url = format!("https://{name}/big");
                streams.begin(http::Request::get(url).body(empty()).expect("a request"))
            };
            let (a, b) = tokio::join!(ask("a.test"), ask("b.test"));
            assert!(a.expect("an answer").body().as_ref() == body("a.test").as_bytes());
            assert!(b.expect("an answer").body().as_ref() == body("b.test").as_bytes());
        }
    });
    let world = World::start(&config(&plain));
    let mut client = world.client();
    for name in ["a.test", "b.test", "a.test", "b.test"] {
        assert!(client.get(&format!("http://{name}/big")).text() == body(name), "{name}");
    }
}

// linkerd2#1378: a label for every host that anybody made up.
#[test]
fn metrics_stay_small_however_many_hosts_there_are() {
    let origin = Origin::http();
    let world = World::start("metrics: {host_limit: 20}\nlog: {level: warn}\n");
    let mut client = world.client();
    let page = |number: u32| origin.url(&format!("made-up-{number}"), "/");
    for number in 0..100 {
        assert_eq!(client.get(&page(number)).status, 200);
    }
    let before = world.metrics().text().len();
    for number in 100..600 {
        assert_eq!(client.get(&page(number)).status, 200);
    }
    let text = world.metrics().text().to_owned();
    let is_served = |line: &&str| {
        line.starts_with("pacegate_requests_total{") && line.contains("outcome=\"served\"")
    };
    let labels = text.lines().filter(is_served).count();
    assert!(labels <= 22, "{labels} hosts: 20, `_other`, `_none`");
    assert!(text.len() < before + 2000, "{before} bytes grew to {}", text.len());
    let other = [("host", "_other"), ("outcome", "served")];
    assert!(world.metrics().count("pacegate_requests_total", &other) >= 580.0);
}

// scrapy-zyte-smartproxy 2.3.3: one lost connection slowed a whole crawl for good.
#[test]
fn one_reset_is_forgotten_after_one_page() {
    let origin = Origin::http();
    origin.on("/", [Answer::nothing(Then::Reset), Answer::page("page")]);
    let world = World::start("pace: {ladder: [0, 0.1, 60]}\n");
    for _ in 0..5 {
        assert_eq!(world.get(&origin.url("shop", "/")).text(), "page");
    }
    assert_eq!(world.rung("shop.localhost"), 0.0);
    let gaps = origin.arrivals();
    let last = gaps[5].at.since(gaps[4].at);
    assert!(last < Duration::from_secs(30), "the pace is gone: {last:?}");
}
