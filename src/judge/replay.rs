//! May this request be sent twice (spec section 2.8; RFC 9110 §9.2.2)?
//!
//! Whether it should be, and when, is decided in `again`.

use crate::judge::outcome::Sent;
use http::{HeaderMap, Method};

/// Which requests that may change something are repeated after a byte was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsafe {
    Never,
    Always,
}

/// Whether a request may be sent again after an attempt.
///
/// `sent`: whether a byte of it may have reached the origin; an answer means [`Sent::Perhaps`].
/// `body_kept`: all of the body that was taken from the client can be sent again.
pub fn repeatable(
    method: &Method,
    headers: &HeaderMap,
    sent: Sent,
    rule: Unsafe,
    body_kept: bool,
) -> bool {
    match sent {
        Sent::Nothing => body_kept,
        Sent::Perhaps => body_kept && harmless_twice(method, headers, rule),
    }
}

/// TRACE is idempotent too, but never repeated (http.md, row 58).
fn harmless_twice(method: &Method, headers: &HeaderMap, rule: Unsafe) -> bool {
    if *method == Method::TRACE || *method == Method::CONNECT {
        return false;
    }
    method.is_idempotent() || headers.contains_key(IDEMPOTENCY_KEY) || rule == Unsafe::Always
}

/// draft-ietf-httpapi-idempotency-key-header.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: &str, key: bool, sent: Sent, rule: Unsafe, body_kept: bool, want: bool) {
        let method: Method = method.parse().unwrap();
        let mut headers = HeaderMap::new();
        if key {
            headers.insert(IDEMPOTENCY_KEY, "\"one\"".parse().unwrap());
        }
        let got = repeatable(&method, &headers, sent, rule, body_kept);
        assert_eq!(got, want, "{method} {key} {sent:?} {rule:?} {body_kept}");
    }

    #[test]
    fn only_what_is_harmless_twice_is_repeated_once_a_byte_was_sent() {
        for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"] {
            check(method, false, Sent::Perhaps, Unsafe::Never, true, true);
        }
        for method in ["POST", "PATCH", "TRACE", "CONNECT", "PROPFIND", "get"] {
            check(method, false, Sent::Perhaps, Unsafe::Never, true, false);
        }
    }

    #[test]
    fn a_key_or_a_rule_makes_a_post_repeatable() {
        check("POST", true, Sent::Perhaps, Unsafe::Never, true, true);
        check("POST", false, Sent::Perhaps, Unsafe::Always, true, true);
        check("TRACE", true, Sent::Perhaps, Unsafe::Always, true, false);
    }

    #[test]
    fn what_was_never_sent_may_be_sent_whatever_it_is() {
        check("POST", false, Sent::Nothing, Unsafe::Never, true, true);
    }

    #[test]
    fn a_body_that_is_gone_is_never_sent_twice() {
        check("GET", true, Sent::Perhaps, Unsafe::Always, false, false);
        check("POST", false, Sent::Nothing, Unsafe::Never, false, false);
    }
}
