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
            Standing::Apart(_) | Standing::InLine(_) | Standing::Closing(..) => true,
            Standing::Granted { .. } | Standing::Refused(_) => false,
        }
    }
}

/// How far a waiter has come.
#[derive(Clone, Copy, Debug)]
pub enum Standing {
    /// On its own ladder, not in the line yet.
    Apart(Tick),
    InLine(Place),
    /// In the closing line; sent away at the moment.
    Closing(Place, Tick),
    /// `due`: when the start could have been won at the earliest.
    Granted {
        start: Start,
        due: Tick,
    },
    Refused(Refusal),
}
