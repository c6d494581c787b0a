//! What we say on an HTTP/1 connection beside the HTTP library: an interim answer while a request
//! is held, and our own text where the library answers a bad request by itself.
//!
//! This room must not know why a request is held. It writes only between messages: the library
//! flushes when its own write buffer is empty, and that is where our bytes go out.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The connection's bytes, with ours in between.
#[derive(Debug)]
pub struct Speaker<T> {
    inner: T,
    aside: Aside,
    /// Bytes of ours not yet written.
    pending: Vec<u8>,
    /// Nothing of the library's is half written: our bytes may go out.
    between: bool,
}

/// The request's end of it: shared with whoever serves the connection.
#[derive(Clone, Debug, Default)]
pub struct Aside {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    queued: Vec<u8>,
    /// The client has been asked whether it is still there.
    probed: bool,
    heard: Heard,
}

/// What came from the client so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Heard {
    /// Nothing yet.
    #[default]
    Nothing,
    Bytes,
    /// It closed before its first byte.
    Closed,
    /// The connection failed before its first byte; under TLS an alert ends up here.
    Failed(String),
}

impl Aside {
    /// Queues the interim answer that tells a half-closed client from a gone one: the first waits
    /// on, the second's machine answers with a reset. Once is enough: whoever has finished stays
    /// so.
    pub fn probe(&self) {
        let mut state = self.lock();
        if !std::mem::replace(&mut state.probed, true) {
            state.queued.extend_from_slice(CONTINUE);
        }
    }

    /// What came from the client so far.
    pub fn heard(&self) -> Heard {
        self.lock().heard.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Speaker<T> {
    /// Speaks over `inner`.
    pub fn new(inner: T) -> Speaker<T> {
        Speaker { inner, aside: Aside::default(), pending: Vec::new(), between: true }
    }

    /// The end that serves.
    pub fn aside(&self) -> Aside {
        self.aside.clone()
    }

    /// The connection we speak over.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// The connection without us.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: AsyncWrite + Unpin> Speaker<T> {
    fn poll_own(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.between {
            let mut state = self.aside.lock();
            if !state.queued.is_empty() {
                self.pending.append(&mut state.queued);
            }
        }
        while !self.pending.is_empty() {
            let count = ready!(Pin::new(&mut self.inner).poll_write(cx, &self.pending))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.pending.drain(..count);
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Speaker<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = ready!(Pin::new(&mut self.inner).poll_read(cx, buffer));
        let mut state = self.aside.lock();
        if state.heard == Heard::Nothing {
            state.heard = match &result {
                Ok(()) if buffer.filled().len() > before => Heard::Bytes,
                Ok(()) => Heard::Closed,
                Err(error) => Heard::Failed(error.to_string()),
            };
        }
        drop(state);
        Poll::Ready(result)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Speaker<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_own(cx))?;
        if self.between
            && let Some(answer) = refusal(bytes)
        {
            self.pending = answer;
            return Poll::Ready(Ok(bytes.len()));
        }
        self.between = false;
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [single] = slices {
            return self.poll_write(cx, single);
        }
        ready!(self.poll_own(cx))?;
        self.between = false;
        Pin::new(&mut self.inner).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.between = true;
        ready!(self.poll_own(cx))?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_own(cx))?;
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// The library's own answer to a request it can't read, told by its head: it alone has no `Date`
/// (ours always do). Ours in its place says what happened.
fn refusal(bytes: &[u8]) -> Option<Vec<u8>> {
    let head = bytes.strip_suffix(b"\r\ncontent-length: 0\r\n\r\n")?;
    let (status, title, advice) = REFUSALS.iter().find(|(status, _, _)| {
        head.starts_with(b"HTTP/1.1 ") && head[9..].starts_with(status.as_bytes())
    })?;
    let date = b"\r\ndate: ";
    if head.windows(date.len()).any(|window| window.eq_ignore_ascii_case(date)) {
        return None;
    }
    let body = format!("pacegate: {title}\n{advice} (bad_request)\n");
    let head = format!(
        "HTTP/1.1 {status} {title}\r\nproxy-status: pacegate; error=http_request_error\r\n\
         content-type: text/plain; charset=utf-8\r\ncache-control: no-store\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Some([head.as_bytes(), body.as_bytes()].concat())
}

/// What the library answers by itself: status, title, what to do.
const REFUSALS: [(&str, &str, &str); 3] = [
    (
        "400",
        "Bad Request",
        "The request could not be read as HTTP/1.1: check its first line and fields.",
    ),
    ("414", "URI Too Long", "The request target is longer than 65,534 bytes."),
    (
        "431",
        "Request Header Fields Too Large",
        "Send fewer or shorter fields (limits.header_bytes, limits.header_fields).",
    ),
];

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
