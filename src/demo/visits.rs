//! What the shop writes down about those who come.
//!
//! Must not know what a shop does with them.

use crate::clock::{Clock, Tick};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One request, as the shop saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Which connection it came on, counted from 0 in order of acceptance.
    pub connection: usize,
    pub path: String,
    /// When its head had been read.
    pub arrived: Tick,
    /// When a worker began with it.
    pub began: Option<Tick>,
    /// When the worker was done with it, whether or not anybody was still there.
    pub ended: Option<Tick>,
    /// When its client left without its page.
    pub left: Option<Tick>,
    /// Whether it found the queue full.
    pub refused: bool,
}

impl Visit {
    /// Whether the work is done and its client was there to take it.
    pub fn served(&self) -> bool {
        self.ended.is_some() && self.left.is_none()
    }
}

/// The log of one shop. Clones write into the same.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    clock: Clock,
    visits: Arc<Mutex<Vec<Visit>>>,
}

impl Log {
    /// An empty log.
    pub(crate) fn new(clock: &Clock) -> Log {
        Log { clock: clock.clone(), visits: Arc::default() }
    }

    /// The clock its moments are read from.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Everything in it, in order of arrival.
    pub(crate) fn visits(&self) -> Vec<Visit> {
        self.lock().clone()
    }

    /// Writes an arrival down and gives its place in the log.
    pub(crate) fn arrived(&self, connection: usize, path: &str) -> usize {
        let mut visits = self.lock();
        let arrived = self.clock.now();
        let visit = Visit {
            connection,
            path: path.to_string(),
            arrived,
            began: None,
            ended: None,
            left: None,
            refused: false,
        };
        if visits.len() < VISITS {
            visits.push(visit);
            return visits.len() - 1;
        }
        VISITS
    }

    /// Adds something to a visit (if it is in the log) and gives the moment.
    pub(crate) fn note(&self, visit: usize, add: impl FnOnce(&mut Visit, Tick)) -> Tick {
        let now = self.clock.now();
        if let Some(visit) = self.lock().get_mut(visit) {
            add(visit, now);
        }
        now
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Visit>> {
        self.visits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// So many visits are written down.
const VISITS: usize = 100_000;
