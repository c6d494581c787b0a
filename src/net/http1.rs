//! One HTTP/1.1 connection to an origin. It has no task of its own: whoever waits for its answer
//! or reads its body drives it, and dropping it closes it.
//!
//! It must not know which requests are worth sending again.

use crate::net::body::Outgoing;
use crate::net::connect_io::{Io, Meter};
use crate::net::lease::Open;
use crate::net::patience::Alarm;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The answer to a request that was given to a connection, or why there is none.
pub type Sending = Result<Response<Incoming>, TrySendError<Request<Outgoing>>>;

/// An HTTP/1.1 connection.
pub struct Http1 {
    sender: SendRequest<Outgoing>,
    /// `None` once it has ended.
    connection: Option<Connection<TokioIo<Io>, Outgoing>>,
    meter: Arc<Meter>,
    alarm: Alarm,
    _open: Open,
}

impl Http1 {
    /// HTTP/1.1 on a dialled connection.
    ///
    /// # Errors
    ///
    /// Nothing is sent or read here, so only hyper's own.
    pub async fn new(io: Io, open: Open) -> hyper::Result<Box<Http1>> {
        let meter = io.meter().clone();
        meter.park_writes();
        meter.mute();
        let (sender, connection) = builder().handshake(TokioIo::new(io)).await?;
        Ok(Box::new(Http1 {
            sender,
            connection: Some(connection),
            meter,
            alarm: Alarm::default(),
            _open: open,
        }))
    }

    /// Its meter.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The timer for who waits for its answer, and the meter to go with it.
    pub fn alarm(&mut self) -> (&mut Alarm, &Meter) {
        (&mut self.alarm, &self.meter)
    }

    /// Hands it a request. The future does nothing unless the connection is driven.
    pub fn send(&mut self, request: Request<Outgoing>) -> impl Future<Output = Sending> + use<> {
        self.sender.try_send_request(request)
    }

    /// Reads and writes what can be. Ready when the connection has ended.
    pub fn drive(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(connection) = &mut self.connection else { return Poll::Ready(()) };
        // An error is told to whoever waits for the answer or reads its body.
        if Pin::new(connection).poll(context).is_pending() {
            return Poll::Pending;
        }
        // A request that it was handed and has not begun with hears of the end only if it is dropped.
        self.connection = None;
        Poll::Ready(())
    }

    /// Whether the last answer is complete, nothing came after it, and another request may follow.
    /// Forgets who drove the connection.
    pub fn settles(&mut self) -> bool {
        self.alarm.rest();
        let mut context = Context::from_waker(Waker::noop());
        self.drive(&mut context).is_pending() && self.sender.is_ready() && !self.meter.is_broken()
    }

    /// The same, after a look at the socket itself.
    pub fn is_clean(&mut self) -> bool {
        self.meter.look();
        self.settles()
    }
}

impl fmt::Debug for Http1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Http1")
    }
}

/// Strict in what is sent; in what is read, tolerant where the meaning is clear (http.md, choices).
pub fn builder() -> Builder {
    let mut builder = Builder::new();
    builder
        .preserve_header_case(true)
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .ignore_invalid_headers_in_responses(true)
        .max_headers(HEADER_FIELDS)
        .max_header_size(HEADER_BYTES);
    builder
}

/// `limits.header_fields` and `limits.header_bytes` (http.md row 13).
const HEADER_FIELDS: usize = 200;
pub(super) const HEADER_BYTES: usize = 64 * 1024;
