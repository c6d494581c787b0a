//! The law `backoff`: triggers multiply a scope's delay, quiet spells take a step back each.
//!
//! `delay = min(max, max(min, delay × factor))` on a trigger; after every `quiet` without one the
//! delay is divided by the factor, until it is the configured one. With `rampup` triggers up to the
//! target slow nobody, and windows that stay below it make the scope faster a step each: first its
//! delay, then how many may be in flight.
//!
//! The state is what it was at the last trigger or step: what it is now follows from the time alone.

pub mod saved;
#[cfg(test)]
mod tests;

use crate::clock::Tick;
use crate::judge::verdict::Class;
use crate::pace::jitter::{Factor, Jitter};
use crate::pace::slot::Slot;
use std::time::Duration;

/// What the configuration says of backing off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Statuses from the first to the last that trigger it.
    pub statuses: Vec<(u16, u16)>,
    /// Failures without an answer that do.
    pub errors: Vec<Class>,
    /// What a trigger multiplies the delay by; more than one.
    pub factor: Factor,
    /// The delay while backing off is at least this, and at most that.
    pub min: Duration,
    pub max: Duration,
    /// How far the delay may be from what it is said to be while backing off.
    pub jitter: Jitter,
    /// So long without a trigger, and the delay is one step nearer to the configured one.
    pub quiet: Duration,
    pub rampup: Option<Rampup>,
}

/// How a scope gets faster than configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rampup {
    /// Triggers a window: fewer than the first and it gets faster, more than the second and it
    /// backs off.
    pub target: (u32, u32),
    /// What a step multiplies the delay by; less than one.
    pub factor: Factor,
    /// The delay is not made shorter than this.
    pub min_delay: Duration,
}

/// What a scope is configured to be when nothing has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    pub delay: Duration,
    /// What may be in flight: at least, and at most.
    pub least: u32,
    pub most: Option<u32>,
}

/// How far a scope is from what it is configured to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// The delay while backing off.
    delay: Option<Duration>,
    /// The last trigger, or the last step back.
    since: Tick,
    /// The delay that rampup has come to.
    ramped: Option<Duration>,
    /// Steps that it has gone from the least in flight.
    slots: u32,
    /// When rampup's window began; none before something starts in it.
    window: Option<Tick>,
    /// Triggers in it.
    triggers: u32,
}

impl Pressure {
    /// Nothing has happened.
    pub const NONE: Pressure = Pressure {
        delay: None,
        since: Tick::ZERO,
        ramped: None,
        slots: 0,
        window: None,
        triggers: 0,
    };

    /// Whether the delay is longer than it would be without triggers.
    pub fn backs_off(&self) -> bool {
        self.delay.is_some()
    }

    /// Whether there is nothing to remember: it is as if nothing had happened.
    pub fn is_none(&self) -> bool {
        self.delay.is_none() && self.ramped.is_none() && self.slots == 0 && self.window.is_none()
    }

    /// The delay between two starts.
    pub fn delay(&self, base: &Base) -> Duration {
        self.delay.unwrap_or(self.rested(base))
    }

    /// What backing off has made of the delay; nothing if it is over.
    pub fn pace(&self) -> Duration {
        self.delay.unwrap_or_default()
    }

    /// How many may be in flight.
    pub fn most(&self, rules: &Backoff, base: &Base) -> Option<u32> {
        match rules.rampup {
            None => base.most,
            Some(_) => {
                let most = base.least.saturating_add(self.slots);
                Some(base.most.map_or(most, |ceiling| most.min(ceiling)))
            }
        }
    }

    /// How many quiet spells until it is over, as far as a rung can say.
    pub fn steps(&self, rules: &Backoff, base: &Base) -> u8 {
        let (mut state, mut steps) = (*self, 0);
        while state.backs_off() && steps < Slot::TOP {
            state.step_back(rules, base);
            steps += 1;
        }
        steps
    }

    /// Something starts.
    #[must_use]
    pub fn started(mut self, rules: &Backoff, now: Tick) -> Pressure {
        if rules.rampup.is_some() {
            self.window.get_or_insert(now);
        }
        self
    }

    /// A trigger at `now`, and whether the scope backs off. `waits`: the origin named a wait, which
    /// is kept as a pause; the delay does not grow, but is at least the least of backing off, so
    /// that a line does not resume as a herd.
    #[must_use]
    pub fn triggered(
        mut self,
        rules: &Backoff,
        base: &Base,
        waits: bool,
        now: Tick,
    ) -> (Pressure, bool) {
        self = self.at(rules, base, now);
        self.triggers = self.triggers.saturating_add(1);
        if let Some(rampup) = rules.rampup {
            self.window.get_or_insert(now);
            if self.triggers <= rampup.target.1 {
                self.since = self.since.max(now);
                return (self, false);
            }
            if self.triggers - 1 == rampup.target.1 {
                self.unramp(&rampup, base);
            }
        }
        let delay = self.delay(base);
        let grown = if waits { delay } else { rules.factor.times(delay) };
        let delay = grown.max(rules.min).min(rules.max);
        self.delay = Some(delay).filter(|delay| *delay > self.rested(base));
        self.since = now;
        (self, true)
    }

    /// The state at a moment: the steps that time has brought since. At most one of rampup's, for a
    /// window in which nothing started says nothing.
    #[must_use]
    pub fn at(mut self, rules: &Backoff, base: &Base, now: Tick) -> Pressure {
        while let Some(moment) = self.changes(rules).filter(|moment| *moment <= now) {
            self.change(rules, base, moment);
        }
        self
    }

    /// When the state changes by itself.
    pub fn changes(&self, rules: &Backoff) -> Option<Tick> {
        let back = self.delay.map(|_| self.since + rules.quiet);
        let window = self.window.map(|began| began + rules.quiet);
        [back, window].into_iter().flatten().min()
    }

    /// The earliest start after `last_start` and the last trigger, at the states that time brings.
    pub fn next(&self, rules: &Backoff, base: &Base, anchors: Anchors, jitters: Jitters) -> Tick {
        let (mut state, mut from) = (*self, Tick::ZERO);
        loop {
            let start = from.max(state.start(rules, base, anchors, jitters));
            match state.changes(rules).filter(|moment| *moment < start) {
                None => return start,
                Some(moment) => {
                    state.change(rules, base, moment);
                    from = moment;
                }
            }
        }
    }

    fn start(&self, rules: &Backoff, base: &Base, anchors: Anchors, jitters: Jitters) -> Tick {
        match self.delay {
            Some(delay) => {
                let delay = rules.jitter.apply(delay, jitters.chance).min(rules.max);
                anchors.last_start.max(anchors.last_trigger) + delay
            }
            None => match self.rested(base) {
                Duration::ZERO => Tick::ZERO,
                _ if anchors.last_start == Tick::ZERO => Tick::ZERO,
                delay => anchors.last_start + jitters.ordinary.apply(delay, jitters.chance),
            },
        }
    }

    fn change(&mut self, rules: &Backoff, base: &Base, moment: Tick) {
        if self.delay.is_some() && self.since + rules.quiet <= moment {
            self.since = self.since + rules.quiet;
            self.step_back(rules, base);
        }
        if self.window.is_some_and(|began| began + rules.quiet <= moment) {
            if let Some(rampup) = rules.rampup
                && self.triggers < rampup.target.0
                && self.delay.is_none()
            {
                self.ramp(&rampup, base);
            }
            (self.window, self.triggers) = (None, 0);
        }
    }

    fn step_back(&mut self, rules: &Backoff, base: &Base) {
        let Some(delay) = self.delay else { return };
        let next = rules.factor.through(delay);
        let over = next < rules.min || next <= self.rested(base) || next >= delay;
        self.delay = if over { None } else { Some(next) };
    }

    fn ramp(&mut self, rampup: &Rampup, base: &Base) {
        let delay = self.rested(base);
        if delay > rampup.min_delay {
            let shorter = rampup.factor.times(delay);
            // Halving never comes to nothing by itself.
            let shorter = if shorter < SHORTEST { Duration::ZERO } else { shorter };
            self.ramped = Some(shorter.max(rampup.min_delay));
        } else if base.most.is_none_or(|most| base.least.saturating_add(self.slots) < most) {
            self.slots = self.slots.saturating_add(1);
        }
    }

    /// Takes rampup's last step back.
    fn unramp(&mut self, rampup: &Rampup, base: &Base) {
        if self.slots > 0 {
            self.slots -= 1;
        } else if let Some(delay) = self.ramped {
            let longer = rampup.factor.through(delay.max(SHORTEST));
            self.ramped = Some(longer).filter(|longer| *longer < base.delay);
        }
    }

    /// The delay without triggers.
    fn rested(&self, base: &Base) -> Duration {
        self.ramped.map_or(base.delay, |ramped| ramped.min(base.delay))
    }

    /// Keeps it on a rung: so many steps from the configured delay.
    #[must_use]
    pub fn on_rung(rung: u8, rules: &Backoff, base: &Base) -> Pressure {
        let mut delay = base.delay;
        for _ in 0..rung {
            delay = rules.factor.times(delay).max(rules.min).min(rules.max);
        }
        Pressure { delay: (rung > 0).then_some(delay), since: Tick::NEVER, ..Pressure::NONE }
    }
}

/// What the next start is counted from; [`Tick::ZERO`] for what has not been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchors {
    pub last_start: Tick,
    pub last_trigger: Tick,
}

/// The jitter of a delay that nothing has made longer, and the chance that was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitters {
    pub ordinary: Jitter,
    pub chance: u32,
}

impl Backoff {
    /// Whether an attempt that came to this is a trigger.
    pub fn is_trigger(&self, class: Class, status: Option<u16>) -> bool {
        match status {
            Some(status) => {
                self.statuses.iter().any(|(first, last)| (*first..=*last).contains(&status))
            }
            None => self.errors.contains(&class),
        }
    }
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff {
            statuses: vec![(429, 429), (502, 504), (520, 524)],
            errors: vec![
                Class::ConnectTimeout,
                Class::ResponseTimeout,
                Class::Reset,
                Class::Truncated,
            ],
            factor: Factor::whole(2),
            min: Duration::from_secs(1),
            max: Duration::from_secs(300),
            jitter: Jitter::TENTH,
            quiet: Duration::from_secs(60),
            rampup: None,
        }
    }
}

impl Default for Rampup {
    fn default() -> Rampup {
        Rampup { target: (1, 1), factor: Factor::HALF, min_delay: Duration::ZERO }
    }
}

/// A shorter delay is none.
const SHORTEST: Duration = Duration::from_millis(1);
