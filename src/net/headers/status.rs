//! `Proxy-Status` (RFC 9209) of others: what is passed on of it, and what would pass for ours.

use crate::net::headers::hop;
use http::header::{HeaderMap, HeaderName, HeaderValue};

/// Takes members out that carry our own name: those of others stay, in their order, and a field
/// without such a member stays as it was written.
pub fn disown(headers: &mut HeaderMap, name: &str) {
    let field = HeaderName::from_static("proxy-status");
    let forged =
        |line: &HeaderValue| members(line.as_bytes()).iter().any(|member| is_of(member, name));
    if !headers.get_all(&field).iter().any(forged) {
        return;
    }
    hop::rebuild(headers, None, |of, value| match *of == field && forged(&value) {
        true => without(&value, name),
        false => Some(value),
    });
}

fn without(line: &HeaderValue, name: &str) -> Option<HeaderValue> {
    let mut members = members(line.as_bytes());
    members.retain(|member| !is_of(member, name));
    match members.is_empty() {
        true => None,
        false => HeaderValue::from_bytes(&members.join(&b", "[..])).ok(),
    }
}

/// The members of a structured list (RFC 9651 §3.1): commas in strings part nothing.
fn members(line: &[u8]) -> Vec<&[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    let parts = line.split(move |byte| {
        let parts = *byte == b',' && !quoted;
        if quoted && !escaped && *byte == b'\\' {
            escaped = true;
        } else {
            quoted ^= *byte == b'"' && !escaped;
            escaped = false;
        }
        parts
    });
    parts.map(<[u8]>::trim_ascii).filter(|member| !member.is_empty()).collect()
}

/// Whether a member is somebody's: a token or a string at its beginning. Read as the most tolerant
/// reader does, who minds neither needless escapes nor what follows.
fn is_of(member: &[u8], name: &str) -> bool {
    match member.strip_prefix(b"\"") {
        Some(quoted) => string(quoted).eq_ignore_ascii_case(name.as_bytes()),
        None => {
            let ends = |byte: &u8| matches!(byte, b';' | b'"') || byte.is_ascii_whitespace();
            let end = member.iter().position(ends).unwrap_or(member.len());
            member[..end].eq_ignore_ascii_case(name.as_bytes())
        }
    }
}

/// What a string says, from behind its first quote.
fn string(quoted: &[u8]) -> Vec<u8> {
    let mut said = Vec::new();
    let mut bytes = quoted.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => break,
            b'\\' => said.extend(bytes.next()),
            byte => said.push(*byte),
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &[&'static str], want: &[&str]) {
        let mut headers = HeaderMap::new();
        headers.append("server", HeaderValue::from_static("x"));
        for line in lines {
            headers.append("proxy-status", HeaderValue::from_static(line));
        }
        disown(&mut headers, "pacegate");
        let left: Vec<&[u8]> =
            headers.get_all("proxy-status").iter().map(HeaderValue::as_bytes).collect();
        let want: Vec<&[u8]> = want.iter().map(|line| line.as_bytes()).collect();
        assert_eq!(left, want, "{lines:?}");
        assert_eq!(headers["server"], "x");
    }

    #[test]
    fn only_members_of_our_name_go() {
        check(&["pacegate; error=x"], &[]);
        check(&["\"pacegate\";error=x", "cdn"], &["cdn"]);
        check(&["cdn; details=\"a, pacegate; b\" ,PaceGate"], &["cdn; details=\"a, pacegate; b\""]);
        check(
            &["\"pace\\gate\"; x, \"pacegate\" x, pacegate\"x\", \"pacegate", "\"a;\""],
            &["\"a;\""],
        );
        check(&["cdn;d=\"\\\",pacegate\" , pacegate, edge"], &["cdn;d=\"\\\",pacegate\", edge"]);
    }

    #[test]
    fn what_is_not_ours_stays_as_it_was_written() {
        for line in ["cdn ,  edge", "pacegate2; error=x", "x; d=\"pacegate\"", "", ","] {
            check(&[line], &[line]);
        }
    }
}
