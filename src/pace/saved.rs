//! A scope's state apart from any clock: every moment is a distance, so that it can be carried over a
//! restart, where moments begin anew.
//!
//! Time is an argument. What has nothing to say is not saved; what can't be is taken back: nothing
//! that is restored is faster than it was.

#[cfg(test)]
mod tests;

use crate::clock::Tick;
use crate::pace::backoff::saved::SavedPressure;
use crate::pace::memory::Memory;
use crate::pace::quota::{Cost, Spent};
use crate::pace::rules::{Law, PaceRules};
use crate::pace::slot::Slot;
use std::time::Duration;

/// What a scope remembers, as distances from the moment of saving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Under which law it was learnt.
    pub law: Law,
    pub rung: u8,
    /// The last start, and the last stall that counts, so long ago.
    pub started: Option<Duration>,
    pub stalled: Option<Duration>,
    /// A pause that has so long to go.
    pub paused: Option<Duration>,
    pub pressure: Option<SavedPressure>,
    pub spent: Option<SavedSpent>,
}

/// What was spent of a quota, in a window that began so long ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedSpent {
    pub used: Cost,
    pub began: Duration,
}

impl Saved {
    /// Nothing has happened.
    pub const fn new(law: Law) -> Saved {
        let (started, stalled, paused) = (None, None, None);
        Saved { law, rung: 0, started, stalled, paused, pressure: None, spent: None }
    }

    /// The state at a moment; nothing if it has nothing to say.
    pub fn of(slot: Slot, memory: &Memory, rules: &PaceRules, now: Tick) -> Option<Saved> {
        let ago = |moment: Tick| (moment > Tick::ZERO).then(|| now.since(moment));
        let pressure = memory.more.pressure;
        let backs_off = rules.law == Law::Backoff && !pressure.is_none();
        let saved = Saved {
            law: rules.law,
            rung: slot.rung,
            started: ago(slot.last_start),
            stalled: ago(memory.last_stall),
            paused: Some(memory.paused_until.since(now)).filter(|left| !left.is_zero()),
            pressure: backs_off.then(|| pressure.saved(now)),
            spent: rules.quota.and_then(|quota| {
                let open = memory.more.spent.at(&quota, now);
                let began = open.ends(&quota)? - quota.per;
                Some(SavedSpent { used: open.used(), began: now.since(began) })
            }),
        };
        let delayed = slot.last_start + rules.delay > now && !rules.delay.is_zero();
        let says = delayed
            || saved.rung > 0
            || saved.paused.is_some()
            || saved.pressure.is_some()
            || saved.spent.is_some();
        says.then_some(saved)
    }

    /// The state it comes to at `now`, `elapsed` after it was saved. Under another law than it was
    /// learnt by only the pause and the quota count.
    pub fn restored(&self, rules: &PaceRules, now: Tick, elapsed: Duration) -> (Slot, Memory) {
        let past = |ago: Duration| now - ago.saturating_add(elapsed);
        let mut slot =
            Slot { last_start: self.started.map_or(Tick::ZERO, past), ..Slot::default() };
        let mut memory = Memory::NEW;
        if let Some(left) = self.paused {
            memory.paused_until = now + left.min(LONGEST).saturating_sub(elapsed);
        }
        if let (Some(spent), Some(quota)) = (self.spent, &rules.quota) {
            memory.more.spent = Spent::NOTHING.spend(quota, spent.used, past(spent.began));
        }
        if self.law == rules.law {
            memory.last_stall = self.stalled.map_or(Tick::ZERO, past);
            slot.rung = match rules.law {
                Law::Ladder => self.rung.min(rules.ladder.top()),
                Law::Backoff | Law::Fixed => 0,
            };
            if let Some(pressure) = &self.pressure {
                memory.more.pressure = pressure.restored(&rules.backoff, &rules.base(), past);
            }
            slot.rung = memory.advance(slot, rules, now);
        }
        (slot, memory)
    }
}

/// No pause is longer.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);
