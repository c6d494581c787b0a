//! What a request brings to the gate, and why it may be sent away.

use crate::clock::Tick;
use crate::pace::claims::Claims;
use crate::pace::line::Entry;
use crate::pace::scope::Client;
use crate::pace::turn::Turn;
use std::time::Duration;

/// A request that wants to start an attempt.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// What must allow it, and what it spends in each.
    pub claims: Claims,
    pub client: Client,
    /// How often it is its turn.
    pub turn: Turn,
    /// When its head had been read: its place among its client's requests, repeats included.
    pub accepted: Tick,
    /// It had an attempt before.
    pub repeat: bool,
    /// Its own ladder (spec 2.10): it is not in the line before this moment.
    pub not_before: Option<Tick>,
    /// When its window ends: a longer pause sends it away at once.
    pub window_end: Tick,
    /// The end its client *stated*; an unstated patience is never guessed.
    pub deadline: Option<Tick>,
}

impl Ticket {
    /// As it stands in the line of its first scope.
    pub fn entry(&self) -> Entry {
        let Ticket { client, accepted, repeat, turn, .. } = *self;
        Entry { client, accepted, repeat, turn, cost: self.claims.first.cost }
    }
}

/// Why a request is not held (any longer). Nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Too many are held; worth another try after `retry_after`.
    LineFull { which: Bound, retry_after: Duration },
    /// Not even the best case ends before its stated deadline; the best case is `retry_after` away.
    Infeasible { retry_after: Duration },
    /// The scope is paused until after the request's window.
    PausedBeyondWindow { until: Tick },
    /// The process ends; only those that would be held hear this.
    ShuttingDown,
    /// Past its window, in the closing line, and unsent for a minute.
    WindowClosed,
}

/// Which bound on held requests was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    Scope,
    Client,
    All,
}
