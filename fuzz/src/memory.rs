//! Connections in memory: bytes in, bytes out, and a poll loop instead of a runtime.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::rt::{Read, ReadBufCursor, Write};
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// One end of a connection, for an HTTP codec.
pub struct Io(Wire);

/// The other end: what is said, and what was heard. Clones are the same.
#[derive(Clone)]
pub struct Wire(Arc<Mutex<State>>);

struct State {
    says: Bytes,
    /// So many bytes come with one read.
    step: usize,
    /// The peer closes after its last byte.
    closes: bool,
    /// The peer says nothing before it has heard something.
    answers: bool,
    heard: Vec<u8>,
    moves: Moves,
}

/// Counts reads and writes, so that standing still is seen. Clones are the same.
#[derive(Clone, Default)]
pub struct Moves(Arc<AtomicU64>);

impl Moves {
    pub fn count(&self) -> u64 {
        self.0.load(Relaxed)
    }

    fn step(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A connection whose peer says `says`, `step` bytes at a time.
pub fn connect(says: Bytes, step: usize, closes: bool, moves: &Moves) -> (Io, Wire) {
    let state =
        State { says, step, closes, answers: false, heard: Vec::new(), moves: moves.clone() };
    let wire = Wire(Arc::new(Mutex::new(state)));
    (Io(wire.clone()), wire)
}

impl Io {
    /// The same, with a peer that says nothing before it has heard something.
    pub fn that_answers(self) -> Io {
        self.0.lock().answers = true;
        self
    }
}

impl Wire {
    /// All that was written to this end.
    pub fn heard(&self) -> Vec<u8> {
        self.lock().heard.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for Io {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.0.lock();
        if state.answers && state.heard.is_empty() {
            return Poll::Pending;
        }
        let count = state.says.len().min(state.step).min(buffer.remaining());
        if count == 0 && !state.closes {
            return Poll::Pending;
        }
        buffer.put_slice(&state.says.split_to(count));
        if count > 0 {
            state.moves.step();
        }
        Poll::Ready(Ok(()))
    }
}

impl Write for Io {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.0.lock();
        state.heard.extend_from_slice(bytes);
        state.moves.step();
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Polls until the future is done, or nothing has moved for some polls. Nothing here waits for time.
pub fn drive<F: Future>(future: F, moves: &Moves) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    let (mut before, mut still) = (moves.count(), 0);
    while still < STILL {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        let now = moves.count();
        still = if now == before { still + 1 } else { 0 };
        before = now;
    }
    None
}

/// Polls without any movement after which nothing more comes.
const STILL: u32 = 12;

/// What became of a body that was watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was not read to its end.
    Open,
    Whole,
    Broken,
}

/// A body on its way through: what came of it is written down.
pub struct Watched<B> {
    inner: B,
    seen: Seen,
}

/// The notes. Clones are the same.
#[derive(Clone)]
pub struct Seen(Arc<Mutex<(Vec<u8>, End)>>);

impl<B: Body> Watched<B> {
    pub fn new(inner: B) -> (Watched<B>, Seen) {
        let end = if inner.is_end_stream() { End::Whole } else { End::Open };
        let seen = Seen(Arc::new(Mutex::new((Vec::new(), end))));
        (Watched { inner, seen: seen.clone() }, seen)
    }
}

impl Seen {
    pub fn notes(&self) -> (Vec<u8>, End) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Watched<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        let ends = self.inner.is_end_stream();
        let mut notes = self.seen.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &polled {
            Poll::Pending => {}
            Poll::Ready(None) if notes.1 == End::Open => notes.1 = End::Whole,
            Poll::Ready(None) => {}
            Poll::Ready(Some(Err(_))) => notes.1 = End::Broken,
            Poll::Ready(Some(Ok(frame))) => {
                notes.0.extend_from_slice(frame.data_ref().map_or(&[][..], |data| &data[..]));
                if ends || frame.is_trailers() {
                    notes.1 = End::Whole;
                }
            }
        }
        drop(notes);
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
