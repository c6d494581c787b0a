//! How long requests of one host have been held, exactly, at any moment.
//!
//! Kept as three sums, so that a look costs the same however many wait:
//! total(now) = finished + held × now − sum of starts.

use crate::clock::Tick;
use std::time::Duration;

/// The holds of one host for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    held: u64,
    /// Nanoseconds. A `u128` can't overflow: 2^64 holds of 2^64 ns each.
    starts: u128,
    finished: u128,
}

impl Holds {
    /// A hold begins.
    pub fn began(&mut self, now: Tick) {
        self.held += 1;
        self.starts += u128::from(now.nanos());
    }

    /// A hold that began at `start` ends; one that ends before its start took no time.
    pub fn ended(&mut self, start: Tick, now: Tick) {
        self.held -= 1;
        self.starts -= u128::from(start.nanos());
        self.finished += now.since(start).as_nanos();
    }

    /// How many are held.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// All waiting until `now`, that of requests still held included. Never more than was waited:
    /// a look dated before a start counts nothing for it.
    pub fn total(&self, now: Tick) -> Duration {
        let reached = self.finished + u128::from(self.held) * u128::from(now.nanos());
        let nanos = reached.saturating_sub(self.starts);
        Duration::new((nanos / NANOS) as u64, (nanos % NANOS) as u32)
    }
}

const NANOS: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Tick {
        Tick::ZERO + Duration::from_secs(seconds)
    }

    #[track_caller]
    fn check(holds: &Holds, now: u64, held: u64, total: u64) {
        assert_eq!((holds.held(), holds.total(at(now))), (held, Duration::from_secs(total)));
    }

    #[test]
    fn the_total_grows_while_requests_are_held_and_stands_when_none_is() {
        let mut holds = Holds::default();
        holds.began(at(10));
        check(&holds, 10, 1, 0);
        check(&holds, 15, 1, 5);
        holds.began(at(15));
        check(&holds, 17, 2, 9);
        holds.ended(at(10), at(20));
        check(&holds, 20, 1, 15);
        holds.ended(at(15), at(20));
        check(&holds, 99, 0, 15);
    }

    #[test]
    fn a_look_or_an_end_before_the_start_counts_nothing() {
        let mut holds = Holds::default();
        holds.began(at(10));
        check(&holds, 9, 1, 0);
        holds.ended(at(10), at(9));
        check(&holds, 9, 0, 0);
    }
}
