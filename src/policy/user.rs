//! The user part of a proxy URL: a name, options after it, a secret.
//!
//! `http://nightly;preset=strict;deadline=170:secret@127.0.0.1:3128`: for clients that can set
//! nothing but the URL. Whether the name is an account's, and the secret its, isn't decided here.

use std::fmt;

/// Who a client says it is, from `Proxy-Authorization`.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyUser {
    /// An account's name, or a label where there are no accounts. `None`: the part was empty.
    pub name: Option<String>,
    /// The options after the name, as written, in their order.
    pub options: Vec<(String, String)>,
    /// Never shown, not by `Debug` either.
    pub secret: String,
}

/// Why a `Proxy-Authorization` names no user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAUser {
    /// Another scheme than Basic.
    Scheme,
    /// Not Base64 of UTF-8 with a colon in it (RFC 7617 §2).
    Encoding,
    /// A name longer than [`NAME_BYTES`], or with more than [`OPTIONS`] options.
    TooLong,
    /// A control character.
    Character,
}

impl fmt::Display for NotAUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotAUser::Scheme => "only Basic is taken",
            NotAUser::Encoding => "not the Base64 of name:password in UTF-8",
            NotAUser::TooLong => "the name or its options are too long",
            NotAUser::Character => "a control character in the name",
        })
    }
}

impl ProxyUser {
    /// Reads the value of a `Proxy-Authorization` field.
    pub fn parse(value: &[u8]) -> Result<ProxyUser, NotAUser> {
        let text = std::str::from_utf8(value).map_err(|_| NotAUser::Encoding)?.trim();
        let (scheme, token) = text.split_once(' ').ok_or(NotAUser::Scheme)?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return Err(NotAUser::Scheme);
        }
        let bytes = base64(token.trim()).ok_or(NotAUser::Encoding)?;
        let text = String::from_utf8(bytes).map_err(|_| NotAUser::Encoding)?;
        let (user, secret) = text.split_once(':').ok_or(NotAUser::Encoding)?;
        ProxyUser::of_parts(user, secret)
    }

    /// The same from the two parts, decoded.
    pub fn of_parts(user: &str, secret: &str) -> Result<ProxyUser, NotAUser> {
        if user.chars().any(char::is_control) {
            return Err(NotAUser::Character);
        }
        let mut parts = user.split(';');
        let name = parts.next().unwrap_or_default();
        let options: Vec<_> = parts.filter(|part| !part.is_empty()).map(option).collect();
        if name.len() > NAME_BYTES || options.len() > OPTIONS {
            return Err(NotAUser::TooLong);
        }
        let name = (!name.is_empty()).then(|| name.to_owned());
        Ok(ProxyUser { name, options, secret: secret.to_owned() })
    }
}

fn option(part: &str) -> (String, String) {
    let (key, value) = part.split_once('=').unwrap_or((part, ""));
    (key.trim().to_ascii_lowercase(), value.trim().to_owned())
}

impl fmt::Debug for ProxyUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyUser").field("name", &self.name).finish_non_exhaustive()
    }
}

/// RFC 4648 §4, with or without padding: clients differ.
fn base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    if text.len() - digits.len() > 2 || digits.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut word = 0_u32;
        for digit in group {
            word = (word << 6) | u32::from(sextet(*digit)?);
        }
        let whole = word << (6 * (4 - group.len()));
        bytes.extend_from_slice(&whole.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

fn sextet(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

/// As long as a label may get: it is a key of lines and logs.
const NAME_BYTES: usize = 128;
/// More than there are options to set.
const OPTIONS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, name: Option<&str>, options: &[(&str, &str)], secret: &str) {
        let user = ProxyUser::parse(value.as_bytes()).expect("a user");
        let got: Vec<_> = user.options.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!((user.name.as_deref(), &got[..], &*user.secret), (name, options, secret));
    }

    #[test]
    fn a_user_is_a_name_options_and_a_secret() {
        check("Basic bmlnaHRseTpzZWNyZXQ=", Some("nightly"), &[], "secret");
        check("basic  bmlnaHRseTpzZWNyZXQ", Some("nightly"), &[], "secret");
        check("Basic Og==", None, &[], "");
        check("Basic YTo6Yg==", Some("a"), &[], ":b");
        let both = "Basic bmlnaHRseTtwcmVzZXQ9c3RyaWN0O0RlYWRsaW5lPTE3MDpz";
        check(both, Some("nightly"), &[("preset", "strict"), ("deadline", "170")], "s");
    }

    #[test]
    fn what_is_no_user_says_why() {
        let check = |value: &str, why| assert_eq!(ProxyUser::parse(value.as_bytes()), Err(why));
        check("Bearer abc", NotAUser::Scheme);
        check("Basic", NotAUser::Scheme);
        check("Basic ?", NotAUser::Encoding);
        check("Basic YWJj", NotAUser::Encoding);
        check("Basic YQ===", NotAUser::Encoding);
        check("Basic YTpiY", NotAUser::Encoding);
        check("Basic /////w==", NotAUser::Encoding);
        check("Basic CjpiCg==", NotAUser::Character);
        assert_eq!(ProxyUser::of_parts(&"a".repeat(129), ""), Err(NotAUser::TooLong));
        assert_eq!(ProxyUser::of_parts(&";a=1".repeat(17), ""), Err(NotAUser::TooLong));
    }

    #[test]
    fn the_secret_is_never_shown() {
        let user = ProxyUser::of_parts("nightly", "hush").unwrap();
        assert!(!format!("{user:?}").contains("hush"));
    }
}
