//! What we say on an HTTP/1 connection beside the HTTP library: an interim answer while a request
//! is held, and our own text where the library answers a bad request by itself.
//!
//! This room must not know why a request is held. It writes only between messages: the library
//! flushes when its own write buffer is empty, and that is where our bytes go out.

use crate::clock::Clock;
use crate::net::literal::{BRACKETS, bracketed};
use crate::net::refusals::{Refused, reworded};
use crate::net::stall::Stall;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// The connection's bytes, with ours in between.
#[derive(Debug)]
pub struct Speaker<T> {
    inner: T,
    aside: Aside,
    /// Bytes of ours not yet written.
    pending: Vec<u8>,
    /// For the `Date` of what we answer.
    clock: Clock,
    /// Runs while a client sends on after our last byte.
    lingering: Option<Pin<Box<Sleep>>>,
    /// Runs while the first head on the connection is incomplete.
    late: Option<Pin<Box<Sleep>>>,
    /// Since our last byte a line has ended: the next head's first, if it is large.
    line: bool,
    /// Runs while the client takes too little of what we write.
    stall: Stall,
}

/// The request's end of it: shared with whoever serves the connection.
#[derive(Clone, Debug, Default)]
pub struct Aside {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    queued: Vec<u8>,
    /// The client has been asked whether it is still there.
    probed: bool,
    /// Nothing of the library's is half written: our bytes may go out.
    between: bool,
    heard: Heard,
    head: FirstHead,
    /// The request under way has a body, which may not be read to its end.
    has_body: bool,
    /// A request other than a CONNECT has begun.
    serves: bool,
    /// What comes is no longer HTTP, and somebody reads it.
    handed_over: bool,
}

impl Default for State {
    fn default() -> State {
        State {
            queued: Vec::new(),
            between: true,
            probed: false,
            head: FirstHead::Anything,
            heard: Heard::Nothing,
            has_body: false,
            serves: false,
            handed_over: false,
        }
    }
}

/// The first head on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstHead {
    /// It is there, or what is spoken here has no heads of HTTP/1.
    Anything,
    Awaited,
    /// It was not complete in time.
    Late,
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

    /// Says interim answers right before the answer that its request is about to get. Where an
    /// earlier answer is still on its way out they are left unsaid.
    pub fn say(&self, interim: &[u8]) {
        let mut state = self.lock();
        if state.between {
            state.queued.extend_from_slice(interim);
        }
    }

    /// What is spoken begins with a head of HTTP/1.
    pub fn awaits_head(&self) {
        self.lock().head = FirstHead::Awaited;
    }

    /// A request begins, with or without a body.
    pub fn begins(&self, has_body: bool) {
        let mut state = self.lock();
        state.has_body = has_body;
        state.head = FirstHead::Anything;
    }

    /// The request that has begun is one to answer, and no CONNECT.
    pub fn serves(&self) {
        self.lock().serves = true;
    }

    /// Whether a request was served on the connection, or is being: it owes its client nothing else.
    pub fn has_served(&self) -> bool {
        self.lock().serves
    }

    /// The connection is somebody else's from here on: an upgrade or a tunnel.
    pub fn hand_over(&self) {
        self.lock().handed_over = true;
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
    /// Speaks over `inner`, to a client that may leave what it is told unread for so long.
    pub fn new(inner: T, clock: Clock, unread: Duration) -> Speaker<T> {
        let aside = Aside::default();
        Speaker {
            inner,
            aside,
            pending: Vec::new(),
            clock,
            lingering: None,
            late: None,
            line: false,
            stall: Stall::new(unread),
        }
    }

    /// The end that serves.
    pub fn aside(&self) -> Aside {
        self.aside.clone()
    }

    /// The connection we speak over.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    fn is_between(&self) -> bool {
        self.aside.lock().between
    }

    /// How far the head has come that the library can't read.
    fn refused(&self) -> Refused {
        match self.aside.lock().head {
            FirstHead::Late => Refused::Late,
            FirstHead::Anything | FirstHead::Awaited if self.line => Refused::AfterItsLine,
            FirstHead::Anything | FirstHead::Awaited => Refused::InItsLine,
        }
    }

    fn set_between(&self, between: bool) {
        self.aside.lock().between = between;
    }

    /// Bytes of an answer go out: what is read now is another head.
    fn answer(&mut self) {
        self.set_between(false);
        self.line = false;
    }

    /// The connection without us.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: AsyncWrite + Unpin> Speaker<T> {
    /// A client that takes next to nothing for too long would hold its origin's slot for ever.
    fn poll_stalled(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(count)) => self.stall.took(count),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => {
                ready!(self.stall.poll(&self.clock, cx));
                let why = "the client takes nothing, or next to nothing";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)));
            }
        }
        written
    }

    fn poll_own(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.aside.lock();
        if state.between && !state.queued.is_empty() {
            self.pending.append(&mut state.queued);
        }
        drop(state);
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

impl<T: AsyncRead + Unpin> Speaker<T> {
    /// Takes what a client still sends of a request that has its answer already. A socket closed
    /// over unread bytes is reset, and a reset can take the answer with it (RFC 9112 §9.6).
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let (handed_over, has_body) = {
            let state = self.aside.lock();
            (state.handed_over, state.has_body)
        };
        if handed_over {
            return Poll::Ready(Ok(()));
        }
        if has_body {
            self.linger();
        }
        let mut taken = [0; 4096];
        for _ in 0..AT_A_TIME {
            let mut buffer = ReadBuf::new(&mut taken);
            match Pin::new(&mut self.inner).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    self.linger();
                }
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => {
                    let Some(timer) = &mut self.lingering else { return Poll::Ready(Ok(())) };
                    return timer.as_mut().poll(cx).map(Ok);
                }
            }
        }
        cx.waker().wake_by_ref();
        self.lingering.as_mut().map_or(Poll::Pending, |timer| timer.as_mut().poll(cx)).map(Ok)
    }

    /// A head that dribbles in for too long gets an end that no head has: the library refuses it, and
    /// we say why.
    fn poll_late(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let begun = {
            let state = self.aside.lock();
            state.head == FirstHead::Awaited && state.heard == Heard::Bytes
        };
        if !begun {
            self.late = None;
            return Poll::Pending;
        }
        let timer = self.late.get_or_insert_with(|| Box::pin(sleep(HEAD)));
        ready!(timer.as_mut().poll(cx));
        self.aside.lock().head = FirstHead::Late;
        buffer.put_slice(&NO_HEAD[..NO_HEAD.len().min(buffer.remaining())]);
        Poll::Ready(Ok(()))
    }

    fn linger(&mut self) {
        self.lingering.get_or_insert_with(|| Box::pin(sleep(LINGER)));
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Speaker<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let Poll::Ready(result) = Pin::new(&mut self.inner).poll_read(cx, buffer) else {
            return self.poll_late(cx, buffer);
        };
        if !self.line {
            self.line = buffer.filled()[before..].contains(&b'\n');
        }
        let mut state = self.aside.lock();
        if state.heard == Heard::Nothing {
            state.heard = match &result {
                Ok(()) if buffer.filled().len() > before => Heard::Bytes,
                Ok(()) => Heard::Closed,
                Err(error) => Heard::Failed(error.to_string()),
            };
            if buffer.remaining() >= BRACKETS
                && let Some(mended) = bracketed(&buffer.filled()[before..])
            {
                buffer.set_filled(before);
                buffer.put_slice(&mended);
            }
        }
        drop(state);
        Poll::Ready(result)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Speaker<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_own(cx))?;
        if self.is_between()
            && let Some(answer) = reworded(bytes, self.refused(), &self.clock)
        {
            self.pending = answer;
            return Poll::Ready(Ok(bytes.len()));
        }
        self.answer();
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.poll_stalled(cx, written)
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
        self.answer();
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.poll_stalled(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.set_between(true);
        ready!(self.poll_own(cx))?;
        ready!(Pin::new(&mut self.inner).poll_flush(cx))?;
        self.stall.took_all();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_own(cx))?;
        ready!(Pin::new(&mut self.inner).poll_shutdown(cx))?;
        self.poll_linger(cx)
    }
}

/// From the first byte of the first head to its last (http.md A5).
const HEAD: Duration = Duration::from_secs(10);
/// The library looks at a head again once its end is there.
const NO_HEAD: &[u8] = b"\0\r\n\r\n";
/// For a client that sends on after its answer, at most.
const LINGER: Duration = Duration::from_secs(2);
/// So many reads, then others have their turn.
const AT_A_TIME: usize = 16;
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    const UNREAD: Duration = Duration::from_secs(300);

    /// Writes 64 KiB to a client that reads so much every so often, until it is given up.
    async fn slowly(piece: usize, pause: Duration) -> io::Result<()> {
        let (mut client, server) = tokio::io::duplex(piece);
        let mut speaker = Speaker::new(server, Clock::runtime(), UNREAD);
        let reading = async {
            let mut taken = vec![0; piece];
            loop {
                sleep(pause).await;
                if tokio::io::AsyncReadExt::read_exact(&mut client, &mut taken).await.is_err() {
                    return std::future::pending().await;
                }
            }
        };
        tokio::select! {
            written = speaker.write_all(&[b'x'; 64 * 1024]) => written,
            () = reading => Ok(()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_or_drips_is_given_up_and_one_that_reads_slowly_is_not() {
        slowly(1024, UNREAD - Duration::from_secs(1)).await.unwrap();
        slowly(16, Duration::from_secs(4)).await.unwrap();
        for (piece, pause) in [(16, UNREAD * 9), (16, Duration::from_secs(5)), (1023, UNREAD)] {
            let error = slowly(piece, pause).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{piece} every {pause:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_has_taken_all_waits_for_an_origin_as_long_as_that_takes() {
        let (mut client, server) = tokio::io::duplex(16);
        let mut speaker = Speaker::new(server, Clock::runtime(), UNREAD);
        for _ in 0..9 {
            speaker.write_all(&[b'x'; 8]).await.unwrap();
            speaker.flush().await.unwrap();
            tokio::io::AsyncReadExt::read_exact(&mut client, &mut [0; 8]).await.unwrap();
            sleep(UNREAD * 2).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_client_still_sends_is_taken_for_a_while_and_no_longer() {
        let (mut client, server) = tokio::io::duplex(16);
        let mut speaker = Speaker::new(server, Clock::runtime(), UNREAD);
        speaker.aside().begins(true);
        let sending = tokio::spawn(async move {
            client.write_all(&[b'u'; 1000]).await.unwrap();
            client
        });
        let clock = Clock::runtime();
        let began = clock.now();
        speaker.shutdown().await.unwrap();
        let _client = sending.await.unwrap();
        let took = clock.now().since(began);
        assert!(took >= LINGER && took < LINGER * 2, "{took:?}");
    }
}
