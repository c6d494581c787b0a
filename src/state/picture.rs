//! A snapshot for admin and metrics: rows and counters, as plain values.

use crate::clock::Tick;
use crate::judge::verdict::Class;
use crate::pace::decide::{From, Reason, best_case, earliest};
use crate::pace::quota::Cost;
use crate::pace::scope::Scope;
use crate::state::cell::{Cell, Eviction};
use crate::state::ledger::Waits;
use crate::state::lobby::LobbyView;
use crate::sync::{AtomicU64, Ordering};
use std::time::Duration;

/// All rows at one moment.
#[derive(Clone, Debug)]
pub struct Picture {
    pub taken: Tick,
    pub rows: Vec<RowView>,
}

/// One scope's row.
#[derive(Clone, Debug)]
pub struct RowView {
    pub scope: Scope,
    pub rung: u8,
    pub pace: Duration,
    pub held: usize,
    /// What those held have waited so far, together.
    pub waits: Waits,
    /// Attempts in flight that the row counts: those begun on a healthy host are not among them.
    pub in_flight: u16,
    /// When the longest held request was accepted.
    pub oldest: Option<Tick>,
    /// The earliest next start.
    pub next_slot: Tick,
    pub paused_until: Option<Tick>,
    /// An operator keeps it on this rung.
    pub pinned: Option<u8>,
    /// What a request that comes now would wait for; `None`: it would start at once.
    pub waits_for: Option<Reason>,
    /// When it would start at the earliest, if every page before it is served.
    pub newcomer: Tick,
    /// The class of the last climb or pause.
    pub cause: Option<Class>,
}

impl Picture {
    /// Who waits behind others in a lobby is shown with the first of its scopes.
    pub(crate) fn add(&mut self, lobby: LobbyView) {
        let row = match self.rows.iter().position(|row| row.scope == lobby.name) {
            Some(place) => &mut self.rows[place],
            None => {
                self.rows.push(RowView::plain(lobby.name.clone(), self.taken));
                self.rows.last_mut().expect("just pushed")
            }
        };
        row.held += lobby.held;
        row.waits = row.waits.plus(lobby.waits);
        row.oldest = match (row.oldest, lobby.oldest) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}

impl RowView {
    /// A scope without a row.
    fn plain(scope: Scope, now: Tick) -> RowView {
        RowView {
            scope,
            rung: 0,
            pace: Duration::ZERO,
            held: 0,
            waits: Waits::default(),
            in_flight: 0,
            oldest: None,
            next_slot: now,
            paused_until: None,
            pinned: None,
            waits_for: None,
            newcomer: now,
            cause: None,
        }
    }

    /// The row now; `None` if it was removed.
    pub(crate) fn of(cell: &Cell, now: Tick) -> Option<RowView> {
        cell.look(|hall, slot| {
            let held = hall.seats.waiters.iter().filter(|(_, waiter)| waiter.is_held());
            (!slot.dead).then(|| RowView {
                scope: cell.scope().clone(),
                rung: slot.rung,
                pace: hall.pace(slot),
                held: hall.held(),
                waits: hall.seats.ledger.total(now),
                in_flight: slot.in_flight,
                oldest: held.map(|(_, waiter)| waiter.accepted).min(),
                next_slot: earliest(&slot, &hall.memory, &hall.rules, From::Line, Cost::NONE)
                    .0
                    .max(now),
                paused_until: Some(hall.memory.paused_until).filter(|end| *end > now),
                pinned: hall.pinned(),
                waits_for: hall.newcomer_waits_for(slot, now),
                newcomer: best_case(&slot, &hall.memory, &hall.rules, hall.held(), now),
                cause: hall.cause,
            })
        })
    }
}

/// What the gate has done since it began, and what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Starts won by waiting.
    pub grants: u64,
    /// Wakers called for held requests.
    pub wakeups: u64,
    /// Rows removed because the rung was 0 and nobody waited, and because nobody asked for long.
    pub evicted_quiet: u64,
    pub evicted_idle: u64,
    /// Rows that made room for others.
    pub evicted_full: u64,
    pub rows: usize,
    pub held: usize,
    /// How late starts were after the moment they were due: counts by [`LATENESS`], the last for
    /// all above, and their sum in nanoseconds.
    pub lateness: [u64; LATENESS.len() + 1],
    pub lateness_sum_nanos: u64,
}

/// Upper bounds of the buckets of lateness.
pub const LATENESS: [Duration; 9] = [
    Duration::from_micros(100),
    Duration::from_micros(250),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_micros(2500),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(100),
];

/// Counts as it goes.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub grants: AtomicU64,
    pub wakeups: AtomicU64,
    evicted_quiet: AtomicU64,
    evicted_idle: AtomicU64,
    evicted_full: AtomicU64,
    lateness: [AtomicU64; LATENESS.len() + 1],
    lateness_sum_nanos: AtomicU64,
}

impl Tally {
    /// A start that was waited for, so late after it was due.
    pub fn granted(&self, late: Duration) {
        self.grants.fetch_add(1, Ordering::Relaxed);
        let bucket = LATENESS.iter().position(|bound| late <= *bound).unwrap_or(LATENESS.len());
        self.lateness[bucket].fetch_add(1, Ordering::Relaxed);
        self.lateness_sum_nanos.fetch_add(late.as_nanos() as u64, Ordering::Relaxed);
    }

    /// The count of rows that went for a reason.
    pub fn evicted(&self, why: Eviction) -> &AtomicU64 {
        match why {
            Eviction::Quiet => &self.evicted_quiet,
            Eviction::Idle => &self.evicted_idle,
            Eviction::Full => &self.evicted_full,
        }
    }

    /// The counts so far.
    pub fn read(&self, rows: usize, held: usize) -> Counters {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counters {
            grants: of(&self.grants),
            wakeups: of(&self.wakeups),
            evicted_quiet: of(&self.evicted_quiet),
            evicted_idle: of(&self.evicted_idle),
            evicted_full: of(&self.evicted_full),
            rows,
            held,
            lateness: std::array::from_fn(|bucket| of(&self.lateness[bucket])),
            lateness_sum_nanos: of(&self.lateness_sum_nanos),
        }
    }
}
