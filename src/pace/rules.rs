//! What the configuration says about the pace of a scope.

use crate::pace::backoff::{Backoff, Base};
use crate::pace::jitter::Jitter;
use crate::pace::quota::Quota;
use std::time::Duration;

/// How one scope is paced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaceRules {
    pub law: Law,
    /// The law `ladder`'s, and under every law that of a request which waits by itself.
    pub ladder: Ladder,
    pub climb: Climb,
    /// While a line exists, at most so many attempts of the scope are in flight, where nothing
    /// else says how many.
    pub drain: u32,
    /// A row nobody asked for so long goes.
    pub idle: Duration,
    /// Attempts in flight at once; holds don't count.
    pub concurrency: Option<u32>,
    /// What rampup begins with, and backing off never drops below.
    pub min_concurrency: u32,
    /// Between two starts, across slots, at every rung.
    pub delay: Duration,
    /// Between two starts of one of `concurrency` slots; `None`: as `delay`.
    pub slot_delay: Option<Duration>,
    /// How far the delays may be from what they are said to be.
    pub jitter: Jitter,
    pub quota: Option<Quota>,
    /// The law `backoff`'s.
    pub backoff: Backoff,
}

/// What slows a scope down, and what makes it faster again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// Rungs: a stall climbs, a page served steps down.
    Ladder,
    /// A trigger multiplies the delay, quiet spells bring it back.
    Backoff,
    /// Nothing: throttles only.
    Fixed,
}

impl PaceRules {
    /// What nothing has happened to.
    pub fn base(&self) -> Base {
        Base { delay: self.delay, least: self.min_concurrency, most: self.concurrency }
    }

    /// Whether a healthy scope is held back: then it has a row while it is active.
    pub fn throttles(&self) -> bool {
        self.concurrency.is_some() || !self.delay.is_zero() || self.quota.is_some() || self.ramps()
    }

    fn ramps(&self) -> bool {
        self.law == Law::Backoff && self.backoff.rampup.is_some()
    }

    /// Whether a start needs more than the scope's word to be decided: then all claims go through
    /// its lock.
    pub fn need_memory(&self) -> bool {
        self.law == Law::Backoff
            || self.quota.is_some()
            || (!self.jitter.is_none() && !self.delay.is_zero())
            || self.slot_rest().is_some()
    }

    /// How long a slot rests after its last start, if that is not said by `delay` already.
    pub fn slot_rest(&self) -> Option<Duration> {
        let ramps = self.ramps();
        let rests = self.concurrency.is_some() || ramps;
        self.slot_delay.filter(|rest| rests && (ramps || *rest > self.delay))
    }
}

/// The paces, from rung 0 (always nothing) to the top. At least one, at most [`Ladder::MOST`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ladder {
    paces: Vec<Duration>,
}

impl Ladder {
    /// How many rungs a ladder may have.
    pub const MOST: usize = 15;

    /// A ladder, if `paces` begins with nothing and never falls.
    pub fn new(paces: Vec<Duration>) -> Option<Ladder> {
        let rises = paces.windows(2).all(|pair| pair[0] < pair[1]);
        let starts = paces.first().is_some_and(Duration::is_zero);
        (starts && rises && paces.len() <= Ladder::MOST).then_some(Ladder { paces })
    }

    /// The pace of a rung; a rung past the top has the top's.
    pub fn pace(&self, rung: u8) -> Duration {
        self.paces[usize::from(rung.min(self.top()))]
    }

    /// The highest rung.
    pub fn top(&self) -> u8 {
        (self.paces.len() - 1) as u8
    }

    /// All paces, from rung 0.
    pub fn paces(&self) -> &[Duration] {
        &self.paces
    }
}

/// What counts as a climb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Climb {
    /// Every stall climbs.
    Stall,
    /// All attempts that started before the last climb count as one.
    Incident,
}

impl Default for PaceRules {
    fn default() -> PaceRules {
        PaceRules {
            law: Law::Ladder,
            ladder: Ladder { paces: LADDER.map(Duration::from_secs).to_vec() },
            climb: Climb::Stall,
            drain: 5,
            idle: Duration::from_secs(3600),
            concurrency: None,
            min_concurrency: 1,
            delay: Duration::ZERO,
            slot_delay: None,
            jitter: Jitter::NONE,
            quota: None,
            backoff: Backoff::default(),
        }
    }
}

/// Seed 1's ladder, in seconds.
const LADDER: [u64; 6] = [0, 2, 5, 15, 30, 60];
