//! Our own text where the HTTP library answers a bad request by itself. Pure.
//!
//! It must not know of sockets: it reads the bytes that the library is about to write.

use crate::clock::Clock;

/// The library's own answer to a request it can't read, told by its head: it alone has no `Date`
/// (ours always do). Ours in its place says what happened. `late`: the request's head was not
/// complete in time, and that is why it can't be read.
pub fn reworded(bytes: &[u8], late: bool, clock: &Clock) -> Option<Vec<u8>> {
    let head = bytes.strip_suffix(b"\r\ncontent-length: 0\r\n\r\n")?;
    let refusal = REFUSALS.iter().find(|(status, _, _)| {
        head.starts_with(b"HTTP/1.1 ") && head[9..].starts_with(status.as_bytes())
    })?;
    let (status, title, advice) = if late { &LATE } else { refusal };
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

/// What the library answers by itself: status, title, what to do.
const REFUSALS: [(&str, &str, &str); 3] = [
    (
        "400",
        "Bad Request",
        "The request could not be read as HTTP/1.1: check its first line and fields.",
    ),
    ("414", "URI Too Long", "The request target is longer than 65,534 bytes."),
    (
        "431",
        "Request Header Fields Too Large",
        "Send fewer or shorter fields (limits.header_bytes, limits.header_fields).",
    ),
];
