//! What an attempt came to: the head of an answer, or a fault. Nothing here judges.

use http::{HeaderMap, StatusCode};
use std::fmt;
use std::net::IpAddr;
use std::time::SystemTime;

/// What an attempt came to.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// The origin answered; its body, if it is read whole before the verdict, is complete.
    Answer(Answer<'a>),
    /// It did not, or its answer broke off.
    Fault(&'a Fault),
}

/// The head of an origin's answer.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    pub status: StatusCode,
    pub headers: &'a HeaderMap,
    /// Our wall clock when the head arrived: used only where the answer has no `Date`.
    pub arrived: SystemTime,
}

/// Why there is no (whole) answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// Whether any byte of the request may have reached the origin.
    pub sent: Sent,
    /// A sentence for people: no secrets, no local paths.
    pub detail: String,
}

/// Whether any byte of the request may have reached the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Provably none: connect failures, REFUSED_STREAM, GOAWAY below the stream.
    Nothing,
    /// Perhaps all of it.
    Perhaps,
}

/// Where an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// TCP or TLS set-up not done in `retry.connect_timeout`.
    ConnectTimeout,
    /// No final head within `retry.response_timeout` of the last request byte.
    ResponseTimeout,
    /// Left by its client `retry.abandoned_after` or more after its start, with no head yet.
    Abandoned,
    /// Connection reset or closed before the head.
    Reset,
    /// The body broke off.
    Truncated,
    /// The body stood still for `retry.idle_timeout`.
    Stuck,
    /// The port refused the connection.
    Refused,
    /// The name has no address.
    NoSuchName,
    /// The resolver gave no answer in time.
    DnsTimeout,
    /// No route to the address.
    Unreachable,
    /// The origin's certificate does not hold; the text is the reason.
    Certificate(String),
    /// TLS failed otherwise: no common version, no TLS at all.
    Tls(String),
    /// The origin ended TLS with an alert.
    TlsAlert(String),
    /// What came back is not HTTP, or not HTTP we can pass on without changing its meaning.
    NotHttp(String),
    /// The head of the answer is larger than we read.
    HeadTooLarge,
    /// A 101 that was not asked for, or with another protocol.
    UpgradeFailed,
    /// An HTTP/2 origin refused the stream without looking at it (REFUSED_STREAM, GOAWAY).
    RefusedStream,
    /// An HTTP/2 origin asked for calm (ENHANCE_YOUR_CALM).
    Calm,
    /// We have no descriptor left to connect with.
    NoDescriptor,
    /// The address may not be reached from here.
    Prohibited(IpAddr),
    /// The target is one of our own listeners.
    OwnListener,
    /// The client's own request broke off while its body was read.
    ClientBody,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

// So that a fault can be a body's error: hyper asks that of every body's.
impl std::error::Error for Fault {}
