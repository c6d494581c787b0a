//! The table of spec section 3, row by row.

use super::*;
use crate::judge::amend::Change;
use crate::judge::hints::rate_limit::RATELIMIT;
use crate::judge::outcome::{Fault as Failure, Sent};
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName};
use std::sync::LazyLock;
use std::time::SystemTime;

static NONE: LazyLock<Amendments> = LazyLock::new(Amendments::default);
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);

fn measure(amendments: &Amendments) -> Measure<'_> {
    let hints = Manner { most: RETRY_AFTER_MAX, preemptive: false, profile: None };
    Measure { hints, amendments, forbidden: Forbidden::Served }
}

fn answered(status: u16, retry_after: Option<&str>) -> Judged {
    amended(status, retry_after, &NONE)
}

fn amended(status: u16, retry_after: Option<&str>, amendments: &Amendments) -> Judged {
    let mut headers = HeaderMap::new();
    if let Some(text) = retry_after {
        headers.insert(RETRY_AFTER, text.parse().unwrap());
    }
    let status = StatusCode::from_u16(status).unwrap();
    let arrived = SystemTime::UNIX_EPOCH;
    classify(&Outcome::Answer(Answer { status, headers: &headers, arrived }), &measure(amendments))
}

fn failed(kind: FaultKind) -> Verdict {
    let fault = Failure { kind, sent: Sent::Perhaps, detail: String::new() };
    classify(&Outcome::Fault(&fault), &measure(&NONE)).verdict
}

#[track_caller]
fn check(status: u16, retry_after: Option<&str>, class: Class, pace: PaceMove, repeat: Repeat) {
    let verdict = answered(status, retry_after).verdict;
    assert_eq!((verdict.class, verdict.pace, verdict.repeat), (class, pace, repeat), "{status}");
}

#[test]
fn a_limit_with_a_wait_climbs_and_pauses() {
    for status in [429, 430, 503, 413] {
        check(status, Some("30"), Class::ExplicitWait, Climb, InWindow);
        assert_eq!(answered(status, Some("30")).verdict.pause, Some(Duration::from_secs(30)));
    }
    check(429, None, Class::RateLimited, Climb, InWindow);
    check(430, Some("junk"), Class::RateLimited, Climb, InWindow);
    check(429, Some("0"), Class::RateLimited, Climb, InWindow);
    check(503, Some("-3"), Class::Overloaded, Climb, InWindow);
    check(413, None, Class::Served, StepDown, No);
}

#[test]
fn a_wait_over_the_cap_pauses_the_scope_and_answers_the_request() {
    let judged = answered(429, Some("9999999999"));
    assert_eq!(judged.verdict.pause, Some(RETRY_AFTER_MAX));
    assert_eq!(judged.verdict.repeat, No);
    assert_eq!(judged.verdict.class, Class::ExplicitWait);
}

#[test]
fn a_redirect_with_a_wait_is_served_and_pauses_the_next() {
    check(302, Some("5"), Class::ServedWait, StepDown, No);
    assert_eq!(answered(302, Some("5")).verdict.pause, Some(Duration::from_secs(5)));
    check(302, None, Class::Served, StepDown, No);
    check(200, Some("5"), Class::Served, StepDown, No);
    assert_eq!(answered(200, Some("5")).verdict.pause, None);
}

#[test]
fn a_quota_with_nothing_left_is_a_wait_as_well() {
    let judged = |status: u16, limit: &str| {
        let headers = HeaderMap::from_iter([(RATELIMIT, limit.parse().unwrap())]);
        let status = StatusCode::from_u16(status).unwrap();
        let answer = Answer { status, headers: &headers, arrived: SystemTime::UNIX_EPOCH };
        classify(&Outcome::Answer(answer), &measure(&NONE)).verdict
    };
    let check = |status, limit: &str, class, pace, repeat, pause: Option<u64>| {
        let verdict = judged(status, limit);
        assert_eq!(
            (verdict.class, verdict.pace, verdict.repeat),
            (class, pace, repeat),
            "{status}"
        );
        assert_eq!(verdict.pause, pause.map(Duration::from_secs), "{status}");
    };
    let (used_up, left) = ("\"a\";r=0;t=30", "\"a\";r=1;t=30");
    for status in [429, 430, 503, 413] {
        check(status, used_up, Class::ExplicitWait, Climb, InWindow, Some(30));
    }
    for status in [200, 204, 206, 301, 304] {
        check(status, used_up, Class::ServedWait, StepDown, No, Some(30));
        check(status, left, Class::Served, StepDown, No, None);
    }
    check(429, left, Class::RateLimited, Climb, InWindow, None);
    check(503, left, Class::Overloaded, Climb, InWindow, None);
    check(404, used_up, Class::Served, StepDown, No, None);
    check(500, used_up, Class::Overloaded, Climb, InWindow, None);
    assert_eq!(judged(500, used_up).page_fault, Site);
    check(429, "\"a\";r=0;t=9999", Class::ExplicitWait, Climb, No, Some(3600));
}

#[test]
fn every_5xx_is_overload_but_those_that_waiting_does_not_mend() {
    for status in 500..=599 {
        let (class, pace, repeat) = match status {
            501 | 505 | 506 | 511 => (Class::Served, StepDown, No),
            525 | 526 => (Class::Tls, Nothing, No),
            _ => (Class::Overloaded, Climb, InWindow),
        };
        check(status, None, class, pace, repeat);
    }
}

#[test]
fn everything_else_is_served() {
    for status in [100, 101, 200, 204, 206, 301, 304, 400, 401, 403, 404, 410, 451, 600, 998] {
        check(status, None, Class::Served, StepDown, No);
    }
    check(408, None, Class::Soft, Nothing, InWindow);
    check(425, None, Class::Soft, Nothing, InWindow);
}

#[test]
fn an_origins_own_407_is_withheld_and_not_repeated() {
    check(407, None, Class::Unreachable, Nothing, No);
    assert!(answered(407, None).withheld);
    assert!(!answered(401, None).withheld);
}

#[test]
fn only_a_5xx_without_hint_other_than_503_may_be_a_pages_own() {
    let page = |status, hint| answered(status, hint).verdict.page_fault;
    assert_eq!(page(500, None), IfServedSince);
    assert_eq!(page(504, Some("junk")), IfServedSince);
    assert_eq!(page(500, Some("7")), Site);
    assert_eq!(page(503, None), Site);
    assert_eq!(page(429, None), Site);
    assert_eq!(failed(F::ResponseTimeout).page_fault, IfLaterServed);
    assert_eq!(failed(F::Reset).page_fault, IfSingledOut);
    assert_eq!(failed(F::Truncated).page_fault, IfSingledOut);
    assert_eq!(failed(F::ConnectTimeout).page_fault, Site);
}

/// What the spec says of a fault. A full match: a new fault does not compile before it has a row.
fn said(kind: &FaultKind) -> (Class, PaceMove, Repeat) {
    match kind {
        F::ConnectTimeout => (Class::ConnectTimeout, Climb, InWindow),
        F::ResponseTimeout => (Class::ResponseTimeout, Climb, InWindow),
        F::Abandoned => (Class::Abandoned, Climb, No),
        F::Reset => (Class::Reset, Climb, InWindow),
        F::Truncated | F::Stuck => (Class::Truncated, Climb, InWindow),
        F::Calm => (Class::Overloaded, Climb, InWindow),
        F::DnsTimeout | F::RefusedStream | F::NoDescriptor => (Class::Soft, Nothing, InWindow),
        F::Refused => (Class::Refused, Nothing, No),
        F::NoSuchName => (Class::Dns, Nothing, No),
        F::Certificate(_) | F::Tls(_) | F::TlsAlert(_) => (Class::Tls, Nothing, No),
        F::Unreachable | F::NotHttp(_) | F::HeadTooLarge | F::UpgradeFailed => {
            (Class::Unreachable, Nothing, No)
        }
        F::Prohibited(_) | F::OwnListener => (Class::Denied, Nothing, No),
        F::ClientBody => (Class::ClientGone, Nothing, No),
    }
}

#[test]
fn every_fault_has_its_row() {
    let localhost = std::net::IpAddr::from([127, 0, 0, 1]);
    let kinds = [
        F::ConnectTimeout,
        F::ResponseTimeout,
        F::Abandoned,
        F::Reset,
        F::Truncated,
        F::Stuck,
        F::Refused,
        F::NoSuchName,
        F::DnsTimeout,
        F::Unreachable,
        F::Certificate(String::new()),
        F::Tls(String::new()),
        F::TlsAlert(String::new()),
        F::NotHttp(String::new()),
        F::HeadTooLarge,
        F::UpgradeFailed,
        F::RefusedStream,
        F::Calm,
        F::NoDescriptor,
        F::Prohibited(localhost),
        F::OwnListener,
        F::ClientBody,
    ];
    for kind in kinds {
        let want = said(&kind);
        let verdict = failed(kind.clone());
        assert_eq!((verdict.class, verdict.pace, verdict.repeat), want, "{kind:?}");
    }
}

#[test]
fn every_class_has_a_row() {
    for class in Class::ALL {
        assert!(TABLE.iter().any(|row| row.class == class), "{class:?}");
    }
}

#[test]
fn a_status_taken_for_a_class_is_judged_as_one_of_its_own() {
    let mut amendments = Amendments::default();
    amendments.take_for(403, 403, Class::RateLimited);
    amendments.take_for(999, 999, Class::RateLimited);
    amendments.take_for(502, 503, Class::Served);
    amendments.take_for(400, 400, Class::Overloaded);
    let check = |status, wait, class, pace, repeat| {
        let verdict = amended(status, wait, &amendments).verdict;
        assert_eq!(
            (verdict.class, verdict.pace, verdict.repeat),
            (class, pace, repeat),
            "{status}"
        );
    };
    check(403, None, Class::RateLimited, Climb, InWindow);
    check(403, Some("9"), Class::ExplicitWait, Climb, InWindow);
    check(999, None, Class::RateLimited, Climb, InWindow);
    check(503, Some("9"), Class::Served, StepDown, No);
    check(400, None, Class::Overloaded, Climb, InWindow);
    check(404, None, Class::Served, StepDown, No);
    check(504, None, Class::Overloaded, Climb, InWindow);
    assert_eq!(amended(400, None, &amendments).verdict.page_fault, IfServedSince);
    assert_eq!(amended(403, Some("9"), &amendments).verdict.pause, Some(Duration::from_secs(9)));
}

#[test]
fn a_class_does_what_it_is_told_instead_of_its_row() {
    let mut amendments = Amendments::default();
    let quiet = Change { pace: Some(Nothing), repeat: Some(No) };
    amendments.change(Class::Overloaded, quiet);
    amendments.change(Class::Refused, Change { pace: Some(Climb), repeat: Some(InWindow) });
    let verdict = amended(500, None, &amendments).verdict;
    assert_eq!((verdict.class, verdict.pace, verdict.repeat), (Class::Overloaded, Nothing, No));
    let verdict = amended(429, None, &amendments).verdict;
    assert_eq!((verdict.pace, verdict.repeat), (Climb, InWindow));
    let fault = Failure { kind: F::Refused, sent: Sent::Nothing, detail: String::new() };
    let verdict = classify(&Outcome::Fault(&fault), &measure(&amendments)).verdict;
    assert_eq!((verdict.class, verdict.pace, verdict.repeat), (Class::Refused, Climb, InWindow));
}

fn with_fields(status: u16, fields: &[(&'static str, &str)], forbidden: Forbidden<'_>) -> Verdict {
    let fields = fields.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse()));
    let headers: HeaderMap = fields.map(|(name, value)| (name, value.unwrap())).collect();
    let status = StatusCode::from_u16(status).unwrap();
    let answer = Answer { status, headers: &headers, arrived: SystemTime::UNIX_EPOCH };
    classify(&Outcome::Answer(answer), &Measure { forbidden, ..measure(&NONE) }).verdict
}

// squirrelscan/squirrelscan#196: a challenge is a block, a 503 with a wait a limit.
#[test]
fn a_challenge_and_a_999_are_blocks_and_slow_nobody_down() {
    let check = |status, fields: &[_], class, pace, repeat| {
        let verdict = with_fields(status, fields, Forbidden::Served);
        assert_eq!(
            (verdict.class, verdict.pace, verdict.repeat),
            (class, pace, repeat),
            "{status}"
        );
        assert_eq!(verdict.pause, None);
    };
    let challenge = ("cf-mitigated", "challenge");
    check(403, &[challenge], Class::Blocked, Nothing, No);
    check(503, &[("cf-mitigated", " Challenge ")], Class::Blocked, Nothing, No);
    check(503, &[challenge, ("retry-after", "9")], Class::Blocked, Nothing, No);
    check(999, &[], Class::Blocked, Nothing, No);
    check(200, &[challenge], Class::Served, StepDown, No);
    check(403, &[("cf-mitigated", "no")], Class::Served, StepDown, No);
    check(503, &[("cf-mitigated", "")], Class::Overloaded, Climb, InWindow);
    for status in [520, 521, 522, 523, 524, 529, 530] {
        check(status, &[], Class::Overloaded, Climb, InWindow);
    }
}

// octokit/plugin-throttling.js#566: a secondary limit is a 403 with plenty left.
#[test]
fn a_403_with_the_marks_of_a_limit_is_a_wait_where_it_may_be_one() {
    let judged = |fields: &[_], text: &[u8]| {
        let verdict = with_fields(403, fields, Forbidden::MayBeLimit { text });
        (verdict.class, verdict.pause.map_or(0, |pause| pause.as_secs()))
    };
    let (wait, served) = (|secs| (Class::ExplicitWait, secs), (Class::Served, 0));
    let (left, reset) = (|left| ("x-ratelimit-remaining", left), ("x-ratelimit-reset", "1800"));
    assert_eq!(judged(&[("retry-after", "7")], b""), wait(7));
    assert_eq!(judged(&[left("0"), reset], b""), wait(1800));
    assert_eq!(judged(&[left("0")], b""), wait(60));
    assert_eq!(judged(&[("ratelimit", "a;r=0;t=9")], b""), wait(9));
    assert_eq!(judged(&[("ratelimit", "a;r=0")], b""), wait(60));
    let secondary = b"{\"message\": \"You have exceeded a secondary Rate Limit\"}";
    assert_eq!(judged(&[left("4990"), reset], secondary), wait(60));
    assert_eq!(judged(&[left("4990"), reset], b"no access"), served);
    assert_eq!(judged(&[("retry-after", "soon")], b""), served);
    assert_eq!(judged(&[], &[&b"x".repeat(5000)[..], b"rate limit"].concat()), served);
    // Elsewhere a 403 is an answer like any other.
    let plain = with_fields(403, &[("retry-after", "7"), left("0"), reset], Forbidden::Served);
    assert_eq!((plain.class, plain.pause), (Class::Served, None));
    let other =
        with_fields(401, &[("retry-after", "7")], Forbidden::MayBeLimit { text: secondary });
    assert_eq!(other.class, Class::Served);
}
