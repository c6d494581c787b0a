//! What the waiters of a scope have waited for: exactly, and at any moment.
//!
//! All who wait in one lane wait for the same thing at the same moment. So a lane keeps one running
//! sum a reason, and a waiter only remembers where the sums stood when it came: what it waited is
//! the difference, and its parts add up to the whole by construction. A look at all of them costs
//! the same however many wait.

use crate::clock::Tick;
use crate::pace::decide::Reason;
use std::time::Duration;

/// Waiting, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits([u64; Reason::ALL.len()]);

impl Waits {
    /// What was waited for one reason.
    pub fn of(&self, reason: Reason) -> Duration {
        Duration::from_nanos(self.0[reason as usize])
    }

    /// All of it.
    pub fn total(&self) -> Duration {
        Reason::ALL.iter().map(|reason| self.of(*reason)).sum()
    }

    fn with(&self, other: Waits, sum: impl Fn(u64, u64) -> u64) -> Waits {
        Waits(std::array::from_fn(|place| sum(self.0[place], other.0[place])))
    }

    /// Both together.
    pub fn plus(&self, other: Waits) -> Waits {
        self.with(other, u64::wrapping_add)
    }

    /// Sums are compared by their differences, which are small: they themselves may wrap.
    fn minus(&self, other: Waits) -> Waits {
        self.with(other, u64::wrapping_sub)
    }
}

/// Where somebody waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// On a ladder of its own.
    Apart,
    Line,
    /// Past its window.
    Closing,
}

/// A waiter's account: where its lane's sums stood when it came, less what it brought along.
#[derive(Clone, Copy, Debug)]
pub struct Stay {
    lane: Lane,
    base: Waits,
}

/// The sums of all lanes.
#[derive(Clone, Copy, Debug)]
pub struct Ledger([Sums; 3]);

#[derive(Clone, Copy, Debug)]
struct Sums {
    spent: Waits,
    /// What those in it wait for, and since when it has been counted.
    reason: Reason,
    since: Tick,
    /// How many are in it, and the sum of their bases.
    waiting: u64,
    bases: Waits,
}

impl Default for Ledger {
    fn default() -> Ledger {
        let of = |reason| Sums {
            spent: Waits::default(),
            reason,
            since: Tick::ZERO,
            waiting: 0,
            bases: Waits::default(),
        };
        Ledger([of(Reason::Request), of(Reason::Pace), of(Reason::Pace)])
    }
}

impl Ledger {
    /// Somebody begins to wait.
    pub fn enter(&mut self, lane: Lane, now: Tick) -> Stay {
        self.bring(lane, Waits::default(), now)
    }

    /// It waits on, elsewhere.
    pub fn change(&mut self, stay: Stay, lane: Lane, now: Tick) -> Stay {
        let so_far = self.leave(stay, now);
        self.bring(lane, so_far, now)
    }

    /// It waits no more; what it has waited.
    pub fn leave(&mut self, stay: Stay, now: Tick) -> Waits {
        let sums = &mut self.0[stay.lane as usize];
        sums.waiting -= 1;
        sums.bases = sums.bases.minus(stay.base);
        sums.read(now).minus(stay.base)
    }

    /// From now on those in the lane wait for this.
    pub fn turn(&mut self, lane: Lane, reason: Reason, now: Tick) {
        let sums = &mut self.0[lane as usize];
        sums.spent = sums.read(now);
        sums.since = sums.since.max(now);
        sums.reason = reason;
    }

    /// What those in the lane wait for.
    pub fn reason(&self, lane: Lane) -> Reason {
        self.0[lane as usize].reason
    }

    /// What all who wait now have waited together.
    pub fn total(&self, now: Tick) -> Waits {
        self.0.iter().fold(Waits::default(), |total, sums| {
            let all = sums.read(now).0.map(|nanos| nanos.wrapping_mul(sums.waiting));
            total.plus(Waits(all).minus(sums.bases))
        })
    }

    fn bring(&mut self, lane: Lane, so_far: Waits, now: Tick) -> Stay {
        let sums = &mut self.0[lane as usize];
        let base = sums.read(now).minus(so_far);
        sums.waiting += 1;
        sums.bases = sums.bases.plus(base);
        Stay { lane, base }
    }
}

impl Sums {
    fn read(&self, now: Tick) -> Waits {
        let mut read = self.spent;
        let open = now.since(self.since).as_nanos() as u64;
        let sum = &mut read.0[self.reason as usize];
        *sum = sum.wrapping_add(open);
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Tick {
        Tick::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_wait_whose_reason_changes_is_split_and_one_that_comes_later_has_its_own_share() {
        let mut ledger = Ledger::default();
        ledger.turn(Lane::Line, Reason::Pace, at(1000));
        let first = ledger.enter(Lane::Line, at(1000));
        ledger.turn(Lane::Line, Reason::Pause, at(3000));
        let second = ledger.enter(Lane::Line, at(4000));
        ledger.turn(Lane::Line, Reason::Concurrency, at(9000));
        let check = |waits: Waits, pace, pause, concurrency| {
            let found = [Reason::Pace, Reason::Pause, Reason::Concurrency]
                .map(|reason| waits.of(reason).as_millis());
            assert_eq!(found, [pace, pause, concurrency]);
        };
        check(ledger.total(at(9500)), 2000, 11_000, 1000);
        check(ledger.leave(first, at(10_000)), 2000, 6000, 1000);
        check(ledger.total(at(10_000)), 0, 5000, 1000);
        check(ledger.leave(second, at(11_000)), 0, 5000, 2000);
        assert_eq!(ledger.total(at(99_000)), Waits::default());
    }

    #[test]
    fn who_changes_lanes_takes_along_what_it_waited() {
        let mut ledger = Ledger::default();
        let stay = ledger.enter(Lane::Apart, at(1000));
        let stay = ledger.change(stay, Lane::Line, at(3000));
        let stay = ledger.change(stay, Lane::Closing, at(6000));
        let waits = ledger.leave(stay, at(7000));
        assert_eq!(waits.of(Reason::Request), Duration::from_secs(2));
        assert_eq!(waits.of(Reason::Pace), Duration::from_secs(4));
        assert_eq!(waits.total(), Duration::from_secs(6));
    }

    proptest! {
        #[test]
        fn the_parts_of_every_wait_add_up_to_it(
            steps in proptest::collection::vec((0u8..4, 0usize..5, 0u64..5000), 1..80),
        ) {
            let (mut ledger, mut now) = (Ledger::default(), 1_000_000);
            let mut waiters: Vec<(Stay, u64)> = Vec::new();
            for (what, which, pass) in steps {
                now += pass;
                match what {
                    0 => waiters.push((ledger.enter(Lane::Line, at(now)), now)),
                    1 if !waiters.is_empty() => {
                        let (stay, began) = waiters.remove(which % waiters.len());
                        let waited = ledger.leave(stay, at(now)).total();
                        prop_assert_eq!(waited, Duration::from_millis(now - began));
                    }
                    2 if !waiters.is_empty() => {
                        let place = which % waiters.len();
                        let lane = [Lane::Apart, Lane::Line, Lane::Closing][which % 3];
                        waiters[place].0 = ledger.change(waiters[place].0, lane, at(now));
                    }
                    _ => ledger.turn(Lane::Line, Reason::ALL[which], at(now)),
                }
                let open: u64 = waiters.iter().map(|(_, began)| now - began).sum();
                prop_assert_eq!(ledger.total(at(now)).total(), Duration::from_millis(open));
            }
        }
    }
}
