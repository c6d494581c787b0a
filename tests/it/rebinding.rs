//! Names whose address changes between the check and the connection, or that have two addresses of
//! which one may be reached (http.md A19, G21): what is connected to is what was checked.

use crate::world::names::{Names, Said};
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::response::Response;
use std::collections::HashMap;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Mutex;

const GOOD: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 77);
/// Allowed, and nobody listens there.
const EMPTY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 78);
const SECRET: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// An origin that may be reached and one that may not, at the same port.
fn two() -> (Origin, Origin) {
    for _ in 0..50 {
        let good = TcpListener::bind((GOOD, 0)).expect("all of 127/8 is ours");
        let port = good.local_addr().expect("a bound socket has an address").port();
        if let Ok(secret) = TcpListener::bind((SECRET, port)) {
            return (Origin::behind(good, None), Origin::behind(secret, None));
        }
    }
    panic!("no port is free at both addresses");
}

/// Says something else about a name each time it is asked for (each time is two queries: one for
/// either family).
fn turning() -> impl Fn(&str) -> Said + Send + 'static {
    let asked: Mutex<HashMap<String, usize>> = Mutex::default();
    move |label| {
        let mut asked = asked.lock().expect("nothing panics in here");
        let times = asked.entry(label.to_owned()).or_default();
        *times += 1;
        let odd = (*times - 1) / 2 % 2 == 1;
        match label.as_bytes().first() {
            Some(b'e') if odd => Said::At(&[SECRET]),
            Some(b'e') => Said::At(&[EMPTY]),
            Some(b't') => Said::At(&[SECRET, GOOD]),
            Some(b'u') => Said::At(&[GOOD, SECRET]),
            Some(b'r') if odd => Said::At(&[GOOD]),
            Some(_) | None if odd => Said::At(&[SECRET]),
            Some(b'r') => Said::At(&[SECRET]),
            Some(_) | None => Said::At(&[GOOD]),
        }
    }
}

fn inside(world: &World, to: &str) -> Response {
    let mut client = world.client();
    let answer = client.connect_to(to);
    if answer.status == 200 { client.get_path(to, "/") } else { answer }
}

#[test]
fn an_address_is_connected_to_as_it_was_checked() {
    let Some(names) = Names::serve(turning()) else {
        return; // The room's own tests have the rest.
    };
    let (good, secret) = two();
    let port = good.port();
    let config = "destinations: {deny: true, allow: [127.0.0.77, 127.0.0.78]}\n\
                  pace: {ladder: [0, 0.01]}\nretry: {window: 2s}\n";
    let reads = World::start_among(&names, config);
    let passes = World::start_among(&names, &format!("{config}tls: {{intercept: false}}\n"));
    let mut seen: HashMap<u16, usize> = HashMap::new();
    for round in 0..6 {
        // a: good first; r: the secret first; e: nobody there, so that it is asked for again.
        for kind in ["a", "r", "e", "t", "u"] {
            let to = format!("{kind}{}.test:{port}", round / 2);
            let plain = reads.get(&format!("http://{to}/"));
            for answer in [plain, inside(&reads, &to), inside(&passes, &to)] {
                let status = answer.header("proxy-status").unwrap_or_default();
                let right = match answer.status {
                    200 => answer.text() == "unscripted" && kind != "e",
                    403 => status.contains("destination_ip_prohibited") && !"tu".contains(kind),
                    502 => status.contains("connection_refused") && kind == "e",
                    // A look-up that a loaded machine was too slow for.
                    504 => status.contains("dns_timeout"),
                    _ => false,
                };
                assert!(right, "{to}: {} {status} {}", answer.status, answer.text());
                *seen.entry(answer.status).or_default() += 1;
            }
        }
    }
    assert_eq!(secret.connections(), 0, "{seen:?}");
    assert!(good.connections() > 0);
    for status in [200, 403, 502] {
        assert!(seen.contains_key(&status), "nothing was a {status}: {seen:?}");
    }
}
