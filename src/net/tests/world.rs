//! The playbook: a pool with short limits, and origins that follow a script.

use crate::clock::Clock;
use crate::judge::outcome::Fault;
use crate::net::body::{Budget, Replay};
use crate::net::exchange::{Exchanged, Limits};
use crate::net::inbound::Inbound;
use crate::net::outbound::Outbound;
use crate::net::pool::Pool;
use crate::net::settings::{Destinations, Reach, Resolve, Roots};
use crate::net::target::Target;
use crate::pace::scope::{Host, Scope};
use crate::state::permit::Permit;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::BodyExt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// Longer than anything here takes, shorter than anybody waits.
pub(super) const CONNECT: Duration = Duration::from_secs(5);
pub(super) const IDLE: Duration = Duration::from_millis(900);
pub(super) const RESPONSE: Duration = Duration::from_millis(900);

pub(super) fn reach() -> Reach {
    Reach {
        resolve: Resolve::default(),
        destinations: Destinations { deny_private: false, allow: vec![], own: vec![] },
        roots: Roots::Auto,
        insecure: vec![],
        key_log: false,
        connect_timeout: CONNECT,
        idle_timeout: IDLE,
    }
}

pub(super) fn pool() -> Pool {
    pool_with(&reach())
}

pub(super) fn pool_with(reach: &Reach) -> Pool {
    Pool::new(reach, &[], Clock::runtime()).expect("roots")
}

pub(super) fn target(port: u16) -> Target {
    Target { secure: false, host: Host::parse("127.0.0.1").expect("host"), port }
}

/// An origin: what it was asked, and how often it was connected to.
#[derive(Clone)]
pub(super) struct Origin {
    pub port: u16,
    pub heads: Arc<Mutex<Vec<String>>>,
    pub connections: Arc<AtomicUsize>,
}

impl Origin {
    pub(super) fn target(&self) -> Target {
        target(self.port)
    }

    pub(super) fn requests(&self) -> usize {
        self.heads.lock().expect("heads").len()
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(SeqCst)
    }
}

/// A connection on the origin's side.
pub(super) struct Peer {
    pub stream: TcpStream,
    /// The how-manieth it is, from 1.
    pub nth: usize,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Peer {
    /// Reads one request's head; `None` at the end of the connection.
    pub(super) async fn head(&mut self) -> Option<String> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let byte = self.stream.read_u8().await.ok()?;
            head.push(byte);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        self.heads.lock().expect("heads").push(head.clone());
        Some(head)
    }

    /// Notes something among the heads.
    pub(super) fn heads_push(&self, note: &str) {
        self.heads.lock().expect("heads").push(note.to_owned());
    }

    pub(super) async fn read(&mut self, bytes: usize) -> Vec<u8> {
        let mut read = vec![0; bytes];
        self.stream.read_exact(&mut read).await.expect("so many bytes");
        read
    }

    pub(super) async fn say(&mut self, text: &str) {
        let _gone = self.stream.write_all(text.as_bytes()).await;
    }

    /// The stream, and where to note what comes on it.
    pub(super) fn split(self) -> (TcpStream, Note) {
        (self.stream, Note { nth: self.nth, heads: self.heads })
    }

    /// Ends with an RST.
    pub(super) fn reset(self) {
        let stream = self.stream.into_std().expect("std");
        socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("linger");
    }

    /// Answers every request with `answer`.
    pub(super) async fn always(mut self, answer: &str) {
        while self.head().await.is_some() {
            self.say(answer).await;
        }
    }
}

/// Notes what an origin is asked, apart from the stream.
pub(super) struct Note {
    pub nth: usize,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Note {
    pub(super) fn push(&self, note: &str) {
        self.heads.lock().expect("heads").push(note.to_owned());
    }
}

pub(super) async fn origin<F, Serving>(serve: F) -> Origin
where
    F: Fn(Peer) -> Serving + Send + 'static,
    Serving: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let port = listener.local_addr().expect("address").port();
    let origin = Origin { port, heads: Arc::default(), connections: Arc::default() };
    let (heads, connections) = (origin.heads.clone(), origin.connections.clone());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let nth = connections.fetch_add(1, SeqCst) + 1;
            tokio::spawn(serve(Peer { stream, nth, heads: heads.clone() }));
        }
    });
    origin
}

pub(super) const LIMITS: Limits = Limits { response_timeout: RESPONSE };

pub(super) fn request(method: Method, body: Replay) -> Outbound {
    let (head, ()) = Request::builder()
        .method(method)
        .uri("/page?q=1")
        .header("Host", HeaderValue::from_static("shop.test"))
        .body(())
        .expect("request")
        .into_parts();
    Outbound { head, body, informational: None }
}

pub(super) fn get() -> Outbound {
    request(Method::GET, Replay::none())
}

pub(super) async fn send(pool: &Pool, to: &Target, request: &Outbound) -> Result<Exchanged, Fault> {
    let mut permit = Permit::plain(Scope::of(&to.host), crate::clock::Tick::ZERO, false);
    pool.exchange(&mut permit, to, request, LIMITS).await
}

/// Sends, reads the body whole, and says what came.
pub(super) async fn fetch(
    pool: &Pool,
    to: &Target,
    request: &Outbound,
) -> Result<(StatusCode, String, bool), Fault> {
    let exchanged = send(pool, to, request).await?;
    let (status, reused) = (exchanged.response.status(), exchanged.reused);
    let body = text(exchanged.response).await?;
    Ok((status, body, reused))
}

pub(super) async fn text(response: Response<Inbound>) -> Result<String, Fault> {
    let whole = response.into_body().collect().await?.to_bytes();
    Ok(String::from_utf8_lossy(&whole).into_owned())
}

pub(super) fn ok(
    status: u16,
    body: &str,
    reused: bool,
) -> Result<(StatusCode, String, bool), Fault> {
    Ok((StatusCode::from_u16(status).expect("status"), body.to_owned(), reused))
}

pub(super) type Feed = mpsc::UnboundedSender<Result<Frame<Bytes>, std::io::Error>>;

struct Fed(mpsc::UnboundedReceiver<Result<Frame<Bytes>, std::io::Error>>);

impl http_body::Body for Fed {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        self.0.poll_recv(context)
    }
}

/// A body a test feeds, of unknown length.
pub(super) fn fed(cap: usize, budget: &Budget) -> (Feed, Replay) {
    let (feed, frames) = mpsc::unbounded_channel();
    (feed, Replay::new(Fed(frames), cap, budget))
}

/// A body of `size` bytes whose length is known, in chunks of 16 KiB.
pub(super) fn sized(size: usize, cap: usize) -> Replay {
    Replay::new(Zeros(size), cap, &Budget::new(1 << 20))
}

struct Zeros(usize);

impl http_body::Body for Zeros {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        static CHUNK: [u8; 16 << 10] = [b'0'; 16 << 10];
        let size = self.0.min(CHUNK.len());
        self.0 -= size;
        let frame = (size > 0).then(|| Ok(Frame::data(Bytes::from_static(&CHUNK[..size]))));
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.0 == 0
    }

    fn size_hint(&self) -> http_body::SizeHint {
        http_body::SizeHint::with_exact(self.0 as u64)
    }
}
