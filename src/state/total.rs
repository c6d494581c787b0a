//! How many attempts the process makes at once (`limits.attempts`), and which cells wait for one of
//! the others to end: in order, one start each.
//!
//! A place is handed on to the cell that has waited longest. If that has no use for it any more,
//! whoever visited it hands it on again, so that no place is lost while a cell waits. Its lock is
//! taken below a cell's, never around one.

use crate::state::cell::Cell;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use std::collections::VecDeque;
use std::sync::Arc;

/// All attempts of the process.
#[derive(Debug)]
pub struct Total {
    /// Without a limit nothing is counted.
    limited: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    most: Option<usize>,
    under_way: usize,
    waiting: VecDeque<Arc<Cell>>,
}

/// What asking for a place came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// There is no limit.
    Free,
    /// It is counted: to be given back.
    Counted,
}

impl Place {
    /// Whether it is to be given back.
    pub const fn is_counted(self) -> bool {
        matches!(self, Place::Counted)
    }
}

impl Total {
    /// Nothing is under way.
    pub fn new() -> Total {
        Total { limited: AtomicBool::new(false), inner: Mutex::new(Inner::default()) }
    }

    /// Another limit. Who waits may have to be served: see [`Total::hand_on`].
    pub fn set_limit(&self, most: Option<usize>) {
        lock(&self.inner).most = most;
        self.limited.store(most.is_some(), Ordering::Release);
    }

    /// A place, if one is free and no cell waits for one.
    pub fn take(&self) -> Option<Place> {
        self.ask(None)
    }

    /// The same for a cell: without a place it waits from now on.
    pub fn take_or_wait(&self, cell: &Arc<Cell>) -> Option<Place> {
        self.ask(Some(cell))
    }

    /// A place beyond all limits, for what can't wait.
    pub fn enter(&self) -> Place {
        if !self.limited.load(Ordering::Acquire) {
            return Place::Free;
        }
        lock(&self.inner).under_way += 1;
        Place::Counted
    }

    /// A counted place is given back; then as [`Total::hand_on`].
    pub fn leave(&self) -> Option<Arc<Cell>> {
        let mut inner = lock(&self.inner);
        inner.under_way = inner.under_way.saturating_sub(1);
        inner.hand_on()
    }

    /// The next cell that waits, if there is a place: that is taken for it.
    pub fn hand_on(&self) -> Option<Arc<Cell>> {
        lock(&self.inner).hand_on()
    }

    fn ask(&self, cell: Option<&Arc<Cell>>) -> Option<Place> {
        if !self.limited.load(Ordering::Acquire) {
            return Some(Place::Free);
        }
        let mut inner = lock(&self.inner);
        if inner.waiting.is_empty() && inner.has_room() {
            inner.under_way += 1;
            return Some(Place::Counted);
        }
        inner.waiting.extend(cell.cloned());
        None
    }
}

impl Inner {
    fn has_room(&self) -> bool {
        self.most.is_none_or(|most| self.under_way < most)
    }

    fn hand_on(&mut self) -> Option<Arc<Cell>> {
        let next = if self.has_room() { self.waiting.pop_front() } else { None };
        self.under_way += usize::from(next.is_some());
        next
    }
}

impl Default for Total {
    fn default() -> Total {
        Total::new()
    }
}
