//! Fields that belong to one connection (RFC 9110 §7.6.1), and how they are taken out.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Rebuilds a map in its order. `pass` says for every line what becomes of its value.
pub(super) fn rebuild(
    headers: &mut HeaderMap,
    first: Option<(HeaderName, HeaderValue)>,
    mut pass: impl FnMut(&HeaderName, HeaderValue) -> Option<HeaderValue>,
) {
    let mut kept = HeaderMap::with_capacity(headers.keys_len() + 2);
    kept.extend(first);
    let mut current = None;
    for (name, value) in std::mem::take(headers) {
        current = name.or(current);
        let Some(name) = &current else { continue };
        if let Some(value) = pass(name, value) {
            kept.append(name.clone(), value);
        }
    }
    *headers = kept;
}

/// The lower-case tokens of a field that is a list, all lines of it.
pub(super) fn tokens(headers: &HeaderMap, name: &HeaderName) -> Vec<String> {
    let lines = headers.get_all(name).iter().map(|line| String::from_utf8_lossy(line.as_bytes()));
    let mut found = Vec::new();
    for line in lines {
        let words = line.split(',').map(|word| word.trim().to_ascii_lowercase());
        found.extend(words.filter(|word| !word.is_empty()));
    }
    found
}

/// What `Connection` names. It can't name what both ends rely on (http.md, row 53).
pub(super) fn named(headers: &HeaderMap) -> Vec<String> {
    if !headers.contains_key(header::CONNECTION) {
        return Vec::new();
    }
    let mut named = tokens(headers, &header::CONNECTION);
    named.retain(|name| !END_TO_END.contains(&name.as_str()));
    named
}

/// Whether the field ends here in both directions, named by `Connection` or not.
///
/// `TE` and `Trailer` are no part of it: the one is answered for, the other is end-to-end.
pub(super) fn is_hop_by_hop(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "keep-alive"
            | "proxy-connection"
            | "transfer-encoding"
            | "upgrade"
            | "http2-settings"
            | "proxy-authenticate"
            | "proxy-authorization"
            | "proxy-authentication-info"
    )
}

/// Our own fields: those of a client steer us, those of anybody else are forged.
pub(super) fn is_ours(name: &HeaderName) -> bool {
    name.as_str().starts_with("pace-")
}

/// The one number of all `Content-Length` lines, `None` where there is none; the error is what
/// can't be one number. Zero-padding and equal repetitions are tolerated here.
pub(super) fn content_length(headers: &HeaderMap) -> Result<Option<u64>, String> {
    let mut length = None;
    for line in headers.get_all(header::CONTENT_LENGTH) {
        let line = String::from_utf8_lossy(line.as_bytes());
        for word in line.split(',').map(str::trim) {
            let digits = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
            let number = if digits { word.parse().ok().filter(|n| *n <= LONGEST) } else { None };
            match (number, length) {
                (Some(number), None) => length = Some(number),
                (Some(number), Some(before)) if number == before => {}
                (Some(_) | None, _) => return Err(line.chars().take(SHOWN).collect()),
            }
        }
    }
    Ok(length)
}

/// More is no body: many readers count in 63 bits and a sign, and would see another number.
const LONGEST: u64 = i64::MAX as u64;

/// What a `Connection` option must not take out of a message.
const END_TO_END: [&str; 28] = [
    "accept",
    "accept-encoding",
    "authorization",
    "cache-control",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "etag",
    "expires",
    "forwarded",
    "host",
    "if-match",
    "if-none-match",
    "last-modified",
    "location",
    "origin",
    "range",
    "retry-after",
    "set-cookie",
    "trailer",
    "user-agent",
    "vary",
    "via",
    "www-authenticate",
    "x-forwarded-for",
];

/// Whether `Content-Length`, known to be `length`, stands there as we would write it.
pub(super) fn is_as_written(headers: &HeaderMap, length: Option<u64>) -> bool {
    let mut lines = headers.get_all(header::CONTENT_LENGTH).iter();
    let Some(line) = lines.next() else { return true };
    let digits = line.as_bytes();
    let padded = digits.len() > 1 && digits[0] == b'0';
    length.is_some() && lines.next().is_none() && !padded && digits.iter().all(u8::is_ascii_digit)
}

/// So much of a bad value is said back.
const SHOWN: usize = 40;
