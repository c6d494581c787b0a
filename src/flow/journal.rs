//! What happened, for whoever wants to check it afterwards: the demo and the tests beside an
//! origin's own log. Bounded; nobody keeps one in ordinary service.

use crate::clock::Tick;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Starts, departures and advice, as they came.
#[derive(Debug, Default)]
pub struct Journal {
    pages: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    starts: Vec<Start>,
    departures: u64,
    advice: Vec<String>,
}

/// An attempt that started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The earliest moment it was allowed to.
    pub due: Tick,
    /// The rung it started from.
    pub rung: u8,
}

impl Journal {
    /// Notes an attempt that started.
    pub fn started(&self, start: Start) {
        let mut pages = self.pages();
        if pages.starts.len() < MOST {
            pages.starts.push(start);
        }
    }

    /// Notes a client that left before its answer.
    pub fn left(&self) {
        self.pages().departures += 1;
    }

    /// Notes advice that went to the log.
    pub fn advise(&self, text: String) {
        let mut pages = self.pages();
        if pages.advice.len() < MOST {
            pages.advice.push(text);
        }
    }

    /// The starts, in order.
    pub fn starts(&self) -> Vec<Start> {
        self.pages().starts.clone()
    }

    /// How many clients left before their answer.
    pub fn departures(&self) -> u64 {
        self.pages().departures
    }

    /// The advice that went to the log.
    pub fn advice(&self) -> Vec<String> {
        self.pages().advice.clone()
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const MOST: usize = 100_000;
