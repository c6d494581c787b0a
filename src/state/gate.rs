//! The gate: a claim becomes a permit, or a place in the line.
//!
//! Nobody books a future slot (seed 1's livelock): a start is won when the slot is free, by one
//! compare-exchange, or handed to the head of the line by whoever freed or changed something. The
//! deciding is `pace`'s, the order is the hall's; this room finds the row and carries out what is
//! left to do once no lock is held.

use crate::clock::{Clock, Tick};
use crate::judge::verdict::PaceMove;
use crate::pace::floor::Floor;
use crate::pace::learn::lasts;
use crate::pace::rules::{Law, PaceRules};
use crate::pace::scope::Scope;
use crate::state::agenda::Agenda;
use crate::state::cell::{Cell, Effects, Start};
use crate::state::crowd::Crowd;
use crate::state::floors::Floors;
use crate::state::hall::House;
use crate::state::hold::Seat;
use crate::state::ledger::Waits;
use crate::state::limits::Limits;
use crate::state::lobby::Lobbies;
use crate::state::permit::Permit;
use crate::state::picture::{Counters, Picture, RowView, Tally};
use crate::state::scopes::{Ready, Scopes};
use crate::state::ticket::Refusal;
use crate::state::visit::{Learned, Lesson, Look};
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, lock};
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;
use std::task::Waker;

/// How scopes are paced, and what bounds the whole.
#[derive(Clone, Debug, Default)]
pub struct GateRules {
    pub default: PaceRules,
    /// Scopes with rules of their own.
    pub scopes: HashMap<Scope, PaceRules>,
    pub limits: Limits,
}

/// The rules as they are looked up.
#[derive(Clone, Debug)]
struct Book {
    default: Arc<PaceRules>,
    scopes: Arc<HashMap<Scope, Arc<PaceRules>, BuildHasherDefault<Ready>>>,
    floors: Arc<Floors>,
    per_scope: usize,
    attempts: Option<usize>,
}

/// Every start of every attempt goes through here.
#[derive(Debug)]
pub struct Gate {
    book: Mutex<Arc<Book>>,
    /// The default rules have a throttle, so that every scope has a row while it is active; or all
    /// attempts are counted.
    pub(crate) throttles_all: AtomicBool,
    /// Some rules have a law that may go by what the law `ladder` doesn't: see [`Gate::teach`].
    other_laws: AtomicBool,
    clock: Clock,
    pub(crate) scopes: Scopes,
    pub(crate) agenda: Agenda,
    pub(crate) crowd: Crowd,
    pub(crate) lobbies: Lobbies,
    pub(crate) tally: Tally,
    cells: AtomicU64,
    shutting_down: AtomicBool,
}

impl Gate {
    /// A gate without rows.
    pub fn new(rules: GateRules, clock: Clock) -> Arc<Gate> {
        let scopes = Scopes::new(rules.limits.scopes);
        let crowd = Crowd::new(&rules.limits);
        let book = Book::new(rules, Arc::default());
        book.throttled().for_each(|scope| scopes.mark(scope));
        let agenda = Agenda::new();
        agenda.total.set_limit(book.attempts);
        Arc::new(Gate {
            throttles_all: AtomicBool::new(book.throttles_all()),
            other_laws: AtomicBool::new(book.has_other_laws()),
            book: Mutex::new(Arc::new(book)),
            clock,
            scopes,
            agenda,
            crowd,
            lobbies: Lobbies::new(),
            tally: Tally::default(),
            cells: AtomicU64::new(0),
            shutting_down: AtomicBool::new(false),
        })
    }

    /// A start that keeps no pace and teaches nothing (preset `off`).
    pub fn pass(self: &Arc<Self>, scope: &Scope) -> Permit {
        let place = self.agenda.total.enter();
        Permit::plain(scope.clone(), self.clock.now(), false).placed(self, place)
    }

    /// The process ends: every held request is refused, and so is every newcomer that would be.
    pub fn drain(&self) {
        self.shutting_down.store(true, Ordering::SeqCst);
        for cell in self.scopes.all() {
            self.visit(&cell, |house| house.refuse_all(Refusal::ShuttingDown));
        }
        self.wake(self.lobbies.refuse_all(Refusal::ShuttingDown));
    }

    /// All rows now.
    pub fn picture(&self) -> Picture {
        let taken = self.clock.now();
        let rows = self.scopes.all();
        let rows = rows.iter().filter_map(|row| RowView::of(row, taken)).collect();
        let mut picture = Picture { taken, rows };
        self.lobbies.views(taken).into_iter().for_each(|lobby| picture.add(lobby));
        picture
    }

    /// One scope's row, if it has one.
    pub fn row(&self, scope: &Scope) -> Option<RowView> {
        RowView::of(&*self.scopes.find(scope)?, self.clock.now())
    }

    /// What it has done so far, and what it holds.
    pub fn counters(&self) -> Counters {
        self.tally.read(self.scopes.len(), self.crowd.len())
    }

    /// Its clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The rules of a scope.
    pub fn rules(&self, scope: &Scope) -> Arc<PaceRules> {
        self.book().of(scope)
    }

    /// Puts a floor under a scope's rules, until it is told otherwise; [`Floor::default`] takes it
    /// away. Reloads keep it.
    pub fn set_floor(&self, scope: &Scope, floor: Floor) {
        let mut current = lock(&self.book);
        // Another book, so that a row which is being made looks again.
        let book = Arc::new(Book::clone(&current));
        let had = book.floors.set(scope, floor, book.own(scope));
        match (had, floor.is_none()) {
            (false, false) => self.scopes.mark(scope),
            (true, true) => self.scopes.unmark(scope),
            (true, false) | (false, true) => {}
        }
        *current = book.clone();
        drop(current);
        if let Some(cell) = self.scopes.find(scope) {
            self.apply(&book, &cell);
        }
    }

    /// New rules: rungs, pauses and everybody held stay. The bound on rows stays as it was.
    pub fn reload(&self, rules: GateRules) {
        self.crowd.set_limits(&rules.limits);
        let book = Arc::new(Book::new(rules, self.book().floors.clone()));
        book.floors.rebase(|scope| book.own(scope));
        book.throttled().for_each(|scope| self.scopes.mark(scope));
        self.throttles_all.store(book.throttles_all(), Ordering::Relaxed);
        self.other_laws.store(book.has_other_laws(), Ordering::Relaxed);
        let old = std::mem::replace(&mut *lock(&self.book), book.clone());
        old.throttled().for_each(|scope| self.scopes.unmark(scope));
        self.agenda.total.set_limit(book.attempts);
        while let Some(cell) = self.agenda.total.hand_on() {
            let places = self.serve(&cell);
            self.give_back(places);
        }
        self.scopes.all().iter().for_each(|cell| self.apply(&book, cell));
    }

    /// Whether the process ends.
    pub(crate) fn shuts_down(&self) -> bool {
        self.shutting_down.load(Ordering::SeqCst)
    }

    /// Whether all attempts are counted.
    pub(crate) fn limits_attempts(&self) -> bool {
        self.book().attempts.is_some()
    }

    /// How many one scope may hold.
    pub(crate) fn held_per_scope(&self) -> usize {
        self.book().per_scope
    }

    /// A number that no other cell or keeper has.
    pub(crate) fn number(&self) -> u64 {
        self.cells.fetch_add(1, Ordering::Relaxed)
    }

    /// Wakes them. No lock is held.
    pub(crate) fn wake(&self, wakers: impl IntoIterator<Item = Waker>) {
        for waker in wakers {
            self.tally.wakeups.fetch_add(1, Ordering::Relaxed);
            waker.wake();
        }
    }

    /// Does something in a row's hall, and what is left to do afterwards.
    pub(crate) fn visit<R>(&self, cell: &Arc<Cell>, act: impl FnOnce(&mut House<'_>) -> R) -> R {
        let (result, effects) = cell.enter_with(&self.agenda, self.clock.now(), act);
        self.finish(cell, effects);
        result
    }

    /// Carries out what a visit left to do. No lock is held.
    pub(crate) fn finish(&self, cell: &Arc<Cell>, effects: Effects) {
        let places = self.carry_out(cell, effects);
        self.give_back(places);
    }

    /// Gives a cell the place that was taken for it. How many places are to be given back.
    fn serve(&self, cell: &Arc<Cell>) -> usize {
        let now = self.clock.now();
        let effects = cell.enter(&self.agenda, now, |house| house.given_place());
        self.carry_out(cell, effects)
    }

    /// Counted places are given back: to whoever waits for one.
    pub(crate) fn give_back(&self, mut places: usize) {
        while places > 0 {
            places -= 1;
            if let Some(next) = self.agenda.total.leave() {
                places += self.serve(&next);
            }
        }
    }

    fn carry_out(&self, cell: &Arc<Cell>, effects: Effects) -> usize {
        let Effects { wakes, bell, places, retired } = effects;
        if let Some(why) = retired {
            self.scopes.remove(cell);
            self.tally.evicted(why).fetch_add(1, Ordering::Relaxed);
        }
        if !wakes.is_empty() {
            self.tally.wakeups.fetch_add(wakes.len() as u64, Ordering::Relaxed);
        }
        wakes.into_iter().chain(bell).for_each(Waker::wake);
        places
    }

    pub(crate) fn release(&self, cell: &Arc<Cell>, start: Start, used: bool) {
        let effects = cell.release(&self.agenda, start, used, || self.clock.now());
        self.finish(cell, effects);
    }

    pub(crate) fn look(&self, seat: &Seat, waker: &Waker, now: Tick) -> Look {
        let look = self.visit(&seat.cell, |house| house.look(seat.who, waker));
        match look {
            Look::Wait => {}
            Look::Called { .. } => unreachable!("only an errand is called"),
            Look::Go { due, .. } => {
                self.crowd.leave(seat.client.origin);
                self.tally.granted(now.since(due));
            }
            Look::Refused { .. } => self.crowd.leave(seat.client.origin),
        }
        look
    }

    pub(crate) fn leave(&self, seat: &Seat) -> Waits {
        self.crowd.leave(seat.client.origin);
        self.visit(&seat.cell, |house| house.leave(seat.who))
    }

    /// Teaches a scope. One that has no row gets one if there is something to remember.
    pub(crate) fn teach(
        &self,
        scope: &Scope,
        cell: Option<&Arc<Cell>>,
        lesson: Lesson,
        started: Tick,
        now: Tick,
    ) -> Learned {
        let mut known = cell.cloned();
        let lasting = match self.other_laws.load(Ordering::Relaxed) {
            true => lasts(&self.rules(scope), &lesson.of(started)),
            false => lesson.pace == PaceMove::Climb || lesson.pause.is_some(),
        };
        if lasting && known.is_none() {
            self.make_room(scope);
        }
        loop {
            let cell = match known.take().or_else(|| self.scopes.find(scope)) {
                Some(cell) => cell,
                None if lasting => self.row_of(scope, Tick::ZERO),
                None => return Learned { next_slot: now, ..Learned::default() },
            };
            let (learned, effects) =
                cell.enter_with(&self.agenda, now, |house| house.learn(lesson, started));
            self.finish(&cell, effects);
            match learned {
                Some(learned) => {
                    if lesson.pause.is_some() {
                        self.wake(self.lobbies.alarm(scope));
                    }
                    return learned;
                }
                None => drop(self.scopes.remove(&cell)),
            }
        }
    }

    /// The row, made if there is none. A repeat that finds none failed before, and as a failure makes
    /// a row, somebody was served since, or it would still be there.
    pub(crate) fn row_of(&self, scope: &Scope, last_served: Tick) -> Arc<Cell> {
        let by = RefCell::new(None);
        let cell = self.scopes.find_or_make(scope, |scope| {
            let id = self.number();
            let book = self.book();
            let rules = book.of(scope);
            // Other laws keep a row after a failure: that there is none says nothing.
            let last_served = if rules.law == Law::Ladder { last_served } else { Tick::ZERO };
            let cell = Cell::new(id, scope.clone(), rules, last_served);
            by.replace(Some(book));
            cell
        });
        // A reload in between has not seen the row.
        if let Some(by) = by.take() {
            let book = self.book();
            if !Arc::ptr_eq(&by, &book) {
                self.apply(&book, &cell);
            }
        }
        cell
    }

    fn apply(&self, book: &Book, cell: &Arc<Cell>) {
        let (rules, first) = (book.of(cell.scope()), cell.first_rules());
        let rules = if *rules == **first { first.clone() } else { rules };
        self.visit(cell, |house| house.hall.rules = rules);
    }

    fn book(&self) -> Arc<Book> {
        lock(&self.book).clone()
    }
}

impl Book {
    fn new(rules: GateRules, floors: Arc<Floors>) -> Book {
        let scopes = rules.scopes.into_iter().map(|(scope, rules)| (scope, Arc::new(rules)));
        Book {
            default: Arc::new(rules.default),
            scopes: Arc::new(scopes.collect()),
            floors,
            per_scope: rules.limits.held_per_scope,
            attempts: rules.limits.attempts,
        }
    }

    fn of(&self, scope: &Scope) -> Arc<PaceRules> {
        self.floors.of(scope).unwrap_or_else(|| self.own(scope).clone())
    }

    /// What the configuration says, whatever floor there is.
    fn own(&self, scope: &Scope) -> &Arc<PaceRules> {
        self.scopes.get(scope).unwrap_or(&self.default)
    }

    /// Scopes that have a row whenever they are active.
    fn throttled(&self) -> impl Iterator<Item = &Scope> {
        self.scopes.iter().filter(|(_, rules)| rules.throttles()).map(|(scope, _)| scope)
    }

    fn throttles_all(&self) -> bool {
        self.default.throttles() || self.attempts.is_some()
    }

    fn has_other_laws(&self) -> bool {
        let all = [&self.default].into_iter().chain(self.scopes.values());
        all.into_iter().any(|rules| rules.law != Law::Ladder)
    }
}
