//! The only reader of time. Everybody else is handed a [`Tick`] or a [`Clock`].
//!
//! Pacing runs on a monotonic clock: a jump of the wall clock moves no slot. The wall clock is read
//! for dates in headers and certificates only.

#![expect(clippy::disallowed_methods, reason = "this is the room the lint points to")]

use std::ops::{Add, Sub};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// A moment: nanoseconds since the process's clock began. Good for 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(u64);

impl Tick {
    /// The moment the clock began.
    pub const ZERO: Tick = Tick(0);
    /// Later than any moment that comes.
    pub const NEVER: Tick = Tick(u64::MAX);

    /// A moment from its nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Tick {
        Tick(nanos)
    }

    /// Nanoseconds since the clock began.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; nothing if it is before.
    pub const fn since(self, earlier: Tick) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Tick {
    type Output = Tick;
    fn add(self, span: Duration) -> Tick {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Tick(self.0.saturating_add(nanos))
    }
}

impl Sub<Duration> for Tick {
    type Output = Tick;
    fn sub(self, span: Duration) -> Tick {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Tick(self.0.saturating_sub(nanos))
    }
}

/// A source of moments. Cloning is cheap; clones agree.
#[derive(Clone, Debug)]
pub struct Clock {
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Runtime { began: tokio::time::Instant },
    Hand { nanos: Arc<AtomicU64>, wall_began: SystemTime },
}

impl Clock {
    /// The runtime's monotonic clock (virtual where a test has paused it). Begins a month in, so that
    /// moments before the start of the process can be named: of a quota's window, for one.
    pub fn runtime() -> Clock {
        Clock { source: Source::Runtime { began: tokio::time::Instant::now() } }
    }

    /// A clock that moves when its [`Hand`] does, for tests and simulations.
    pub fn by_hand() -> (Clock, Hand) {
        let nanos = Arc::new(AtomicU64::new(HEAD_START.as_nanos() as u64));
        let wall_began = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_003_600) - HEAD_START;
        let clock = Clock { source: Source::Hand { nanos: nanos.clone(), wall_began } };
        (clock, Hand { nanos })
    }

    /// The moment it is.
    pub fn now(&self) -> Tick {
        match &self.source {
            Source::Runtime { began } => BEGINNING + began.elapsed(),
            Source::Hand { nanos, .. } => Tick(nanos.load(Ordering::Relaxed)),
        }
    }

    /// The wall clock: for dates in headers and certificates.
    pub fn wall(&self) -> SystemTime {
        match &self.source {
            Source::Runtime { .. } => SystemTime::now(),
            Source::Hand { nanos, wall_began } => {
                *wall_began + Duration::from_nanos(nanos.load(Ordering::Relaxed))
            }
        }
    }

    /// Sleeps until `moment`; never wakes before it. A clock moved by hand does not sleep.
    pub async fn sleep_until(&self, moment: Tick) {
        match &self.source {
            Source::Runtime { began } => {
                if moment == Tick::NEVER {
                    return std::future::pending().await;
                }
                let offset = (moment - HEAD_START).since(Tick::ZERO);
                tokio::time::sleep_until(*began + offset).await;
            }
            Source::Hand { .. } => {
                while self.now() < moment {
                    tokio::task::yield_now().await;
                }
            }
        }
    }
}

/// Moves a clock made [`by_hand`](Clock::by_hand).
#[derive(Clone, Debug)]
pub struct Hand {
    nanos: Arc<AtomicU64>,
}

impl Hand {
    /// Moves the clock forward.
    pub fn advance(&self, span: Duration) {
        self.nanos.fetch_add(span.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Sets the clock, backwards too: what tests of clock jumps need.
    pub fn set(&self, moment: Tick) {
        self.nanos.store(moment.nanos(), Ordering::Relaxed);
    }
}

/// Moments before the start of the process can be named this far back.
const HEAD_START: Duration = Duration::from_secs(32 * 86_400);
const BEGINNING: Tick = Tick(HEAD_START.as_nanos() as u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_never_overflow_and_differences_never_go_below_nothing() {
        assert_eq!(Tick::NEVER + Duration::MAX, Tick::NEVER);
        assert_eq!(Tick::ZERO - Duration::from_secs(1), Tick::ZERO);
        assert_eq!(Tick::ZERO.since(Tick::NEVER), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn sleeps_until_the_moment_and_not_less() {
        let clock = Clock::runtime();
        let moment = clock.now() + Duration::from_millis(1500);
        clock.sleep_until(moment).await;
        assert!(clock.now() >= moment);
    }
}
