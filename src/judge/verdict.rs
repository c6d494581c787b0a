//! The classes an outcome can fall into, and what a verdict asks of the pace and the request.

use std::time::Duration;

/// What an attempt was classed as. The names are metric and log values: they don't change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    Blocked,
    ExplicitWait,
    ServedWait,
    RateLimited,
    Overloaded,
    ConnectTimeout,
    ResponseTimeout,
    Abandoned,
    Reset,
    Truncated,
    Soft,
    Refused,
    Dns,
    Tls,
    Unreachable,
    Denied,
    Served,
    ClientGone,
}

impl Class {
    /// Every class, in the order of the table.
    pub const ALL: [Class; 18] = [
        Class::Blocked,
        Class::ExplicitWait,
        Class::ServedWait,
        Class::RateLimited,
        Class::Overloaded,
        Class::ConnectTimeout,
        Class::ResponseTimeout,
        Class::Abandoned,
        Class::Reset,
        Class::Truncated,
        Class::Soft,
        Class::Refused,
        Class::Dns,
        Class::Tls,
        Class::Unreachable,
        Class::Denied,
        Class::Served,
        Class::ClientGone,
    ];

    /// The word for logs, metrics and configuration.
    pub const fn word(self) -> &'static str {
        match self {
            Class::Blocked => "blocked",
            Class::ExplicitWait => "explicit_wait",
            Class::ServedWait => "served_wait",
            Class::RateLimited => "rate_limited",
            Class::Overloaded => "overloaded",
            Class::ConnectTimeout => "connect_timeout",
            Class::ResponseTimeout => "response_timeout",
            Class::Abandoned => "abandoned",
            Class::Reset => "reset",
            Class::Truncated => "truncated",
            Class::Soft => "soft",
            Class::Refused => "refused",
            Class::Dns => "dns",
            Class::Tls => "tls",
            Class::Unreachable => "unreachable",
            Class::Denied => "denied",
            Class::Served => "served",
            Class::ClientGone => "client_gone",
        }
    }
}

/// What a verdict does to the rung of its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaceMove {
    Nothing,
    StepDown,
    Climb,
}

/// Whether the request may go round again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Deliver what there is, or answer for the fault.
    No,
    /// Again, inside the window, if the request can be sent twice.
    InWindow,
}

/// What an outcome meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub class: Class,
    pub pace: PaceMove,
    /// The server named a wait: nobody starts in the scope before it is over.
    pub pause: Option<Duration>,
    pub repeat: Repeat,
    /// Whether the failure may be a single page's (spec 2.10): a 5xx other than 503, a time-out, a
    /// break. Never a 429, a 503 or anything with a hint: those speak for the site.
    pub page_fault: PageFault,
}

/// Whether, and on what evidence, a failure may be one page's and not the site's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFault {
    /// It speaks for the site.
    No,
    /// The page's, if the scope has served another request since this request failed before.
    IfServedSince,
    /// The same, and an attempt that started later must have been served meanwhile.
    IfLaterServed,
    /// The same; or, as an attempt may be over too soon for that, the scope has served enough
    /// others since the request failed first, and nearly all.
    IfSingledOut,
}
