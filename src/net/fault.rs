//! From the errors of sockets, TLS and HTTP to a fault with a sentence for people. Nobody else
//! reads such an error; what a fault means is `judge`'s to say.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "others' enums, which grow: what has no words of ours is told in its own"
)]

use crate::judge::outcome::{Fault, FaultKind, Sent};
use crate::net::connect_io::NoHeadInAll;
use crate::net::target::Target;
use crate::net::tls_fault::{tls_kind, tls_text};
use crate::pace::scope::Host;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

/// A fault before anything was sent.
pub fn unsent(kind: FaultKind, detail: String) -> Fault {
    Fault { kind, sent: Sent::Nothing, detail }
}

/// A fault after something may have been sent.
pub fn perhaps(kind: FaultKind, detail: String) -> Fault {
    Fault { kind, sent: Sent::Perhaps, detail }
}

/// The resolver knows the name, but no address of it.
pub fn no_address(host: &Host) -> Fault {
    unsent(FaultKind::NoSuchName, format!("The name {host} has no address."))
}

/// The resolver failed. getaddrinfo's reasons arrive as text only: glibc and musl say `try again`
/// in these words when a server gave no usable answer.
pub fn lookup(host: &Host, error: &io::Error) -> Fault {
    let text = error.to_string().to_ascii_lowercase();
    // An error of the system's own (no descriptor for a socket, say) says nothing about the name.
    let ours = error.raw_os_error().is_some();
    if ours || text.contains("temporary failure") || text.contains("try again") {
        let detail = format!("The resolver has no answer for {host} now.");
        return unsent(FaultKind::DnsTimeout, detail);
    }
    unsent(FaultKind::NoSuchName, format!("The name {host} was not found."))
}

/// The resolver took all of the time there was to connect.
pub fn lookup_timeout(host: &Host, limit: Duration) -> Fault {
    let detail = format!("The resolver gave no answer for {host} within {limit:?}.");
    unsent(FaultKind::DnsTimeout, detail)
}

/// TCP and TLS took longer than allowed.
pub fn connect_timeout(target: &Target, limit: Duration) -> Fault {
    let detail = format!("No connection to {target} within {limit:?}.");
    unsent(FaultKind::ConnectTimeout, detail)
}

/// An address may not be reached.
pub fn forbidden(target: &Target, kind: FaultKind) -> Fault {
    let detail = match kind == FaultKind::OwnListener {
        true => format!("{target} is this proxy itself."),
        false => format!("{target} is at an address that may not be reached from here."),
    };
    unsent(kind, detail)
}

/// There was no descriptor for a socket, for longer than one is waited for.
pub fn no_descriptor(target: &Target) -> Fault {
    let detail = format!("No descriptor was free to connect to {target} (ulimit -n).");
    unsent(FaultKind::NoDescriptor, detail)
}

/// TCP did not connect.
pub fn connect(target: &Target, error: &io::Error) -> Fault {
    match error.kind() {
        ErrorKind::ConnectionRefused => {
            unsent(FaultKind::Refused, format!("{target} refused the connection."))
        }
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            unsent(FaultKind::Reset, format!("{target} reset the connection."))
        }
        ErrorKind::TimedOut => unsent(
            FaultKind::ConnectTimeout,
            format!("{target} did not answer the attempt to connect."),
        ),
        _other => unsent(FaultKind::Unreachable, format!("{target} can't be reached: {error}.")),
    }
}

/// TLS did not come about.
pub fn handshake(target: &Target, error: &io::Error) -> Fault {
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return unsent(tls_kind(error), format!("TLS with {target} failed: {}.", tls_text(error)));
    }
    match error.kind() {
        ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe => unsent(
            FaultKind::Reset,
            format!("{target} closed the connection while TLS was set up."),
        ),
        _other => {
            unsent(FaultKind::Tls(error.to_string()), format!("TLS with {target} failed: {error}."))
        }
    }
}

/// The name can't be one of a certificate.
pub fn not_a_server_name(target: &Target) -> Fault {
    let why = "the name can't stand in a certificate".to_owned();
    unsent(FaultKind::Tls(why.clone()), format!("TLS with {target} failed: {why}."))
}

/// An attempt failed before its head was there.
pub fn before_head(target: &Target, error: &hyper::Error, sent: Sent) -> Fault {
    if let Some(error) = find::<h2::Error>(error) {
        return h2_fault(target, error, FaultKind::Reset, sent);
    }
    if let Some(error) = find::<io::Error>(error) {
        return match error.get_ref().and_then(|inner| inner.downcast_ref::<NoHeadInAll>()) {
            Some(flood) => not_http(target, &flood.to_string(), sent),
            None => broken(target, error, sent),
        };
    }
    if error.is_parse_too_large() {
        let fault = not_http(target, "its head is larger than 64 KiB or 200 fields", sent);
        return Fault { kind: FaultKind::HeadTooLarge, ..fault };
    }
    if error.is_parse() {
        return not_http(target, &error.to_string(), sent);
    }
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        let detail = format!("{target} closed the connection without an answer.");
        return Fault { kind: FaultKind::Reset, sent, detail };
    }
    not_http(target, &error.to_string(), sent)
}

/// An answer's body broke off.
pub fn in_body(error: &hyper::Error) -> Fault {
    if let Some(error) = find::<h2::Error>(error)
        && error.is_remote()
        && error.reason() == Some(h2::Reason::ENHANCE_YOUR_CALM)
    {
        return perhaps(FaultKind::Calm, "The origin asked for calm within its answer.".into());
    }
    perhaps(FaultKind::Truncated, format!("The answer broke off: {}.", root_text(error)))
}

/// A body of an answer stood still.
pub fn stuck(limit: Duration) -> Fault {
    perhaps(FaultKind::Stuck, format!("The answer stood still for {limit:?}."))
}

/// The request's body was not taken.
pub fn not_taken(target: &Target, limit: Duration) -> Fault {
    perhaps(FaultKind::Stuck, format!("{target} took nothing of the body for {limit:?}."))
}

/// The request's body did not come.
pub fn client_body(detail: &str) -> Fault {
    perhaps(FaultKind::ClientBody, format!("The request's body broke off: {detail}."))
}

/// The client's stated end came first.
pub fn deadline() -> Fault {
    perhaps(FaultKind::ClientBody, "The stated deadline came within the answer.".into())
}

/// Nobody is there to take the rest of an answer.
pub fn client_left() -> Fault {
    perhaps(FaultKind::ClientBody, "The client left within its answer.".into())
}

/// No head in time.
pub fn response_timeout(target: &Target, limit: Duration) -> Fault {
    perhaps(FaultKind::ResponseTimeout, format!("No answer from {target} within {limit:?}."))
}

/// A 101 nobody asked for, or to something else.
pub fn upgrade(target: &Target, detail: &str) -> Fault {
    perhaps(FaultKind::UpgradeFailed, format!("{target} switched protocols: {detail}."))
}

/// The reason of an HTTP/2 error, if it is one.
pub fn h2_reason(error: &hyper::Error) -> Option<h2::Reason> {
    find::<h2::Error>(error).and_then(h2::Error::reason)
}

/// Whether an HTTP/2 connection is being closed and the request was not looked at: hyper.md 12.
pub fn is_going_away(error: &hyper::Error) -> bool {
    find::<h2::Error>(error).is_some_and(|error| error.is_go_away() && error.is_remote())
}

fn h2_fault(target: &Target, error: &h2::Error, otherwise: FaultKind, sent: Sent) -> Fault {
    // What the library ends by itself it can't read, and would not the next time.
    if error.is_library() {
        return not_http(target, UNREADABLE, sent);
    }
    // A GOAWAY is told to streams above its last one only: those were not looked at (hyper.md 12).
    let left = error.is_go_away() && error.is_remote();
    if error.reason() == Some(h2::Reason::ENHANCE_YOUR_CALM) {
        let detail = format!("{target} asked for calm (ENHANCE_YOUR_CALM).");
        let sent = if left { Sent::Nothing } else { Sent::Perhaps };
        return Fault { kind: FaultKind::Calm, sent, detail };
    }
    let refused = error.reason() == Some(h2::Reason::REFUSED_STREAM) && error.is_remote();
    if refused || left {
        let detail = format!("{target} refused the stream without looking at it.");
        return unsent(FaultKind::RefusedStream, detail);
    }
    if let Some(error) = error.get_io() {
        return broken(target, error, sent);
    }
    let detail = format!("{target} ended the stream: {error}.");
    Fault { kind: otherwise, sent, detail }
}

fn broken(target: &Target, error: &io::Error, sent: Sent) -> Fault {
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        let detail = format!("TLS with {target} broke: {}.", tls_text(error));
        return Fault { kind: tls_kind(error), sent, detail };
    }
    let detail = format!("{target} broke the connection before an answer: {error}.");
    Fault { kind: FaultKind::Reset, sent, detail }
}

fn not_http(target: &Target, why: &str, sent: Sent) -> Fault {
    let detail = format!("What {target} answered can't be passed on: {why}.");
    Fault { kind: FaultKind::NotHttp(why.to_owned()), sent, detail }
}

fn find<E: Error + 'static>(error: &hyper::Error) -> Option<&E> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        source = error.source();
    }
    None
}

/// The library doesn't say which.
const UNREADABLE: &str = "its head is not HTTP/2's, or larger than 64 KiB";

fn root_text(error: &hyper::Error) -> String {
    let mut root: &dyn Error = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root.to_string()
}
