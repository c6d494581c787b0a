//! Bytes that are no requests, nearly requests, or requests with a bend: the proxy answers or closes,
//! in bounded time, and lives.

use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::resolve;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// A small generator (xorshift64*): the same bytes in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }

    fn byte(&mut self) -> u8 {
        match self.below(4) {
            0 => b"\r\n \t:\0,;"[self.below(8)],
            1 => b"0123456789abcdefx-+/?#@[]"[self.below(25)],
            _ => self.below(256) as u8,
        }
    }

    /// Bends a piece in up to five places.
    fn bend(&mut self, piece: &mut Vec<u8>) {
        for _ in 0..self.below(6) {
            let place = self.below(piece.len() + 1);
            let byte = self.byte();
            match self.below(5) {
                0 => piece.insert(place, byte),
                1 if place < piece.len() => drop(piece.remove(place)),
                2 if place < piece.len() => piece[place] = byte,
                3 => piece.truncate(place.max(1)),
                _ => {
                    let copy = piece[place..(place + 20).min(piece.len())].to_vec();
                    piece.splice(place..place, copy);
                }
            }
        }
    }
}

/// Requests for `@`, which stays whole: nobody's name is looked up.
const SEEDS: [&str; 9] = [
    "GET http://@/path?q=1 HTTP/1.1\r\nHost: shop.test\r\nX: y\r\n\r\n",
    "POST http://@/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    "POST http://@/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "GET http://@/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "CONNECT @ HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "CONNECT @ HTTP/1.1\r\nHost: a\r\n\r\n\u{16}\u{3}\u{1}\u{0}\u{5}\u{1}\u{0}\u{0}\u{1}\u{3}",
    "CONNECT @ HTTP/1.1\r\nHost: a\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u{0}\u{0}\u{0}\u{4}\u{0}\u{0}\u{0}\u{0}\u{0}",
    "OPTIONS http://@/ HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\nExpect: 100-continue\r\nPace-Window: 5s\r\n\r\n",
    "GET http://@/ HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade, TE\r\nTE: trailers\r\n\r\nGET http://@/2 HTTP/1.1\r\nHost: a\r\n\r\n",
];

fn made(dice: &mut Dice, origin: SocketAddr) -> Vec<u8> {
    if dice.below(8) == 0 {
        return (0..dice.below(300)).map(|_| dice.byte()).collect();
    }
    let mut pieces: Vec<Vec<u8>> = SEEDS[dice.below(SEEDS.len())]
        .split('@')
        .map(|piece| piece.chars().map(|c| c as u8).collect())
        .collect();
    let bent = dice.below(pieces.len());
    dice.bend(&mut pieces[bent]);
    pieces.join(origin.to_string().as_bytes())
}

/// Sends the bytes and a FIN; the other end must end too.
fn ends(proxy: SocketAddr, bytes: &[u8]) -> std::io::Result<()> {
    let mut socket = TcpStream::connect(proxy)?;
    socket.set_read_timeout(Some(Duration::from_secs(15)))?;
    // It may have refused and closed already.
    if socket.write_all(bytes).is_ok() {
        socket.shutdown(Shutdown::Write).ok();
    }
    let mut answer = Vec::new();
    match socket.read_to_end(&mut answer) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

#[test]
fn two_thousand_bent_requests_all_come_to_an_end() {
    let origin = Origin::http();
    let config = "retry: {max_attempts: 1, response_timeout: 2s}\nlog: {level: warn}\n";
    let world = World::start(&(resolve(&[("shop.test", origin.address())]) + config));
    let (proxy, target) = (world.proxy(), origin.address());
    std::thread::scope(|scope| {
        for seed in 1..=8_u64 {
            scope.spawn(move || {
                let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                for _ in 0..250 {
                    let bytes = made(&mut dice, target);
                    let ended = ends(proxy, &bytes);
                    assert!(ended.is_ok(), "{ended:?}: {:?}", String::from_utf8_lossy(&bytes));
                }
            });
        }
    });
    assert_eq!(world.client().get("http://shop.test/").text(), "unscripted", "it lives");
    let log = world.log().join("\n");
    assert!(!log.contains("panicked"), "{log}");
    world.await_idle();
}

#[test]
fn a_request_with_blanks_too_many_is_one_inside_a_tunnel_too() {
    let origin = Origin::http();
    let world = World::start("");
    let to = format!("shop.localhost:{}", origin.port());
    let fields = "HTTP/1.1\r\nHost: shop.localhost\r\n\r\n";
    for (line, status) in [
        ("\r\nGET / ", 200),
        ("\r\n\r\nGET / ", 200),
        ("GET  / ", 400),
        ("GET\t/ ", 400),
        (" GET / ", 400),
    ] {
        let before = origin.arrivals().len();
        for tunnel in [false, true] {
            let mut client = world.client();
            let line = match tunnel {
                true => line.to_owned(),
                false => line.replace('/', &origin.url("shop", "/")),
            };
            if tunnel {
                assert_eq!(client.connect_to(&to).status, 200);
            }
            client.send(format!("{line}{fields}"));
            let answer = client.response();
            assert_eq!(answer.status, status, "{line:?}: {}", answer.text());
            assert_eq!(answer.header("proxy-status").is_some(), status == 400, "{line:?}");
        }
        let arrived = if status == 200 { 2 } else { 0 };
        assert_eq!(origin.arrivals().len() - before, arrived, "{line:?}");
    }
    let metrics = world.metrics();
    assert_eq!(metrics.count("pacegate_client_tunnels_total", &[("mode", "opaque")]), 0.0);
}
