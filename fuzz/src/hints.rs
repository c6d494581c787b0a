//! The waits that origins name, and what the table of verdicts makes of them.
//!
//! Input: two bytes of the status, one of the cap, four of our clock; `Date`; lines of
//! `Retry-After`, each tried as a `RateLimit` and as an older field too.

use http::StatusCode;
use http::header::{DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use pacegate::judge::amend::Amendments;
use pacegate::judge::classify::{Forbidden, Judged, Measure, classify};
use pacegate::judge::hints::older::older;
use pacegate::judge::hints::rate_limit::{RATELIMIT, rate_limit};
use pacegate::judge::hints::retry_after::retry_after;
use pacegate::judge::hints::{Hint, HintResult, Manner};
use pacegate::judge::outcome::{Answer, Outcome};
use pacegate::judge::verdict::PaceMove;
use std::ops::RangeInclusive;
use std::time::{Duration, UNIX_EPOCH};

pub fn body(data: &[u8]) {
    let [high, low, cap, a, b, c, d, text @ ..] = data else { return };
    let code = 100 + u16::from_be_bytes([*high, *low]) % 900;
    let status = StatusCode::from_u16(code).expect("three digits");
    let arrived = u64::from(u32::from_be_bytes([*a, *b, *c, *d]));
    let arrived = UNIX_EPOCH + Duration::from_secs(arrived);
    let most = Duration::from_secs(1 << (cap % 20));
    let mut lines = text.split(|byte| *byte == b'\n');
    let mut headers = HeaderMap::new();
    headers.extend(value(lines.next().unwrap_or_default()).map(|date| (DATE, date)));
    let answer = Answer { status, headers: &headers, arrived };
    assert_eq!(retry_after(&answer, most), None);
    let without = judge(&answer, most);
    let mut before = None;
    let waits: Vec<_> = lines.take(16).filter_map(value).collect();
    for line in waits {
        quota(&line, &Answer { status, headers: &headers, arrived }, most);
        headers.append(RETRY_AFTER, line);
        let answer = Answer { status, headers: &headers, arrived };
        let hint = retry_after(&answer, most).expect("there is a field");
        if let Some(wait) = hint.wait {
            assert!((Duration::from_secs(1)..=most).contains(&wait), "{wait:?} of {most:?}");
        }
        assert!(hint.read != HintResult::Capped || hint.wait == Some(most));
        assert!(hint.wait >= before, "a line more made it {:?} of {before:?}", hint.wait);
        before = hint.wait;
        never_faster(&without, &judge(&answer, most), status);
    }
    plain_seconds(&answer_of(&headers, arrived), most);
}

/// A quota names a wait within a day, and never makes anybody faster.
fn quota(line: &HeaderValue, answer: &Answer<'_>, most: Duration) {
    let without = judge(&Answer { headers: &HeaderMap::new(), ..*answer }, most);
    let headers = HeaderMap::from_iter([(RATELIMIT, line.clone())]);
    let list = Answer { headers: &headers, ..*answer };
    let least = Duration::from_secs(1);
    check(rate_limit(&list, &manner(most, false)), least..=most);
    never_faster(&without, &judge(&list, most), answer.status);
    let fields = ["x-ratelimit-remaining", "x-ratelimit-limit", "x-ratelimit-reset"];
    let mut headers: HeaderMap =
        fields.map(|name| (HeaderName::from_static(name), line.clone())).into_iter().collect();
    for left in [line.clone(), HeaderValue::from_static("0")] {
        headers.insert(fields[0], left);
        let older_fields = Answer { headers: &headers, ..*answer };
        check(older(&older_fields, &manner(most, true)), Duration::from_nanos(1)..=most);
        never_faster(&without, &judge(&older_fields, most), answer.status);
    }
}

fn check(hint: Option<Hint>, bounds: RangeInclusive<Duration>) {
    if let Some(wait) = hint.and_then(|hint| hint.wait) {
        assert!(bounds.contains(&wait) && wait.as_secs() <= 86_400, "{wait:?} in {bounds:?}");
    }
}

fn manner(most: Duration, preemptive: bool) -> Manner<'static> {
    Manner { most, preemptive, profile: None }
}

fn value(line: &[u8]) -> Option<HeaderValue> {
    HeaderValue::from_bytes(line).ok()
}

fn judge(answer: &Answer<'_>, most: Duration) -> Judged {
    let amendments = Amendments::default();
    classify(
        &Outcome::Answer(*answer),
        &Measure {
            hints: manner(most, false),
            amendments: &amendments,
            forbidden: Forbidden::Served,
        },
    )
}

/// Nothing that an origin writes makes its pace faster than its status alone, or a request's repeats
/// more.
fn never_faster(without: &Judged, with: &Judged, status: StatusCode) {
    let speed = |judged: &Judged| match judged.verdict.pace {
        PaceMove::Climb => 0,
        PaceMove::Nothing => 1,
        PaceMove::StepDown => 2,
    };
    assert!(speed(with) <= speed(without), "{status}: {without:?}, {with:?}");
    assert!(without.verdict.pause.is_none());
    assert!(with.withheld == without.withheld);
    if let Some(pause) = with.verdict.pause {
        assert!(!pause.is_zero());
    }
}

fn answer_of(headers: &HeaderMap, arrived: std::time::SystemTime) -> Answer<'_> {
    Answer { status: StatusCode::TOO_MANY_REQUESTS, headers, arrived }
}

/// Seconds as they are written are seconds as they are read.
fn plain_seconds(answer: &Answer<'_>, most: Duration) {
    let seconds = 1 + answer.headers.len() as u64 * 7;
    let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from(seconds))]);
    let hint = retry_after(&Answer { headers: &headers, ..*answer }, most).expect("a field");
    assert_eq!(hint.wait, Some(Duration::from_secs(seconds).min(most)));
}
