//! What a configuration changes in the table of verdicts (`verdicts`). The table itself stays as it is:
//! a status is judged as if it were another, a class does less or more than its row says.

use crate::judge::verdict::{Class, PaceMove, Repeat};
use http::StatusCode;

/// The changes; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amendments {
    /// Statuses from the first to the last, and the class they are taken for.
    statuses: Vec<(u16, u16, Class)>,
    changes: Vec<(Class, Change)>,
}

/// What a class does instead of what its row says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    pub pace: Option<PaceMove>,
    pub repeat: Option<Repeat>,
}

impl Amendments {
    /// Takes statuses for a class that has a [stand-in](stand_in). What was said first counts.
    pub fn take_for(&mut self, first: u16, last: u16, class: Class) {
        self.statuses.push((first, last, class));
    }

    /// Changes what a class does.
    pub fn change(&mut self, class: Class, change: Change) {
        if change != Change::default() {
            self.changes.push((class, change));
        }
    }

    /// The status that this one is judged as.
    pub fn meant(&self, status: StatusCode) -> StatusCode {
        let code = status.as_u16();
        let found = self.statuses.iter().find(|(first, last, _)| (*first..=*last).contains(&code));
        found.and_then(|(_, _, class)| stand_in(*class)).unwrap_or(status)
    }

    /// What a class does to the pace where its row says `pace`.
    pub fn pace(&self, class: Class, pace: PaceMove) -> PaceMove {
        self.of(class).pace.unwrap_or(pace)
    }

    /// Whether a class is repeated where its row says `repeat`.
    pub fn repeat(&self, class: Class, repeat: Repeat) -> Repeat {
        self.of(class).repeat.unwrap_or(repeat)
    }

    fn of(&self, class: Class) -> Change {
        let found = self.changes.iter().find(|(changed, _)| *changed == class);
        found.map(|(_, change)| *change).unwrap_or_default()
    }
}

/// The status that a class of answers is known by; `None` for classes that no status makes. What is
/// taken for `rate_limited` may so name a wait, and is then an `explicit_wait`.
pub const fn stand_in(class: Class) -> Option<StatusCode> {
    match class {
        Class::RateLimited => Some(StatusCode::TOO_MANY_REQUESTS),
        // Not 503, which speaks for the site: it may be one page's own fault.
        Class::Overloaded => Some(StatusCode::INTERNAL_SERVER_ERROR),
        Class::Soft => Some(StatusCode::REQUEST_TIMEOUT),
        Class::Served => Some(StatusCode::OK),
        Class::Blocked
        | Class::ExplicitWait
        | Class::ServedWait
        | Class::ConnectTimeout
        | Class::ResponseTimeout
        | Class::Abandoned
        | Class::Reset
        | Class::Truncated
        | Class::Refused
        | Class::Dns
        | Class::Tls
        | Class::Unreachable
        | Class::Denied
        | Class::ClientGone => None,
    }
}

/// Whether what a class does to the pace can be changed, and whether it is repeated.
pub const fn changeable(class: Class) -> (bool, bool) {
    match class {
        Class::Blocked
        | Class::ExplicitWait
        | Class::RateLimited
        | Class::Overloaded
        | Class::ConnectTimeout
        | Class::ResponseTimeout
        | Class::Reset
        | Class::Truncated
        | Class::Soft
        | Class::Refused
        | Class::Dns
        | Class::Tls
        | Class::Unreachable => (true, true),
        Class::Abandoned => (true, false),
        Class::ServedWait | Class::Denied | Class::Served | Class::ClientGone => (false, false),
    }
}
