//! When which cell wants to be looked at: one timer for the process, and one limit on its attempts.
//!
//! A cell has at most one entry, moved under the cell's own lock, so that an entry and what its cell
//! believes never part. Who sleeps until the earliest entry is not this room's affair: it leaves a
//! bell, which is rung when an earlier entry comes.

use crate::clock::Tick;
use crate::state::cell::Cell;
use crate::state::total::Total;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;

/// The entries of all cells, in order.
#[derive(Debug)]
pub struct Agenda {
    inner: Mutex<Inner>,
    /// A thread keeps time.
    kept: AtomicBool,
    /// Cells that want to be looked at when an attempt ends, wherever it does.
    pub total: Total,
}

#[derive(Debug)]
struct Inner {
    entries: BTreeMap<(Tick, u64), Arc<Cell>>,
    /// Who sleeps, and until when.
    asleep: Option<(Tick, Waker)>,
}

impl Agenda {
    /// An empty agenda.
    pub fn new() -> Agenda {
        let inner = Inner { entries: BTreeMap::new(), asleep: None };
        Agenda { inner: Mutex::new(inner), kept: AtomicBool::new(false), total: Total::new() }
    }

    /// Moves a cell's entry. The bell to ring, once no lock is held, if its keeper would oversleep.
    #[must_use]
    pub fn move_entry(
        &self,
        cell: &Arc<Cell>,
        old: Option<Tick>,
        new: Option<Tick>,
    ) -> Option<Waker> {
        let mut inner = lock(&self.inner);
        if let Some(old) = old {
            inner.entries.remove(&(old, cell.id()));
        }
        let new = new?;
        inner.entries.insert((new, cell.id()), cell.clone());
        match &inner.asleep {
            Some((until, _)) if new < *until => inner.asleep.take().map(|(_, bell)| bell),
            Some(_) | None => None,
        }
    }

    /// Takes out one entry that is due. Whoever does so is awake: no bell is needed.
    pub fn take_due(&self, now: Tick) -> Option<(Tick, Arc<Cell>)> {
        let mut inner = lock(&self.inner);
        inner.asleep = None;
        let entry = inner.entries.first_entry().filter(|entry| entry.key().0 <= now)?;
        let ((due, _), cell) = entry.remove_entry();
        Some((due, cell))
    }

    /// The moment of the earliest entry; [`Tick::NEVER`] for none.
    pub fn next(&self) -> Tick {
        lock(&self.inner).earliest()
    }

    /// Says that a thread keeps time, or no longer does.
    pub fn set_kept(&self, kept: bool) {
        self.kept.store(kept, Ordering::Release);
    }

    /// Whether a thread keeps time.
    pub fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Acquire)
    }

    /// Leaves a bell and says until when to sleep; [`Tick::NEVER`] with nothing on the agenda.
    pub fn sleep(&self, bell: &Waker) -> Tick {
        let mut inner = lock(&self.inner);
        let until = inner.earliest();
        inner.asleep = Some((until, bell.clone()));
        until
    }
}

impl Inner {
    fn earliest(&self) -> Tick {
        self.entries.first_key_value().map_or(Tick::NEVER, |((due, _), _)| *due)
    }
}

impl Default for Agenda {
    fn default() -> Agenda {
        Agenda::new()
    }
}
