//! The crawler: a crowd that wants its pages, so many at once, each within its time-out. On a
//! time-out it closes the connection, as HTTP libraries do, and goes on with the next page.
//!
//! Must not know about paces: it is an ordinary client.

use crate::clock::{Clock, Tick};
use crate::demo::wire::{self, Length};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// What a crawler is told to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The shop's name and port, as in a URL.
    pub host: String,
    pub route: Route,
    /// `/page/1` up to this one.
    pub pages: usize,
    /// Pages fetched at once, each on a connection of its own that is kept alive.
    pub at_once: usize,
    /// What each try may take, connecting included. `None`: it waits for ever.
    pub time_out: Option<Duration>,
    /// Tries after the first.
    pub retries: u32,
}

/// The way to the shop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    Direct(SocketAddr),
    /// Through a forward proxy: requests in absolute form (RFC 9112 §3.2.2).
    Proxy(SocketAddr),
}

/// What one page came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub path: String,
    pub began: Tick,
    pub ended: Tick,
    pub outcome: Fetched,
    /// How often the crawler asked for it.
    pub tries: u32,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// A 200, whole.
    Page,
    /// Nothing within the crawler's time-out.
    TimedOut,
    /// Another status.
    Status(u16),
    /// No connection, or one that broke.
    Broken(String),
}

/// A crawler. Clones are the same crawler: one runs, others may look at its pages meanwhile.
#[derive(Clone, Debug)]
pub struct Crawler {
    plan: Arc<Plan>,
    clock: Clock,
    book: Arc<Mutex<Book>>,
}

#[derive(Debug, Default)]
struct Book {
    asked: usize,
    pages: Vec<Page>,
}

impl Crawler {
    /// A crawler that has not begun.
    pub fn new(plan: Plan, clock: &Clock) -> Crawler {
        Crawler { plan: Arc::new(plan), clock: clock.clone(), book: Arc::default() }
    }

    /// Every page that came to an end so far, in that order.
    pub fn pages(&self) -> Vec<Page> {
        self.book().pages.clone()
    }

    /// Fetches all pages. Dropping the future closes all connections.
    pub async fn run(&self) {
        let (Route::Direct(address) | Route::Proxy(address)) = self.plan.route;
        self.run_over(move || async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })
        .await;
    }

    /// The same over connections of another kind.
    pub async fn run_over<D, F, S>(&self, dial: D)
    where
        D: Fn() -> F + Clone + Send + Sync + 'static,
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut crowd = JoinSet::new();
        for _ in 0..self.plan.at_once.min(self.plan.pages) {
            crowd.spawn(self.clone().fetch_pages(dial.clone()));
        }
        while crowd.join_next().await.is_some() {}
    }

    async fn fetch_pages<D, F, S>(self, dial: D)
    where
        D: Fn() -> F,
        F: Future<Output = io::Result<S>>,
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mut kept = None;
        while let Some(path) = self.next_path() {
            let began = self.clock.now();
            let mut tries = 0;
            let outcome = loop {
                tries += 1;
                let outcome = self.fetch(&mut kept, &dial, &path).await;
                if outcome == Fetched::Page || tries > self.plan.retries {
                    break outcome;
                }
            };
            let ended = self.clock.now();
            self.book().pages.push(Page { path, began, ended, outcome, tries });
        }
    }

    fn next_path(&self) -> Option<String> {
        let mut book = self.book();
        (book.asked < self.plan.pages).then(|| {
            book.asked += 1;
            format!("/page/{}", book.asked)
        })
    }

    /// One try. The connection it was on is kept if it can be used again, closed if not.
    async fn fetch<D, F, S>(&self, kept: &mut Option<Wire<S>>, dial: &D, path: &str) -> Fetched
    where
        D: Fn() -> F,
        F: Future<Output = io::Result<S>>,
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let limit = self.plan.time_out.map_or(Tick::NEVER, |span| self.clock.now() + span);
        let reusable = kept.take();
        let exchange = self.exchange(reusable, dial, path);
        tokio::select! {
            biased;
            answer = exchange => match answer {
                Ok((status, wire)) => {
                    *kept = wire;
                    if status == 200 { Fetched::Page } else { Fetched::Status(status) }
                }
                Err(error) => Fetched::Broken(error.to_string()),
            },
            () = self.clock.sleep_until(limit) => Fetched::TimedOut,
        }
    }

    async fn exchange<D, F, S>(
        &self,
        kept: Option<Wire<S>>,
        dial: &D,
        path: &str,
    ) -> io::Result<(u16, Option<Wire<S>>)>
    where
        D: Fn() -> F,
        F: Future<Output = io::Result<S>>,
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let request = self.request(path);
        if let Some(wire) = kept
            // A kept connection may have been closed meanwhile: once more on a fresh one.
            && let Ok(answer) = wire.ask(&request).await
        {
            return Ok(answer);
        }
        Wire { stream: dial().await?, buffer: Vec::new() }.ask(&request).await
    }

    fn request(&self, path: &str) -> String {
        let host = &self.plan.host;
        let target = match self.plan.route {
            Route::Direct(_) => path.to_string(),
            Route::Proxy(_) => format!("http://{host}{path}"),
        };
        format!(
            "GET {target} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: crawler\r\nAccept: */*\r\n\r\n"
        )
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection and what was read ahead on it.
struct Wire<S> {
    stream: S,
    buffer: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    /// Asks, reads the whole answer, and gives its status and itself back if it stays open.
    async fn ask(mut self, request: &str) -> io::Result<(u16, Option<Wire<S>>)> {
        self.stream.write_all(request.as_bytes()).await?;
        loop {
            let head = wire::read_head(&mut self.stream, &mut self.buffer).await?;
            let head = head.ok_or(io::ErrorKind::UnexpectedEof)?;
            let status = head.first.split(' ').nth(1).and_then(|word| word.parse().ok());
            let status: u16 = status.ok_or(io::ErrorKind::InvalidData)?;
            if (100..200).contains(&status) {
                continue;
            }
            let length = match status {
                204 | 304 => Length::Exact(0),
                _ => head.length().ok_or(io::ErrorKind::InvalidData)?,
            };
            wire::skip_body(&mut self.stream, &mut self.buffer, length).await?;
            let stays = length != Length::UntilClose && !head.closes();
            return Ok((status, stays.then_some(self)));
        }
    }
}
