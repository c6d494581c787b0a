//! How much may be spent in a span, and how much has been: a window that begins with its first
//! spending. Time is an argument.
//!
//! The first of an unused window always goes, however much it costs; so a large cost waits for one
//! window at most, and what it leaves for the others is theirs in the next.

use crate::clock::Tick;
use std::time::Duration;

/// What a request spends of a quota, in millionths. Sums are exact, and none is no number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost(u64);

impl Cost {
    /// Nothing.
    pub const NONE: Cost = Cost(0);
    /// What a request costs that says nothing else.
    pub const ONE: Cost = Cost(MILLION);

    /// A cost; nothing for numbers that are negative, none, or over a million million.
    pub fn new(cost: f64) -> Option<Cost> {
        (0.0..=MOST).contains(&cost).then(|| Cost((cost * MILLION as f64).round() as u64))
    }

    /// Whether it is nothing.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The number, in millionths.
    pub const fn millionths(self) -> u64 {
        self.0
    }

    /// The number.
    pub fn amount(self) -> f64 {
        self.0 as f64 / MILLION as f64
    }
}

/// So much a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    pub amount: Cost,
    /// Not nothing.
    pub per: Duration,
}

/// What a window has spent so far. Before its first spending there is no window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    began: Option<Tick>,
    used: Cost,
}

/// What an answer says of a quota.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reconcile {
    /// So much more was spent than was thought; less, if it is negative.
    Consumed(f64),
    /// So much is left.
    Remaining(f64),
}

impl Spent {
    /// Nothing has been spent.
    pub const NOTHING: Spent = Spent { began: None, used: Cost::NONE };

    /// When something of this cost may go; [`Tick::ZERO`]: at any time. A clock that goes back
    /// leaves the window open.
    pub fn next(&self, quota: &Quota, cost: Cost) -> Tick {
        let (Some(began), false) = (self.began, self.used.is_none()) else { return Tick::ZERO };
        match self.used.0.saturating_add(cost.0) > quota.amount.0 {
            true => began + quota.per,
            false => Tick::ZERO,
        }
    }

    /// After something went at `now`.
    #[must_use]
    pub fn spend(self, quota: &Quota, cost: Cost, now: Tick) -> Spent {
        let open = self.at(quota, now);
        let used = Cost(open.used.0.saturating_add(cost.0));
        Spent { began: open.began.or(Some(now)), used }
    }

    /// After a start of this window was given back: it was not made.
    #[must_use]
    pub fn give_back(self, cost: Cost, started: Tick) -> Spent {
        match self.began {
            Some(began) if started >= began => {
                Spent { used: Cost(self.used.0.saturating_sub(cost.0)), ..self }
            }
            Some(_) | None => self,
        }
    }

    /// After an answer said what was spent or is left; never below nothing. A number that is none
    /// says nothing.
    #[must_use]
    pub fn reconcile(self, quota: &Quota, said: Reconcile, now: Tick) -> Spent {
        let open = self.at(quota, now);
        let used = match said {
            Reconcile::Remaining(left) => quota.amount.amount() - left,
            Reconcile::Consumed(more) => open.used.amount() + more,
        };
        if used.is_nan() {
            return open;
        }
        let used = Cost::new(used.clamp(0.0, MOST)).unwrap_or_default();
        Spent { began: open.began.or((!used.is_none()).then_some(now)), used }
    }

    /// The window as it is at a moment: one that has ended is none.
    #[must_use]
    pub fn at(self, quota: &Quota, now: Tick) -> Spent {
        match self.began {
            Some(began) if began + quota.per > now => self,
            Some(_) | None => Spent::NOTHING,
        }
    }

    /// When the window ends, if something was spent in it.
    pub fn ends(&self, quota: &Quota) -> Option<Tick> {
        self.began.filter(|_| !self.used.is_none()).map(|began| began + quota.per)
    }

    /// How much was spent.
    pub fn used(&self) -> Cost {
        self.used
    }
}

const MILLION: u64 = 1_000_000;
const MOST: f64 = 1e12;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: u64) -> Tick {
        Tick::ZERO + Duration::from_secs(seconds)
    }

    fn cost(cost: f64) -> Cost {
        Cost::new(cost).expect("a cost")
    }

    fn quota(amount: f64) -> Quota {
        Quota { amount: cost(amount), per: Duration::from_secs(60) }
    }

    /// Plays costs at moments: each goes at its moment, or is told when.
    #[track_caller]
    fn check(amount: f64, plays: &[(u64, f64, Option<u64>)]) {
        let (quota, mut spent) = (quota(amount), Spent::NOTHING);
        for (place, (now, price, held_until)) in plays.iter().enumerate() {
            let next = spent.at(&quota, at(*now)).next(&quota, cost(*price));
            let held = Some(next).filter(|next| *next > at(*now));
            assert_eq!(held, held_until.map(at), "{place}: {price} at {now}");
            if held.is_none() {
                spent = spent.spend(&quota, cost(*price), at(*now));
            }
        }
    }

    #[test]
    fn a_window_begins_with_its_first_spending_and_holds_what_does_not_fit() {
        check(
            10.0,
            &[
                (100, 4.5, None),
                (110, 5.5, None),
                (120, 0.1, Some(160)),
                (159, 0.000001, Some(160)),
                (160, 10.0, None),
                (200, 1.0, Some(220)),
            ],
        );
    }

    #[test]
    fn the_first_of_an_unused_window_goes_whatever_it_costs_and_the_next_waits() {
        check(10.0, &[(5, 25.0, None), (6, 0.5, Some(65)), (65, 0.5, None), (66, 9.5, None)]);
    }

    #[test]
    fn what_costs_nothing_goes_until_more_than_all_is_spent() {
        check(1.0, &[(1, 1.0, None), (2, 0.0, None)]);
        check(1.0, &[(1, 1.5, None), (2, 0.0, Some(61))]);
    }

    #[test]
    fn answers_correct_what_was_thought_and_never_below_nothing() {
        let quota = quota(100.0);
        let spent = Spent::NOTHING.spend(&quota, cost(10.0), at(1));
        let after = |said| spent.reconcile(&quota, said, at(2)).used().amount();
        assert_eq!(after(Reconcile::Consumed(2.5)), 12.5);
        assert_eq!(after(Reconcile::Consumed(-4.0)), 6.0);
        assert_eq!(after(Reconcile::Consumed(-40.0)), 0.0);
        assert_eq!(after(Reconcile::Remaining(30.0)), 70.0);
        assert_eq!(after(Reconcile::Remaining(130.0)), 0.0);
        assert_eq!(after(Reconcile::Remaining(-5.0)), 105.0);
        for none in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(after(Reconcile::Consumed(none)) >= 0.0);
        }
        let fresh = Spent::NOTHING.reconcile(&quota, Reconcile::Remaining(0.0), at(7));
        assert_eq!(fresh.next(&quota, cost(1.0)), at(67), "known before anything was sent");
    }

    #[test]
    fn what_is_given_back_was_not_spent_unless_its_window_is_over() {
        let quota = quota(10.0);
        let spent = Spent::NOTHING.spend(&quota, cost(6.0), at(1)).spend(&quota, cost(4.0), at(2));
        assert_eq!(spent.give_back(cost(4.0), at(2)).used(), cost(6.0));
        let later = spent.spend(&quota, cost(5.0), at(70));
        assert_eq!(later.give_back(cost(4.0), at(2)).used(), cost(5.0));
    }

    proptest! {
        /// In no window is more spent than the quota, a first one apart; with a clock that goes
        /// back as well.
        #[test]
        fn no_window_spends_more_than_the_quota_but_for_its_first(
            steps in proptest::collection::vec((0u64..30, 0u32..40, any::<bool>()), 1..100),
        ) {
            let (quota, mut spent) = (quota(20.0), Spent::NOTHING);
            let mut now = 100;
            for (pass, price, back) in steps {
                now = if back { now - pass.min(now) } else { now + pass };
                let price = cost(f64::from(price) / 2.0);
                let open = spent.at(&quota, at(now));
                if open.next(&quota, price) > at(now) {
                    prop_assert!(!open.used().is_none());
                    continue;
                }
                let first = open.used().is_none();
                spent = spent.spend(&quota, price, at(now));
                prop_assert!(first || spent.used() <= quota.amount);
            }
        }
    }
}
