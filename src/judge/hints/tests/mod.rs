//! What is read of an answer as a whole, and of its rate limits.

mod older;

use super::*;
use http::header::{HeaderMap, HeaderName};
use std::time::UNIX_EPOCH;

const MOST: Duration = Duration::from_secs(3600);
const PLAIN: Manner<'_> = Manner { most: MOST, preemptive: false, profile: None };

fn said(status: u16, fields: &[(&str, &str)]) -> Hints {
    said_to(&PLAIN, status, fields)
}

fn said_to(manner: &Manner<'_>, status: u16, fields: &[(&str, &str)]) -> Hints {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
    }
    let status = StatusCode::from_u16(status).unwrap();
    read(&Answer { status, headers: &headers, arrived: UNIX_EPOCH }, manner, false)
}

/// The wait and the result of one `RateLimit` on a 200; `None`: nothing was read.
#[track_caller]
fn check(lines: &[&str], want: Option<(u64, HintResult)>) {
    let fields: Vec<_> = lines.iter().map(|line| ("RateLimit", *line)).collect();
    let hints = said(200, &fields);
    let wait = hints.wait().map_or(0, |wait| wait.as_secs());
    let got = hints.results().map(|(field, read)| {
        assert_eq!(field, Field::RateLimit);
        (wait, read)
    });
    assert_eq!(got.collect::<Vec<_>>(), want.into_iter().collect::<Vec<_>>(), "{lines:?}");
}

#[test]
fn a_quota_with_nothing_left_names_the_wait_until_there_is_more() {
    check(&["\"default\";r=0;t=30"], Some((30, HintResult::Ok)));
    check(&["  default;r=0;t=1 "], Some((1, HintResult::Ok)));
    check(&["\"a b\";pk=:cGs=:;t=30;r=0;x"], Some((30, HintResult::Ok)));
    check(&["\"default\";r=50;t=30"], None);
    check(&["\"default\";r=0"], None);
    check(&["\"default\";r=0;t=0"], Some((0, HintResult::Zero)));
    check(&[""], None);
    // Of a parameter given twice the last counts (RFC 9651 §4.2.3.2).
    check(&["\"default\";r=0;r=1;t=9"], None);
}

// draft-ietf-httpapi-ratelimit-headers-03 to -07.
#[test]
fn a_quota_as_it_was_written_before_lists_counts_as_well() {
    check(&["limit=10, remaining=0, reset=30"], Some((30, HintResult::Ok)));
    check(&["limit=10", "remaining=0", "reset=30;x=y"], Some((30, HintResult::Ok)));
    check(&["limit=10, remaining=1, reset=30"], None);
    check(&["limit=10, remaining=0, reset=86401"], Some((0, HintResult::Malformed)));
    check(&["remaining=0, reset=-1"], Some((0, HintResult::Negative)));
}

#[test]
fn little_left_spaces_by_what_the_policy_allows_if_that_is_asked_for() {
    let eager = Manner { preemptive: true, ..PLAIN };
    let spaced = |manner, status, limit, policy| {
        let wait = said_to(manner, status, &[("RateLimit", limit), ("RateLimit-Policy", policy)]);
        wait.wait().map(|wait| wait.as_secs_f64())
    };
    let policy = "\"a\";q=100;w=60, \"b\";q=1000;w=3600;qu=\"requests\"";
    let check = |status, limit, want| {
        assert_eq!(spaced(&eager, status, limit, policy), want, "{status} {limit}");
    };
    check(200, "\"a\";r=10;t=30", Some(0.6));
    check(200, "\"a\";r=11;t=30", None);
    check(200, "\"a\";r=1;t=1, \"b\";r=100;t=9", Some(3.6));
    check(200, "\"a\";r=1;t=1, \"b\";r=0;t=9", Some(9.0));
    check(200, "\"c\";r=1;t=30", None);
    check(429, "\"a\";r=1;t=30", None);
    check(404, "\"a\";r=1;t=30", None);
    assert_eq!(spaced(&PLAIN, 200, "\"a\";r=1;t=30", policy), None);
    for policy in ["\"a\";q=100", "\"a\";q=0;w=60", "\"a\";q=9;w=60;qu=\"content-bytes\"", "a=1"] {
        assert_eq!(spaced(&eager, 200, "\"a\";r=1;t=30", policy), None, "{policy}");
    }
}

#[test]
fn of_several_quotas_the_longest_wait_of_those_used_up_counts() {
    check(&["\"s\";r=0;t=5, \"m\";r=0;t=40,\"d\";r=7;t=900"], Some((40, HintResult::Ok)));
    check(&["\"s\";r=0;t=5", "\"m\";r=0;t=40"], Some((40, HintResult::Ok)));
    check(&["\"s\";r=3;t=5", "\"m\";r=9;t=40"], None);
    check(&["\"s\";r=0;t=0, \"m\";r=0;t=4"], Some((4, HintResult::Ok)));
}

// ietf-wg-httpapi/ratelimit-headers#84: huge values, and timestamps in a delta field.
#[test]
fn a_quota_that_renews_after_more_than_a_day_names_no_wait_and_a_long_one_is_cut() {
    check(&["\"d\";r=0;t=3600"], Some((3600, HintResult::Ok)));
    check(&["\"d\";r=0;t=3601"], Some((3600, HintResult::Capped)));
    check(&["\"d\";r=0;t=86400"], Some((3600, HintResult::Capped)));
    for reset in ["86401", "1800000000", "999999999999999"] {
        check(&[&format!("\"d\";r=0;t={reset}")], Some((0, HintResult::Malformed)));
        check(&[&format!("\"d\";r=0;t={reset}, \"s\";r=0;t=2")], Some((2, HintResult::Ok)));
    }
}

#[test]
fn what_breaks_the_grammar_is_ignored_as_a_whole() {
    let long = format!("\"x\";r=0;t=1{}", "0".repeat(100));
    for line in [
        "\"default\";r=0;t=30, ",
        "\"default\";r=0;t=30,,\"b\";r=1",
        "\"default\";r=0;t=30, \"b\"",
        "\"default\";t=30",
        "\"default\";r=0;t=1.5",
        "\"default\";r=0.0;t=30",
        "\"default\";r=\"0\";t=30",
        "\"default\";r=0;t=soon",
        "\"default\";r;t=30",
        "\"default;r=0;t=30",
        "(\"default\");r=0;t=30",
        "1;r=0;t=30",
        "\"default\";R=0;t=30",
        "\"default\" ;r=0;t=30",
        "limit=10, reset=30",
        "limit=10, remaining=0, reset=(30)",
        "limit=10, remaining=0, reset=30, ",
        "0",
        "=",
        &long,
    ] {
        check(&[line], Some((0, HintResult::Malformed)));
        check(&["\"good\";r=0;t=3", line], Some((0, HintResult::Malformed)));
    }
    check(&["\"default\";r=0;t=-5"], Some((0, HintResult::Negative)));
    check(&["\"default\";r=-1;t=5"], Some((0, HintResult::Negative)));
}

// ietf-wg-httpapi/ratelimit-headers#160: 429 with `Retry-After: 20` and `"dynamic";r=15;t=40`.
#[test]
fn retry_after_wins_if_it_names_a_wait() {
    let limit = |text| ("RateLimit", text);
    let wait = |status, fields: &[_]| said(status, fields).wait().map(|wait| wait.as_secs());
    let used_up = limit("\"dynamic\";r=0;t=40");
    assert_eq!(wait(429, &[("Retry-After", "20"), limit("\"dynamic\";r=15;t=40")]), Some(20));
    assert_eq!(wait(429, &[("Retry-After", "20"), used_up]), Some(20));
    assert_eq!(wait(429, &[("Retry-After", "60"), used_up]), Some(60));
    for none in ["0", "-3", "soon"] {
        assert_eq!(wait(429, &[("Retry-After", none), used_up]), Some(40));
    }
    // Where it isn't read it doesn't win.
    assert_eq!(wait(200, &[("Retry-After", "20"), used_up]), Some(40));
}

#[test]
fn every_field_that_was_read_is_told() {
    let hints = said(429, &[("Retry-After", "soon"), ("RateLimit", "\"a\";r=0;t=5")]);
    let read: Vec<_> = hints.results().collect();
    assert_eq!(
        read,
        [(Field::RetryAfter, HintResult::Malformed), (Field::RateLimit, HintResult::Ok)]
    );
    assert_eq!(said(429, &[]), Hints::default());
}

#[test]
fn an_answer_out_of_a_cache_says_nothing_about_quotas() {
    let aged = |age| said(200, &[("RateLimit", "\"a\";r=0;t=5"), ("Age", age)]).wait().is_some();
    for age in ["1", "007", "99999999999999999999999"] {
        assert!(!aged(age), "{age}");
    }
    for age in ["0", "000", "", "-1", "old"] {
        assert!(aged(age), "{age}");
    }
}

proptest::proptest! {
    #[test]
    fn no_rate_limit_panics_or_names_less_than_a_second(
        line in "(\"?[a-z]{0,3}\"?(;[rtqw]=-?[0-9.]{0,16}){0,3},? ?){0,3}|[ -~]{0,40}",
    ) {
        if let Some(wait) = said(200, &[("RateLimit", &line)]).wait() {
            proptest::prop_assert!((Duration::from_secs(1)..=MOST).contains(&wait));
        }
    }
}
