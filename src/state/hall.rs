//! Where the requests of one scope wait, and how they are served. Everything here happens under the
//! cell's lock; waking is left to whoever took it.
//!
//! [`House::settle`] runs at the end of every visit and leaves the cell in a state in which nobody
//! waits who could go, the guard is up if anybody must come through the lock, and the agenda has the
//! one moment at which something changes by itself. That is the whole argument against lost wakes.

use crate::clock::Tick;
use crate::judge::page::Others;
use crate::judge::verdict::Class;
use crate::pace::decide::{Decision, From, Reason, decide, earliest};
use crate::pace::memory::Memory;
use crate::pace::quota::Cost;
use crate::pace::rules::{Law, PaceRules};
use crate::pace::seldom::Seldom;
use crate::pace::slot::Slot;
use crate::state::agenda::Agenda;
use crate::state::cell::{Cell, Effects, Start, freed, spaced};
use crate::state::chance::draw;
use crate::state::ledger::Lane;
use crate::state::seats::Seats;
use crate::state::ticket::Refusal;
use crate::state::total::Place;
use crate::state::waiter::Standing;
use std::num::NonZeroU8;
use std::sync::Arc;
use std::time::Duration;

/// What the lock of a cell guards. A process may have 100,000, so what is seldom of use is kept apart.
#[derive(Debug)]
pub struct Hall {
    /// How the scope is paced; not as when the row was made, if the configuration changed since.
    pub rules: Arc<PaceRules>,
    pub memory: Memory,
    /// Who waits.
    pub seats: Seldom<Seats>,
    /// When a page was last served, and the latest start among those served.
    pub last_served: Tick,
    pub latest_served_start: Tick,
    /// Attempts served and stalls, since the row was made.
    pub others: Others,
    /// The cell's entry on the agenda; [`Tick::NEVER`] for none.
    pub armed: Tick,
    /// When the row was last of use, in whole seconds rounded up: good for 136 years of uptime.
    touched: u32,
    /// Attempts of repeats in flight: they keep the row, and with it the evidence.
    pub repeats: u16,
    pub cause: Option<Class>,
    /// An operator keeps the scope on the rung below this, whatever is learnt.
    pinned: Option<NonZeroU8>,
}

/// A cell during a visit.
pub struct House<'a> {
    pub cell: &'a Arc<Cell>,
    pub hall: &'a mut Hall,
    pub effects: &'a mut Effects,
    pub agenda: &'a Agenda,
    pub now: Tick,
}

impl Hall {
    /// Nobody waits, nothing is remembered.
    pub fn new(rules: Arc<PaceRules>) -> Hall {
        Hall {
            rules,
            memory: Memory::default(),
            seats: Seldom::NONE,
            last_served: Tick::ZERO,
            latest_served_start: Tick::ZERO,
            others: Others::default(),
            armed: Tick::NEVER,
            touched: 0,
            repeats: 0,
            cause: None,
            pinned: None,
        }
    }

    /// The rung that an operator keeps the scope on.
    pub fn pinned(&self) -> Option<u8> {
        self.pinned.map(|above| above.get() - 1)
    }

    /// Keeps the scope on a rung, or no longer.
    pub fn set_pinned(&mut self, rung: Option<u8>) {
        self.pinned = rung.and_then(|rung| NonZeroU8::new(rung.saturating_add(1)));
    }

    /// When the row was last of use.
    pub fn touched(&self) -> Tick {
        Tick::ZERO + Duration::from_secs(self.touched.into())
    }

    /// The row is of use now.
    pub fn touch(&mut self, now: Tick) {
        let seconds = now.since(Tick::ZERO).as_nanos().div_ceil(1_000_000_000);
        self.touched = u32::try_from(seconds).unwrap_or(u32::MAX);
    }

    /// A place that it was handed and has no use for: how many.
    pub fn take_unused_place(&mut self) -> usize {
        let unused = self.seats.place;
        if unused {
            self.seats.place = false;
        }
        usize::from(unused)
    }

    /// The pace now.
    pub fn pace(&self, slot: Slot) -> Duration {
        self.memory.pace(slot, &self.rules)
    }

    /// A start out of the state before it, which it changes.
    pub fn won(&mut self, before: Slot, now: Tick, repeat: bool, from: From, cost: Cost) -> Start {
        let rules = &*self.rules;
        let spaced = spaced(rules, &self.memory, before);
        // Without a distance to keep it was allowed when it was asked for.
        let due = match spaced {
            true => earliest(&before, &self.memory, rules, from, cost).0.min(now),
            false => now,
        };
        if rules.need_memory() {
            let chance = draw(&mut self.memory.more.seed);
            self.memory.start(rules, cost, chance, now);
        }
        let (rung, before) = (before.rung, before.last_start);
        let place = Place::Free;
        Start { at: now, due, rung, before, spaced, repeat, from, cost, place }
    }

    /// How many are held: those in the line, and those with an appointment (apart or closing).
    pub fn held(&self) -> usize {
        self.seats.line.len() + self.seats.appointments.len()
    }

    /// Whether nobody waits in a line or apart.
    pub fn nobody_waits(&self) -> bool {
        self.seats.line.is_empty()
            && self.seats.closing.is_empty()
            && self.seats.appointments.is_empty()
    }

    /// May the next go? A start that was handed over and not picked up yet counts from when it is,
    /// for a second at most: a waiter that is never polled must not stop its scope.
    pub fn may_go(&self, slot: Slot, from: From, cost: Cost, now: Tick) -> Decision {
        let (rules, patience) = (&self.rules, self.seats.handed_at + HANDED_PATIENCE);
        let decision = decide(&slot, &self.memory, rules, from, cost, now);
        let handed = self.seats.handed > 0 && now < patience;
        match decision {
            Decision::Go if self.seats.kept > 0 && spaced(rules, &self.memory, slot) => {
                Decision::Hold { until: Tick::NEVER, why: Reason::Pace }
            }
            Decision::Go if handed && spaced(rules, &self.memory, slot) => {
                Decision::Hold { until: patience, why: Reason::Pace }
            }
            Decision::Go | Decision::Hold { .. } => decision,
        }
    }

    /// What somebody who comes now would wait for.
    pub fn newcomer_waits_for(&self, slot: Slot, now: Tick) -> Option<Reason> {
        let alone = self.seats.line.is_empty();
        let from = if alone { From::Street } else { From::Line };
        match self.may_go(slot, from, Cost::ONE, now) {
            Decision::Hold { why, .. } => Some(why),
            Decision::Go if alone => None,
            Decision::Go => Some(self.why(slot, from, now)),
        }
    }

    /// Who is next to start.
    fn next(&self, from: From) -> Option<usize> {
        match from {
            From::Street | From::Line => {
                self.seats.ahead.or_else(|| Some(self.seats.line.head()?.1))
            }
            From::Closing(_) => Some(self.seats.closing.head()?.1),
        }
    }

    /// What the next one costs.
    fn next_cost(&self, from: From) -> Cost {
        self.next(from).map_or(Cost::NONE, |who| self.seats.waiters[who].cost)
    }

    /// What the next one waits for.
    pub fn why(&self, slot: Slot, from: From, now: Tick) -> Reason {
        match self.may_go(slot, from, self.next_cost(from), now) {
            Decision::Hold { why, .. } => why,
            Decision::Go if self.seats.queued => Reason::Concurrency,
            Decision::Go => Reason::Pace,
        }
    }
}

impl House<'_> {
    /// Brings the state up to the moment.
    pub fn advance(&mut self) {
        let (slot, now) = (self.cell.slot(), self.now);
        if self.hall.rules.law == Law::Ladder || self.hall.pinned().is_some() || slot.dead {
            return;
        }
        let rules = self.hall.rules.clone();
        let rung = self.hall.memory.advance(slot, &rules, now);
        if rung != slot.rung {
            let _ = self.cell.change(|slot| Some(Slot { rung, ..slot }));
        }
    }

    /// Leaves the cell in order; see the room's description.
    pub fn settle(&mut self) {
        if self.cell.slot().dead {
            return;
        }
        if !self.hall.nobody_waits() {
            self.guard(true);
        }
        self.keep_appointments();
        let next = [self.serve_line(), self.serve_closing()];
        self.note_reasons();
        let pause = self.hall.memory.paused_until;
        let appointment = self.hall.seats.appointments.first().map(|(due, _)| *due);
        let changes = self.hall.memory.changes(&self.hall.rules);
        let pause = Some(pause).filter(|end| *end > self.now);
        let moments = [next[0], next[1], appointment, pause, changes];
        if self.hall.seats.head_due != next[0] {
            self.hall.seats.head_due = next[0];
        }
        self.guard(self.must_guard());
        let wanted = if self.retire() { None } else { moments.into_iter().flatten().min() };
        let (armed, now) = (self.hall.armed, self.now);
        if wanted.unwrap_or(Tick::NEVER) != armed {
            let armed = Some(armed).filter(|armed| *armed != Tick::NEVER);
            self.effects.bell = self.agenda.move_entry(self.cell, armed, wanted);
            self.hall.armed = wanted.unwrap_or(Tick::NEVER);
        }
        self.hall.seats.fold(|seats| seats.say_nothing(now));
        self.hall.memory.fold();
    }

    /// Takes a waiter out of whatever it waits in, and ends its wait with `standing`.
    pub fn end_wait(&mut self, who: usize, standing: Standing) {
        self.unlist(who);
        let waiter = &mut self.hall.seats.waiters[who];
        waiter.standing = standing;
        self.effects.wakes.extend(waiter.waker.take());
    }

    /// Takes a waiter out of whatever it waits in.
    pub fn unlist(&mut self, who: usize) {
        match self.hall.seats.waiters[who].standing {
            Standing::Apart(until) => {
                self.hall.seats.appointments.remove(&(until, who));
            }
            Standing::InLine(place) => {
                self.hall.seats.line.leave(place);
            }
            Standing::Ahead(until) => {
                self.hall.seats.ahead = None;
                self.hall.seats.appointments.remove(&(until, who));
            }
            Standing::Closing(place, until) => {
                self.hall.seats.closing.leave(place);
                self.hall.seats.appointments.remove(&(until, who));
            }
            Standing::Granted { .. } | Standing::Refused(_) | Standing::Called => {}
        }
    }

    /// Lines a waiter up by its acceptance time.
    pub fn line_up(&mut self, who: usize) {
        let seats = &mut *self.hall.seats;
        let waiter = &mut seats.waiters[who];
        let place = seats.line.join(waiter.entry(), who);
        waiter.standing = Standing::InLine(place);
        waiter.stay = seats.ledger.change(waiter.stay, Lane::Line, self.now);
    }

    /// From here on whoever waits waits for this.
    fn note_reasons(&mut self) {
        let (slot, now) = (self.cell.slot(), self.now);
        let lanes = [
            (Lane::Line, From::Line, self.hall.next(From::Line).is_none()),
            (
                Lane::Closing,
                From::Closing(self.hall.seats.last_closing),
                self.hall.seats.closing.is_empty(),
            ),
        ];
        for (lane, from, _) in lanes.into_iter().filter(|(_, _, empty)| !empty) {
            let why = self.hall.why(slot, from, now);
            self.hall.seats.ledger.turn(lane, why, now);
        }
    }

    /// Ends a start under the lock.
    pub fn release(&mut self, start: Start, used: bool) {
        self.hall.repeats -= u16::from(start.repeat);
        let rules = self.hall.rules.clone();
        self.hall.memory.end(&rules, start.cost, start.at, used, self.now);
        if let (From::Closing(before), false) = (start.from, used)
            && self.hall.seats.last_closing == Some(start.at)
        {
            self.hall.seats.last_closing = before;
        }
        self.effects.places += usize::from(start.place.is_counted());
        let _ = self.cell.change(|slot| Some(freed(slot, start, used)));
    }

    fn keep_appointments(&mut self) {
        while let Some(&(due, who)) = self.hall.seats.appointments.first()
            && due <= self.now
        {
            match self.hall.seats.waiters[who].standing {
                Standing::Closing(..) => {
                    self.end_wait(who, Standing::Refused(Refusal::WindowClosed));
                }
                Standing::Apart(_) if !self.hall.seats.waiters[who].terms.only_called => {
                    self.unlist(who);
                    self.line_up(who);
                }
                Standing::Apart(_) | Standing::Ahead(_) => self.end_wait(who, Standing::Called),
                Standing::InLine(_)
                | Standing::Granted { .. }
                | Standing::Refused(_)
                | Standing::Called => {
                    self.hall.seats.appointments.remove(&(due, who));
                }
            }
        }
    }

    /// A place of `limits.attempts`, or the cell waits for one. Who is `placed` needs none.
    pub fn take_place(&mut self, placed: bool) -> Option<Place> {
        if placed {
            return Some(Place::Free);
        }
        if self.hall.take_unused_place() > 0 {
            return Some(Place::Counted);
        }
        if self.hall.seats.queued {
            return None;
        }
        let place = self.agenda.total.take_or_wait(self.cell);
        if place.is_none() {
            self.hall.seats.queued = true;
        }
        place
    }

    /// A place that the cell waited for.
    pub fn given_place(&mut self) {
        (self.hall.seats.queued, self.hall.seats.place) = (false, true);
    }

    /// Hands starts to the line while the scope allows; then when it will again.
    fn serve_line(&mut self) -> Option<Tick> {
        while let Some(who) = self.hall.next(From::Line) {
            let (slot, cost) = (self.cell.slot(), self.hall.seats.waiters[who].cost);
            match self.hall.may_go(slot, From::Line, cost, self.now) {
                Decision::Hold { until, why } => {
                    self.send_keeper_on(why);
                    return Some(until).filter(|t| *t != Tick::NEVER);
                }
                Decision::Go => {
                    let place = self.take_place(self.hall.seats.waiters[who].terms.placed)?;
                    match self.hall.seats.ahead {
                        Some(_) => self.unlist(who),
                        None => drop(self.hall.seats.line.take()),
                    }
                    self.hand_over(who, From::Line, place);
                }
            }
        }
        None
    }

    /// The same for the closing line.
    fn serve_closing(&mut self) -> Option<Tick> {
        while let Some(who) = self.hall.next(From::Closing(None)) {
            let from = From::Closing(self.hall.seats.last_closing);
            let (slot, cost) = (self.cell.slot(), self.hall.seats.waiters[who].cost);
            match self.hall.may_go(slot, from, cost, self.now) {
                Decision::Hold { until, .. } => return Some(until).filter(|t| *t != Tick::NEVER),
                Decision::Go => {
                    let place = self.take_place(self.hall.seats.waiters[who].terms.placed)?;
                    let who = self.hall.seats.closing.take().expect("the line is not empty");
                    if let Standing::Closing(_, until) = self.hall.seats.waiters[who].standing {
                        self.hall.seats.appointments.remove(&(until, who));
                    }
                    self.hand_over(who, from, place);
                    self.hall.seats.last_closing = Some(self.now);
                }
            }
        }
        None
    }

    fn hand_over(&mut self, who: usize, from: From, place: Place) {
        let waiter = &self.hall.seats.waiters[who];
        let start = self.start(waiter.repeat, waiter.cost, from);
        let start = Start { place, ..start };
        let due =
            self.hall.seats.head_due.take().filter(|due| *due <= self.now).unwrap_or(self.now);
        let waiter = &mut self.hall.seats.waiters[who];
        waiter.standing = Standing::Granted { start, due };
        self.effects.wakes.extend(waiter.waker.take());
        self.hall.seats.handed += 1;
        self.hall.seats.handed_at = self.now;
    }

    /// Starts an attempt of the line now; the guard is up. What comes from the closing line may
    /// share its instant with another
    /// start: it takes the next stamp, so that a start given back can tell whether it was the last.
    pub fn start(&mut self, repeat: bool, cost: Cost, from: From) -> Start {
        let closing = matches!(from, From::Closing(_));
        let changed = self.cell.change(|slot| {
            let mut next = slot.started(self.now);
            if closing && next.last_start == slot.last_start {
                next.last_start = next.last_start + Duration::from_nanos(Slot::UNIT);
            }
            Some(next)
        });
        let before = changed.unwrap_or_else(|slot| slot);
        self.hall.touch(self.now);
        self.hall.repeats += u16::from(repeat);
        self.hall.won(before, self.now, repeat, from, cost)
    }

    /// Whether newcomers must come through the lock: somebody waits, or something is on that the
    /// word doesn't say.
    fn must_guard(&self) -> bool {
        let (hall, slot) = (&*self.hall, self.cell.slot());
        let stalled = slot.rung > 0 && hall.memory.last_stall > slot.last_start;
        hall.rules.need_memory()
            || !Arc::ptr_eq(&hall.rules, self.cell.first_rules())
            || !hall.nobody_waits()
            || hall.seats.handed > 0
            || hall.seats.kept > 0
            || hall.memory.paused_until > self.now
            || (stalled && {
                let next = earliest(&slot, &hall.memory, &hall.rules, From::Street, Cost::NONE);
                next.0 > self.now
            })
    }

    pub fn guard(&mut self, guarded: bool) {
        let _ = self.cell.change(|slot| {
            (slot.guarded != guarded && !slot.dead).then_some(Slot { guarded, ..slot })
        });
    }
}

/// A start handed over counts from its pick-up; after so long without one the line goes on.
const HANDED_PATIENCE: Duration = Duration::from_secs(1);
