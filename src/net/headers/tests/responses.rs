//! Rows 20, 37, 42, 51, 52, 60, 67 and 103 of http.md, and hyper.md section 5.

use super::{lines, map};
use crate::judge::outcome::FaultKind;
use crate::net::headers::response::{forward, forward_trailers};
use http::{Response, StatusCode, Version};
use std::time::{Duration, SystemTime};

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)
}

fn pass(status: u16, headers: &str, upgrade: bool) -> Result<(String, bool), FaultKind> {
    let (mut parts, ()) = Response::new(()).into_parts();
    parts.status = StatusCode::from_u16(status).unwrap();
    parts.version = Version::HTTP_10;
    parts.headers = map(headers);
    let received = forward(&mut parts, upgrade, now)?;
    assert_eq!(parts.version, Version::HTTP_11);
    Ok((lines(&parts.headers), received.reusable))
}

/// Every head has a date, unless it is about one.
#[track_caller]
fn check(headers: &str, want: &str) {
    let (got, reusable) = pass(200, &format!("date: x|{headers}"), false).expect(headers);
    assert_eq!(got, format!("date: x|{want}").trim_end_matches('|'));
    assert!(reusable);
}

#[track_caller]
fn check_not_http(headers: &str) {
    let fault = pass(200, headers, false).expect_err(headers);
    assert!(matches!(fault, FaultKind::NotHttp(why) if !why.is_empty()), "{headers}");
}

#[test]
fn what_is_end_to_end_passes_in_its_order() {
    let all = "server: x|set-cookie: a|set-cookie: b|proxy-status: theirs|www-authenticate: Basic";
    check(all, all);
}

#[test]
fn what_belongs_to_the_connection_or_to_us_ends_here() {
    check(
        "connection: close, x-one|x-one: 1|keep-alive: timeout=5|server: x|proxy-connection: a\
         |proxy-authenticate: Basic|proxy-authentication-info: b|upgrade: h2,h2c\
         |pace-status: wait=9|vary: y",
        "server: x|vary: y",
    );
}

#[test]
fn a_length_is_one_number_or_no_length() {
    check("content-length: 0002", "content-length: 2");
    check("content-length: 2, 2", "content-length: 2");
    check("content-length: 2|etag: e|content-length: 2", "content-length: 2|etag: e");
    for bad in ["+2", "-1", "", "2, 3", "18446744073709551616"] {
        check_not_http(&format!("content-length: {bad}"));
    }
}

#[test]
fn a_coded_answer_has_no_length_and_with_one_its_connection_carries_no_other() {
    for coding in ["chunked", "Chunked", "chunked, chunked", "identity"] {
        check(&format!("transfer-encoding: {coding}"), "");
    }
    check("transfer-encoding: chunked|transfer-encoding: chunked", "");
    let both = pass(200, "date: x|content-length: 5|transfer-encoding: chunked", false);
    assert_eq!(both, Ok(("date: x".to_owned(), false)));
    check_not_http("transfer-encoding: gzip, chunked");
    check_not_http("transfer-encoding: chunked, gzip");
}

#[test]
fn an_answer_without_content_says_no_length() {
    assert_eq!(pass(204, "date: x|content-length: 0", false).unwrap().0, "date: x");
    let unchanged = "date: x|content-length: 5";
    assert_eq!(pass(304, unchanged, false).unwrap().0, unchanged);
}

#[test]
fn an_answer_without_a_date_gets_one_at_its_end() {
    let want = "server: x|date: Sun, 06 Nov 1994 08:49:37 GMT";
    assert_eq!(pass(200, "server: x", false).unwrap().0, want);
}

#[test]
fn only_the_upgrade_that_was_asked_for_happens() {
    let asked = "date: x|connection: upgrade|upgrade: WebSocket|sec-websocket-accept: k";
    let want = "date: x|connection: Upgrade|upgrade: websocket|sec-websocket-accept: k";
    assert_eq!(pass(101, asked, true), Ok((want.to_owned(), true)));
    assert_eq!(pass(101, asked, false), Err(FaultKind::UpgradeFailed));
    assert_eq!(pass(101, "upgrade: h2c", true), Err(FaultKind::UpgradeFailed));
    assert_eq!(pass(101, "upgrade: websocket, h2c", true), Err(FaultKind::UpgradeFailed));
    assert_eq!(pass(101, "date: x", true), Err(FaultKind::UpgradeFailed));
    assert_eq!(pass(200, "date: x", true), Ok(("date: x".to_owned(), true)));
}

#[test]
fn a_trailer_carries_no_framing_and_no_credentials() {
    let mut trailers =
        map("grpc-status: 0|content-length: 5|transfer-encoding: chunked|host: a|authorization: b\
         |set-cookie: c|pace-status: d|connection: x-one|x-one: 1|checksum: e");
    forward_trailers(&mut trailers);
    assert_eq!(lines(&trailers), "grpc-status: 0|checksum: e");
}

proptest::proptest! {
    #[test]
    fn no_head_panics(
        length in "[ -~]{0,20}", coding in "[ -~]{0,20}", connection in "[ -~]{0,40}",
        status in 100_u16..1000, upgrade in proptest::bool::ANY,
    ) {
        let clean = |text: String| text.replace('|', "");
        let headers = format!(
            "content-length: {}|transfer-encoding: {}|connection: {}",
            clean(length), clean(coding), clean(connection),
        );
        let _ = pass(status, &headers, upgrade);
    }
}
