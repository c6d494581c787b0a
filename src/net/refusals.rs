//! Our own text where the HTTP library answers a bad request by itself. Pure.
//!
//! It must not know of sockets: it reads the bytes that the library is about to write.

use crate::clock::Clock;

/// How far the head had come that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It was not complete in time, and that is why it can't be read.
    Late,
    /// Not even its first line was complete.
    InItsLine,
    AfterItsLine,
}

/// The library's own answer to a request it can't read, told by its head: it alone has no `Date`
/// (ours always do). Ours in its place says what happened.
pub fn reworded(bytes: &[u8], refused: Refused, clock: &Clock) -> Option<Vec<u8>> {
    let head = bytes.strip_suffix(b"\r\ncontent-length: 0\r\n\r\n")?;
    let refusal = REFUSALS.iter().find(|(status, _, _)| {
        head.starts_with(b"HTTP/1.1 ") && head[9..].starts_with(status.as_bytes())
    })?;
    let (status, title, advice) = match (refused, refusal.0) {
        (Refused::Late, _) => &LATE,
        // The library counts a target without end as a head too large.
        (Refused::InItsLine, "431") => &TOO_LONG,
        (Refused::InItsLine | Refused::AfterItsLine, _) => refusal,
    };
    let date = b"\r\ndate: ";
    if head.windows(date.len()).any(|window| window.eq_ignore_ascii_case(date)) {
        return None;
    }
    let body = format!("pacegate: {title}\n{advice} (bad_request)\n");
    let now = httpdate::fmt_http_date(clock.wall());
    let head = format!(
        "HTTP/1.1 {status} {title}\r\ndate: {now}\r\nproxy-status: pacegate; error=http_request_error\r\n\
         content-type: text/plain; charset=utf-8\r\ncache-control: no-store\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Some([head.as_bytes(), body.as_bytes()].concat())
}

const LATE: (&str, &str, &str) =
    ("408", "Request Timeout", "The head of the request was not complete within 10 s.");

const TOO_LONG: (&str, &str, &str) =
    ("414", "URI Too Long", "The request target is longer than 65,534 bytes.");

/// What the library answers by itself: status, title, what to do.
const REFUSALS: [(&str, &str, &str); 3] = [
    (
        "400",
        "Bad Request",
        "The request could not be read as HTTP/1.1: check its first line and fields.",
    ),
    TOO_LONG,
    (
        "431",
        "Request Header Fields Too Large",
        "Send fewer or shorter fields (limits.header_bytes, limits.header_fields).",
    ),
];
