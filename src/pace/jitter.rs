//! Factors and scatter: exact arithmetic on spans. Chance is an argument.
//!
//! Millionths in whole numbers, not floats: rules can be compared, and the same chance makes the
//! same span on every machine.

use std::time::Duration;

/// A factor, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor(u64);

impl Factor {
    /// What a span is multiplied by; nothing for numbers that are none, negative or over a million.
    pub fn new(factor: f64) -> Option<Factor> {
        let millionths = (factor * MILLION as f64).round();
        let fits = (0.0..=1e12).contains(&millionths);
        fits.then_some(Factor(millionths as u64))
    }

    /// A whole number.
    pub const fn whole(factor: u32) -> Factor {
        Factor(factor as u64 * MILLION as u64)
    }

    /// A half.
    pub const HALF: Factor = Factor(500_000);

    /// Whether a span grows by it.
    pub const fn grows(self) -> bool {
        self.0 > MILLION as u64
    }

    /// The span times the factor, rounded up.
    pub fn times(self, span: Duration) -> Duration {
        nanos((span.as_nanos() * u128::from(self.0)).div_ceil(MILLION))
    }

    /// The span through the factor, rounded up; itself if the factor is nothing.
    pub fn through(self, span: Duration) -> Duration {
        match self.0 {
            0 => span,
            factor => nanos((span.as_nanos() * MILLION).div_ceil(u128::from(factor))),
        }
    }
}

/// How far a span may be from what it is said to be: from `low` to `high`, in millionths of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jitter {
    low: i32,
    high: i32,
}

impl Jitter {
    /// Every span is what it is said to be.
    pub const NONE: Jitter = Jitter { low: 0, high: 0 };

    /// From `low` to `high`, as fractions (−0.1 and 0.3: nine tenths to thirteen tenths). Nothing
    /// if the first is the larger, a span could become negative, or a number is none.
    pub fn new(low: f64, high: f64) -> Option<Jitter> {
        let fits = -1.0 <= low && low <= high && high <= MOST;
        let millionths = |fraction: f64| (fraction * MILLION as f64).round() as i32;
        fits.then(|| Jitter { low: millionths(low), high: millionths(high) })
    }

    /// ± a tenth.
    pub const TENTH: Jitter = Jitter { low: -100_000, high: 100_000 };

    /// Whether spans are what they are said to be.
    pub const fn is_none(self) -> bool {
        self.low == 0 && self.high == 0
    }

    /// The same without what makes spans shorter.
    pub fn upwards(self) -> Jitter {
        Jitter { low: self.low.max(0), high: self.high.max(0) }
    }

    /// Its two ends, as fractions.
    pub fn ends(self) -> (f64, f64) {
        let fraction = |millionths: i32| f64::from(millionths) / MILLION as f64;
        (fraction(self.low), fraction(self.high))
    }

    /// The span, by a chance that is drawn evenly from all there are.
    pub fn apply(self, span: Duration, chance: u32) -> Duration {
        let range = i64::from(self.high) - i64::from(self.low);
        let share = i64::from(self.low) + ((range * i64::from(chance)) >> 32);
        // At least nothing: `low` is at least −1.
        let factor = (MILLION as i64 + share).max(0) as u128;
        nanos((span.as_nanos() * factor).div_ceil(MILLION))
    }

    /// The shortest that it makes of a span.
    pub fn shortest(self, span: Duration) -> Duration {
        self.apply(span, 0)
    }
}

fn nanos(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

const MILLION: u128 = 1_000_000;
/// Of a span of a year some 40 years: far from where moments end.
const MOST: f64 = 40.0;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn secs(secs: f64) -> Duration {
        Duration::from_secs_f64(secs)
    }

    proptest! {
        #[test]
        fn a_span_stays_within_its_jitter(
            span in 0u64..10_000_000_000, low in -1.0f64..=0.5, width in 0.0f64..2.0, chance: u32,
        ) {
            let jitter = Jitter::new(low, low + width).unwrap();
            let span = Duration::from_nanos(span);
            let made = jitter.apply(span, chance).as_nanos() as f64;
            let of = |fraction: f64| span.as_nanos() as f64 * (1.0 + fraction);
            // A millionth is the resolution.
            prop_assert!(made >= of(low - 1e-6) - 1.0 && made <= of(low + width + 1e-6) + 1.0);
            prop_assert!(jitter.shortest(span) <= jitter.apply(span, chance));
        }

        #[test]
        fn nothing_overflows(nanos: u64, factor in 0.0f64..1e6, chance: u32) {
            let (span, factor) = (Duration::from_nanos(nanos), Factor::new(factor).unwrap());
            let _ = (factor.times(span), factor.through(span));
            let _ = Jitter::new(-1.0, MOST).unwrap().apply(span, chance);
        }
    }

    #[test]
    fn the_ends_of_the_chance_are_the_ends_of_the_jitter() {
        let pair = Jitter::new(-0.1, 0.3).unwrap();
        assert_eq!(pair.apply(secs(10.0), 0), secs(9.0));
        assert_eq!(pair.apply(secs(10.0), 1 << 31), secs(11.0));
        assert!(pair.apply(secs(10.0), u32::MAX) > secs(12.999));
        assert_eq!(Jitter::NONE.apply(secs(10.0), 77), secs(10.0));
    }

    #[test]
    fn what_is_no_jitter_or_factor_is_not_made() {
        for (low, high) in [(0.2, 0.1), (-1.1, 0.0), (0.0, f64::INFINITY), (f64::NAN, 0.0)] {
            assert_eq!(Jitter::new(low, high), None, "{low} {high}");
        }
        for factor in [-1.0, f64::NAN, f64::INFINITY, 1e7] {
            assert_eq!(Factor::new(factor), None, "{factor}");
        }
        assert!(Factor::new(1.2).unwrap().grows() && !Factor::HALF.grows());
    }

    #[test]
    fn what_was_multiplied_is_itself_again_when_it_is_divided() {
        let factor = Factor::new(1.2).unwrap();
        let span = factor.times(factor.times(secs(1.0)));
        assert_eq!(span, secs(1.44));
        assert_eq!(factor.through(factor.through(span)), secs(1.0));
    }
}
