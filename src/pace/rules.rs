//! What the configuration says about the pace of a scope.

use std::time::Duration;

/// How one scope is paced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaceRules {
    pub ladder: Ladder,
    pub climb: Climb,
    /// While a line exists, at most so many attempts of the scope are in flight.
    pub drain: u32,
    /// A row nobody asked for so long goes.
    pub idle: Duration,
    /// Attempts in flight at once; holds don't count.
    pub concurrency: Option<u32>,
    /// Between two starts, across slots, at every rung.
    pub delay: Duration,
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
            ladder: Ladder { paces: LADDER.map(Duration::from_secs).to_vec() },
            climb: Climb::Stall,
            drain: 5,
            idle: Duration::from_secs(3600),
            concurrency: None,
            delay: Duration::ZERO,
        }
    }
}

/// Seed 1's ladder, in seconds.
const LADDER: [u64; 6] = [0, 2, 5, 15, 30, 60];
