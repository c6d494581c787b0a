//! Is it our own line that is down? Connect time-outs to many hosts with nothing reached are no
//! site's fault: climbing then would leave every crawl on a rung after a cut of ours.

use crate::clock::Tick;
use std::time::Duration;

/// The hosts that last timed out: as many as it takes, and no more.
#[derive(Clone, Debug, Default)]
pub struct Ourselves {
    seen: [Option<Seen>; HOSTS],
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    host: u64,
    at: Tick,
}

impl Ourselves {
    /// Notes that setting up a connection to a host (its hash) timed out. True if that is our own
    /// trouble: [`HOSTS`] hosts or more within [`SPAN`], and no connection to any host came about
    /// in it. `reached` is the last moment one did.
    pub fn timed_out(&mut self, host: u64, now: Tick, reached: Option<Tick>) -> bool {
        self.note(Seen { host, at: now });
        let recent = |at: Tick| now.since(at) <= SPAN;
        let unreached = !reached.is_some_and(recent);
        unreached && self.seen.iter().flatten().filter(|seen| recent(seen.at)).count() >= HOSTS
    }

    /// A host has one place; a new one takes an empty place, else the oldest.
    fn note(&mut self, new: Seen) {
        let same = self.seen.iter().position(|place| place.is_some_and(|s| s.host == new.host));
        let oldest = || (0..HOSTS).min_by_key(|at| self.seen[*at].map(|seen| seen.at));
        if let Some(place) = same.or_else(oldest) {
            self.seen[place] = Some(new);
        }
    }
}

/// Spec section 3.
const HOSTS: usize = 5;
/// Spec section 3.
const SPAN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn second(at: u64) -> Tick {
        Tick::ZERO + Duration::from_secs(100 + at)
    }

    /// Time-outs as (host, second); what the last of them came to.
    #[track_caller]
    fn check(timeouts: &[(u64, u64)], reached: Option<u64>, want: bool) {
        let mut ours = Ourselves::default();
        let mut last = false;
        for (host, at) in timeouts {
            last = ours.timed_out(*host, second(*at), reached.map(second));
        }
        assert_eq!(last, want, "{timeouts:?} {reached:?}");
    }

    const FIVE: [(u64, u64); 5] = [(1, 0), (2, 1), (3, 2), (4, 3), (5, 10)];

    #[test]
    fn five_hosts_in_ten_seconds_with_nothing_reached_are_our_own_trouble() {
        check(&FIVE, None, true);
        check(&FIVE[..4], None, false);
        check(&[(1, 0), (2, 1), (3, 2), (4, 3), (5, 11)], None, false);
    }

    #[test]
    fn one_host_counts_once_however_often_it_times_out() {
        check(&[(1, 0), (1, 1), (1, 2), (1, 3), (1, 4), (1, 5)], None, false);
        check(&[(1, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (1, 6)], None, true);
    }

    #[test]
    fn any_host_reached_in_that_time_clears_us() {
        check(&FIVE, Some(5), false);
        check(&FIVE, Some(0), false);
        let later: Vec<_> = FIVE.iter().map(|(host, at)| (*host, at + 1)).collect();
        check(&later, Some(0), true);
    }

    #[test]
    fn more_hosts_than_places_push_out_the_oldest() {
        let many: Vec<_> = (0..50).map(|host| (host, host / 10)).collect();
        check(&many, None, true);
        let slow: Vec<_> = (0..50).map(|host| (host, host * 3)).collect();
        check(&slow, None, false);
    }
}
