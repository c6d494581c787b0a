//! What a scope remembers beside its [`Slot`], and what starts, ends and time make of it.
//!
//! With the law `ladder` and no throttle but `concurrency` and `delay` only lessons and lines look
//! at it; otherwise every start does. Time and chance are arguments.

use crate::clock::Tick;
use crate::pace::backoff::{Anchors, Jitters, Pressure};
use crate::pace::quota::{Cost, Spent};
use crate::pace::rules::{Law, PaceRules};
use crate::pace::seldom::{Blank, Seldom};
use crate::pace::slot::Slot;
use std::time::Duration;

/// What a scope remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The last stall that pushes the next start away: of an attempt that began after the climb
    /// before it, or a trigger; [`Tick::ZERO`] for none.
    pub last_stall: Tick,
    /// When the rung last rose; [`Tick::ZERO`] if it never did.
    pub last_climb: Tick,
    /// Nobody starts before; [`Tick::ZERO`] for no pause.
    pub paused_until: Tick,
    /// What the law `ladder` and its throttles do without.
    pub more: Seldom<More>,
}

/// What other laws and throttles remember.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct More {
    /// The law `backoff`'s.
    pub pressure: Pressure,
    pub spent: Spent,
    /// Drawn at the last start or trigger, for the jitter of what follows it.
    pub chance: u32,
    /// Where the next chance comes from, once one was drawn.
    pub seed: Option<u64>,
    /// Until when slots rest that nothing is under way in. Never more than slots.
    pub resting: Vec<Tick>,
}

/// What a scope without a memory remembers.
pub static NOTHING: Memory = Memory::NEW;

static NO_MORE: More = More {
    pressure: Pressure::NONE,
    spent: Spent::NOTHING,
    chance: 0,
    seed: None,
    resting: Vec::new(),
};

impl Blank for More {
    fn blank() -> &'static More {
        &NO_MORE
    }
}

impl Memory {
    /// Nothing has happened.
    pub const NEW: Memory = Memory {
        last_stall: Tick::ZERO,
        last_climb: Tick::ZERO,
        paused_until: Tick::ZERO,
        more: Seldom::NONE,
    };

    /// What failures have made of the distance between two starts; nothing for a healthy scope.
    pub fn pace(&self, slot: Slot, rules: &PaceRules) -> Duration {
        match rules.law {
            Law::Ladder => rules.ladder.pace(slot.rung),
            Law::Backoff => self.more.pressure.pace(),
            Law::Fixed => Duration::ZERO,
        }
    }

    /// How many attempts may be in flight.
    pub fn most(&self, rules: &PaceRules) -> Option<u32> {
        match rules.law {
            Law::Ladder | Law::Fixed => rules.concurrency,
            Law::Backoff => self.more.pressure.most(&rules.backoff, &rules.base()),
        }
    }

    /// When the distances of starts allow the next, and whether failures have a part in it.
    pub fn next(&self, slot: Slot, rules: &PaceRules) -> (Tick, bool) {
        let anchors = Anchors { last_start: slot.last_start, last_trigger: self.last_stall };
        let jitters = Jitters { ordinary: rules.jitter, chance: self.more.chance };
        let next = self.more.pressure.next(&rules.backoff, &rules.base(), anchors, jitters);
        (next, self.more.pressure.backs_off())
    }

    /// When a slot has rested that the next attempt could take, with so many in flight and fewer
    /// than `most`; [`Tick::ZERO`] if one has rested already.
    pub fn rested(&self, in_flight: u32, most: u32, now: Tick) -> Tick {
        let free = most.saturating_sub(in_flight) as usize;
        let mut resting: Vec<Tick> =
            self.more.resting.iter().copied().filter(|until| *until > now).collect();
        if resting.len() < free {
            return Tick::ZERO;
        }
        resting.sort_unstable();
        resting.get(resting.len() - free).copied().unwrap_or(Tick::NEVER)
    }

    /// An attempt starts, and a chance was drawn for what follows.
    pub fn start(&mut self, rules: &PaceRules, cost: Cost, chance: u32, now: Tick) {
        self.more.chance = chance;
        if rules.law == Law::Backoff {
            self.more.pressure = self.more.pressure.started(&rules.backoff, now);
        }
        if let Some(quota) = &rules.quota {
            self.more.spent = self.more.spent.spend(quota, cost, now);
        }
    }

    /// An attempt that started at `started` has ended, or was not made: then nothing was spent.
    pub fn end(&mut self, rules: &PaceRules, cost: Cost, started: Tick, used: bool, now: Tick) {
        if !used {
            let spent = self.more.spent.give_back(cost, started);
            return self.set_spent(spent);
        }
        let Some(rest) = rules.slot_rest() else { return };
        let until = started + rules.jitter.apply(rest, self.more.chance);
        self.more.resting.retain(|until| *until > now);
        if until > now {
            self.more.resting.push(until);
        }
    }

    /// What was spent is known to be so much.
    pub fn set_spent(&mut self, spent: Spent) {
        if spent != self.more.spent {
            self.more.spent = spent;
        }
    }

    /// Keeps no room for what says nothing.
    pub fn fold(&mut self) {
        self.more.fold(|more| {
            let More { pressure, spent, chance, seed: _, resting } = more;
            pressure.is_none() && *spent == Spent::NOTHING && *chance == 0 && resting.is_empty()
        });
    }

    /// What time has brought. The rung that the scope is on now.
    pub fn advance(&mut self, slot: Slot, rules: &PaceRules, now: Tick) -> u8 {
        match rules.law {
            Law::Ladder => slot.rung,
            Law::Fixed => 0,
            Law::Backoff => {
                let base = rules.base();
                let pressure = self.more.pressure.at(&rules.backoff, &base, now);
                if pressure != self.more.pressure {
                    self.more.pressure = pressure;
                }
                self.more.pressure.steps(&rules.backoff, &base)
            }
        }
    }

    /// When it changes by itself.
    pub fn changes(&self, rules: &PaceRules) -> Option<Tick> {
        match rules.law {
            Law::Ladder | Law::Fixed => None,
            Law::Backoff => {
                self.more.pressure.changes(&rules.backoff).filter(|moment| *moment < Tick::NEVER)
            }
        }
    }

    /// Whether it says something that must not be forgotten: a pause, a running backoff, what was
    /// spent of a quota, a slot that rests.
    pub fn must_stay(&self, rules: &PaceRules, now: Tick) -> bool {
        let spends = |quota| self.more.spent.ends(quota).is_some_and(|end| end > now);
        self.paused_until > now
            || (rules.law == Law::Backoff && self.more.pressure.backs_off())
            || rules.quota.as_ref().is_some_and(spends)
            || self.more.resting.iter().any(|until| *until > now)
    }

    /// Forgets what was learnt: pause and pressure. What was started and spent was.
    pub fn reset(&mut self) {
        (self.last_stall, self.last_climb) = (Tick::ZERO, Tick::ZERO);
        self.paused_until = Tick::ZERO;
        if !self.more.pressure.is_none() {
            self.more.pressure = Pressure::NONE;
        }
    }
}
