//! One request that waits in a hall, and how far it has come.

use crate::clock::Tick;
use crate::pace::line::{Entry, Place};
use crate::pace::quota::Cost;
use crate::pace::scope::Client;
use crate::pace::turn::Turn;
use crate::state::cell::Start;
use crate::state::ledger::Stay;
use crate::state::ticket::Refusal;
use std::task::Waker;

/// A request that waits, or waited and has not looked yet.
#[derive(Debug)]
pub struct Waiter {
    pub client: Client,
    pub accepted: Tick,
    pub repeat: bool,
    pub turn: Turn,
    pub window_end: Tick,
    pub deadline: Option<Tick>,
    pub cost: Cost,
    pub terms: Terms,
    pub waker: Option<Waker>,
    pub standing: Standing,
    pub stay: Stay,
}

impl Waiter {
    /// As it stands in a line.
    pub fn entry(&self) -> Entry {
        let Waiter { client, accepted, repeat, turn, cost, .. } = *self;
        Entry { client, accepted, repeat, turn, cost }
    }

    /// Whether it still waits.
    pub fn is_held(&self) -> bool {
        match self.standing {
            Standing::Apart(_)
            | Standing::InLine(_)
            | Standing::Ahead(_)
            | Standing::Closing(..) => true,
            Standing::Granted { .. } | Standing::Refused(_) | Standing::Called => false,
        }
    }
}

/// On what terms a request comes to a hall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// It has its place of `limits.attempts` from another hall.
    pub placed: bool,
    /// It comes from its own ladder to be called, not to be lined up: it goes on elsewhere.
    pub only_called: bool,
    /// Past its window: it waits in the closing line, until the moment.
    pub closing: Option<Tick>,
    /// It goes before the line if the scope keeps the place for it (a keeper's number), for it was
    /// at the head before and another scope didn't allow it.
    pub keeper: Option<u64>,
}

/// How far a waiter has come.
#[derive(Clone, Copy, Debug)]
pub enum Standing {
    /// On its own ladder, not in the line yet.
    Apart(Tick),
    InLine(Place),
    /// Before the line, for so long; see [`Terms::keeper`].
    Ahead(Tick),
    /// In the closing line; sent away at the moment.
    Closing(Place, Tick),
    /// `due`: when the start could have been won at the earliest.
    Granted {
        start: Start,
        due: Tick,
    },
    Refused(Refusal),
    /// It waits no more, and decides itself how it goes on.
    Called,
}
