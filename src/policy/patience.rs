//! How long clients wait before they leave, learnt from their leaving: two departures at the same
//! age are a time-out, not chance.
//!
//! Clients are keys here; who they are is made out elsewhere. Time is an argument.

use crate::clock::Tick;
use crate::policy::recent::Recent;
use std::time::Duration;

/// What is done with a patience that was learnt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Patience {
    /// It is shown.
    #[default]
    Learn,
    /// What can't start in time is refused at once.
    Enforce,
}

/// How long clients have waited, and what that says.
#[derive(Debug)]
pub struct Habits(Recent<Habit>);

#[derive(Clone, Copy, Debug)]
struct Habit {
    /// The age of the last departure, and when that was.
    age: Duration,
    at: Tick,
    patience: Option<Duration>,
}

impl Default for Habits {
    fn default() -> Habits {
        Habits(Recent::new(MOST))
    }
}

impl Habits {
    /// A client left after so long; its patience, if that is how it is known now and wasn't before.
    pub fn left(&mut self, client: u64, age: Duration, now: Tick) -> Option<Duration> {
        if age < LEAST {
            return None;
        }
        let before = self.0.get(client).copied().filter(|habit| habit.is_fresh(now));
        let known = before.and_then(|habit| habit.patience).filter(|known| !outlasts(age, *known));
        let same = before.filter(|habit| !outlasts(age, habit.age) && !outlasts(habit.age, age));
        let patience = known.or(same.map(|habit| habit.age.min(age)));
        self.0.put(client, Habit { age, at: now, patience });
        patience.filter(|_| known.is_none())
    }

    /// A client was still there after so long: if it was known to leave before, it isn't any more.
    pub fn stayed(&mut self, client: u64, age: Duration) {
        if let Some(habit) = self.0.get_mut(client) {
            habit.patience = habit.patience.filter(|known| !outlasts(age, *known));
        }
    }

    /// How long a client waits, if that is known. Forgotten some time after it left last, for it may
    /// have been told otherwise.
    pub fn patience(&self, client: u64, now: Tick) -> Option<Duration> {
        self.0.get(client).filter(|habit| habit.is_fresh(now))?.patience
    }
}

impl Habit {
    fn is_fresh(&self, now: Tick) -> bool {
        now.since(self.at) < FRESH
    }
}

/// Whether one age is longer than another by more than the same time-out ever is (spec section 5: 3 %).
fn outlasts(age: Duration, other: Duration) -> bool {
    age > other + other.mul_f64(0.03)
}

/// Clients, programs and hosts of which something is known.
const MOST: usize = 10_000;
/// Who leaves sooner has changed its mind.
const LEAST: Duration = Duration::from_millis(500);
const FRESH: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Tick {
        Tick::ZERO + Duration::from_secs(seconds)
    }

    /// Plays departures at these ages, in milliseconds; what is known after each.
    #[track_caller]
    fn check(ages: &[(u64, Option<u64>)]) {
        let mut habits = Habits::default();
        for (place, (age, want)) in ages.iter().enumerate() {
            let now = at(10 * place as u64);
            habits.left(1, Duration::from_millis(*age), now);
            let known = habits.patience(1, now).map(|known| known.as_millis());
            assert_eq!(known, want.map(u128::from), "{place}: {age}");
        }
    }

    #[test]
    fn two_departures_at_the_same_age_are_a_patience() {
        check(&[(5000, None), (5120, Some(5000)), (700, Some(5000)), (4990, Some(5000))]);
        check(&[(5000, None), (5200, None), (10_000, None), (9800, Some(9800))]);
        check(&[(5000, None), (5000, Some(5000)), (9000, None), (9000, Some(9000))]);
        check(&[(100, None), (100, None)]);
    }

    #[test]
    fn it_is_said_once_and_forgotten_when_it_is_not_so() {
        let mut habits = Habits::default();
        let five = Duration::from_secs(5);
        assert_eq!(habits.left(1, five, at(0)), None);
        assert_eq!(habits.left(1, five, at(9)), Some(five));
        assert_eq!(habits.left(1, five, at(18)), None, "known");
        assert_eq!(habits.patience(2, at(18)), None, "another's");
        habits.stayed(1, Duration::from_secs(4));
        assert_eq!(habits.patience(1, at(20)), Some(five));
        habits.stayed(1, Duration::from_secs(6));
        assert_eq!(habits.patience(1, at(20)), None);
        assert_eq!(habits.left(1, five, at(30)), Some(five));
        assert_eq!(habits.patience(1, at(629)), Some(five));
        assert_eq!(habits.patience(1, at(630)), None, "ten minutes later");
    }
}
