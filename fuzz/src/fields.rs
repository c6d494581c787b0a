//! Fields that other proxies and origins write about themselves: `Via`, `Proxy-Status`, trailers.
//!
//! Input: lines `name: value`.

use http::Version;
use http::header::{HeaderMap, HeaderName, HeaderValue, VIA};
use pacegate::net::headers::response::{forward_interim, forward_trailers};
use pacegate::net::headers::status::disown;
use pacegate::net::headers::via::{Circle, Pseudonym};

pub fn body(data: &[u8]) {
    let headers = lines(data);
    via(&headers);
    proxy_status(&headers);
    let mut trailers = headers.clone();
    rewritten(&mut trailers, forward_trailers, &["content-length", "set-cookie", "host", "te"]);
    let mut interim = headers.clone();
    rewritten(&mut interim, forward_interim, &["content-length"]);
}

/// The lines that are fields.
fn lines(data: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in data.split(|byte| *byte == b'\n').take(200) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let name = HeaderName::from_bytes(&line[..colon]);
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    headers
}

/// Signing takes nothing away, comes last, and is known again.
fn via(headers: &HeaderMap) {
    let ours = Pseudonym::new("pacegate", 0xab);
    for version in [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2] {
        let mut signed = headers.clone();
        ours.sign(&mut signed, version);
        assert_eq!(ours.circle(&signed), Some(Circle::Ours));
        let before: Vec<_> = headers.get_all(VIA).iter().collect();
        let after: Vec<_> = signed.get_all(VIA).iter().collect();
        assert_eq!(after[..before.len()], before[..]);
        assert_eq!(after.len(), before.len() + 1);
    }
    let said: usize = headers.get_all(VIA).iter().map(HeaderValue::len).sum();
    let named = headers.get_all(VIA).iter().any(|line| {
        line.as_bytes().to_ascii_lowercase().windows(17).any(|part| part == b"pacegate-000000ab")
    });
    match ours.circle(headers) {
        None => {}
        Some(Circle::Ours) => assert!(named, "found where it isn't: {headers:?}"),
        Some(Circle::Long) => assert!(said > 20, "a long way in {said} bytes"),
    }
}

/// What is left names nobody as we are named; what was nobody's forgery stays as it was.
fn proxy_status(headers: &HeaderMap) {
    let mut left = headers.clone();
    disown(&mut left, "pacegate");
    for line in left.get_all("proxy-status") {
        assert!(!is_forged(line.as_bytes(), "pacegate"), "left: {line:?} of {headers:?}");
    }
    let others = |headers: &HeaderMap| -> Vec<(HeaderName, HeaderValue)> {
        let others = headers.iter().filter(|(name, _)| *name != "proxy-status");
        others.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    assert_eq!(others(headers), others(&left));
    let mut again = left.clone();
    disown(&mut again, "pacegate");
    assert_eq!(again, left);
    let forged =
        headers.get_all("proxy-status").iter().any(|it| is_forged(it.as_bytes(), "pacegate"));
    assert!(forged || left == *headers, "changed without need");
}

/// Whether a member of a structured list begins with this name, written from RFC 9651 §4.2.1 alone.
pub fn is_forged(line: &[u8], name: &str) -> bool {
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        let (item, after) = item(rest);
        if item.eq_ignore_ascii_case(name.as_bytes()) {
            return true;
        }
        match end_of_member(after) {
            Some(next) => rest = next,
            None => return false,
        }
    }
}

/// A member's bare item: a string's content or a token.
fn item(rest: &[u8]) -> (Vec<u8>, &[u8]) {
    match rest.strip_prefix(b"\"") {
        Some(quoted) => string(quoted),
        None => {
            let ends = |byte: &u8| matches!(byte, b',' | b';' | b' ' | b'\t' | b'"');
            let end = rest.iter().position(ends).unwrap_or(rest.len());
            (rest[..end].to_vec(), &rest[end..])
        }
    }
}

fn string(quoted: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut content = Vec::new();
    let mut bytes = quoted.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return (content, &quoted[at + 1..]),
            b'\\' => content.extend(bytes.next().map(|(_, byte)| *byte)),
            byte => content.push(*byte),
        }
    }
    (content, &[])
}

/// What follows the comma that ends a member, past its parameters.
fn end_of_member(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        match rest {
            [] => return None,
            [b',', next @ ..] => return Some(next),
            [b'"', quoted @ ..] => rest = string(quoted).1,
            [_, next @ ..] => rest = next,
        }
    }
}

/// Nothing of a connection's, of ours or of framing is left, the rest keeps its order, and once is
/// enough.
fn rewritten(headers: &mut HeaderMap, rewrite: fn(&mut HeaderMap), never: &[&str]) {
    let before = headers.clone();
    rewrite(headers);
    for name in headers.keys() {
        let name = name.as_str();
        let hop = ["connection", "keep-alive", "transfer-encoding", "upgrade", "proxy-connection"];
        assert!(!hop.contains(&name) && !never.contains(&name) && !name.starts_with("pace-"));
    }
    let mut lines = before.iter();
    for line in headers.iter() {
        assert!(lines.any(|before| before == line), "moved: {line:?}");
    }
    let once = headers.clone();
    rewrite(headers);
    assert_eq!(*headers, once);
}
