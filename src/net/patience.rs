//! How long an attempt waits for its head: `response_timeout` from the last byte of the request;
//! until then, `idle_timeout` from its last progress. A client that sends next to nothing makes none.

use crate::clock::{Clock, Tick};
use crate::net::body::{Progress, Replay};
use crate::net::connect_io::Meter;
use crate::net::stall::LEAST;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::time::Sleep;

/// Whose fault it is that nothing moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// The request is out, the head is not in.
    NoHead,
    /// The origin takes nothing more of the body.
    NotTaken,
    /// The client sends nothing more of the body, or next to nothing.
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
    /// Since when only the client was waited for, and how much had come from it by then.
    awaited: (Tick, u64),
}

/// A timer that stays with its connection. It may ring too early: then it is set again. So a
/// request that is answered in time, as nearly all are, leaves the runtime's timers alone.
#[derive(Debug, Default)]
pub struct Alarm {
    /// What it stands at.
    set: Option<(Tick, Pin<Box<Sleep>>)>,
}

impl Alarm {
    /// Ready once `until` has passed.
    pub fn poll(&mut self, until: Tick, clock: &Clock, context: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.set {
                Some((at, sleep)) if *at <= until => {
                    ready!(sleep.as_mut().poll(context));
                    let now = clock.now();
                    if now >= until {
                        return Poll::Ready(());
                    }
                    *at = until;
                    sleep.set(tokio::time::sleep(until.since(now)));
                }
                Some((at, sleep)) => {
                    *at = until;
                    sleep.set(tokio::time::sleep(until.since(clock.now())));
                }
                None => {
                    let sleep = tokio::time::sleep(until.since(clock.now()));
                    self.set = Some((until, Box::pin(sleep)));
                }
            }
        }
    }

    /// Forgets who it would wake.
    pub fn rest(&mut self) {
        if let Some((_, sleep)) = &mut self.set {
            let mut context = Context::from_waker(Waker::noop());
            // One that has rung is set again when it is needed.
            let _rung = sleep.as_mut().poll(&mut context);
        }
    }
}

impl<'a> Patience<'a> {
    /// Patience from `base` on.
    pub fn new(
        clock: &'a Clock,
        body: &'a Replay,
        response: Duration,
        idle: Duration,
        base: Tick,
    ) -> Patience<'a> {
        let seen = body.progress();
        Patience { clock, body, response, idle, base, seen, sent: 0, awaited: (base, seen.bytes) }
    }

    /// Ready when nothing has moved for too long. `meter` tells what has left us, if the
    /// connection is not shared.
    pub fn poll(
        &mut self,
        alarm: &mut Alarm,
        meter: Option<&Meter>,
        context: &mut Context<'_>,
    ) -> Poll<Expired> {
        self.notice(meter);
        ready!(alarm.poll(self.deadline(), self.clock, context));
        Poll::Ready(self.blame())
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
        // While the origin is the slow one its client owes nothing.
        let owes = self.seen.awaits_client && progress.awaits_client;
        if !owes || progress.bytes - self.awaited.1 >= LEAST as u64 {
            self.awaited = (self.base, progress.bytes);
        }
        self.seen = progress;
        self.sent = sent;
    }

    fn deadline(&self) -> Tick {
        match (self.seen.complete, self.seen.awaits_client) {
            (true, _) => self.base + self.response,
            (false, true) => self.awaited.0 + self.idle,
            (false, false) => self.base + self.idle,
        }
    }

    fn blame(&self) -> Expired {
        match (self.seen.complete, self.seen.awaits_client) {
            (true, _) => Expired::NoHead,
            (false, true) => Expired::ClientSilent,
            (false, false) => Expired::NotTaken,
        }
    }
}
