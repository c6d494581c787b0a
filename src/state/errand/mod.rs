//! What a request with several scopes does until it has won them all.
//!
//! It tries one after the other. Where one refuses it waits, in the line by its acceptance, having given
//! back what the others allowed; handed a start there, it tries the others again. Of requests with the
//! same scopes one is on its way at a time and the others wait in the lobby. Moved too often between
//! scopes that are never free together, it becomes their keeper.

mod round;

use crate::clock::Tick;
use crate::state::cell::{Cell, Start};
use crate::state::gate::Gate;
use crate::state::hold::End;
use crate::state::ledger::Waits;
use crate::state::lobby::{Entered, Turn};
use crate::state::ticket::{Refusal, Ticket};
use crate::state::visit::{Bounds, CLOSING_PATIENCE, Joined, Look};
use crate::state::waiter::Terms;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// A request on its way.
#[derive(Debug)]
pub(crate) struct Errand {
    pub gate: Arc<Gate>,
    ticket: Ticket,
    /// What it runs into where it has to wait; nothing once it has waited anywhere.
    bounds: Bounds,
    pub since: Tick,
    stage: Stage,
    /// The lobby it is the first of.
    room: Option<usize>,
    won: Vec<Won>,
    moves: u32,
    /// Its number as a keeper.
    keeper: Option<u64>,
    /// Past its window, and until when it may wait nevertheless.
    closing: Option<Tick>,
    waited: Waits,
    /// When the start it was handed last was due.
    due: Option<Tick>,
}

#[derive(Debug)]
enum Stage {
    /// It goes on at once.
    Going,
    /// In the hall of a scope, or on its own ladder there.
    Waiting(Berth),
    /// In a lobby, under a number.
    Behind(usize, usize),
    Over,
}

/// A place in a hall.
#[derive(Clone, Debug)]
pub(crate) struct Berth {
    pub cell: Arc<Cell>,
    pub who: usize,
    /// Which of the claims it is for.
    claim: usize,
}

/// A scope that allows it. One without a row is healthy, and counts nothing.
#[derive(Debug)]
struct Won {
    claim: usize,
    start: Option<(Arc<Cell>, Start)>,
    /// It is kept while the request waits elsewhere.
    kept: bool,
}

/// How it goes on.
enum Step {
    On,
    Wait,
    End(End),
}

impl Errand {
    /// A request that sets out.
    pub fn new(gate: Arc<Gate>, ticket: Ticket, bounds: Bounds, now: Tick) -> Errand {
        Errand {
            gate,
            ticket,
            bounds,
            since: now,
            stage: Stage::Going,
            room: None,
            won: Vec::new(),
            moves: 0,
            keeper: None,
            closing: None,
            waited: Waits::default(),
            due: None,
        }
    }

    /// Goes as far as it can now. Without a waker it is to be asked again with one.
    pub fn go(&mut self, now: Tick, waker: Option<&Waker>) -> Option<End> {
        loop {
            let step = match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Going => self.set_out(now),
                Stage::Waiting(berth) => self.look(berth, now, waker),
                Stage::Behind(room, who) => self.turn(room, who, now, waker),
                Stage::Over => unreachable!("an errand is not asked after its end"),
            };
            match step {
                Step::On => {}
                Step::Wait => break,
                Step::End(end) => {
                    self.finish();
                    return Some(end);
                }
            }
        }
        // Whoever has a place is not sent away for want of one.
        (self.bounds.full, self.bounds.per_scope) = (None, usize::MAX);
        None
    }

    /// It waits no longer; what it has waited.
    pub fn leave(&mut self, now: Tick) -> Waits {
        self.get_up(now);
        self.finish();
        self.waited
    }

    /// How late it starts, if it does now: after the start it was handed last was due.
    pub fn lateness(&self, now: Tick) -> Duration {
        self.due.map_or(Duration::ZERO, |due| now.since(due))
    }

    /// What it has waited, once it is over.
    pub fn waited(&self) -> Waits {
        self.waited
    }

    /// Past its window: see [`Hold::close`](crate::state::hold::Hold::close).
    pub fn close(&mut self, now: Tick) {
        if self.closing.is_some() {
            return;
        }
        self.closing = Some(now + CLOSING_PATIENCE);
        self.give_back();
        self.stop_keeping();
        let berth = match &self.stage {
            Stage::Waiting(berth) => Some(berth.clone()),
            Stage::Going | Stage::Behind(..) | Stage::Over => None,
        };
        match berth.filter(|_| self.room.is_some()) {
            Some(berth) => self.gate.visit(&berth.cell, |house| house.close(berth.who)),
            None => {
                self.get_up(now);
                self.stage = Stage::Going;
            }
        }
        self.leave_lobby();
    }

    /// The hall it waits in, if it does in one.
    pub fn berth(&self) -> Option<&Berth> {
        match &self.stage {
            Stage::Waiting(berth) => Some(berth),
            Stage::Going | Stage::Behind(..) | Stage::Over => None,
        }
    }

    /// The lobby it waits in, if it does in one.
    pub fn lobby(&self) -> Option<usize> {
        match self.stage {
            Stage::Behind(room, _) => Some(room),
            Stage::Going | Stage::Waiting(_) | Stage::Over => None,
        }
    }

    /// Its scopes.
    pub fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    /// Onto its own ladder, into the lobby, or round its scopes.
    fn set_out(&mut self, now: Tick) -> Step {
        if let Some(refusal) = self.hopeless(now) {
            return Step::End(Err(refusal));
        }
        if self.closing.is_some() || self.room.is_some() {
            return self.go_round(now);
        }
        if self.ticket.not_before.is_some_and(|until| until > now) {
            return self.stay_apart(now);
        }
        match self.gate.lobbies.enter(&self.ticket, self.bounds, now) {
            Ok(Entered::First(room)) => {
                self.room = Some(room);
                self.go_round(now)
            }
            Ok(Entered::Behind(room, who)) => {
                self.stage = Stage::Behind(room, who);
                Step::On
            }
            Err(refusal) => Step::End(Err(refusal)),
        }
    }

    fn look(&mut self, berth: Berth, now: Tick, waker: Option<&Waker>) -> Step {
        let Some(waker) = waker else {
            self.stage = Stage::Waiting(berth);
            return Step::Wait;
        };
        match self.gate.visit(&berth.cell, |house| house.look(berth.who, waker)) {
            Look::Wait => {
                let why = berth.cell.look(|hall, _| hall.reason(&berth.cell, berth.who, now));
                self.stage = Stage::Waiting(berth);
                let calm = |room| self.gate.lobbies.park(room, why, waker, now);
                match self.room.is_none_or(calm) {
                    true => Step::Wait,
                    false => self.look_about(now),
                }
            }
            Look::Called { waited } => {
                self.waited = self.waited.plus(waited);
                self.give_back();
                self.stop_keeping();
                self.stage = Stage::Going;
                Step::On
            }
            Look::Refused { why, waited } => {
                self.waited = self.waited.plus(waited);
                Step::End(Err(why))
            }
            Look::Go { start, due, waited } => {
                self.waited = self.waited.plus(waited);
                let Berth { cell, claim, .. } = berth;
                self.won.push(Won { claim, start: Some((cell, start)), kept: false });
                self.due = Some(due);
                self.go_round(now)
            }
        }
    }

    /// A scope other than the one it waits in has changed.
    fn look_about(&mut self, now: Tick) -> Step {
        match self.hopeless(now) {
            Some(refusal) => {
                self.get_up(now);
                Step::End(Err(refusal))
            }
            None => Step::Wait,
        }
    }

    fn turn(&mut self, room: usize, who: usize, now: Tick, waker: Option<&Waker>) -> Step {
        let turn = match waker {
            Some(waker) => self.gate.lobbies.look(room, who, waker, now),
            None => Turn::Wait,
        };
        match turn {
            Turn::Wait => {
                self.stage = Stage::Behind(room, who);
                Step::Wait
            }
            Turn::Come(waited) => {
                self.waited = self.waited.plus(waited);
                (self.room, self.stage) = (Some(room), Stage::Going);
                Step::On
            }
            Turn::Refused(why, waited) => {
                self.waited = self.waited.plus(waited);
                Step::End(Err(why))
            }
        }
    }

    /// On its own ladder, in the hall of a scope that learns: that keeps the row, and what speaks for
    /// a page's fault.
    fn stay_apart(&mut self, now: Tick) -> Step {
        let learns = self.ticket.claims.iter().position(|asked| asked.learns);
        let claim = learns.unwrap_or(0);
        let scope = self.ticket.claims.iter().nth(claim).expect("one of the claims").scope.clone();
        let terms = Terms { only_called: true, ..Terms::default() };
        let bounds = Bounds { shutting_down: self.gate.shuts_down(), ..self.bounds };
        loop {
            let cell = self.gate.row_of(&scope, if self.ticket.repeat { now } else { Tick::ZERO });
            let cost = self.ticket.claims.first.cost;
            let joined =
                self.gate.visit(&cell, |house| house.join(&self.ticket, cost, terms, bounds));
            match joined {
                Joined::Held(who) => {
                    self.stage = Stage::Waiting(Berth { cell, who, claim });
                    return Step::On;
                }
                Joined::Refused(refusal) => return Step::End(Err(refusal)),
                Joined::Gone => drop(self.gate.scopes.remove(&cell)),
                Joined::Started(_) => unreachable!("nobody starts before its own ladder ends"),
            }
        }
    }

    /// Why it can't be in time, by what its scopes say.
    fn hopeless(&self, now: Tick) -> Option<Refusal> {
        let (end, deadline) = (self.ticket.window_end, self.ticket.deadline);
        self.ticket.claims.iter().find_map(|asked| {
            let cell = self.gate.scopes.find(&asked.scope)?;
            self.gate.visit(&cell, |house| match self.closing {
                Some(until) if until <= now => Some(Refusal::WindowClosed),
                Some(_) => Some(Refusal::PausedBeyondWindow { until: house.paused_until()? }),
                None => house.hopeless(end, deadline, 0),
            })
        })
    }

    /// Leaves wherever it waits.
    fn get_up(&mut self, now: Tick) {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Waiting(berth) => {
                let waited = self.gate.visit(&berth.cell, |house| house.leave(berth.who));
                self.waited = self.waited.plus(waited);
            }
            Stage::Behind(room, who) => {
                let (waited, next) = self.gate.lobbies.leave(room, who, now);
                self.waited = self.waited.plus(waited);
                self.gate.wake(next);
            }
            Stage::Going | Stage::Over => {}
        }
    }

    fn leave_lobby(&mut self) {
        if let Some(room) = self.room.take() {
            self.gate.wake(self.gate.lobbies.advance(room));
        }
    }

    fn finish(&mut self) {
        self.give_back();
        self.stop_keeping();
        self.leave_lobby();
    }
}
