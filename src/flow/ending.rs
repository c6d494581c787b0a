//! Every ending of a request that is not the origin's own answer, as one table: status, error,
//! kind, what happened and what to do.
//!
//! This room only knows the words; `reply` makes a response of them.

use crate::judge::outcome::{Fault, FaultKind};
use crate::metrics::labels::RequestOutcome;
use crate::pace::scope::Host;
use http::StatusCode;
use std::time::Duration;

/// How a request ended without an answer of its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub case: Case,
    /// What happened, for people: names the host and the cause, no secrets.
    pub what: String,
    /// When to come back; on every 503 and 429.
    pub retry_after: Option<Duration>,
    /// The origin's status where we could not pass its answer on.
    pub received: Option<StatusCode>,
    /// What to do, where that is not the case's.
    pub advice: Option<&'static str>,
}

/// The cases there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Case {
    /// The connection could not be set up in time, to the end of the window.
    ConnectTimeout,
    /// No answer in time, to the end of the window.
    ResponseTimeout,
    Refused,
    Terminated,
    /// The answer broke off before it could be passed on.
    Incomplete,
    Dns,
    DnsTimeout,
    Certificate,
    Tls,
    /// The origin ended TLS with an alert.
    TlsAlert,
    Unreachable,
    NotHttp,
    HeadTooLarge,
    UpgradeFailed,
    /// A stated deadline, or the window, ends before the pace allows an attempt.
    Infeasible,
    /// The scope's, the client's or the whole line is full.
    LineFull,
    ShuttingDown,
    /// The site is paused, and the preset answers that.
    Paused,
    /// Denied by port or name.
    Denied,
    /// Denied by address.
    Prohibited,
    Loop,
    /// What the client sent can't be understood, or not safely.
    BadRequest(StatusCode),
    Internal,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub status: StatusCode,
    /// RFC 9209 §2.3.
    pub error: &'static str,
    pub kind: &'static str,
    pub title: &'static str,
    /// What to do.
    pub advice: &'static str,
}

impl Ending {
    /// An ending with what happened.
    pub fn new(case: Case, what: impl Into<String>) -> Ending {
        Ending { case, what: what.into(), retry_after: None, received: None, advice: None }
    }

    /// An ending of a request that was sent and never answered, when `what` ended: a 504,
    /// whichever way its attempts failed (spec 2.1). `last` is how the last one did.
    pub fn unanswered(host: &Host, what: &str, attempts: u32, last: Option<&Fault>) -> Ending {
        let case = match last.map(|fault| Case::of(&fault.kind)) {
            Some(case @ (Case::ConnectTimeout | Case::DnsTimeout)) => case,
            Some(_) | None => Case::ResponseTimeout,
        };
        let tries = if attempts == 1 { "1 attempt".into() } else { format!("{attempts} attempts") };
        let last = last.map_or_else(String::new, |fault| format!("; the last: {}", fault.detail));
        Ending::new(case, format!("{host} gave no answer before {what} ended ({tries}{last})"))
    }

    /// The same where the client stated the end itself.
    pub fn late(host: &Host, attempts: u32, last: Option<&Fault>) -> Ending {
        let ending = Ending::unanswered(host, "the stated deadline", attempts, last);
        Ending { advice: Some(DEADLINE), ..ending }
    }

    /// The case's row, with this ending's own advice if it has one.
    pub fn row(&self) -> Row {
        let row = self.case.row();
        Row { advice: self.advice.unwrap_or(row.advice), ..row }
    }

    /// With a time to come back.
    pub fn after(mut self, wait: Duration) -> Ending {
        self.retry_after = Some(wait);
        self
    }
}

impl Case {
    /// Every case; a bad request stands for all its statuses.
    pub const ALL: [Case; 23] = [
        Case::ConnectTimeout,
        Case::ResponseTimeout,
        Case::Refused,
        Case::Terminated,
        Case::Incomplete,
        Case::Dns,
        Case::DnsTimeout,
        Case::Certificate,
        Case::Tls,
        Case::TlsAlert,
        Case::Unreachable,
        Case::NotHttp,
        Case::HeadTooLarge,
        Case::UpgradeFailed,
        Case::Infeasible,
        Case::LineFull,
        Case::ShuttingDown,
        Case::Paused,
        Case::Denied,
        Case::Prohibited,
        Case::Loop,
        Case::BadRequest(StatusCode::BAD_REQUEST),
        Case::Internal,
    ];

    /// The case a fault ends in.
    pub const fn of(fault: &FaultKind) -> Case {
        match fault {
            FaultKind::ConnectTimeout => Case::ConnectTimeout,
            FaultKind::ResponseTimeout | FaultKind::Abandoned => Case::ResponseTimeout,
            FaultKind::Reset | FaultKind::RefusedStream | FaultKind::Calm => Case::Terminated,
            FaultKind::Truncated | FaultKind::Stuck => Case::Incomplete,
            FaultKind::Refused => Case::Refused,
            FaultKind::NoSuchName => Case::Dns,
            FaultKind::DnsTimeout => Case::DnsTimeout,
            FaultKind::Unreachable => Case::Unreachable,
            FaultKind::Certificate(_) => Case::Certificate,
            FaultKind::Tls(_) => Case::Tls,
            FaultKind::TlsAlert(_) => Case::TlsAlert,
            FaultKind::NotHttp(_) => Case::NotHttp,
            FaultKind::HeadTooLarge => Case::HeadTooLarge,
            FaultKind::UpgradeFailed => Case::UpgradeFailed,
            FaultKind::NoDescriptor => Case::LineFull,
            FaultKind::Prohibited(_) => Case::Prohibited,
            FaultKind::OwnListener => Case::Loop,
            FaultKind::ClientBody => Case::BadRequest(StatusCode::BAD_REQUEST),
        }
    }

    /// How the request counts that ended so.
    pub const fn outcome(self) -> RequestOutcome {
        match self {
            Case::ConnectTimeout
            | Case::ResponseTimeout
            | Case::Refused
            | Case::Terminated
            | Case::Incomplete
            | Case::Dns
            | Case::DnsTimeout
            | Case::Certificate
            | Case::Tls
            | Case::TlsAlert
            | Case::Unreachable
            | Case::NotHttp
            | Case::HeadTooLarge
            | Case::UpgradeFailed => RequestOutcome::GaveUp,
            Case::Infeasible
            | Case::LineFull
            | Case::ShuttingDown
            | Case::Paused
            | Case::Denied
            | Case::Prohibited
            | Case::Loop
            | Case::BadRequest(_)
            | Case::Internal => RequestOutcome::Refused,
        }
    }

    /// The case's row of the table (spec section 9).
    #[expect(clippy::too_many_lines, reason = "a table, to be read against spec section 9")]
    pub const fn row(self) -> Row {
        use StatusCode as S;
        match self {
            Case::ConnectTimeout => row(
                S::GATEWAY_TIMEOUT,
                "connection_timeout",
                "target_timeout",
                "The site could not be reached in time",
                "Try later; a longer window is `retry.window` or the request header Pace-Window.",
            ),
            Case::ResponseTimeout => row(
                S::GATEWAY_TIMEOUT,
                "http_response_timeout",
                "target_timeout",
                "The site gave no answer in time",
                "Try later; a longer window is `retry.window` or the request header Pace-Window.",
            ),
            Case::Refused => unavailable("connection_refused", "The site refused the connection"),
            Case::Terminated => {
                unavailable("connection_terminated", "The site closed the connection")
            }
            Case::Incomplete => {
                unavailable("http_response_incomplete", "The site's answer broke off")
            }
            Case::Dns => unavailable("dns_error", "The site's name was not found"),
            Case::DnsTimeout => row(
                S::GATEWAY_TIMEOUT,
                "dns_timeout",
                "target_timeout",
                "The site's name could not be looked up in time",
                "Check this machine's resolver, or try later.",
            ),
            Case::Certificate => row(
                S::BAD_GATEWAY,
                "tls_certificate_error",
                "target_unavailable",
                "The site's certificate does not hold",
                "Nothing was sent. For a private CA `tls.roots` names a file of roots to trust instead.",
            ),
            Case::Tls => unavailable("tls_protocol_error", "TLS with the site failed"),
            Case::TlsAlert => unavailable("tls_alert_received", "The site refused TLS with us"),
            Case::Unreachable => {
                unavailable("destination_unavailable", "There is no way to the site")
            }
            Case::NotHttp => unavailable("http_protocol_error", "The site's answer can't be used"),
            Case::HeadTooLarge => unavailable(
                "http_response_header_section_size",
                "The head of the site's answer is too large",
            ),
            Case::UpgradeFailed => {
                unavailable("http_upgrade_failed", "The site switched to something not asked for")
            }
            Case::Infeasible => row(
                S::SERVICE_UNAVAILABLE,
                "destination_unavailable",
                "deadline_infeasible",
                "The site's pace leaves no slot in the time there is",
                "Come back after Retry-After, or allow more time.",
            ),
            Case::LineFull => row(
                S::SERVICE_UNAVAILABLE,
                "connection_limit_reached",
                "line_full",
                "Too many requests wait already",
                "Send fewer at once, or raise `limits.held` and its kin.",
            ),
            Case::ShuttingDown => row(
                S::SERVICE_UNAVAILABLE,
                "proxy_internal_response",
                "shutting_down",
                "The proxy is shutting down",
                "Repeat the request when it is back.",
            ),
            Case::Paused => row(
                S::TOO_MANY_REQUESTS,
                "http_request_denied",
                "target_rate_limited",
                "The site has asked for a pause",
                "Come back after Retry-After. Other presets hold such requests instead.",
            ),
            Case::Denied => row(
                S::FORBIDDEN,
                "http_request_denied",
                "denied",
                "This target is not allowed here",
                "See `tunnel.deny_ports` and `destinations` in the proxy's configuration.",
            ),
            Case::Prohibited => row(
                S::FORBIDDEN,
                "destination_ip_prohibited",
                "url_not_allowed",
                "This address is not allowed here",
                "Private addresses are denied to other machines; `destinations.allow` opens them.",
            ),
            Case::Loop => row(
                S::BAD_GATEWAY,
                "proxy_loop_detected",
                "loop",
                "The request leads back to this proxy",
                "Check the URL. Its own pages are at http://pacegate.internal/ through the proxy.",
            ),
            Case::BadRequest(status) => row(
                status,
                "http_request_error",
                "bad_request",
                "The request can't be passed on",
                "Nothing was sent. Mend the request as the text says.",
            ),
            Case::Internal => row(
                S::INTERNAL_SERVER_ERROR,
                "proxy_internal_error",
                "internal_error",
                "The proxy failed",
                "This is a bug of the proxy: please report it with its log.",
            ),
        }
    }
}

const fn row(
    status: StatusCode,
    error: &'static str,
    kind: &'static str,
    title: &'static str,
    advice: &'static str,
) -> Row {
    Row { status, error, kind, title, advice }
}

const fn unavailable(error: &'static str, title: &'static str) -> Row {
    row(
        StatusCode::BAD_GATEWAY,
        error,
        "target_unavailable",
        title,
        "The proxy did not wait for this: it does not pass by itself.",
    )
}

const DEADLINE: &str = "The request's own deadline ended it (Pace-Deadline, Prefer: wait, or \
    deadline= in the proxy's user name): state a later one, or none.";
