//! What shares a pace, by kind, seen from the origin.

use crate::world::answer::Answer;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::{now, resolve, sized};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const BOOKS: &str = "books.toscrape.com";
const QUOTES: &str = "quotes.toscrape.com";

/// The proxy, with both names at one place.
fn world(config: &str, at: SocketAddr) -> World {
    World::start(&format!("{}{config}", resolve(&[(BOOKS, at), (QUOTES, at)])))
}

/// Whether one of two requests waits for the other.
fn wait(kind: &str, origins: [&Origin; 2], names: [&str; 2]) -> bool {
    let ports = origins.map(Origin::port);
    let world = World::start(&format!(
        "resolve: {{{BOOKS}: 127.0.0.1, {QUOTES}: 127.0.0.1}}\npace: {{scope: {kind}}}\n\
         scopes: {{toscrape.com: {{delay: 1s}}, {BOOKS}: {{delay: 1s}}, 127.0.0.1: {{delay: 1s}}, \
         '{BOOKS}:{}': {{delay: 1s}}}}\n",
        ports[0]
    ));
    let began = now();
    thread::scope(|scope| {
        for (name, port) in names.into_iter().zip(ports) {
            let (world, url) = (&world, format!("http://{name}:{port}/"));
            scope.spawn(move || assert_eq!(world.get(&url).status, 200, "{url}"));
        }
    });
    let arrivals = origins.into_iter().flat_map(Origin::arrivals);
    let mut found: Vec<_> = arrivals.map(|it| it.at).filter(|at| *at >= began).collect();
    found.sort_unstable();
    found.dedup();
    // Since the beginning: between arrivals it may be less, as the first has its own way.
    found[1].since(began) >= Duration::from_secs(1)
}

#[test]
fn each_kind_of_scope_is_shared_by_what_it_says() {
    let (one, other) = (Origin::http(), Origin::http());
    let cases = [
        ("host", false, true),
        ("host_port", false, false),
        ("domain", true, true),
        ("chain", true, true),
        ("address", true, true),
    ];
    for (kind, names, ports) in cases {
        assert_eq!(wait(kind, [&one, &one], [BOOKS, QUOTES]), names, "{kind}: two names");
        assert_eq!(wait(kind, [&one, &other], [BOOKS, BOOKS]), ports, "{kind}: two ports");
    }
}

#[test]
fn of_a_chain_the_host_climbs_and_its_domain_does_not() {
    for (learn, others_wait) in [("narrowest", false), ("all", true)] {
        let origin = Origin::http();
        origin.on("/bad", [Answer::status(503), Answer::page("better")]);
        let config = format!("pace: {{ladder: [0s, 2s], scope: chain, learn: {learn}}}\n");
        let world = world(&config, origin.address());
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(world.get(&format!("http://{BOOKS}/bad")).status, 200));
            world.await_metric("pacegate_held_requests", &[], 1.0);
            let began = now();
            assert_eq!(world.get(&format!("http://{QUOTES}/good")).status, 200);
            let took = now().since(began);
            assert_eq!(took >= Duration::from_secs(1), others_wait, "{learn}: {took:?}");
        });
    }
}

/// Counts requests under way, by host and together; each takes a moment.
#[derive(Default)]
struct Counts {
    now: HashMap<String, usize>,
    most: HashMap<String, usize>,
    served: HashMap<String, usize>,
}

fn serve(stream: TcpStream, counts: &Mutex<Counts>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let mut stream = stream;
    loop {
        let mut host = String::new();
        loop {
            let Some(line) = lines.next().transpose()? else { return Ok(()) };
            if let Some(name) = line.strip_prefix("Host: ") {
                host = name.to_owned();
            }
            if line.is_empty() {
                break;
            }
        }
        {
            let mut counts = counts.lock().expect("no panic");
            for name in [host.as_str(), "all"] {
                let now = counts.now.entry(name.to_owned()).or_default();
                *now += 1;
                let now = *now;
                let most = counts.most.entry(name.to_owned()).or_default();
                *most = now.max(*most);
            }
        }
        thread::sleep(Duration::from_millis(30));
        {
            let mut counts = counts.lock().expect("no panic");
            for name in [host.as_str(), "all"] {
                *counts.now.get_mut(name).expect("counted in") -= 1;
                *counts.served.entry(name.to_owned()).or_default() += 1;
            }
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
    }
}

fn counting() -> (SocketAddr, Arc<Mutex<Counts>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (at, counts) = (listener.local_addr().expect("bound"), Arc::<Mutex<Counts>>::default());
    let shared = counts.clone();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let counts = shared.clone();
            thread::spawn(move || serve(stream, &counts));
        }
    });
    (at, counts)
}

/// The example of the third document: 24 and 16 of two hosts, but never more than 32 of their domain.
#[test]
fn a_domain_of_32_with_children_of_24_and_16_is_used_to_the_full_by_both() {
    let seconds = sized("PACEGATE_CHAIN_SECONDS", 3) as u64;
    let (at, counts) = counting();
    let config = format!(
        "pace: {{scope: chain}}\nscopes: {{toscrape.com: {{concurrency: 32}}, \
         {BOOKS}: {{concurrency: 24}}, {QUOTES}: {{concurrency: 16}}}}\n"
    );
    let world = world(&config, at);
    let end = now() + Duration::from_secs(seconds);
    let clients: Vec<usize> = thread::scope(|scope| {
        let clients: Vec<_> = (0..100)
            .map(|client| {
                let (world, name) = (&world, [BOOKS, QUOTES][client % 2]);
                scope.spawn(move || {
                    let (mut client, mut served) = (world.client(), 0);
                    while now() < end {
                        assert_eq!(client.get(&format!("http://{name}/")).status, 200);
                        served += 1;
                    }
                    served
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().expect("no panic")).collect()
    });
    let counts = counts.lock().expect("no panic");
    let most = |name: &str| counts.most.get(name).copied().unwrap_or(0);
    assert_eq!(most("all"), 32, "{:?}", counts.most);
    assert!(most(BOOKS) <= 24 && most(QUOTES) <= 16, "{:?}", counts.most);
    let (books, quotes) = (counts.served[BOOKS], counts.served[QUOTES]);
    assert!(books > 50 && quotes > 50, "{books} and {quotes}");
    assert!(clients.iter().all(|served| *served > 0), "nobody starves: {clients:?}");
}
