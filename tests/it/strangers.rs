//! Names that somebody makes up, one for each request (http.md A14, A15, G20): neither memory nor
//! metrics grow with them, and a host with a pace keeps it. `PACEGATE_STRANGERS=1000000` plays the whole
//! size, best with `PACEGATE_BINARY` naming an optimised build.

use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const CLIENTS: usize = 8;
const PACE: Duration = Duration::from_millis(300);
/// KiB, beside the rows that `limits.scopes` bounds.
const MOST_MORE: u64 = 64 * 1024;
/// Of a host that can't keep up: state, line and name.
const ROW_BYTES: u64 = 1536;

/// A site for all names: 200, or 503 for `/busy`, and then the connection is closed.
fn site() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("a bound socket has an address");
    for _ in 0..CLIENTS {
        let listener = listener.try_clone().expect("descriptors are left");
        std::thread::spawn(move || {
            let mut head = [0; 4096];
            for mut stream in listener.incoming().flatten() {
                let count = stream.read(&mut head).unwrap_or(0);
                let busy = head[..count].starts_with(b"GET /busy");
                let status = if busy { "503 Busy" } else { "200 OK" };
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
                );
                stream.write_all(answer.as_bytes()).ok();
            }
        });
    }
    address
}

fn series(world: &World) -> usize {
    world.metrics().text().lines().filter(|line| !line.starts_with('#')).count()
}

/// Each number a host of its own; every fourth is busy and gets a row.
fn flood(world: &World, site: SocketAddr, numbers: std::ops::Range<usize>) {
    let next = AtomicUsize::new(numbers.start);
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = world.client();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= numbers.end {
                        return;
                    }
                    let (path, want) =
                        if number.is_multiple_of(4) { ("busy", 503) } else { ("", 200) };
                    let url = format!("http://made-up-{number:x}.localhost:{}/{path}", site.port());
                    client.say("GET", &url, "Pace-Retry: 0\r\n", "");
                    let answer = client.response();
                    assert_eq!(answer.status, want, "{url}: {}", answer.text());
                }
            });
        }
    });
}

#[test]
fn made_up_names_by_the_thousand_cost_next_to_nothing_and_pace_nobody() {
    let wanted = std::env::var("PACEGATE_STRANGERS").ok().and_then(|it| it.parse().ok());
    let strangers: usize = wanted.unwrap_or(6000);
    let (site, real) = (site(), Origin::http());
    real.on("/", [crate::world::answer::Answer::status(503)]);
    let config = format!(
        "pace: {{ladder: [0, {0}ms]}}\nlimits: {{scopes: {1}}}\nlog: {{level: warn}}\n",
        PACE.as_millis(),
        if wanted.is_some() { 100_000 } else { 1000 }
    );
    let world = World::start(&config);
    flood(&world, site, 0..2000);
    let (memory, few) = (world.memory(), series(&world));
    let over = AtomicBool::new(false);
    let began = now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = world.client();
            while !over.load(Ordering::Relaxed) {
                let url = real.url("real", "/");
                client.say("GET", &url, "Pace-Retry: 0\r\n", "");
                assert_eq!(client.response().status, 503);
            }
        });
        real.await_arrivals(3);
        flood(&world, site, 2000..2000 + strangers);
        over.store(true, Ordering::Relaxed);
    });
    let grown = world.memory().saturating_sub(memory);
    let more = series(&world).saturating_sub(few);
    let rows = world.metrics().count("pacegate_scopes", &[]);
    let took = now().since(began);
    println!("{strangers} names in {took:?}: {grown} KiB and {more} series more, {rows} rows");
    let arrivals = real.arrivals();
    for two in arrivals.windows(2) {
        let gap = two[1].at.since(two[0].at);
        assert!(gap >= PACE - Duration::from_millis(30), "{gap:?} between two attempts");
    }
    assert!(arrivals.len() > 5, "{} attempts", arrivals.len());
    let most = MOST_MORE + rows as u64 * ROW_BYTES / 1024;
    assert!(grown < most, "{grown} KiB");
    assert!(more <= 500, "{more} series");
}
