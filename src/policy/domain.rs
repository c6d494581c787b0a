//! Which part of a name one party registered: the public suffix list, compiled in.
//!
//! This file must not know what is paced by it.

use psl::{List, Psl};

/// The registrable domain of a normalised host: `toscrape.com` for `books.toscrape.com`. The whole
/// host where there is none: an address, a public suffix itself, a name of one label.
///
/// Suffixes that companies let others register under (`github.io`) count, as they do for cookies.
/// Where the list knows nothing, the last label is the suffix (publicsuffix.org, algorithm).
pub fn registrable(host: &str) -> &str {
    if is_address(host) {
        return host;
    }
    let found = List.domain(host.as_bytes());
    let bytes = found.map_or(0, |domain| domain.as_bytes().len());
    match bytes {
        0 => host,
        bytes => host.get(host.len().saturating_sub(bytes)..).unwrap_or(host),
    }
}

/// The registrable domain and all names below it that the host is in, the widest first:
/// `toscrape.com`, `books.toscrape.com`.
pub fn chain(host: &str) -> impl Iterator<Item = &str> {
    let widest = host.len() - registrable(host).len();
    let starts = host[..widest].match_indices('.').map(|(dot, _)| dot + 1);
    let narrower = std::iter::once(0).chain(starts).filter(move |start| *start < widest);
    let mut starts: Vec<usize> = narrower.collect();
    starts.push(widest);
    starts.into_iter().rev().map(move |start| &host[start..])
}

fn is_address(host: &str) -> bool {
    host.contains(':') || host.bytes().last().is_some_and(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(host: &str, want: &[&str]) {
        let found: Vec<_> = chain(host).collect();
        assert_eq!(found, want, "{host}");
        assert_eq!(registrable(host), want[0], "{host}");
    }

    #[test]
    fn a_chain_goes_from_the_registrable_domain_to_the_host() {
        check("toscrape.com", &["toscrape.com"]);
        check("books.toscrape.com", &["toscrape.com", "books.toscrape.com"]);
        check("a.b.shop.co.uk", &["shop.co.uk", "b.shop.co.uk", "a.b.shop.co.uk"]);
        check("a.me.github.io", &["me.github.io", "a.me.github.io"]);
        check("x.www.ck", &["www.ck", "x.www.ck"]);
        check("shop.localhost", &["shop.localhost"]);
    }

    #[test]
    fn what_nobody_registered_stands_for_itself() {
        check("co.uk", &["co.uk"]);
        check("localhost", &["localhost"]);
        check("10.0.0.1", &["10.0.0.1"]);
        check("2001:db8::1", &["2001:db8::1"]);
        check("", &[""]);
        check("a..", &["a.."]);
    }
}
