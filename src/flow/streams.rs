//! The streams of a client's HTTP/2 connection: each runs in a task, and who takes nothing of its
//! answer, or opens streams only to reset them, is found out here.
//!
//! It must not know what a stream asks for. While a request is held, or its origin is the slow one,
//! no timer runs.

use crate::clock::{Clock, Tick};
use crate::judge::outcome::Fault;
use crate::net::stall::Stall;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::rt::Executor;
use pin_project_lite::pin_project;
use std::cell::Cell;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::Notify;

/// The streams of one connection. Clones are the same ones.
#[derive(Clone)]
pub struct Streams {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Clock,
    unread: Duration,
    open: AtomicUsize,
    /// When the last one ended, in nanoseconds of the clock.
    quiet_since: AtomicU64,
    resets: Mutex<Resets>,
    flooded: Notify,
}

/// Streams that were reset before they had an answer, since a moment.
#[derive(Default)]
struct Resets {
    since: Tick,
    count: u32,
}

/// Why a connection is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// Nothing was asked for.
    Idle,
    /// Too much was asked for only to be taken back.
    Flooded,
}

/// Whom a stream waits for, as told by what its task has just done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// There is no answer yet.
    Answer,
    /// The next of its body, from the origin.
    Origin,
    /// That the client takes what it was given.
    Client,
}

thread_local! {
    /// Of the stream that is being polled: whom it waits for, and whether it was given anything.
    static STANDING: Cell<(Waits, bool)> = const { Cell::new((Waits::Answer, false)) };
}

impl Streams {
    /// No streams yet. An answer may be left unread for so long.
    pub fn new(clock: Clock, unread: Duration) -> Streams {
        let quiet_since = AtomicU64::new(clock.now().nanos());
        let shared = Shared {
            clock,
            unread,
            open: AtomicUsize::new(0),
            quiet_since,
            resets: Mutex::default(),
            flooded: Notify::new(),
        };
        Streams { shared: Arc::new(shared) }
    }

    /// Waits until no stream was open for `idle` after `from`, or far too many were for nothing.
    pub async fn over(&self, from: Tick, idle: Duration) -> Leave {
        let shared = &self.shared;
        let quiet = async {
            loop {
                let now = shared.clock.now();
                let since = Tick::from_nanos(shared.quiet_since.load(Relaxed)).max(from);
                let due = if self.is_quiet() { since + idle } else { now + idle };
                if due <= now {
                    return;
                }
                shared.clock.sleep_until(due).await;
            }
        };
        tokio::select! {
            () = quiet => Leave::Idle,
            () = shared.flooded.notified() => Leave::Flooded,
        }
    }

    /// The moment it is.
    pub fn now(&self) -> Tick {
        self.shared.clock.now()
    }

    /// Whether no stream is open.
    pub fn is_quiet(&self) -> bool {
        self.shared.open.load(Relaxed) == 0
    }
}

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        self.shared.open.fetch_add(1, Relaxed);
        let stall = Stall::new(self.shared.unread);
        let place = Place(self.shared.clone());
        tokio::spawn(Run { stream, waits: Waits::Answer, stall, place });
    }
}

/// Counts one open stream.
struct Place(Arc<Shared>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.quiet_since.store(self.0.clock.now().nanos(), Relaxed);
        self.0.open.fetch_sub(1, Relaxed);
    }
}

pin_project! {
    struct Run<F> {
        #[pin]
        stream: F,
        waits: Waits,
        stall: Stall,
        place: Place,
    }
}

impl<F: Future<Output = ()>> Future for Run<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let run = self.project();
        let shared = &run.place.0;
        STANDING.set((*run.waits, false));
        let polled = run.stream.poll(context);
        let (waits, given) = STANDING.get();
        *run.waits = waits;
        if polled.is_ready() {
            if waits == Waits::Answer {
                shared.reset_early();
            }
            return polled;
        }
        if given || waits != Waits::Client {
            run.stall.took_all();
        }
        if waits == Waits::Client {
            // Dropped, the stream is reset, and its attempt ends.
            ready!(run.stall.poll(&shared.clock, context));
            tracing::debug!("a stream ends: its client takes nothing");
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl Shared {
    fn reset_early(&self) {
        let now = self.clock.now();
        let mut resets = self.resets.lock().unwrap_or_else(PoisonError::into_inner);
        if now.since(resets.since) >= RESET_SPAN {
            *resets = Resets { since: now, count: 0 };
        }
        resets.count += 1;
        if resets.count > MOST_RESETS {
            self.flooded.notify_one();
        }
    }
}

/// An answer's body, told apart by who is slow with it, and in pieces: a client that takes one has
/// made progress.
pub struct Given<B> {
    inner: B,
    left: Bytes,
}

impl<B> Given<B> {
    /// An answer is there.
    pub fn new(inner: B) -> Given<B> {
        STANDING.set((Waits::Client, true));
        Given { inner, left: Bytes::new() }
    }

    fn give(&mut self, mut data: Bytes) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        STANDING.set((Waits::Client, true));
        self.left = data.split_off(data.len().min(PIECE));
        Poll::Ready(Some(Ok(Frame::data(data))))
    }
}

impl<B> Body for Given<B>
where
    B: Body<Data = Bytes, Error = Fault> + Unpin,
{
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        if !self.left.is_empty() {
            let left = std::mem::take(&mut self.left);
            return self.give(left);
        }
        STANDING.set((Waits::Origin, true));
        match ready!(Pin::new(&mut self.inner).poll_frame(context)) {
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => self.give(data),
                Err(frame) => {
                    STANDING.set((Waits::Client, true));
                    Poll::Ready(Some(Ok(frame)))
                }
            },
            ended @ (Some(Err(_)) | None) => Poll::Ready(ended),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (left, rest) = (self.left.len() as u64, self.inner.size_hint());
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper + left);
        }
        hint.set_lower(rest.lower() + left);
        hint
    }
}

/// What the library puts into one frame at most.
const PIECE: usize = 16 * 1024;
/// Five times the streams that may be open, in a second: no client that gives up for a reason of
/// its own does that (http.md A3).
const MOST_RESETS: u32 = 500;
const RESET_SPAN: Duration = Duration::from_secs(1);
