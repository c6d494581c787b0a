//! The state of backing off apart from any clock.

use crate::clock::Tick;
use crate::pace::backoff::{Backoff, Base, Pressure};
use std::time::Duration;

/// [`Pressure`], its moments as how long ago they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SavedPressure {
    /// The delay while backing off.
    pub delay: Option<Duration>,
    /// The last trigger or step back.
    pub since: Duration,
    /// The delay, and the steps from the least in flight, that rampup has come to.
    pub ramped: Option<Duration>,
    pub slots: u32,
    /// Rampup's window and the triggers in it.
    pub window: Option<Duration>,
    pub triggers: u32,
}

impl Pressure {
    /// The state at a moment.
    pub fn saved(&self, now: Tick) -> SavedPressure {
        SavedPressure {
            delay: self.delay,
            since: now.since(self.since),
            ramped: self.ramped,
            slots: self.slots,
            window: self.window.map(|began| now.since(began)),
            triggers: self.triggers,
        }
    }
}

impl SavedPressure {
    /// The state again, as the rules of today allow it; `past` says when something was so long ago.
    pub fn restored(
        &self,
        rules: &Backoff,
        base: &Base,
        past: impl Fn(Duration) -> Tick,
    ) -> Pressure {
        let ramps = rules.rampup.is_some();
        let least = rules.rampup.map_or(base.delay, |rampup| rampup.min_delay);
        let ramped = self.ramped.filter(|_| ramps).map(|delay| delay.max(least));
        let slots = if ramps { self.slots } else { 0 };
        let window = self.window.filter(|_| ramps).map(&past);
        let triggers = if ramps { self.triggers } else { 0 };
        let mut pressure = Pressure {
            delay: None,
            since: past(self.since),
            ramped: ramped.filter(|delay| *delay < base.delay),
            slots,
            window,
            triggers,
        };
        let delay = self.delay.map(|delay| delay.max(rules.min).min(rules.max));
        pressure.delay = delay.filter(|delay| *delay > pressure.rested(base));
        pressure
    }
}
