//! The proof that every scope of a request was won. Nothing opens an upstream stream without one.
//!
//! Finished = learnt ([`Permit::learn`]), dropped = over: used, the attempt leaves the flight;
//! unused, the start is given back and the next in line is served.

use crate::clock::Tick;
use crate::judge::page::Others;
use crate::pace::scope::Scope;
use crate::state::cell::{Cell, Start};
use crate::state::gate::Gate;
use crate::state::mark::Mark;
use crate::state::total::Place;
use crate::state::visit::{Learned, Lesson};
use std::sync::Arc;

/// One attempt's right to start.
#[derive(Debug)]
#[must_use = "dropped unused, the start is given back"]
pub struct Permit {
    scope: Scope,
    started: Tick,
    row: Option<Row>,
    /// A place of `limits.attempts` that no row gives back.
    counted: Option<Arc<Gate>>,
    used: bool,
    teaches: bool,
}

/// The row that counts the attempt. A healthy host has none.
#[derive(Debug)]
struct Row {
    gate: Arc<Gate>,
    cell: Arc<Cell>,
    start: Start,
}

/// What speaks for a failure being its page's and not the site's (spec 2.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The scope has served another request since this one failed before.
    pub served_since: bool,
    /// An attempt that started later was served while this one was under way.
    pub later_served: bool,
    /// How the others fared since this one failed before.
    pub others: Others,
}

impl Permit {
    /// A start in a scope without a row: nothing counts it.
    pub(crate) fn plain(scope: Scope, started: Tick, teaches: bool) -> Permit {
        Permit { scope, started, row: None, counted: None, used: false, teaches }
    }

    /// The same with a place of `limits.attempts`.
    pub(crate) fn placed(mut self, gate: &Arc<Gate>, place: Place) -> Permit {
        self.counted = place.is_counted().then(|| gate.clone());
        self
    }

    /// A start won from a row.
    pub(crate) fn won(gate: Arc<Gate>, cell: Arc<Cell>, scope: Scope, start: Start) -> Permit {
        let row = Some(Row { gate, cell, start });
        Permit { scope, started: start.at, row, counted: None, used: false, teaches: true }
    }

    /// When the attempt started.
    pub fn started(&self) -> Tick {
        self.started
    }

    /// The earliest moment the attempt was allowed to start.
    pub fn due(&self) -> Tick {
        self.row.as_ref().map_or(self.started, |row| row.start.due)
    }

    /// The rung it was won from.
    pub fn rung(&self) -> u8 {
        self.row.as_ref().map_or(0, |row| row.start.rung)
    }

    /// An attempt was made: the start stands from here on.
    pub fn mark_used(&mut self) {
        self.used = true;
    }

    /// What speaks for a page's fault, if the attempt fails now. Ask before teaching; `since` is what
    /// it taught when it failed before.
    pub fn evidence(&self, failed_before: Option<Tick>, since: Option<Mark>) -> Evidence {
        let Some(row) = &self.row else { return Evidence::default() };
        row.cell.look(|hall, _| Evidence {
            served_since: failed_before.is_some_and(|failed| hall.last_served > failed),
            later_served: hall.latest_served_start > self.started,
            others: since.map_or(Others::default(), |mark| mark.since(row.cell.id(), hall.others)),
        })
    }

    /// Teaches the scope what the attempt came to. An answer that is passed on while it arrives
    /// teaches at its head, and again if it breaks off later. The attempt stays in flight until
    /// the permit is dropped.
    pub fn learn(&mut self, gate: &Arc<Gate>, lesson: Lesson, now: Tick) -> Learned {
        self.used = true;
        if !self.teaches {
            return Learned { next_slot: now, ..Learned::default() };
        }
        let cell = self.row.as_ref().map(|row| &row.cell);
        gate.teach(&self.scope, cell, lesson, self.started, now)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(row) = self.row.take() {
            row.gate.release(&row.cell, row.start, self.used);
        }
        if let Some(gate) = self.counted.take() {
            gate.give_back(1);
        }
    }
}
