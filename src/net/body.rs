//! A request's body, read from its client once and sent as often as it can be: what one attempt
//! has taken is kept, up to a cap, for the next.
//!
//! It must not know why there is a next attempt.

use crate::judge::outcome::Fault;
use crate::net::fault;
use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

/// How many bytes all kept bodies together may have. Clones share it.
#[derive(Clone, Debug)]
pub struct Budget {
    left: Arc<AtomicUsize>,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(bytes: usize) -> Budget {
        Budget { left: Arc::new(AtomicUsize::new(bytes)) }
    }

    /// Takes so many bytes, if they are left.
    pub fn take(&self, bytes: usize) -> bool {
        self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    /// Gives bytes back.
    pub fn give(&self, bytes: usize) {
        self.left.fetch_add(bytes, Relaxed);
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.left.load(Relaxed)
    }
}

/// A request's body, for as many attempts as it allows. Clones are the same body.
#[derive(Clone)]
pub struct Replay {
    /// `None`: there is no body.
    tee: Option<Arc<Mutex<Tee>>>,
}

/// How far an attempt's sending has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Grows with every frame.
    pub frames: u64,
    /// How many bytes came, from the client or from what was kept.
    pub bytes: u64,
    /// All of it was handed over.
    pub complete: bool,
    /// The next frame is awaited from the client, not asked for by the origin.
    pub awaits_client: bool,
}

type Source = Pin<Box<dyn Body<Data = Bytes, Error = SourceError> + Send>>;
type SourceError = Box<dyn Error + Send + Sync>;

struct Tee {
    source: Option<Source>,
    exact: Option<u64>,
    kept: Vec<u8>,
    keeps: bool,
    trailers: Option<HeaderMap>,
    touched: bool,
    broke: bool,
    /// Only the latest attempt may read.
    attempt: u64,
    progress: Progress,
    cap: usize,
    budget: Budget,
}

impl Replay {
    /// No body.
    pub fn none() -> Replay {
        Replay { tee: None }
    }

    /// The body `body`, of which at most `cap` bytes are kept, as long as `budget` has them.
    pub fn new<B>(body: B, cap: usize, budget: &Budget) -> Replay
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<SourceError>,
    {
        if body.is_end_stream() {
            return Replay::none();
        }
        let exact = body.size_hint().exact();
        let keeps = exact.is_none_or(|size| size <= cap as u64);
        let source: Source = Box::pin(http_body_util::BodyExt::map_err(body, Into::into));
        let tee = Tee {
            source: Some(source),
            exact,
            kept: Vec::new(),
            keeps,
            trailers: None,
            touched: false,
            broke: false,
            attempt: 0,
            progress: Progress::default(),
            cap,
            budget: budget.clone(),
        };
        Replay { tee: Some(Arc::new(Mutex::new(tee))) }
    }

    /// The body for one attempt, from its first byte. Earlier attempts can read no more.
    pub fn outgoing(&self) -> Outgoing {
        let Some(tee) = &self.tee else {
            return Outgoing { tee: None, attempt: 0, position: 0, exact: Some(0), ended: true };
        };
        let mut state = lock(tee);
        state.attempt += 1;
        (state.progress.complete, state.progress.awaits_client) = (false, false);
        let (attempt, exact) = (state.attempt, state.exact);
        Outgoing { tee: Some(tee.clone()), attempt, position: 0, exact, ended: false }
    }

    /// Whether another attempt would send the same bytes.
    pub fn repeatable(&self) -> bool {
        self.tee.as_ref().is_none_or(|tee| {
            let tee = lock(tee);
            !tee.touched || (tee.keeps && !tee.broke)
        })
    }

    /// Whether nobody has read of it: the client has sent nothing it could not send again.
    pub fn untouched(&self) -> bool {
        self.tee.as_ref().is_none_or(|tee| !lock(tee).touched)
    }

    /// Whether the client's sending broke off.
    pub fn broke(&self) -> bool {
        self.tee.as_ref().is_some_and(|tee| lock(tee).broke)
    }

    /// Whether the client has still to send of it, or nobody has read what came.
    pub fn is_unread(&self) -> bool {
        self.tee.as_ref().is_some_and(|tee| lock(tee).source.is_some())
    }

    /// Whether there is no body at all.
    pub fn is_none(&self) -> bool {
        self.tee.is_none()
    }

    /// How far the latest attempt has come.
    pub fn progress(&self) -> Progress {
        match &self.tee {
            Some(tee) => lock(tee).progress,
            None => Progress { complete: true, ..Progress::default() },
        }
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_none() { "Replay(none)" } else { "Replay" })
    }
}

/// A request's body in one attempt.
pub struct Outgoing {
    tee: Option<Arc<Mutex<Tee>>>,
    attempt: u64,
    position: u64,
    exact: Option<u64>,
    ended: bool,
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        let body = self.get_mut();
        let Some(tee) = body.tee.as_ref().filter(|_| !body.ended) else {
            return Poll::Ready(None);
        };
        let mut tee = lock(tee);
        if tee.attempt != body.attempt {
            body.ended = true;
            return Poll::Ready(Some(Err(fault::client_body("the attempt was given up"))));
        }
        let frame = ready!(tee.frame(body.position, context));
        let size = match &frame {
            Some(Ok(frame)) => frame.data_ref().map_or(0, |data| data.len() as u64),
            Some(Err(_)) | None => 0,
        };
        body.position += size;
        let last = match &frame {
            Some(Ok(frame)) => frame.is_trailers() || tee.ends_at(body.position),
            Some(Err(_)) | None => true,
        };
        body.ended = last;
        tee.progress.frames += 1;
        tee.progress.bytes += size;
        tee.progress.complete = last;
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }

    fn size_hint(&self) -> SizeHint {
        match self.exact {
            Some(size) => SizeHint::with_exact(size.saturating_sub(self.position)),
            None => SizeHint::new(),
        }
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outgoing(attempt {}, at {})", self.attempt, self.position)
    }
}

impl Tee {
    fn frame(
        &mut self,
        position: u64,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        if let Some(rest) = self.kept.get(position as usize..).filter(|rest| !rest.is_empty()) {
            return Poll::Ready(Some(Ok(Frame::data(Bytes::copy_from_slice(rest)))));
        }
        let Some(source) = &mut self.source else {
            return Poll::Ready(
                self.trailers.clone().map(|trailers| Ok(Frame::trailers(trailers))),
            );
        };
        self.touched = true;
        self.progress.awaits_client = true;
        let frame = ready!(source.as_mut().poll_frame(context));
        self.progress.awaits_client = false;
        if source.is_end_stream() {
            self.source = None;
        }
        match frame {
            None => self.source = None,
            Some(Err(error)) => {
                self.broke = true;
                self.source = None;
                return Poll::Ready(Some(Err(fault::client_body(&error.to_string()))));
            }
            Some(Ok(frame)) => {
                self.keep(&frame);
                return Poll::Ready(Some(Ok(frame)));
            }
        }
        Poll::Ready(None)
    }

    fn keep(&mut self, frame: &Frame<Bytes>) {
        if let Some(trailers) = frame.trailers_ref() {
            self.trailers = Some(trailers.clone());
            self.source = None;
        }
        let Some(data) = frame.data_ref().filter(|_| self.keeps) else { return };
        if self.kept.len() + data.len() <= self.cap && self.budget.take(data.len()) {
            self.kept.extend_from_slice(data);
        } else {
            self.keeps = false;
            self.release();
        }
    }

    /// Whether an attempt that has sent so many bytes has sent everything.
    fn ends_at(&self, position: u64) -> bool {
        self.source.is_none()
            && self.trailers.is_none()
            && (!self.keeps || position == self.kept.len() as u64)
    }

    fn release(&mut self) {
        self.budget.give(self.kept.len());
        self.kept = Vec::new();
    }
}

impl Drop for Tee {
    fn drop(&mut self) {
        self.release();
    }
}

fn lock(tee: &Mutex<Tee>) -> MutexGuard<'_, Tee> {
    tee.lock().unwrap_or_else(PoisonError::into_inner)
}
