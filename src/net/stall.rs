//! How long a client may leave an answer untaken: some of it must go within a limit, or all there
//! is. Whoever takes a byte now and then would hold its origin's slot for ever.
//!
//! This room must not know what is written.

use crate::clock::{Clock, Tick};
use crate::net::patience::Alarm;
use std::task::{Context, Poll};
use std::time::Duration;

/// One writer's patience with its client.
#[derive(Debug)]
pub struct Stall {
    limit: Duration,
    /// Since when too little was taken; `None` while nothing waits to be.
    since: Option<Tick>,
    taken: usize,
    alarm: Alarm,
}

impl Stall {
    /// Patience of so long for every [`LEAST`] bytes.
    pub fn new(limit: Duration) -> Stall {
        Stall { limit, since: None, taken: 0, alarm: Alarm::default() }
    }

    /// The client has taken so many bytes, and there may be more.
    pub fn took(&mut self, bytes: usize) {
        self.taken += bytes;
        if self.taken >= LEAST {
            self.took_all();
        }
    }

    /// The client has taken all there is.
    pub fn took_all(&mut self) {
        (self.since, self.taken) = (None, 0);
    }

    /// Something waits to be taken. Ready when it has for too long.
    pub fn poll(&mut self, clock: &Clock, context: &mut Context<'_>) -> Poll<()> {
        let since = *self.since.get_or_insert_with(|| clock.now());
        self.alarm.poll(since + self.limit, clock, context)
    }
}

/// The least that is progress, up or down: less than the smallest program reads at once.
pub const LEAST: usize = 1024;
