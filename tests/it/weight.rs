//! Many large bodies at once: what passes through is not kept (http.md G12). `PACEGATE_WEIGHT=50000`
//! plays the whole size.

use crate::world::proxy::World;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

const BODY: u64 = 1 << 20;
/// KiB of resident memory.
const MOST: u64 = 512 * 1024;

/// An origin that takes bodies of [`BODY`] bytes and keeps none.
fn sink() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("a bound socket has an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

fn serve(mut stream: TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut line = String::new();
        while reader.read_line(&mut line)? > 2 {
            line.clear();
        }
        if line.is_empty() {
            return Ok(());
        }
        io::copy(&mut (&mut reader).take(BODY), &mut io::sink())?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    }
}

#[test]
fn large_bodies_by_the_thousand_weigh_little() {
    let wanted = std::env::var("PACEGATE_WEIGHT").ok().and_then(|it| it.parse().ok());
    let requests: usize = wanted.unwrap_or(400);
    let (origin, world) = (sink(), World::start("log: {level: warn}\n"));
    let body = "b".repeat(BODY as usize);
    std::thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| {
                let mut client = world.client();
                for _ in 0..requests / 50 {
                    client.say("POST", &format!("http://{origin}/up"), "", &body);
                    assert_eq!(client.response().status, 200);
                }
            });
        }
    });
    let status = std::fs::read_to_string(format!("/proc/{}/status", world.pid()));
    let status = status.expect("the proxy runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak");
    let peak: u64 = peak.trim().split(' ').next().and_then(|it| it.parse().ok()).expect("KiB");
    println!("{requests} bodies of 1 MiB: {peak} KiB at most");
    assert!(peak < MOST, "{peak} KiB");
}
