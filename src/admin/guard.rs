//! Who may ask: a page of somebody else's in a browser must not, and who writes must be from here or
//! know the token.

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, Uri};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// The secret that lets a caller from anywhere read and write. Its text is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Box<str>);

/// What a caller showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    Nothing,
    /// Another token, or one where there is none.
    Wrong,
    Right,
}

impl Token {
    /// The token of a file's text: its first line. Nothing for one that is shorter than
    /// [`Token::LEAST`], or that doesn't fit into a header.
    pub fn new(text: &str) -> Option<Token> {
        let line = text.lines().next().unwrap_or_default().trim();
        let good = line.len() >= Token::LEAST && line.bytes().all(|byte| byte.is_ascii_graphic());
        good.then(|| Token(line.into()))
    }

    /// A shorter one can be guessed.
    pub const LEAST: usize = 16;

    /// The header field's value.
    pub fn credentials(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// Takes as long for every text of its length: how much of it is right can't be told by time.
    fn is(&self, text: &str) -> bool {
        let pairs = self.0.bytes().zip(text.bytes());
        let differ = pairs.fold(0, |all, (ours, theirs)| all | (ours ^ theirs));
        self.0.len() == text.len() && differ == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// What `Authorization` says of the token.
pub fn shown(headers: &HeaderMap, token: Option<&Token>) -> Shown {
    let mut fields = headers.get_all(AUTHORIZATION).iter();
    let Some(field) = fields.next() else { return Shown::Nothing };
    let given = field.to_str().ok().and_then(|field| field.split_once(' '));
    let given = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    match (given, token, fields.next()) {
        (Some((_, given)), Some(token), None) if token.is(given.trim()) => Shown::Right,
        _ => Shown::Wrong,
    }
}

/// Whether a caller of this machine may write: its Host names us, and if it is a browser, the page
/// that asks is one of ours (every browser says so when it writes).
pub fn may_write(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let Ok(host) = host.to_str() else { return false };
    let same_origin = headers.get_all(ORIGIN).iter().all(|origin| {
        let origin = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
        origin.is_some_and(|origin| {
            let authority = origin.authority().map(|authority| authority.as_str());
            origin.scheme_str() == Some("http") && authority == Some(host)
        })
    });
    let same_site = headers.get_all("sec-fetch-site").iter();
    let same_site = same_site.into_iter().all(|site| site == "same-origin" || site == "none");
    names_us(host) && same_origin && same_site
}

/// Against DNS rebinding: a page of somebody else's can make a browser call us, but only under that
/// page's name. An address can't be rebound; no Host at all is no browser.
pub fn is_ours(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => true,
        (Some(host), None) => host.to_str().is_ok_and(names_us),
        (Some(_), Some(_)) => false,
    }
}

fn names_us(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[') {
        let address = inner.split_once(']').map(|(address, _)| address);
        return address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;

    fn headers(fields: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| {
            (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())
        };
        fields.iter().map(pair).collect()
    }

    #[test]
    fn only_the_whole_token_is_right_and_it_is_never_shown() {
        let token = Token::new("0123456789abcdef-secret\nnotes\n").expect("long enough");
        let check = |fields: &[(&str, &str)], token: Option<&Token>, want: Shown| {
            assert_eq!(shown(&headers(fields), token), want, "{fields:?}");
        };
        let right = ("authorization", "Bearer 0123456789abcdef-secret");
        check(&[right], Some(&token), Shown::Right);
        check(&[("authorization", "bearer  0123456789abcdef-secret ")], Some(&token), Shown::Right);
        check(&[right], None, Shown::Wrong);
        check(&[right, right], Some(&token), Shown::Wrong);
        check(&[], Some(&token), Shown::Nothing);
        for wrong in ["Bearer 0123456789abcdef-secre", "Bearer", "Basic 0123456789abcdef-secret"] {
            check(&[("authorization", wrong)], Some(&token), Shown::Wrong);
        }
        assert_eq!(format!("{token:?}"), "Token");
        for none in ["", "short", "\n0123456789abcdef", "0123456789abc def"] {
            assert_eq!(Token::new(none), None, "{none:?}");
        }
    }

    #[test]
    fn who_writes_names_us_and_comes_from_no_other_page() {
        let check = |fields: &[(&str, &str)], want: bool| {
            assert_eq!(may_write(&headers(fields)), want, "{fields:?}");
        };
        let host = ("host", "127.0.0.1:3129");
        check(&[host], true);
        check(&[("host", "localhost:3129"), ("origin", "http://localhost:3129")], true);
        check(
            &[host, ("origin", "http://127.0.0.1:3129"), ("sec-fetch-site", "same-origin")],
            true,
        );
        check(&[], false);
        check(&[("host", "evil.example")], false);
        check(&[host, ("origin", "http://evil.example")], false);
        check(&[host, ("origin", "http://127.0.0.1:3128")], false);
        check(&[host, ("origin", "https://127.0.0.1:3129")], false);
        check(&[host, ("origin", "null")], false);
        check(&[host, ("origin", "http://127.0.0.1:3129"), ("origin", "http://evil")], false);
        check(&[host, ("sec-fetch-site", "cross-site")], false);
        check(&[host, ("sec-fetch-site", "same-site")], false);
        check(&[host, host], false);
    }
}
