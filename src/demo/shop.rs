//! The shop: an origin on loopback with a few workers, that accepts everything, hangs when it is
//! full and goes on working for clients that left. It writes down everything that happens to it.
//!
//! Must not know who asks, nor that there is a proxy.

use crate::clock::Clock;
use crate::demo::visits::{Log, Visit};
use crate::demo::wire::{self, Head, Length};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};

/// What a shop can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// Requests worked on at once.
    pub workers: usize,
    /// What a worker needs for one page.
    pub service: Duration,
    /// Requests that may wait for a worker; one more is answered 503.
    pub queue: usize,
}

impl Default for Trade {
    fn default() -> Trade {
        Trade { workers: 2, service: Duration::from_millis(150), queue: 2000 }
    }
}

/// An open shop. Dropping it closes it at once: listener, connections and work.
#[derive(Debug)]
pub struct Shop {
    address: SocketAddr,
    log: Log,
    inside: mpsc::Sender<DuplexStream>,
    tasks: [JoinHandle<()>; 2],
}

impl Shop {
    /// Opens a shop on a free port of 127.0.0.1. The error is the listener's.
    pub async fn open(trade: Trade, clock: &Clock) -> io::Result<Shop> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let log = Log::new(clock);
        let (orders, taken) = mpsc::channel(trade.queue.max(1));
        let (inside, callers) = mpsc::channel(1);
        let counter = Counter { log: log.clone(), orders };
        let tasks = [
            tokio::spawn(receive(listener, callers, counter)),
            tokio::spawn(work(trade, taken, log.clone())),
        ];
        Ok(Shop { address, log, inside, tasks })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Makes connections that take no network, for tests in virtual time; they are refused once the
    /// shop is closed.
    pub fn caller(&self) -> impl Fn() -> Calling + Clone + Send + Sync + 'static {
        let inside = self.inside.clone();
        move || Box::pin(caller(inside.clone()))
    }

    /// Everybody who came, in order of arrival; at most the first 100,000.
    pub fn visits(&self) -> Vec<Visit> {
        self.log.visits()
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// A connection being made.
pub type Calling = std::pin::Pin<Box<dyn Future<Output = io::Result<DuplexStream>> + Send>>;

async fn caller(inside: mpsc::Sender<DuplexStream>) -> io::Result<DuplexStream> {
    let (here, there) = tokio::io::duplex(PIPE_BYTES);
    inside.send(there).await.map_err(|_| io::ErrorKind::ConnectionRefused)?;
    Ok(here)
}

/// What a connection needs: where to write things down, where to hand orders in.
#[derive(Clone, Debug)]
struct Counter {
    log: Log,
    orders: mpsc::Sender<Order>,
}

/// One page to be made. Nobody may be left to take it.
#[derive(Debug)]
struct Order {
    visit: usize,
    done: oneshot::Sender<()>,
}

async fn receive(
    listener: TcpListener,
    mut callers: mpsc::Receiver<DuplexStream>,
    counter: Counter,
) {
    let mut connections = JoinSet::new();
    for number in 0.. {
        while connections.len() >= CONNECTIONS {
            connections.join_next().await;
        }
        while connections.try_join_next().is_some() {}
        let counter = counter.clone();
        tokio::select! {
            Some(stream) = callers.recv() => { connections.spawn(serve(stream, number, counter)); }
            accepted = listener.accept() => match accepted.and_then(undelayed) {
                Ok(stream) => { connections.spawn(serve(stream, number, counter)); }
                // Out of descriptors: others will close.
                Err(_) => counter.log.clock().sleep_until(counter.log.clock().now() + BREATH).await,
            }
        }
    }
}

fn undelayed((stream, _): (TcpStream, SocketAddr)) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Hands orders to workers, first come first served.
async fn work(trade: Trade, mut orders: mpsc::Receiver<Order>, log: Log) {
    let workers = Arc::new(Semaphore::new(trade.workers.max(1)));
    let mut busy = JoinSet::new();
    while let Ok(worker) = workers.clone().acquire_owned().await {
        let Some(order) = orders.recv().await else { return };
        while busy.try_join_next().is_some() {}
        let log = log.clone();
        busy.spawn(async move {
            let began = log.note(order.visit, |visit, now| visit.began = Some(now));
            log.clock().sleep_until(began + trade.service).await;
            log.note(order.visit, |visit, now| visit.ended = Some(now));
            // Failing means that the client left: the work was for nobody.
            let _ = order.done.send(());
            drop(worker);
        });
    }
}

async fn serve<S>(mut stream: S, connection: usize, counter: Counter)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut buffer = Vec::new();
    while let Ok(Some(head)) = wire::read_head(&mut stream, &mut buffer).await {
        let Some(request) = Request::read(&head) else {
            let _ = stream.write_all(BAD_REQUEST).await;
            return;
        };
        let body = Length::Exact(request.body);
        if wire::skip_body(&mut stream, &mut buffer, body).await.is_err() {
            return;
        }
        let visit = counter.log.arrived(connection, &request.path);
        let (done, finished) = oneshot::channel();
        let answer = match counter.orders.try_send(Order { visit, done }) {
            Ok(()) if stayed(&mut stream, &mut buffer, finished).await => request.page(),
            Ok(()) => {
                counter.log.note(visit, |visit, now| visit.left = Some(now));
                return;
            }
            Err(_) => {
                counter.log.note(visit, |visit, _| visit.refused = true);
                FULL.as_bytes().to_vec()
            }
        };
        if stream.write_all(&answer).await.is_err() || head.closes() {
            return;
        }
    }
}

/// Waits for the page; `false` if the client leaves first.
async fn stayed<S>(stream: &mut S, ahead: &mut Vec<u8>, mut page: oneshot::Receiver<()>) -> bool
where
    S: AsyncRead + Unpin,
{
    loop {
        let crowded = ahead.len() >= PIPE_BYTES;
        tokio::select! {
            biased;
            done = &mut page => return done.is_ok(),
            read = wire::more(stream, ahead), if !crowded => match read {
                Ok(true) => {}
                Ok(false) | Err(_) => return false,
            }
        }
    }
}

/// What the shop understands of a request.
struct Request {
    path: String,
    wants_body: bool,
    body: u64,
}

impl Request {
    fn read(head: &Head) -> Option<Request> {
        let mut words = head.first.split(' ');
        let (method, path) = (words.next()?, words.next()?);
        words.next().filter(|version| version.starts_with("HTTP/1."))?;
        let body = match head.length()? {
            Length::Exact(size) => size,
            Length::UntilClose => 0,
            Length::Chunked => return None,
        };
        Some(Request { path: path.to_string(), wants_body: method != "HEAD", body })
    }

    fn page(&self) -> Vec<u8> {
        let body = format!("<!doctype html><title>{0}</title><p>Here is {0}.\n", self.path);
        let size = body.len();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8";
        let body = if self.wants_body { body.as_str() } else { "" };
        format!("{head}\r\nContent-Length: {size}\r\n\r\n{body}").into_bytes()
    }
}

const BAD_REQUEST: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const FULL: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
/// More connections than this wait in the listener's backlog.
const CONNECTIONS: usize = 4096;
/// Of requests sent ahead on one connection; of a connection without network.
const PIPE_BYTES: usize = 16 * 1024;
const BREATH: Duration = Duration::from_millis(50);
