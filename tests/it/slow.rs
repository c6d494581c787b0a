//! Hundreds of clients that take a byte now and then of what they asked for: nobody else waits for
//! them, and the proxy does next to nothing meanwhile (http.md A5, G13).

use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const SLOW: usize = 300;
/// More than sockets buffer of it.
const PAGE: usize = 16 << 20;

/// A site of large pages, and how many bytes of them it got rid of.
fn large() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    // What its own sockets would hoard is not the proxy's; what is accepted inherits it.
    socket2::SockRef::from(&listener).set_send_buffer_size(32 * 1024).expect("a size");
    let address = listener.local_addr().expect("a bound socket has an address");
    let gone = Arc::new(AtomicUsize::new(0));
    let count = gone.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let count = count.clone();
            std::thread::spawn(move || serve(stream, &count));
        }
    });
    (address, gone)
}

fn serve(mut stream: TcpStream, gone: &AtomicUsize) -> std::io::Result<()> {
    static PIECE: [u8; 16 * 1024] = [b'x'; 16 * 1024];
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut line = String::new();
        while reader.read_line(&mut line)? > 2 {
            line.clear();
        }
        if line.is_empty() {
            return Ok(());
        }
        stream
            .write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {PAGE}\r\n\r\n").as_bytes())?;
        for _ in 0..PAGE / PIECE.len() {
            stream.write_all(&PIECE)?;
            gone.fetch_add(PIECE.len(), Ordering::Relaxed);
        }
    }
}

/// A client with next to no receive window that has asked for a page.
fn slow(world: &World, site: SocketAddr) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
    let socket = socket.expect("sockets can be made");
    // Before the connection: it goes into the handshake.
    socket.set_recv_buffer_size(1).expect("the least there is");
    socket.connect(&world.proxy().into()).expect("the proxy listens");
    let mut stream = TcpStream::from(socket);
    let head = format!("GET http://{site}/ HTTP/1.1\r\nHost: {site}\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("the proxy is there");
    stream
}

#[test]
fn clients_that_take_a_byte_now_and_then_keep_nobody_waiting() {
    let (origin, (site, gone)) = (Origin::http(), large());
    let world = World::start("log: {level: warn}\n");
    let mut crowd: Vec<TcpStream> = (0..SLOW).map(|_| slow(&world, site)).collect();
    world.await_metric("pacegate_requests_in_flight", &[], SLOW as f64);
    let before = world.work();
    let (began, mut took) = (now(), Vec::new());
    let url = origin.url("shop", "/");
    let mut client = world.client();
    for round in 0..30 {
        if round % 10 == 0 {
            // Whoever is answered takes a byte of it.
            crowd.iter_mut().for_each(|stream| {
                stream.set_nonblocking(true).expect("a connected socket takes options");
                stream.read_exact(&mut [0]).ok();
            });
        }
        for mut fresh in [None, Some(world.client())] {
            let asked = now();
            let answer = fresh.as_mut().unwrap_or(&mut client).get(&url);
            took.push(now().since(asked));
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let each = gone.load(Ordering::Relaxed) / SLOW;
    let (used, span) = (world.work() - before, now().since(began).as_secs_f64());
    took.sort();
    let (median, worst) = (took[took.len() / 2], took[took.len() - 1]);
    println!(
        "{} KiB each, median {median:?}, worst {worst:?}, {used} s of {span:.1} s",
        each / 1024
    );
    assert!(median < Duration::from_millis(500) && worst < Duration::from_secs(4), "{took:?}");
    assert!(used < span * 0.5, "{used} s of work in {span} s");
    assert!(each < 2 << 20, "{} KiB for each wait in the proxy and its sockets", each / 1024);
    let in_flight = world.metrics().count("pacegate_requests_in_flight", &[]);
    assert_eq!(in_flight, SLOW as f64, "none of them was given up so soon");
}
