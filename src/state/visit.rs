//! What people come into the hall for: to line up, to look whether it is their turn, to leave, to
//! close, to teach. Each visit changes the hall; [`House::settle`] then serves whoever may go.

use crate::clock::Tick;
use crate::judge::verdict::{Class, PaceMove};
use crate::pace::decide::{Decision, From, Reason, best_case, earliest};
use crate::pace::learn::{Learnt, Move, learn};
use crate::pace::quota::Cost;
use crate::pace::rules::Law;
use crate::pace::slot::Slot;
use crate::state::cell::{Cell, Start};
use crate::state::chance::draw;
use crate::state::hall::{Hall, House};
use crate::state::ledger::{Lane, Waits};
use crate::state::mark::Mark;
use crate::state::ticket::{Bound, Refusal, Ticket};
use crate::state::waiter::{Standing, Terms, Waiter};
use std::task::Waker;
use std::time::Duration;

/// What lining up came to.
#[derive(Debug)]
pub enum Joined {
    /// The row was removed: look again.
    Gone,
    Started(Start),
    /// Held, under this number.
    Held(usize),
    Refused(Refusal),
}

/// What a newcomer would run into if it had to be held.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Requests held at once in the scope.
    pub per_scope: usize,
    /// The bound of all, or of the client, that is reached.
    pub full: Option<Bound>,
    pub shutting_down: bool,
}

/// What a waiter sees when it looks.
#[derive(Debug)]
pub enum Look {
    Wait,
    /// It is not its turn to start, but to go on elsewhere.
    Called {
        waited: Waits,
    },
    /// Its start, and when it could have been won at the earliest.
    Go {
        start: Start,
        due: Tick,
        waited: Waits,
    },
    Refused {
        why: Refusal,
        waited: Waits,
    },
}

/// What an attempt taught a scope.
#[derive(Clone, Copy, Debug)]
pub struct Lesson {
    pub pace: PaceMove,
    /// The server named a wait.
    pub pause: Option<Duration>,
    pub class: Class,
    /// The answer's status, as what it was judged; laws may go by it.
    pub status: Option<u16>,
    /// A failure of one page's own, or of ours: no law goes by it.
    pub excused: bool,
}

impl Lesson {
    /// A lesson without a wait, and without a status.
    pub const fn new(class: Class, pace: PaceMove) -> Lesson {
        Lesson { pace, pause: None, class, status: None, excused: false }
    }

    /// The same of an attempt that started at `started`.
    pub(crate) fn of(self, started: Tick) -> Move {
        let Lesson { pace, pause, class, status, excused } = self;
        Move { pace, pause, started, class, status, excused }
    }
}

/// What became of the scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// The rung before and after.
    pub before: u8,
    pub after: u8,
    pub paused_until: Option<Tick>,
    pub pace: Duration,
    pub held: usize,
    /// The earliest next start.
    pub next_slot: Tick,
    pub mark: Mark,
    /// The scope holds its requests back for it.
    pub slows: bool,
}

impl Learned {
    /// With what became of another scope: the first stands for both, and the longer wait counts.
    #[must_use]
    pub(crate) fn and(self, other: Learned) -> Learned {
        Learned {
            paused_until: self.paused_until.max(other.paused_until),
            next_slot: self.next_slot.max(other.next_slot),
            slows: self.slows || other.slows,
            ..self
        }
    }
}

impl House<'_> {
    /// A request comes: it starts at once if nobody waits and the scope allows it, else it is held.
    pub fn join(&mut self, ticket: &Ticket, cost: Cost, terms: Terms, bounds: Bounds) -> Joined {
        let slot = self.cell.slot();
        if slot.dead {
            return Joined::Gone;
        }
        self.hall.touch(self.now);
        let apart = ticket.not_before.filter(|until| *until > self.now);
        if apart.is_none()
            && self.is_first(terms)
            && let Some(start) = self.walk_in(ticket.repeat, cost, terms)
        {
            return Joined::Started(start);
        }
        if let Some(refusal) = self.refusal(ticket, bounds, slot) {
            return Joined::Refused(refusal);
        }
        Joined::Held(self.admit(ticket, cost, terms, apart))
    }

    /// A waiter looks whether it is its turn. A start counts from now, not from when it was handed
    /// over: the pace is measured between actual starts.
    pub fn look(&mut self, who: usize, waker: &Waker) -> Look {
        match self.hall.seats.waiters[who].standing {
            Standing::Apart(_)
            | Standing::InLine(_)
            | Standing::Ahead(_)
            | Standing::Closing(..) => {
                let waiter = &mut self.hall.seats.waiters[who];
                match &mut waiter.waker {
                    Some(kept) => kept.clone_from(waker),
                    None => waiter.waker = Some(waker.clone()),
                }
                Look::Wait
            }
            Standing::Granted { start, due } => {
                let waited = self.remove(who);
                Look::Go { start: self.pick_up(start), due, waited }
            }
            Standing::Refused(why) => Look::Refused { why, waited: self.remove(who) },
            Standing::Called => Look::Called { waited: self.remove(who) },
        }
    }

    /// A waiter goes away, having waited so much; what it was just handed passes on.
    pub fn leave(&mut self, who: usize) -> Waits {
        self.unlist(who);
        let standing = self.hall.seats.waiters[who].standing;
        if let Standing::Granted { start, .. } = standing {
            self.hall.seats.handed -= 1;
            self.release(start, false);
        }
        self.remove(who)
    }

    fn remove(&mut self, who: usize) -> Waits {
        let waiter = self.hall.seats.waiters.remove(who);
        self.hall.seats.ledger.leave(waiter.stay, self.now)
    }

    /// A waiter's window has ended and it was never sent: one last attempt that skips the ladder.
    pub fn close(&mut self, who: usize) {
        match self.hall.seats.waiters[who].standing {
            Standing::Apart(_) | Standing::InLine(_) | Standing::Ahead(_) => {}
            Standing::Closing(..)
            | Standing::Granted { .. }
            | Standing::Refused(_)
            | Standing::Called => return,
        }
        let until = self.hall.memory.paused_until;
        if until > self.now {
            let refusal = Refusal::PausedBeyondWindow { until };
            return self.end_wait(who, Standing::Refused(refusal));
        }
        self.unlist(who);
        self.line_up_closing(who, self.now + CLOSING_PATIENCE);
    }

    fn line_up_closing(&mut self, who: usize, patience: Tick) {
        let seats = &mut *self.hall.seats;
        let waiter = &mut seats.waiters[who];
        let place = seats.closing.join(waiter.entry(), who);
        waiter.standing = Standing::Closing(place, patience);
        waiter.stay = seats.ledger.change(waiter.stay, Lane::Closing, self.now);
        self.hall.seats.appointments.insert((patience, who));
    }

    /// An attempt teaches the scope. Nothing if the row was removed.
    pub fn learn(&mut self, lesson: Lesson, started: Tick) -> Option<Learned> {
        if self.cell.slot().dead {
            return None;
        }
        let (before, slows) = self.apply(lesson.of(started));
        self.hall.touch(self.now);
        match lesson.pace {
            PaceMove::StepDown => {
                self.hall.last_served = self.hall.last_served.max(self.now);
                self.hall.latest_served_start = self.hall.latest_served_start.max(started);
                self.hall.others.served = self.hall.others.served.saturating_add(1);
            }
            PaceMove::Climb => {
                self.hall.others.stalled = self.hall.others.stalled.saturating_add(1);
                let forgetful = self.hall.rules.law != Law::Ladder;
                if forgetful {
                    self.hall.seats.last_failure = Some(self.now);
                }
            }
            PaceMove::Nothing => {}
        }
        if slows || lesson.pace == PaceMove::Climb {
            self.hall.cause = Some(lesson.class);
            self.send_hopeless_away();
        }
        Some(Learned { slows, ..self.learned(before.rung) })
    }

    /// Sends everybody away.
    pub fn refuse_all(&mut self, refusal: Refusal) {
        let held = self.hall.seats.waiters.iter().filter(|(_, waiter)| waiter.is_held());
        let held: Vec<usize> = held.map(|(who, _)| who).collect();
        for who in held {
            self.end_wait(who, Standing::Refused(refusal));
        }
    }

    /// Whether nobody is to be served before a newcomer.
    fn is_first(&self, terms: Terms) -> bool {
        match terms.closing {
            Some(_) => self.hall.seats.closing.is_empty(),
            None => {
                self.hall.seats.ahead.is_none()
                    && (self.hall.seats.line.is_empty() || self.keeps(terms))
            }
        }
    }

    /// Whether the place before the line is kept for this one.
    pub fn keeps(&self, terms: Terms) -> bool {
        terms.keeper.is_some() && self.hall.seats.keeper == terms.keeper
    }

    /// Nobody waits: this one starts right away, if the scope allows it. Claims that need no lock
    /// may come between, so deciding and starting are one step.
    fn walk_in(&mut self, repeat: bool, cost: Cost, terms: Terms) -> Option<Start> {
        let from = match (terms.closing, self.hall.seats.line.is_empty()) {
            (Some(_), _) => From::Closing(self.hall.seats.last_closing),
            (None, true) => From::Street,
            (None, false) => From::Line,
        };
        if self.hall.may_go(self.cell.slot(), from, cost, self.now) != Decision::Go {
            return None;
        }
        let place = self.take_place(terms.placed)?;
        if let From::Closing(_) = from {
            self.guard(true);
            let start = Start { place, ..self.start(repeat, cost, from) };
            self.hall.seats.last_closing = Some(self.now);
            return Some(start);
        }
        let (hall, cell, now) = (&*self.hall, self.cell, self.now);
        let changed = cell.change(|slot| {
            let goes = hall.may_go(slot, from, cost, now) == Decision::Go;
            goes.then(|| slot.started(now))
        });
        let Ok(before) = changed else {
            self.effects.places += usize::from(place.is_counted());
            return None;
        };
        self.hall.repeats += u16::from(repeat);
        let start = self.hall.won(before, now, repeat, from, cost);
        Some(Start { place, ..start })
    }

    fn refusal(&self, ticket: &Ticket, bounds: Bounds, slot: Slot) -> Option<Refusal> {
        if bounds.shutting_down {
            return Some(Refusal::ShuttingDown);
        }
        let full = match self.hall.held() >= bounds.per_scope {
            true => Some(Bound::Scope),
            false => bounds.full,
        };
        if let Some(which) = full {
            let retry_after = self.hall.pace(slot).max(SOON);
            return Some(Refusal::LineFull { which, retry_after });
        }
        let ahead = ticket.deadline.map(|_| self.hall.seats.line.ahead_of(&ticket.entry()));
        self.hopeless(ticket.window_end, ticket.deadline, ahead.unwrap_or(0))
    }

    /// Whether it can't be in time: a pause beyond the window, or the best case beyond the deadline.
    pub fn hopeless(&self, end: Tick, deadline: Option<Tick>, ahead: usize) -> Option<Refusal> {
        let until = self.hall.memory.paused_until;
        if until > self.now && until > end {
            return Some(Refusal::PausedBeyondWindow { until });
        }
        let slot = self.cell.slot();
        let best = best_case(&slot, &self.hall.memory, &self.hall.rules, ahead, self.now);
        let retry_after = best.since(self.now);
        deadline.filter(|end| best > *end).map(|_| Refusal::Infeasible { retry_after })
    }

    fn admit(&mut self, ticket: &Ticket, cost: Cost, terms: Terms, apart: Option<Tick>) -> usize {
        let until = apart.unwrap_or(Tick::ZERO);
        let ahead = apart.is_none() && self.keeps(terms) && self.hall.seats.ahead.is_none();
        // Without the place before the line it gives back what it has elsewhere.
        let terms = Terms { placed: terms.placed && ahead, ..terms };
        let seats = &mut *self.hall.seats;
        let who = seats.waiters.insert(Waiter {
            client: ticket.client,
            accepted: ticket.accepted,
            repeat: ticket.repeat,
            turn: ticket.turn,
            window_end: ticket.window_end,
            deadline: ticket.deadline,
            cost,
            terms,
            waker: None,
            standing: Standing::Apart(until),
            stay: seats.ledger.enter(Lane::Apart, self.now),
        });
        match (apart, terms.closing) {
            (Some(until), _) => {
                self.hall.seats.appointments.insert((until, who));
            }
            (None, Some(until)) => self.line_up_closing(who, until),
            (None, None) if ahead => self.go_ahead(who),
            (None, None) => self.line_up(who),
        }
        who
    }

    fn pick_up(&mut self, start: Start) -> Start {
        self.hall.seats.handed -= 1;
        self.stamp(start)
    }

    /// A start counts from now.
    pub fn stamp(&mut self, start: Start) -> Start {
        let now = self.now.max(start.at);
        let _ = self.cell.change(|slot| {
            let last_start = slot.last_start.max(Slot::stamp(now));
            Some(Slot { last_start, ..slot })
        });
        if self.hall.seats.last_closing == Some(start.at) && matches!(start.from, From::Closing(_))
        {
            self.hall.seats.last_closing = Some(now);
        }
        Start { at: now, ..start }
    }

    /// Changes word and memory together: the guard is up in between, so that nobody claims by the
    /// new rung and the old memory.
    fn apply(&mut self, taught: Move) -> (Slot, bool) {
        let chance = self.hall.rules.need_memory().then(|| draw(&mut self.hall.memory.more.seed));
        let (rules, memory, now) = (&self.hall.rules, &self.hall.memory, self.now);
        let pinned = self.hall.pinned();
        let mut after = None;
        let changed = self.cell.change(|slot| {
            let known = slot.last_start.max(match taught.pace {
                PaceMove::Climb => Slot::stamp(taught.started),
                PaceMove::StepDown | PaceMove::Nothing => Tick::ZERO,
            });
            let slot = Slot { last_start: known, ..slot };
            let learnt = learn(slot, memory.clone(), rules, taught, now);
            let next = learnt.slot;
            after = Some(learnt);
            Some(Slot { guarded: true, rung: pinned.unwrap_or(next.rung), ..next })
        });
        let Some(Learnt { memory, slows, .. }) = after else { unreachable!("it always changes") };
        let pressure = self.hall.memory.more.pressure;
        self.hall.memory = memory;
        if pinned.is_some() && pressure != self.hall.memory.more.pressure {
            self.hall.memory.more.pressure = pressure;
        }
        if let Some(chance) = chance.filter(|_| slows) {
            self.hall.memory.more.chance = chance;
        }
        (changed.unwrap_or_else(|slot| slot), slows)
    }

    /// Refuses all who can't be in time any longer.
    pub fn send_hopeless_away(&mut self) {
        let sent: Vec<(usize, Refusal)> = self
            .hall
            .seats
            .waiters
            .iter()
            .filter(|(_, waiter)| waiter.is_held())
            .filter_map(|(who, waiter)| {
                Some((who, self.hopeless(waiter.window_end, waiter.deadline, 0)?))
            })
            .collect();
        for (who, refusal) in sent {
            self.end_wait(who, Standing::Refused(refusal));
        }
    }

    fn learned(&self, before: u8) -> Learned {
        let (slot, rules) = (self.cell.slot(), &self.hall.rules);
        let memory = &self.hall.memory;
        Learned {
            before,
            after: slot.rung,
            paused_until: Some(memory.paused_until).filter(|end| *end > self.now),
            pace: self.hall.pace(slot),
            held: self.hall.held(),
            next_slot: earliest(&slot, memory, rules, From::Line, Cost::NONE).0.max(self.now),
            mark: Mark::new(self.cell.id(), self.hall.others),
            slows: false,
        }
    }
}

impl Hall {
    /// What a waiter waits for now.
    pub fn reason(&self, cell: &Cell, who: usize, now: Tick) -> Reason {
        let from = match self.seats.waiters[who].standing {
            Standing::Apart(_) => return Reason::Request,
            Standing::Closing(..) => From::Closing(self.seats.last_closing),
            Standing::InLine(_)
            | Standing::Ahead(_)
            | Standing::Granted { .. }
            | Standing::Refused(_)
            | Standing::Called => From::Line,
        };
        self.why(cell.slot(), from, now)
    }
}

/// Spec 2.1: what is unsent so long after its window gets 503.
pub const CLOSING_PATIENCE: Duration = Duration::from_secs(60);
/// No Retry-After below a second.
const SOON: Duration = Duration::from_secs(1);
