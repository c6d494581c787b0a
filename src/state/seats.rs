//! Who waits in a hall, and what is handed to whom. Nearly all halls are empty nearly all the time, so
//! it is made when somebody comes.
//!
//! This room must not know who may go.

use crate::clock::Tick;
use crate::pace::line::Line;
use crate::pace::seldom::Blank;
use crate::state::ledger::Ledger;
use crate::state::waiter::Waiter;
use slab::Slab;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

/// Who waits, and how they are served.
#[derive(Debug, Default)]
pub struct Seats {
    pub waiters: Slab<Waiter>,
    /// What they have waited for.
    pub ledger: Ledger,
    pub line: Line,
    /// Never-sent requests past their window.
    pub closing: Line,
    pub last_closing: Option<Tick>,
    /// When a waiter's standing changes by itself: its own ladder ends, or the closing line's patience.
    pub appointments: BTreeSet<(Tick, usize)>,
    /// The request that the place before the line is kept for, who waits there, and how many starts
    /// it has won and not used yet: while it does, a scope that spaces its starts has no other.
    pub keeper: Option<u64>,
    pub ahead: Option<usize>,
    pub kept: usize,
    /// Starts handed to waiters that have not picked them up yet, and when the last was handed.
    pub handed: usize,
    pub handed_at: Tick,
    /// When an attempt failed that a law without rungs has no other memory of.
    pub last_failure: Option<Tick>,
    /// Whether it waits for a place of `limits.attempts`, and whether it was just handed one.
    pub queued: bool,
    pub place: bool,
    /// When the head of the line may go, if the clock alone decides it.
    pub head_due: Option<Tick>,
}

impl Seats {
    /// Whether nobody sits here and nothing is under way that must not be forgotten.
    pub fn say_nothing(&self, now: Tick) -> bool {
        let over = |moment: Option<Tick>| moment.is_none_or(|moment| moment + REMEMBERED <= now);
        self.waiters.is_empty()
            && self.keeper.is_none()
            && (self.kept, self.handed) == (0, 0)
            && !(self.queued || self.place)
            && over(self.last_closing)
            && over(self.last_failure)
    }
}

impl Blank for Seats {
    fn blank() -> &'static Seats {
        static EMPTY: LazyLock<Seats> = LazyLock::new(Seats::default);
        &EMPTY
    }
}

/// Longer than a closing start keeps others away, and than a failure speaks for its page.
const REMEMBERED: Duration = Duration::from_secs(120);
