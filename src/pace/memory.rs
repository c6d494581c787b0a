//! What a scope remembers beside its [`Slot`], and what starts, ends and time make of it.
//!
//! With the law `ladder` and no throttle but `concurrency` and `delay` only lessons and lines look
//! at it; otherwise every start does. Time and chance are arguments.

use crate::clock::Tick;
use crate::pace::backoff::{Anchors, Jitters, Pressure};
use crate::pace::quota::{Cost, Spent};
use crate::pace::rules::{Law, PaceRules};
use crate::pace::slot::Slot;
use std::time::Duration;

/// What a scope remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The last stall that pushes the next start away: of an attempt that began after the climb
    /// before it, or a trigger; [`Tick::ZERO`] for none.
    pub last_stall: Tick,
    /// When the rung last rose.
    pub last_climb: Option<Tick>,
    /// Nobody starts before; [`Tick::ZERO`] for no pause.
    pub paused_until: Tick,
    /// The law `backoff`'s.
    pub pressure: Pressure,
    pub spent: Spent,
    /// Drawn at the last start or trigger, for the jitter of what follows it.
    pub chance: u32,
    /// Until when slots rest that nothing is under way in. Never more than slots.
    pub resting: Vec<Tick>,
}

/// What a scope without a memory remembers.
pub static NOTHING: Memory = Memory::NEW;

impl Memory {
    /// Nothing has happened.
    pub const NEW: Memory = Memory {
        last_stall: Tick::ZERO,
        last_climb: None,
        paused_until: Tick::ZERO,
        pressure: Pressure::NONE,
        spent: Spent::NOTHING,
        chance: 0,
        resting: Vec::new(),
    };

    /// What failures have made of the distance between two starts; nothing for a healthy scope.
    pub fn pace(&self, slot: Slot, rules: &PaceRules) -> Duration {
        match rules.law {
            Law::Ladder => rules.ladder.pace(slot.rung),
            Law::Backoff => self.pressure.pace(),
            Law::Fixed => Duration::ZERO,
        }
    }

    /// How many attempts may be in flight.
    pub fn most(&self, rules: &PaceRules) -> Option<u32> {
        match rules.law {
            Law::Ladder | Law::Fixed => rules.concurrency,
            Law::Backoff => self.pressure.most(&rules.backoff, &rules.base()),
        }
    }

    /// When the distances of starts allow the next, and whether failures have a part in it.
    pub fn next(&self, slot: Slot, rules: &PaceRules) -> (Tick, bool) {
        let anchors = Anchors { last_start: slot.last_start, last_trigger: self.last_stall };
        let jitters = Jitters { ordinary: rules.jitter, chance: self.chance };
        let next = self.pressure.next(&rules.backoff, &rules.base(), anchors, jitters);
        (next, self.pressure.backs_off())
    }

    /// When a slot has rested that the next attempt could take, with so many in flight and fewer
    /// than `most`; [`Tick::ZERO`] if one has rested already.
    pub fn rested(&self, in_flight: u32, most: u32, now: Tick) -> Tick {
        let free = most.saturating_sub(in_flight) as usize;
        let mut resting: Vec<Tick> =
            self.resting.iter().copied().filter(|until| *until > now).collect();
        if resting.len() < free {
            return Tick::ZERO;
        }
        resting.sort_unstable();
        resting.get(resting.len() - free).copied().unwrap_or(Tick::NEVER)
    }

    /// An attempt starts, and a chance was drawn for what follows.
    pub fn start(&mut self, rules: &PaceRules, cost: Cost, chance: u32, now: Tick) {
        self.chance = chance;
        if rules.law == Law::Backoff {
            self.pressure = self.pressure.started(&rules.backoff, now);
        }
        if let Some(quota) = &rules.quota {
            self.spent = self.spent.spend(quota, cost, now);
        }
    }

    /// An attempt that started at `started` has ended, or was not made: then nothing was spent.
    pub fn end(&mut self, rules: &PaceRules, cost: Cost, started: Tick, used: bool, now: Tick) {
        if !used {
            self.spent = self.spent.give_back(cost, started);
            return;
        }
        let Some(rest) = rules.slot_rest() else { return };
        let until = started + rules.jitter.apply(rest, self.chance);
        self.resting.retain(|until| *until > now);
        if until > now {
            self.resting.push(until);
        }
    }

    /// What time has brought. The rung that the scope is on now.
    pub fn advance(&mut self, slot: Slot, rules: &PaceRules, now: Tick) -> u8 {
        match rules.law {
            Law::Ladder => slot.rung,
            Law::Fixed => 0,
            Law::Backoff => {
                let base = rules.base();
                self.pressure = self.pressure.at(&rules.backoff, &base, now);
                self.pressure.steps(&rules.backoff, &base)
            }
        }
    }

    /// When it changes by itself.
    pub fn changes(&self, rules: &PaceRules) -> Option<Tick> {
        match rules.law {
            Law::Ladder | Law::Fixed => None,
            Law::Backoff => {
                self.pressure.changes(&rules.backoff).filter(|moment| *moment < Tick::NEVER)
            }
        }
    }

    /// Whether it says something that must not be forgotten: a pause, a running backoff, what was
    /// spent of a quota, a slot that rests.
    pub fn must_stay(&self, rules: &PaceRules, now: Tick) -> bool {
        let spends = |quota| self.spent.ends(quota).is_some_and(|end| end > now);
        self.paused_until > now
            || (rules.law == Law::Backoff && self.pressure.backs_off())
            || rules.quota.as_ref().is_some_and(spends)
            || self.resting.iter().any(|until| *until > now)
    }

    /// Forgets what was learnt: pause and pressure. What was started and spent was.
    pub fn reset(&mut self) {
        (self.last_stall, self.last_climb) = (Tick::ZERO, None);
        (self.paused_until, self.pressure) = (Tick::ZERO, Pressure::NONE);
    }
}
