//! Rows 19 to 26, 49 to 54, 57, 62 to 65 and 90 to 96 of http.md.

use super::{lines, map};
use crate::net::headers::refusal::Refusal;
use crate::net::headers::request::{HeadLimits, Passage, Shape, forward, measure};
use crate::net::headers::target::RequestTarget;
use http::request::Parts;
use http::{Method, Request, Uri, Version};

fn pass(
    version: Version,
    method: &str,
    headers: &str,
    body: Shape,
) -> Result<(Parts, Passage), Refusal> {
    let uri: Uri = "http://a.test/x?y".parse().unwrap();
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.method = method.parse().unwrap();
    parts.uri = uri;
    parts.version = version;
    parts.headers = map(headers);
    let whole = map("Host: a.test");
    let target = RequestTarget::of(&Method::GET, &parts.uri, version, &whole, None, None).unwrap();
    let passage = forward(&mut parts, &target, body)?;
    Ok((parts, passage))
}

#[track_caller]
fn check(headers: &str, want: &str) -> Passage {
    let (parts, passage) = pass(Version::HTTP_11, "GET", headers, Shape::Empty).expect(headers);
    assert_eq!(lines(&parts.headers), want);
    assert_eq!((parts.uri.to_string(), parts.version), ("/x?y".to_owned(), Version::HTTP_11));
    passage
}

#[track_caller]
fn check_refused(headers: &str, status: u16) {
    let refusal = pass(Version::HTTP_11, "POST", headers, Shape::Unknown).map(drop).unwrap_err();
    assert_eq!(refusal.status.as_u16(), status, "{headers}: {}", refusal.detail);
}

#[test]
fn what_is_end_to_end_passes_in_its_order_duplicates_and_all() {
    let all = "host: a.test|user-agent: x|b: 1|b: 2|accept: */*|cookie: a=1|cookie: b=2|te-x: 1";
    check(all, all);
    check("user-agent: x", "host: a.test|user-agent: x");
    check("x: 1|host: evil.test|y: 2", "x: 1|host: a.test|y: 2");
}

#[test]
fn what_belongs_to_the_connection_ends_here_named_or_not() {
    check(
        "host: a.test|connection: close, X-One|x-one: 1|keep-alive: 5|proxy-connection: x|accept: a\
         |connection: x-two|x-two: 2|upgrade: h2c|http2-settings: AAMA|te: gzip|trailer: x",
        "host: a.test|accept: a|trailer: x",
    );
}

#[test]
fn connection_cannot_take_out_what_both_ends_rely_on() {
    let rest = "host: a.test|authorization: b|cookie: c|content-length: 3";
    let named = "connection: host, authorization, Cookie, content-length";
    check(&format!("{rest}|{named}"), rest);
}

#[test]
fn what_is_meant_for_a_proxy_never_reaches_an_origin() {
    check(
        "host: a.test|proxy-authorization: Basic x|proxy-foo: y|pace-deadline: 3|pace-x: 1\
         |prefer: wait=3",
        "host: a.test|prefer: wait=3",
    );
}

#[test]
fn two_readings_of_a_body_are_refused() {
    for length in ["+2", "-2", "0x2", "1_0", "", "2 3", "9223372036854775808", "2, 3"] {
        check_refused(&format!("content-length: {length}"), 400);
    }
    check_refused("content-length: 2|content-length: 3", 400);
    check_refused("content-length: 2|transfer-encoding: chunked", 400);
    for coding in
        ["gzip, chunked", "identity, chunked", ", gzip", ", chunked", "chunked;q=1", "xchunked", ""]
    {
        check_refused(&format!("transfer-encoding: {coding}"), 501);
    }
    check_refused("transfer-encoding: chunked|transfer-encoding: chunked", 501);
}

#[test]
fn one_length_goes_on_as_one_number() {
    check("content-length: 2|host: a.test|content-length: 2", "content-length: 2|host: a.test");
    let most = "host: a.test|content-length: 9223372036854775807";
    check(most, most);
    check("host: a.test|content-length: 0002", "host: a.test|content-length: 2");
    check("host: a.test|content-length: 2, 2", "host: a.test|content-length: 2");
}

#[test]
fn a_body_of_unknown_length_is_announced_for_every_method() {
    for method in ["GET", "POST"] {
        let pass = |version, headers, body| {
            lines(&pass(version, method, headers, body).unwrap().0.headers)
        };
        let chunked = "host: a.test|transfer-encoding: chunked";
        assert_eq!(pass(Version::HTTP_2, "host: a.test", Shape::Unknown), chunked);
        assert_eq!(pass(Version::HTTP_2, "host: a.test", Shape::Empty), "host: a.test");
        let sized = "host: a.test|content-length: 3";
        assert_eq!(pass(Version::HTTP_2, sized, Shape::Unknown), sized);
        let first = "transfer-encoding: Chunked|host: a.test";
        let kept = "transfer-encoding: chunked|host: a.test";
        assert_eq!(pass(Version::HTTP_11, first, Shape::Unknown), kept);
    }
}

#[test]
fn an_expectation_is_met_here_or_refused() {
    let passage = check("host: a.test|expect: 100-Continue", "host: a.test");
    assert!(passage.expects_continue);
    check_refused("expect: 200-ok", 417);
    check_refused("expect: 100-continue, more", 417);
    let (_, passage) = pass(Version::HTTP_10, "GET", "expect: 100-continue", Shape::Empty).unwrap();
    assert!(!passage.expects_continue);
}

#[test]
fn trailers_are_asked_for_on_our_own_connection() {
    let passage =
        check("host: a.test|te: deflate, trailers", "host: a.test|te: trailers|connection: TE");
    assert!(passage.wants_trailers);
    let (old, passage) = pass(Version::HTTP_10, "GET", "te: trailers", Shape::Empty).unwrap();
    assert!(!passage.wants_trailers && lines(&old.headers) == "host: a.test");
    check("connection: te|te: trailers|host: a.test", "connection: TE|te: trailers|host: a.test");
}

#[test]
fn a_websocket_may_be_asked_for_and_nothing_else() {
    let asked = "host: a.test|connection: keep-alive, Upgrade|upgrade: WebSocket, h2c\
         |sec-websocket-version: 13";
    let want = "host: a.test|connection: Upgrade|upgrade: websocket|sec-websocket-version: 13";
    assert!(check(asked, want).upgrade);
    assert!(!check("host: a.test|connection: upgrade|upgrade: h2c", "host: a.test").upgrade);
    assert!(!check("host: a.test|upgrade: websocket", "host: a.test").upgrade);
    let (parts, passage) = pass(Version::HTTP_10, "GET", asked, Shape::Empty).unwrap();
    assert!(!passage.upgrade && !parts.headers.contains_key("upgrade"));
}

#[test]
fn cookies_that_http_2_split_are_one_line_again() {
    let crumbs = "host: a.test|cookie: a=1|accept: x|cookie: b=2|cookie: c=3";
    let (parts, _) = pass(Version::HTTP_2, "GET", crumbs, Shape::Empty).unwrap();
    assert_eq!(lines(&parts.headers), "host: a.test|cookie: a=1; b=2; c=3|accept: x");
}

#[test]
fn spaces_round_a_value_are_malformed_in_http_2() {
    for value in [" a", "a ", "\ta"] {
        let headers = format!("host: a.test|x: {value}|y: {value}");
        let refusal = pass(Version::HTTP_2, "GET", &headers, Shape::Empty).map(drop);
        assert_eq!(refusal.unwrap_err().status.as_u16(), 400);
    }
}

#[test]
fn max_forwards_counts_down_where_it_counts() {
    let of = |method, value: &str| {
        let headers = format!("host: a.test|max-forwards: {value}");
        let (parts, passage) = pass(Version::HTTP_11, method, &headers, Shape::Empty).unwrap();
        let left = parts.headers.get("max-forwards").unwrap().to_str().unwrap().to_owned();
        (left, passage.answer_here)
    };
    assert_eq!(of("TRACE", "0"), ("0".to_owned(), true));
    assert_eq!(of("OPTIONS", "1"), ("0".to_owned(), false));
    assert_eq!(of("OPTIONS", "7"), ("6".to_owned(), false));
    assert_eq!(of("OPTIONS", "x"), ("x".to_owned(), false));
    assert_eq!(of("GET", "0"), ("0".to_owned(), false));
}

#[test]
fn a_head_that_is_too_large_is_refused_by_what_is() {
    let of = |bytes, fields, target_bytes| {
        let (mut parts, ()) = Request::new(()).into_parts();
        parts.uri = "http://a.test/xyz".parse().unwrap();
        parts.headers = map("host: a.test|x: 1|x: 2");
        let limits = HeadLimits { bytes, fields, target_bytes };
        measure(&parts, &limits).map_err(|refusal| refusal.status.as_u16())
    };
    assert_eq!(of(14, 3, 10), Ok(()));
    assert_eq!(of(13, 3, 10), Err(431));
    assert_eq!(of(14, 2, 10), Err(431));
    assert_eq!(of(14, 3, 9), Err(414));
}

/// Fields that mean something to one of the rules, with values that may.
const NAMES: [&str; 14] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "te",
    "upgrade",
    "expect",
    "cookie",
    "proxy-authorization",
    "pace-retry",
    "keep-alive",
    "max-forwards",
    "x-one",
    "trailer",
];
const VALUES: [&str; 14] = [
    "a.test",
    "close",
    "0",
    "12",
    "chunked",
    "trailers",
    "websocket",
    "100-continue",
    "a=1",
    "x-one",
    "upgrade, te",
    "host, cookie, content-length",
    "gzip, chunked",
    "",
];

proptest::proptest! {
    #[test]
    fn whatever_passes_has_one_host_one_framing_and_nothing_of_the_hop(
        picks in proptest::collection::vec((0..NAMES.len(), 0..VALUES.len()), 0..12),
        version in 0..3_usize, method in 0..4_usize, shape in 0..3_usize,
    ) {
        let line = |(name, value): &(usize, usize)| format!("{}: {}", NAMES[*name], VALUES[*value]);
        let headers = picks.iter().map(line).collect::<Vec<_>>().join("|");
        let version = [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2][version];
        let method = ["GET", "POST", "OPTIONS", "TRACE"][method];
        let shape = [Shape::Empty, Shape::Exact(3), Shape::Unknown][shape];
        if let Ok((parts, passage)) = pass(version, method, &headers, shape) {
            let count = |name: &str| parts.headers.get_all(name).iter().count();
            proptest::prop_assert_eq!(count("host"), 1);
            proptest::prop_assert!(count("content-length") + count("transfer-encoding") <= 1);
            for name in ["proxy-authorization", "pace-retry", "keep-alive", "expect"] {
                proptest::prop_assert_eq!(count(name), 0);
            }
            let connection = usize::from(passage.upgrade || passage.wants_trailers);
            proptest::prop_assert_eq!(count("connection"), connection);
            proptest::prop_assert_eq!(count("upgrade"), usize::from(passage.upgrade));
            proptest::prop_assert_eq!(count("te"), usize::from(passage.wants_trailers));
        }
    }
}
