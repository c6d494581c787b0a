//! One HTTP/2 connection to an origin, shared by its streams. hyper gives it a task; that ends
//! when the pool has let go of it and its streams are done.
//!
//! It must not know which requests are worth sending again.

use crate::net::body::Outgoing;
use crate::net::connect_io::Io;
use crate::net::http1::{HEADER_BYTES, Sending};
use crate::net::lease::Open;
use http::Request;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use tokio::sync::Notify;

/// An HTTP/2 connection. Clones are the same connection.
#[derive(Clone)]
pub struct Http2 {
    sender: SendRequest<Outgoing>,
    terms: Arc<Terms>,
}

/// What the origin allows.
#[derive(Default)]
struct Terms {
    most: AtomicUsize,
    /// The origin has answered, so its settings are here.
    known: AtomicBool,
    changed: Notify,
}

impl Http2 {
    /// HTTP/2 on a dialled connection.
    ///
    /// # Errors
    ///
    /// The preface could not be written.
    pub async fn new(io: Io, open: Open) -> hyper::Result<Http2> {
        let (sender, connection) = builder().handshake(TokioIo::new(io)).await?;
        let terms = Arc::new(Terms { most: AtomicUsize::new(MOST_STREAMS), ..Terms::default() });
        let told = terms.clone();
        tokio::spawn(async move {
            let _open = open;
            let mut connection = pin!(connection);
            let mut changed = pin!(told.changed.notified());
            let mut waits = true;
            // How it ended is told to its streams.
            let _ended = poll_fn(|context| {
                waits = waits && changed.as_mut().poll(context).is_pending();
                let ended = connection.as_mut().poll(context);
                told.most.store(connection.current_max_send_streams().min(MOST_STREAMS), Relaxed);
                ended
            })
            .await;
        });
        Ok(Http2 { sender, terms })
    }

    /// How many streams the origin, and we, allow on it at once.
    pub fn most_streams(&self) -> usize {
        self.terms.most.load(Relaxed)
    }

    /// An answer came, and the origin's settings before it. hyper does not tell when they come:
    /// they are read when the connection's task next runs.
    pub fn answered(&self) {
        if !self.terms.known.swap(true, Relaxed) {
            self.terms.changed.notify_one();
        }
    }

    /// Whether no stream can be opened on it.
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Sends a request on a stream of its own.
    pub fn send(
        &mut self,
        request: Request<Outgoing>,
    ) -> Pin<Box<dyn Future<Output = Sending> + Send>> {
        Box::pin(self.sender.try_send_request(request))
    }
}

impl fmt::Debug for Http2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Http2")
    }
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_header_list_size(HEADER_BYTES as u32)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER);
    builder
}

/// What hyper assumes before the origin has said (RFC 9113 §6.5.2: at least 100 is advised).
const MOST_STREAMS: usize = 100;
/// What a slow client can make us keep of a stream; 80 Mbit/s at 100 ms.
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;
const SEND_BUFFER: usize = 256 * 1024;
