//! A scope's row: one word, the compare-exchange loop around a pure closure, and the hall where
//! people wait. What to do is `pace`'s; who waits and who is served is [`Hall`]'s.
//!
//! Rules of the house: with the word unguarded nobody waits, and a claim or a release is one
//! compare-exchange. The guard is raised, under the lock, before anybody is told to wait, so that
//! whoever frees something sees it and comes through the lock. Nothing is woken under the lock.

use crate::clock::Tick;
use crate::pace::decide::{Decision, From, decide, earliest};
use crate::pace::memory::{Memory, NOTHING};
use crate::pace::quota::Cost;
use crate::pace::rules::PaceRules;
use crate::pace::scope::Scope;
use crate::pace::slot::Slot;
use crate::state::agenda::Agenda;
use crate::state::hall::{Hall, House};
use crate::state::total::Place;
use crate::sync::{AtomicU64, Mutex, Ordering, lock};
use std::sync::Arc;
use std::task::Waker;

/// A scope's row.
#[derive(Debug)]
pub struct Cell {
    id: u64,
    scope: Scope,
    /// What claims without the lock go by. Once others hold, the guard stays up: see [`Hall::rules`].
    rules: Arc<PaceRules>,
    word: AtomicU64,
    hall: Mutex<Hall>,
}

/// A start that was won: what is needed to end it, or to give it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    pub at: Tick,
    /// The earliest moment it was allowed to be.
    pub due: Tick,
    /// The rung it was won from.
    pub rung: u8,
    /// The start before it in the scope.
    pub before: Tick,
    /// Starts were spaced when it was won, so no other can carry the same stamp.
    pub spaced: bool,
    pub repeat: bool,
    pub from: From,
    /// What it spent of the scope's quota.
    pub cost: Cost,
    /// Whether `limits.attempts` counts it.
    pub place: Place,
}

/// What a claim without waiting came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    Won(Start),
    /// Through the line, please.
    Wait,
    /// The row was removed: look again.
    Gone,
}

/// What is left to do once the lock is free.
#[derive(Debug, Default)]
#[must_use]
pub struct Effects {
    /// Whom to wake.
    pub wakes: Vec<Waker>,
    /// The timekeeper's bell.
    pub bell: Option<Waker>,
    /// So many places of `limits.attempts` are to be given back.
    pub places: usize,
    /// The row is dead: it can be taken out of the map.
    pub retired: Option<Eviction>,
}

/// Why a row went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// The rung is 0, no pause runs and nobody waits.
    Quiet,
    /// Nobody asked for it in its `idle` time.
    Idle,
    /// Its pace kept nobody any more, and there was no row left for another scope.
    Full,
}

impl Cell {
    /// A new row. `last_served`: when a page must have been served, [`Tick::ZERO`] if none is known.
    /// Where the word doesn't say all that decides a start, the guard is up from the beginning.
    pub fn new(id: u64, scope: Scope, rules: Arc<PaceRules>, last_served: Tick) -> Arc<Cell> {
        let slot = Slot { guarded: rules.need_memory(), ..Slot::default() };
        let word = AtomicU64::new(slot.encode());
        let mut hall = Hall::new(rules.clone());
        hall.last_served = last_served;
        let hall = Mutex::new(hall);
        Arc::new(Cell { id, scope, rules, word, hall })
    }

    /// Its number: no other cell of the process has it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whose row it is.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// How it was paced when it was made.
    pub fn first_rules(&self) -> &Arc<PaceRules> {
        &self.rules
    }

    /// The state now.
    pub fn slot(&self) -> Slot {
        Slot::decode(self.word.load(Ordering::Acquire))
    }

    /// Claims without waiting, for a first attempt: one compare-exchange, if nobody waits.
    pub fn try_claim(&self, now: Tick) -> Claim {
        let (rules, from, cost) = (&*self.rules, From::Street, Cost::NONE);
        let changed = self.change(|slot| {
            let free = !slot.dead && !slot.guarded;
            let goes = free && decide(&slot, &NOTHING, rules, from, cost, now) == Decision::Go;
            goes.then(|| slot.started(now))
        });
        match changed {
            Ok(before) => Claim::Won(Start {
                at: now,
                due: match spaced(rules, &NOTHING, before) {
                    true => earliest(&before, &NOTHING, rules, from, cost).0.min(now),
                    false => now,
                },
                rung: before.rung,
                before: before.last_start,
                spaced: spaced(rules, &NOTHING, before),
                repeat: false,
                from,
                cost,
                place: Place::Free,
            }),
            Err(slot) if slot.dead => Claim::Gone,
            Err(_) => Claim::Wait,
        }
    }

    /// Ends or gives back a start. `used`: the attempt was made, so its start stands. The time is
    /// only asked for if somebody may be waiting.
    pub fn release(
        self: &Arc<Self>,
        agenda: &Agenda,
        start: Start,
        used: bool,
        now: impl FnOnce() -> Tick,
    ) -> Effects {
        let undoes = !used && matches!(start.from, From::Closing(_));
        if !start.repeat && !undoes {
            let freed = self.change(|slot| (!slot.guarded).then(|| freed(slot, start, used)));
            if freed.is_ok() {
                let places = usize::from(start.place.is_counted());
                return Effects { places, ..Effects::default() };
            }
        }
        self.enter(agenda, now(), |house| house.release(start, used))
    }

    /// Changes the word by a pure closure; `None` leaves it. The state before, or the state that
    /// was left.
    pub fn change(&self, mut next: impl FnMut(Slot) -> Option<Slot>) -> Result<Slot, Slot> {
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            let slot = Slot::decode(word);
            let Some(wanted) = next(slot) else { return Err(slot) };
            let (ok, err) = (Ordering::AcqRel, Ordering::Acquire);
            match self.word.compare_exchange_weak(word, wanted.encode(), ok, err) {
                Ok(_) => return Ok(slot),
                Err(seen) => word = seen,
            }
        }
    }

    /// Does something under the lock, then serves whoever may go now.
    pub fn enter_with<R>(
        self: &Arc<Self>,
        agenda: &Agenda,
        now: Tick,
        act: impl FnOnce(&mut House<'_>) -> R,
    ) -> (R, Effects) {
        let mut effects = Effects::default();
        let mut hall = lock(&self.hall);
        let effects_mut = &mut effects;
        let mut house = House { cell: self, hall: &mut hall, effects: effects_mut, agenda, now };
        house.advance();
        let result = act(&mut house);
        house.settle();
        house.effects.places += house.hall.take_unused_place();
        drop(hall);
        (result, effects)
    }

    /// The same, without a result.
    pub fn enter(
        self: &Arc<Self>,
        agenda: &Agenda,
        now: Tick,
        act: impl FnOnce(&mut House<'_>),
    ) -> Effects {
        self.enter_with(agenda, now, act).1
    }

    /// Looks without touching.
    pub fn look<R>(&self, see: impl FnOnce(&Hall, Slot) -> R) -> R {
        let hall = lock(&self.hall);
        see(&hall, self.slot())
    }
}

/// Whether starts keep a distance.
pub fn spaced(rules: &PaceRules, memory: &Memory, slot: Slot) -> bool {
    !(rules.delay.is_zero() && memory.pace(slot, rules).is_zero())
}

/// The state once a start has ended.
pub fn freed(slot: Slot, start: Start, used: bool) -> Slot {
    let restore = !used
        && start.spaced
        && !matches!(start.from, From::Closing(_))
        && slot.last_start == Slot::stamp(start.at);
    let last_start = if restore { start.before } else { slot.last_start };
    Slot { last_start, in_flight: slot.in_flight.saturating_sub(1), ..slot }
}
