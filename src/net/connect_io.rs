//! The bytes of one upstream connection: counted, and bent where hyper needs it.
//!
//! * `sent` is counted below TLS: unchanged means that nothing left us. `received` above it.
//! * A look: the next read asks the socket itself, not the reactor's memory, so that a connection
//!   the origin has closed meanwhile is seen without waiting for an event.
//! * Writes are parked after a write error, so that an answer which arrived before the origin
//!   closed is still read (hyper would give the connection up).
//! * A fresh connection is not read before something was written: an origin that answers before it
//!   has read the request is answered for, not mistaken for noise.
//! * Before a head so much is read and no more: interim answers without end would keep whoever
//!   reads them so busy that no timer is looked at.
//!
//! It must not know what the bytes mean.

use std::error::Error;
use std::fmt;
use std::io::{self, IoSlice, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// What is known about the bytes of a connection, and what is asked of it.
#[derive(Debug, Default)]
pub struct Meter {
    sent: AtomicU64,
    received: AtomicU64,
    look: AtomicBool,
    muted: AtomicBool,
    park: AtomicBool,
    broken: AtomicBool,
    /// A head is awaited, and what `received` was when the wait began.
    awaits_head: AtomicBool,
    before_head: AtomicU64,
}

/// An origin said more than [`BEFORE_HEAD`] and no answer was among it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoHeadInAll;

impl fmt::Display for NoHeadInAll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("1 MiB of interim answers, and no answer")
    }
}

impl Error for NoHeadInAll {}

impl Meter {
    /// Bytes handed to the kernel so far, TLS included.
    pub fn sent(&self) -> u64 {
        self.sent.load(Relaxed)
    }

    /// Bytes of HTTP read so far.
    pub fn received(&self) -> u64 {
        self.received.load(Relaxed)
    }

    /// Has the next read ask the socket itself.
    pub fn look(&self) {
        self.look.store(true, Relaxed);
    }

    /// From now on a write error parks the writes instead of ending the connection.
    pub fn park_writes(&self) {
        self.park.store(true, Relaxed);
    }

    /// Nothing is read until something was written.
    pub fn mute(&self) {
        self.muted.store(true, Relaxed);
    }

    /// From now on a head is awaited: a flood before it is an error.
    pub fn await_head(&self) {
        self.before_head.store(self.received(), Relaxed);
        self.awaits_head.store(true, Relaxed);
    }

    /// The head is there: what comes now is its body, of any size.
    pub fn head_came(&self) {
        self.awaits_head.store(false, Relaxed);
    }

    fn is_flooded(&self) -> bool {
        self.awaits_head.load(Relaxed)
            && self.received() - self.before_head.load(Relaxed) > BEFORE_HEAD
    }

    /// Whether writes are parked: the connection is of no use after this answer.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Relaxed)
    }
}

/// A dialled socket, with its meter.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    meter: Arc<Meter>,
    /// Who asked to read while muted.
    reader: Option<Waker>,
}

impl Wire {
    /// A wire over a connected socket.
    pub fn new(stream: TcpStream) -> Wire {
        Wire { stream, meter: Arc::new(Meter::default()), reader: None }
    }

    /// Its meter.
    pub fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    fn look(&mut self, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let room = buffer.remaining().min(LOOK_BYTES);
        let socket = socket2::SockRef::from(&self.stream);
        match (&*socket).read(buffer.initialize_unfilled_to(room)) {
            Ok(read) => {
                buffer.advance(read);
                Poll::Ready(Ok(()))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn wrote(&mut self, result: io::Result<usize>) -> Poll<io::Result<usize>> {
        if self.meter.muted.load(Relaxed) {
            self.meter.muted.store(false, Relaxed);
            self.reader.take().into_iter().for_each(Waker::wake);
        }
        match result {
            Ok(written) => {
                self.meter.sent.fetch_add(written as u64, Relaxed);
                Poll::Ready(Ok(written))
            }
            Err(_) if self.meter.park.load(Relaxed) => {
                self.meter.broken.store(true, Relaxed);
                Poll::Pending
            }
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        if wire.meter.look.load(Relaxed) {
            wire.meter.look.store(false, Relaxed);
            return wire.look(buffer);
        }
        if wire.meter.muted.load(Relaxed) {
            wire.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        Pin::new(&mut wire.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        if wire.meter.is_broken() {
            return Poll::Pending;
        }
        let result = ready!(Pin::new(&mut wire.stream).poll_write(context, bytes));
        wire.wrote(result)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        if wire.meter.is_broken() {
            return Poll::Pending;
        }
        let result = ready!(Pin::new(&mut wire.stream).poll_write_vectored(context, slices));
        wire.wrote(result)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

/// An upstream connection, plain or in TLS.
#[derive(Debug)]
pub struct Io {
    layer: Layer,
    meter: Arc<Meter>,
}

#[derive(Debug)]
enum Layer {
    Plain(Wire),
    Tls(Box<TlsStream<Wire>>),
}

impl Io {
    /// A connection without TLS.
    pub fn plain(wire: Wire) -> Io {
        Io { meter: wire.meter.clone(), layer: Layer::Plain(wire) }
    }

    /// A connection in TLS.
    pub fn tls(stream: TlsStream<Wire>) -> Io {
        Io { meter: stream.get_ref().0.meter.clone(), layer: Layer::Tls(Box::new(stream)) }
    }

    /// Its meter.
    pub fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }
}

impl AsyncRead for Io {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let io = self.get_mut();
        let before = buffer.filled().len();
        let result = match &mut io.layer {
            Layer::Plain(wire) => Pin::new(wire).poll_read(context, buffer),
            Layer::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        };
        let read = buffer.filled().len() - before;
        if read > 0 {
            io.meter.received.fetch_add(read as u64, Relaxed);
        }
        match io.meter.is_flooded() {
            true => Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, NoHeadInAll))),
            false => result,
        }
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().layer {
            Layer::Plain(wire) => Pin::new(wire).poll_write(context, bytes),
            Layer::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().layer {
            Layer::Plain(wire) => Pin::new(wire).poll_write_vectored(context, slices),
            Layer::Tls(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.layer {
            Layer::Plain(wire) => wire.is_write_vectored(),
            Layer::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().layer {
            Layer::Plain(wire) => Pin::new(wire).poll_flush(context),
            Layer::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().layer {
            Layer::Plain(wire) => Pin::new(wire).poll_shutdown(context),
            Layer::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

/// Enough for two session tickets or a close_notify, which an idle TLS connection may have got.
const LOOK_BYTES: usize = 1024;
/// Sixteen heads of the largest size, and more than the library reads ahead of a body.
const BEFORE_HEAD: u64 = 1024 * 1024;
