//! How many are held, in all and for each client address: bounds, nothing else.

use crate::state::limits::Limits;
use crate::state::ticket::Bound;
use crate::sync::{Mutex, lock};
use std::collections::HashMap;

/// The held requests of the process.
#[derive(Debug)]
pub struct Crowd {
    inner: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    most: usize,
    most_per_client: usize,
    all: usize,
    by_origin: HashMap<u64, usize>,
}

impl Crowd {
    /// Nobody is held yet.
    pub fn new(limits: &Limits) -> Crowd {
        let crowd = Crowd { inner: Mutex::new(Counts::default()) };
        crowd.set_limits(limits);
        crowd
    }

    /// New bounds; those that are in stay.
    pub fn set_limits(&self, limits: &Limits) {
        let mut counts = lock(&self.inner);
        (counts.most, counts.most_per_client) = (limits.held, limits.held_per_client);
    }

    /// Counts one of a client address in, or names the bound that is reached.
    pub fn enter(&self, origin: u64) -> Result<(), Bound> {
        let mut counts = lock(&self.inner);
        if counts.all >= counts.most {
            return Err(Bound::All);
        }
        let own = counts.by_origin.get(&origin).copied().unwrap_or(0);
        if own >= counts.most_per_client {
            return Err(Bound::Client);
        }
        counts.by_origin.insert(origin, own + 1);
        counts.all += 1;
        Ok(())
    }

    /// Counts one out.
    pub fn leave(&self, origin: u64) {
        let mut counts = lock(&self.inner);
        counts.all = counts.all.saturating_sub(1);
        match counts.by_origin.get_mut(&origin) {
            Some(own) if *own > 1 => *own -= 1,
            Some(_) => drop(counts.by_origin.remove(&origin)),
            None => {}
        }
    }

    /// How many are held.
    pub fn len(&self) -> usize {
        lock(&self.inner).all
    }

    /// Whether nobody is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
