//! From a client's connection to an origin's, without a task in between: nobody may sleep through
//! what the other side has.

use super::world::{LIMITS, pool, target};
use crate::judge::outcome::Fault;
use crate::net::body::{Budget, Replay};
use crate::net::inbound::Inbound;
use crate::net::outbound::Outbound;
use crate::net::pool::Pool;
use crate::net::target::Target;
use crate::pace::scope::Scope;
use crate::state::permit::Permit;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn forward(
    pool: Pool,
    to: Target,
    request: Request<Incoming>,
) -> Result<Response<Inbound>, Fault> {
    let (head, body) = request.into_parts();
    let body = Replay::new(body, 64 << 10, &Budget::new(1 << 20));
    let outbound = Outbound { head, body, informational: None };
    let mut permit = Permit::plain(Scope::of(&to.host), crate::clock::Tick::ZERO, false);
    Ok(pool.exchange(&mut permit, &to, &outbound, LIMITS).await?.response)
}

/// An origin that sends back what it is sent, while it is sent.
async fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let port = listener.local_addr().expect("address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = |request: Request<Incoming>| async {
                Ok::<_, Infallible>(Response::new(request.into_body()))
            };
            let serving = Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
            tokio::spawn(serving);
        }
    });
    port
}

async fn proxy(pool: &Pool, to: Target) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let port = listener.local_addr().expect("address").port();
    let pool = pool.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (pool, to) = (pool.clone(), to.clone());
            let service = service_fn(move |request| forward(pool.clone(), to.clone(), request));
            tokio::spawn(Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    port
}

/// Sends `size` bytes as fast as they are taken, `pause` before each of the first chunks, and
/// reads what comes back.
async fn round(stream: &mut TcpStream, size: usize, pause: Duration) {
    let (mut reader, mut writer) = stream.split();
    let writing = async {
        let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n");
        writer.write_all(head.as_bytes()).await.expect("head");
        let chunk = vec![b'x'; 100_000];
        for (nth, start) in (0..size).step_by(chunk.len()).enumerate() {
            if nth < 3 {
                tokio::time::sleep(pause).await;
            }
            let rest = chunk.len().min(size - start);
            writer.write_all(&chunk[..rest]).await.expect("taken");
        }
    };
    let reading = async {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(reader.read_u8().await.expect("head"));
        }
        assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
        let mut body = vec![0; size];
        reader.read_exact(&mut body).await.expect("body");
        assert!(body.iter().all(|byte| *byte == b'x'));
    };
    tokio::join!(writing, reading);
}

async fn check(sizes: &[usize], pause: Duration) {
    let pool = pool();
    let port = proxy(&pool, target(echo().await)).await;
    let mut client = TcpStream::connect(("127.0.0.1", port)).await.expect("connect");
    for size in sizes {
        let done = tokio::time::timeout(Duration::from_secs(20), round(&mut client, *size, pause));
        done.await.expect("somebody sleeps");
    }
    drop(client);
    assert_eq!(pool.counts().busy, 0);
}

#[tokio::test]
async fn bodies_flow_both_ways_at_once() {
    check(&[1, 100_000, 8 << 20, 10], Duration::ZERO).await;
}

#[tokio::test]
async fn bodies_that_pause_flow_on() {
    check(&[250_000, 350_000], Duration::from_millis(20)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_flow_both_ways_on_two_threads() {
    check(&[8 << 20; 4], Duration::ZERO).await;
}
