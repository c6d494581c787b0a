//! Large bodies and slow peers: what flows through is not kept. The default is quick; as large as
//! the promise: `PACEGATE_STREAM_MIB=2048 cargo test --release --test it streaming`.

use crate::world::authority::Authority;
use crate::world::client::Client;
use crate::world::proxy::World;
use crate::world::{resolve, until};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const MIB: u64 = 1024 * 1024;
/// Of the whole process at its peak, with 600 KiB of code pages a test build touches.
const MOST: u64 = 64 * MIB;

fn size() -> u64 {
    let mib = std::env::var("PACEGATE_STREAM_MIB").ok().and_then(|text| text.parse().ok());
    mib.unwrap_or(256_u64) * MIB
}

/// An origin of its own: sends `size` bytes to a GET, takes a POST's and says how many they were.
struct Pump {
    address: SocketAddr,
    /// Bytes of bodies that went through its hands.
    moved: Arc<AtomicU64>,
}

impl Pump {
    fn start(size: u64, tls: Option<Arc<rustls::ServerConfig>>, reads: bool) -> Pump {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let moved = Arc::new(AtomicU64::new(0));
        let count = moved.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (tls, count) = (tls.clone(), count.clone());
                std::thread::spawn(move || match tls {
                    None => pump(stream, size, &count, reads),
                    Some(config) => {
                        let session = rustls::ServerConnection::new(config).expect("valid");
                        pump(rustls::StreamOwned::new(session, stream), size, &count, reads);
                    }
                });
            }
        });
        Pump { address, moved }
    }

    fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    /// What it has moved once nothing moves any more.
    fn stuck_at(&self) -> u64 {
        let still = || {
            let before = self.moved();
            std::thread::sleep(Duration::from_millis(400));
            (before > 0 && self.moved() == before).then_some(before)
        };
        until(still).expect("the peer's slowness reaches the other end")
    }
}

fn pump(mut wire: impl Read + Write, size: u64, moved: &AtomicU64, reads: bool) {
    let mut unread = Vec::new();
    while let Ok(Some(head)) = crate::world::message::read_head(&mut wire, &mut unread) {
        let done = if head.starts_with(b"GET") {
            give(&mut wire, size, moved)
        } else if reads {
            take(&mut wire, std::mem::take(&mut unread), size, moved)
        } else {
            std::thread::park();
            Ok(())
        };
        if done.is_err() {
            return;
        }
    }
}

fn give(wire: &mut impl Write, size: u64, moved: &AtomicU64) -> std::io::Result<()> {
    wire.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n").as_bytes())?;
    let block = [b'd'; 64 * 1024];
    for _ in 0..size / block.len() as u64 {
        wire.write_all(&block)?;
        moved.fetch_add(block.len() as u64, Ordering::Relaxed);
    }
    wire.flush()
}

fn take(
    wire: &mut (impl Read + Write),
    unread: Vec<u8>,
    size: u64,
    moved: &AtomicU64,
) -> std::io::Result<()> {
    let mut left = size - unread.len() as u64;
    let mut block = vec![0; 64 * 1024];
    while left > 0 {
        let count = wire.read(&mut block)?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        left -= count as u64;
        moved.fetch_add(count as u64, Ordering::Relaxed);
    }
    let text = size.to_string();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len());
    wire.write_all(head.as_bytes())?;
    wire.flush()
}

/// The most memory the proxy ever had, where that can be read.
fn peak(world: &World) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", world.pid())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

#[track_caller]
fn stays_small(world: &World) {
    if let Some(peak) = peak(world) {
        assert!(peak < MOST, "{} MiB at the peak", peak / MIB);
    }
}

fn download(client: &mut Client, target: &str, size: u64) {
    client.send(format!("GET {target} HTTP/1.1\r\nHost: shop.test\r\n\r\n"));
    client.head();
    client.skip(size);
}

fn upload(client: &mut Client, target: &str, size: u64) {
    client.send(format!(
        "POST {target} HTTP/1.1\r\nHost: shop.test\r\nContent-Length: {size}\r\n\r\n"
    ));
    let block = vec![b'u'; 64 * 1024];
    for _ in 0..size / block.len() as u64 {
        client.send(&block);
    }
    assert_eq!(client.response().text(), size.to_string());
}

fn plain(size: u64, reads: bool) -> (Pump, World) {
    let pump = Pump::start(size, None, reads);
    let world = World::start(&resolve(&[("shop.test", pump.address)]));
    (pump, world)
}

fn safe(size: u64, reads: bool) -> (Pump, World) {
    let authority = Authority::new();
    let pump = Pump::start(size, Some(authority.certify(&["shop.test"])), reads);
    let roots = format!("tls: {{roots: {}}}\n", authority.file().display());
    let world = World::start(&(resolve(&[("shop.test", pump.address)]) + &roots));
    (pump, world)
}

#[test]
fn large_bodies_flow_through_in_little_memory() {
    let (_pump, world) = plain(size(), true);
    download(&mut world.client(), "http://shop.test/", size());
    stays_small(&world);
    let (_pump, world) = plain(size() / 2, true);
    upload(&mut world.client(), "http://shop.test/", size() / 2);
    stays_small(&world);
}

#[test]
fn large_bodies_flow_through_interception_in_little_memory() {
    // A test build's TLS is slow: a quarter will do.
    let size = if cfg!(debug_assertions) { size() / 4 } else { size() };
    let (_pump, world) = safe(size, true);
    download(&mut world.tunnel("shop.test:443"), "/", size);
    stays_small(&world);
    let (_pump, world) = safe(size / 2, true);
    upload(&mut world.tunnel("shop.test:443"), "/", size / 2);
    stays_small(&world);
}

#[test]
fn a_client_that_reads_slowly_slows_its_origin_down() {
    for (pump, world, tls) in [(plain(512 * MIB, true), false), (safe(512 * MIB, true), true)]
        .map(|((pump, world), tls)| (pump, world, tls))
    {
        let mut client = if tls { world.tunnel("shop.test:443") } else { world.client() };
        let target = if tls { "/" } else { "http://shop.test/" };
        client.send(format!("GET {target} HTTP/1.1\r\nHost: shop.test\r\n\r\n"));
        client.head();
        let stuck = pump.stuck_at();
        assert!(stuck < 64 * MIB, "{} MiB left the origin unread", stuck / MIB);
        stays_small(&world);
        client.skip(stuck + MIB);
        assert!(pump.moved() > stuck, "it goes on when the client does");
    }
}

#[test]
fn an_origin_that_reads_slowly_slows_its_client_down() {
    for (world, tls, _pump) in [(plain(512 * MIB, false), false), (safe(512 * MIB, false), true)]
        .map(|((pump, world), tls)| (world, tls, pump))
    {
        let mut client = if tls { world.tunnel("shop.test:443") } else { world.client() };
        let target = if tls { "/" } else { "http://shop.test/" };
        let size = 512 * MIB;
        client.send(format!(
            "POST {target} HTTP/1.1\r\nHost: shop.test\r\nContent-Length: {size}\r\n\r\n"
        ));
        client.write_patience(Duration::from_millis(600));
        let block = vec![b'u'; 64 * 1024];
        let mut sent = 0;
        while sent < size && client.try_send(&block).is_ok() {
            sent += block.len() as u64;
        }
        assert!(sent < 64 * MIB, "{} MiB were taken though nobody reads them", sent / MIB);
        stays_small(&world);
    }
}
