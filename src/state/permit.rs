//! The proof that every scope of a request was won. Nothing opens an upstream stream without one.
//!
//! Finished = learnt ([`Permit::learn`]), dropped = over: used, the attempt leaves the flight;
//! unused, the starts are given back and the next in line is served.

use crate::clock::Tick;
use crate::judge::page::Others;
use crate::pace::claims::{Asked, Claims};
use crate::pace::quota::Reconcile;
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
    first: Part,
    /// Empty for nearly all: nothing is allocated.
    rest: Vec<Part>,
    started: Tick,
    /// A place of `limits.attempts` that no row gives back.
    counted: Option<Arc<Gate>>,
    used: bool,
    teaches: bool,
}

/// One scope of a permit.
#[derive(Debug)]
pub(crate) struct Part {
    scope: Scope,
    learns: bool,
    row: Option<Row>,
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

impl Part {
    /// A scope that was won; `row`: from its row, by this start. One without counts nothing.
    pub fn new(asked: &Asked, row: Option<(Arc<Gate>, Arc<Cell>, Start)>) -> Part {
        let row = row.map(|(gate, cell, start)| Row { gate, cell, start });
        Part { scope: asked.scope.clone(), learns: asked.learns, row }
    }
}

impl Permit {
    /// A start in a scope without a row: nothing counts it.
    pub(crate) fn plain(scope: Scope, started: Tick, teaches: bool) -> Permit {
        let first = Part { scope, learns: true, row: None };
        let mut permit = Permit::of(first, Vec::new(), started);
        permit.teaches = teaches;
        permit
    }

    /// The same in some scopes.
    #[inline]
    pub(crate) fn free(claims: &Claims, started: Tick) -> Permit {
        let rest = claims.rest.iter().map(|asked| Part::new(asked, None)).collect();
        Permit::of(Part::new(&claims.first, None), rest, started)
    }

    /// A start in all scopes of a request, the first first.
    pub(crate) fn of(first: Part, rest: Vec<Part>, started: Tick) -> Permit {
        Permit { first, rest, started, counted: None, used: false, teaches: true }
    }

    /// One scope more.
    pub(crate) fn add(&mut self, part: Part) {
        self.rest.push(part);
    }

    /// The same with a place of `limits.attempts`.
    pub(crate) fn placed(mut self, gate: &Arc<Gate>, place: Place) -> Permit {
        self.counted = place.is_counted().then(|| gate.clone());
        self
    }

    /// When the attempt started.
    pub fn started(&self) -> Tick {
        self.started
    }

    /// The earliest moment the attempt was allowed to start.
    pub fn due(&self) -> Tick {
        self.rows().map(|row| row.start.due).max().unwrap_or(self.started)
    }

    /// The rung it was won from: of the first scope that has one.
    pub fn rung(&self) -> u8 {
        self.rows().next().map_or(0, |row| row.start.rung)
    }

    /// The scope whose state stands for all of them: the first that learns.
    pub fn scope(&self) -> &Scope {
        self.parts().find(|part| part.learns).map_or(&self.first.scope, |part| &part.scope)
    }

    /// The same, and what the attempt comes to teaches nothing.
    pub fn untaught(mut self) -> Permit {
        self.teaches = false;
        self
    }

    /// Whether it teaches its scopes.
    pub fn teaches(&self) -> bool {
        self.teaches
    }

    /// An attempt was made: the start stands from here on.
    pub fn mark_used(&mut self) {
        self.used = true;
    }

    /// What speaks for a page's fault, if the attempt fails now. Ask before teaching; `since` is what
    /// it taught when it failed before.
    pub fn evidence(&self, failed_before: Option<Tick>, since: Option<Mark>) -> Evidence {
        let teachable = self.parts().filter(|part| part.learns);
        let Some(row) = teachable.filter_map(|part| part.row.as_ref()).next() else {
            return Evidence::default();
        };
        row.cell.look(|hall, _| Evidence {
            served_since: failed_before.is_some_and(|failed| hall.last_served > failed),
            later_served: hall.latest_served_start > self.started,
            others: since.map_or(Others::default(), |mark| mark.since(row.cell.id(), hall.others)),
        })
    }

    /// Teaches the scopes that learn what the attempt came to. An answer that is passed on while it
    /// arrives teaches at its head, and again if it breaks off later. The attempt stays in flight
    /// until the permit is dropped.
    pub fn learn(&mut self, gate: &Arc<Gate>, lesson: Lesson, now: Tick) -> Learned {
        self.used = true;
        let mut all: Option<Learned> = None;
        for part in self.parts().filter(|part| part.learns && self.teaches) {
            let cell = part.row.as_ref().map(|row| &row.cell);
            let learned = gate.teach(&part.scope, cell, lesson, self.started, now);
            all = Some(all.map_or(learned, |first| first.and(learned)));
        }
        all.unwrap_or(Learned { next_slot: now, ..Learned::default() })
    }

    /// Corrects what is known to be spent of a scope's quota, by what the answer says. False if it
    /// has none, or the request did not ask for it.
    pub fn reconcile(&self, gate: &Gate, scope: &Scope, said: Reconcile) -> bool {
        self.parts().any(|part| part.scope == *scope) && gate.reconcile(scope, said)
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.parts().filter_map(|part| part.row.as_ref())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        for part in std::iter::once(&mut self.first).chain(&mut self.rest) {
            if let Some(row) = part.row.take() {
                row.gate.release(&row.cell, row.start, self.used);
            }
        }
        if let Some(gate) = self.counted.take() {
            gate.give_back(1);
        }
    }
}
