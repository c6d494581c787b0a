//! What somebody else asks of a scope (a robots.txt), under whatever its own rules are: never faster
//! than either.

use crate::pace::rules::PaceRules;
use std::time::Duration;

/// At least so slow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// Between two starts.
    pub delay: Duration,
    /// Attempts at once.
    pub concurrency: Option<u32>,
}

impl Floor {
    /// Whether it asks for nothing.
    pub fn is_none(&self) -> bool {
        *self == Floor::default()
    }

    /// The rules with the floor under them. Scatter makes no delay shorter than the floor's.
    pub fn under(self, rules: &PaceRules) -> PaceRules {
        let most = [self.concurrency, rules.concurrency].into_iter().flatten().min();
        let delay = rules.delay.max(self.delay);
        let scattered = rules.jitter.shortest(delay) < self.delay;
        PaceRules {
            concurrency: most,
            min_concurrency: most
                .map_or(rules.min_concurrency, |most| rules.min_concurrency.min(most)),
            delay,
            slot_delay: rules.slot_delay.map(|rest| rest.max(delay)),
            jitter: if scattered { rules.jitter.upwards() } else { rules.jitter },
            ..rules.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::jitter::Jitter;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    // apache/stormcrawler#549: a delay of 0.2 s undercut the crawler's own.
    #[test]
    fn of_both_the_slower_counts() {
        let rules = PaceRules { concurrency: Some(8), delay: secs(2), ..PaceRules::default() };
        let floor = |delay, concurrency| Floor { delay, concurrency }.under(&rules);
        assert_eq!(floor(Duration::from_millis(200), None), rules);
        let slower = floor(secs(5), Some(1));
        assert_eq!((slower.delay, slower.concurrency), (secs(5), Some(1)));
        assert_eq!(floor(secs(1), Some(9)).concurrency, Some(8));
        assert_eq!(Floor::default().under(&rules), rules);
    }

    #[test]
    fn no_scatter_goes_below_the_floor() {
        let jitter = Jitter::new(-0.5, 0.5).unwrap();
        let rules = PaceRules { delay: secs(4), jitter, ..PaceRules::default() };
        let under = |delay| Floor { delay, concurrency: None }.under(&rules);
        assert_eq!(under(secs(2)).jitter, jitter);
        assert_eq!(under(secs(3)).jitter.ends(), (0.0, 0.5));
        assert_eq!(under(secs(9)).jitter.shortest(secs(9)), secs(9));
    }
}
