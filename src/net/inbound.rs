//! An answer's body. Reading it drives its connection; at its end the connection goes back to the
//! pool, and dropped before its end it closes the connection.
//!
//! It must not know what the answer means.

use crate::clock::{Clock, Tick};
use crate::judge::outcome::Fault;
use crate::net::fault;
use crate::net::http1::Http1;
use crate::net::lease::{Home, Stream};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::Sleep;

/// An answer's body.
pub struct Inbound {
    body: Incoming,
    carrier: Carrier,
    clock: Clock,
    idle: Duration,
    /// Since when nothing has come.
    still: Option<Tick>,
    timer: Option<Pin<Box<Sleep>>>,
}

/// What carries a body.
#[derive(Debug)]
pub(super) enum Carrier {
    /// Nothing any more: the body is complete, or broke off.
    Gone,
    Http1 {
        connection: Box<Http1>,
        /// Where it goes at the end, if it may be used again.
        home: Option<Home>,
    },
    Http2(#[expect(dead_code, reason = "held until the body is read")] Stream),
    /// A connection with a task of its own: one that was asked to upgrade.
    Task(#[expect(dead_code, reason = "held until the body is read")] TaskGuard),
}

/// Ends a task when dropped, unless it was let go.
#[derive(Debug)]
pub(super) struct TaskGuard(Option<AbortHandle>);

impl TaskGuard {
    pub(super) fn new(task: AbortHandle) -> TaskGuard {
        TaskGuard(Some(task))
    }

    /// The task hands its connection over and ends by itself.
    pub(super) fn let_go(mut self) {
        self.0 = None;
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

impl Inbound {
    pub(super) fn new(body: Incoming, carrier: Carrier, clock: Clock, idle: Duration) -> Inbound {
        let mut inbound = Inbound { body, carrier, clock, idle, still: None, timer: None };
        if inbound.body.is_end_stream() {
            inbound.end();
        }
        inbound
    }

    /// The body is complete.
    fn end(&mut self) {
        match std::mem::replace(&mut self.carrier, Carrier::Gone) {
            Carrier::Http1 { connection, home: Some(home) } => home.give_back(connection),
            Carrier::Http1 { home: None, .. }
            | Carrier::Http2(_)
            | Carrier::Task(_)
            | Carrier::Gone => {}
        }
        self.timer = None;
    }

    fn poll_source(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        let Carrier::Http1 { connection, .. } = &mut self.carrier else { return frame };
        if frame.is_ready() {
            return frame;
        }
        // Ended or not: what it came to is told through the body.
        let _ended = connection.drive(context);
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn poll_still(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let now = self.clock.now();
        let since = *self.still.get_or_insert(now);
        let idle = self.idle;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(idle)));
        while timer.as_mut().poll(context).is_ready() {
            let left = idle.saturating_sub(now.since(since));
            if left.is_zero() {
                return Poll::Ready(());
            }
            timer.set(tokio::time::sleep(left));
        }
        Poll::Pending
    }
}

impl Body for Inbound {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        let inbound = self.get_mut();
        if matches!(inbound.carrier, Carrier::Gone) {
            return Poll::Ready(None);
        }
        match inbound.poll_source(context) {
            Poll::Ready(Some(Ok(frame))) => {
                inbound.still = None;
                if inbound.body.is_end_stream() {
                    inbound.end();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                inbound.carrier = Carrier::Gone;
                Poll::Ready(Some(Err(fault::in_body(&error))))
            }
            Poll::Ready(None) => {
                inbound.end();
                Poll::Ready(None)
            }
            Poll::Pending => match inbound.poll_still(context) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(()) => {
                    inbound.carrier = Carrier::Gone;
                    Poll::Ready(Some(Err(fault::stuck(inbound.idle))))
                }
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.carrier, Carrier::Gone)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Inbound({:?})", self.carrier)
    }
}
