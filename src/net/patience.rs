//! How long an attempt waits for its head: `response_timeout` from the last byte of the request;
//! until then, `idle_timeout` from its last progress.

use crate::clock::{Clock, Tick};
use crate::net::body::{Progress, Replay};
use crate::net::connect_io::Meter;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Sleep;

/// Whose fault it is that nothing moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// The request is out, the head is not in.
    NoHead,
    /// The origin takes nothing more of the body.
    NotTaken,
    /// The client sends nothing more of the body.
    ClientSilent,
}

/// Waits for one head.
#[derive(Debug)]
pub struct Patience<'a> {
    clock: &'a Clock,
    body: &'a Replay,
    response: Duration,
    idle: Duration,
    /// The last progress.
    base: Tick,
    seen: Progress,
    sent: u64,
    /// What the timer stands at.
    armed: Tick,
}

impl<'a> Patience<'a> {
    /// Patience from now on, and the timer to poll it with.
    pub fn new(
        clock: &'a Clock,
        body: &'a Replay,
        response: Duration,
        idle: Duration,
    ) -> (Patience<'a>, Sleep) {
        let (base, seen) = (clock.now(), body.progress());
        let allowed = if seen.complete { response } else { idle };
        let armed = base + allowed;
        let patience = Patience { clock, body, response, idle, base, seen, sent: 0, armed };
        (patience, tokio::time::sleep(allowed))
    }

    /// Ready when nothing has moved for too long. `meter` tells what has left us, if the
    /// connection is not shared.
    pub fn poll(
        &mut self,
        mut timer: Pin<&mut Sleep>,
        meter: Option<&Meter>,
        context: &mut Context<'_>,
    ) -> Poll<Expired> {
        self.notice(meter);
        if self.deadline() < self.armed {
            self.arm(timer.as_mut());
        }
        while timer.as_mut().poll(context).is_ready() {
            if self.clock.now() >= self.deadline() {
                return Poll::Ready(self.blame());
            }
            self.arm(timer.as_mut());
        }
        Poll::Pending
    }

    fn notice(&mut self, meter: Option<&Meter>) {
        if self.body.is_none() {
            return;
        }
        let progress = self.body.progress();
        // What was handed over is not out yet: it may wait in buffers for a slow origin.
        let sent = meter.map_or(0, Meter::sent);
        if (progress.frames, progress.complete, sent)
            != (self.seen.frames, self.seen.complete, self.sent)
        {
            self.base = self.clock.now();
        }
        self.seen = progress;
        self.sent = sent;
    }

    fn deadline(&self) -> Tick {
        self.base + if self.seen.complete { self.response } else { self.idle }
    }

    fn arm(&mut self, timer: Pin<&mut Sleep>) {
        let deadline = self.deadline();
        let at = timer.deadline();
        let at = match deadline > self.armed {
            true => at + deadline.since(self.armed),
            false => at - self.armed.since(deadline),
        };
        timer.reset(at);
        self.armed = deadline;
    }

    fn blame(&self) -> Expired {
        match (self.seen.complete, self.seen.awaits_client) {
            (true, _) => Expired::NoHead,
            (false, true) => Expired::ClientSilent,
            (false, false) => Expired::NotTaken,
        }
    }
}
