//! The whole of a run in plain numbers: for the summary at its end.

use crate::judge::verdict::Class;
use crate::metrics::labels::{Reason, RequestOutcome};
use crate::metrics::meter::Meter;
use std::time::Duration;

/// Plain numbers of a whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub requests: u64,
    /// Answered by the origin, with whatever status.
    pub answered: u64,
    pub given_up: u64,
    pub refused: u64,
    /// Left by their client.
    pub left: u64,
    /// Attempts beyond each request's first.
    pub repeated: u64,
    /// Tunnels copied unread: each is a connection, with nobody knows how many requests.
    pub tunnels: u64,
    /// Time that requests which ended spent waiting, together.
    pub waits: Vec<(Reason, Duration)>,
    /// The host that was waited for longest.
    pub slowest: Option<Slowest>,
}

/// A host that was waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slowest {
    pub host: String,
    /// The highest it was on.
    pub rung: u8,
    /// The ladder's highest.
    pub top: u8,
    /// The commonest cause of its climbs, and how often.
    pub cause: Option<(Class, u64)>,
    pub longest_wait: Duration,
}

impl Meter {
    /// What has been counted since the start.
    pub fn totals(&self) -> Totals {
        let ended = |outcome| self.inner.ended(outcome);
        let waited = |reason: &Reason| (*reason, self.inner.waited(*reason));
        Totals {
            requests: RequestOutcome::ALL.iter().map(|outcome| ended(*outcome)).sum(),
            answered: ended(RequestOutcome::Served)
                + ended(RequestOutcome::Repeated)
                + ended(RequestOutcome::OriginError),
            given_up: ended(RequestOutcome::GaveUp),
            refused: ended(RequestOutcome::Refused),
            left: ended(RequestOutcome::ClientGone),
            repeated: self.inner.repeats.get(),
            tunnels: self.inner.unread(),
            waits: Reason::ALL.iter().map(waited).collect(),
            slowest: self.inner.hosts.slowest(self.inner.top),
        }
    }
}
