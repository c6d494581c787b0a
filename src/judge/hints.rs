//! The waits that origins name: `Retry-After` (RFC 9110 §10.2.3) in a duration, or why not.
//!
//! Nothing an origin writes may panic, overflow, or name a moment earlier than it meant. Whether a
//! wait is obeyed, and for whom, is not decided here.

use crate::judge::outcome::Answer;
use http::HeaderValue;
use http::header::{DATE, RETRY_AFTER};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What a field that names a wait came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// How long from the answer's arrival nobody should ask again, at most the cap. `None`: the
    /// field says nothing usable, the ordinary step applies.
    pub wait: Option<Duration>,
    pub read: HintResult,
}

/// How the reading went: the `result` of `pacegate_hints_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HintResult {
    Ok,
    Zero,
    Negative,
    Past,
    Epoch,
    Malformed,
    Capped,
}

impl HintResult {
    /// Every result.
    pub const ALL: [HintResult; 7] = [
        HintResult::Ok,
        HintResult::Zero,
        HintResult::Negative,
        HintResult::Past,
        HintResult::Epoch,
        HintResult::Malformed,
        HintResult::Capped,
    ];

    /// The word for metrics.
    pub const fn word(self) -> &'static str {
        match self {
            HintResult::Ok => "ok",
            HintResult::Zero => "zero",
            HintResult::Negative => "negative",
            HintResult::Past => "past",
            HintResult::Epoch => "epoch",
            HintResult::Malformed => "malformed",
            HintResult::Capped => "capped",
        }
    }
}

/// Reads the `Retry-After` of an answer; `None` where it has none. Of several lines the longest
/// wait counts. A wait longer than `most` (`retry_after.max`) is cut to it and read as `Capped`.
pub fn retry_after(answer: &Answer<'_>, most: Duration) -> Option<Hint> {
    let lines = answer.headers.get_all(RETRY_AFTER).iter();
    let hint = lines.map(|line| read(line, answer)).reduce(longer)?;
    Some(match hint.wait {
        Some(wait) if wait > most => Hint { wait: Some(most), read: HintResult::Capped },
        Some(_) | None => hint,
    })
}

/// The later line wins a tie only if it says a wait: the first reason not to wait is kept.
fn longer(one: Hint, other: Hint) -> Hint {
    if other.wait > one.wait { other } else { one }
}

fn read(line: &HeaderValue, answer: &Answer<'_>) -> Hint {
    let text = line.as_bytes().trim_ascii();
    if !text.is_empty() && text.iter().all(u8::is_ascii_digit) {
        return of_number(saturating(text), answer);
    }
    if text.first() == Some(&b'-') && text.len() > 1 && text[1..].iter().all(u8::is_ascii_digit) {
        return Hint::none(HintResult::Negative);
    }
    match std::str::from_utf8(text).ok().and_then(|text| httpdate::parse_http_date(text).ok()) {
        Some(date) => of_date(date, answer),
        None => Hint::none(HintResult::Malformed),
    }
}

impl Hint {
    const fn none(read: HintResult) -> Hint {
        Hint { wait: None, read }
    }
}

fn of_number(number: u64, answer: &Answer<'_>) -> Hint {
    if number == 0 {
        return Hint::none(HintResult::Zero);
    }
    let now = sent_at(answer).duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if number < EPOCHS_FROM || number.abs_diff(now) > DAY {
        return Hint { wait: Some(Duration::from_secs(number)), read: HintResult::Ok };
    }
    match number.saturating_sub(now) {
        0 => Hint::none(HintResult::Past),
        wait => Hint { wait: Some(Duration::from_secs(wait)), read: HintResult::Epoch },
    }
}

/// A date names a second, not a moment: the end of that second is meant at the latest.
fn of_date(date: SystemTime, answer: &Answer<'_>) -> Hint {
    let sent = sent_at(answer);
    match date.duration_since(sent) {
        Ok(wait) => Hint { wait: Some(wait + RESOLUTION), read: HintResult::Ok },
        Err(_) => Hint::none(HintResult::Past),
    }
}

/// When the answer was sent by the origin's own clock, so that its error cancels out.
fn sent_at(answer: &Answer<'_>) -> SystemTime {
    let date = answer.headers.get(DATE).and_then(|value| value.to_str().ok());
    date.and_then(|text| httpdate::parse_http_date(text).ok()).unwrap_or(answer.arrived)
}

fn saturating(digits: &[u8]) -> u64 {
    digits
        .iter()
        .fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
}

/// From here on a number can be a moment: September 2001. As a wait it would be 31 years.
const EPOCHS_FROM: u64 = 1_000_000_000;
/// How far from `Date` such a moment may lie, in seconds.
const DAY: u64 = 86_400;
/// RFC 9110 §5.6.7: dates have whole seconds.
const RESOLUTION: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, StatusCode};

    const DATE_TEXT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    /// `DATE_TEXT` in seconds since 1970.
    const DATE_SECS: u64 = 784_111_777;

    fn hint(lines: &[&str], date: Option<&str>, arrived: u64) -> Option<Hint> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(RETRY_AFTER, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        if let Some(date) = date {
            headers.insert(DATE, date.parse().unwrap());
        }
        let arrived = UNIX_EPOCH + Duration::from_secs(arrived);
        let status = StatusCode::TOO_MANY_REQUESTS;
        retry_after(&Answer { status, headers: &headers, arrived }, Duration::from_secs(3600))
    }

    #[track_caller]
    fn check(line: &str, want: (Option<u64>, HintResult)) {
        let got = hint(&[line], Some(DATE_TEXT), 0).expect("there is a field");
        assert_eq!((got.wait.map(|wait| wait.as_secs()), got.read), want, "{line:?}");
    }

    #[test]
    fn digits_and_nothing_else_are_seconds() {
        check("120", (Some(120), HintResult::Ok));
        check(" 007 ", (Some(7), HintResult::Ok));
        check("0", (None, HintResult::Zero));
        check("000", (None, HintResult::Zero));
        check("-3", (None, HintResult::Negative));
        for line in
            ["+3", "1.5", "120junk", "1e3", "0x10", "", "-", "--3", "3 4", "5, 6", "\u{661}"]
        {
            check(line, (None, HintResult::Malformed));
        }
    }

    #[test]
    fn all_three_forms_of_a_date_count_from_the_answers_own_date() {
        check("Sun, 06 Nov 1994 08:49:47 GMT", (Some(11), HintResult::Ok));
        check("Sunday, 06-Nov-94 08:49:47 GMT", (Some(11), HintResult::Ok));
        check("Sun Nov  6 08:49:47 1994", (Some(11), HintResult::Ok));
        check("Sun, 06 Nov 1994 08:49:37 GMT", (Some(1), HintResult::Ok));
        check("Sun, 06 Nov 1994 08:49:36 GMT", (None, HintResult::Past));
        check("Thu, 01 Jan 1970 00:00:00 GMT", (None, HintResult::Past));
        check("Sun, 06 Nov 1994 25:49:37 GMT", (None, HintResult::Malformed));
        check("Thu, 31 Feb 2095 08:00:00 GMT", (None, HintResult::Malformed));
    }

    #[test]
    fn without_a_date_our_own_clock_counts() {
        let line = ["Sun, 06 Nov 1994 08:49:47 GMT"];
        let wait = |date, arrived| hint(&line, date, arrived).and_then(|hint| hint.wait);
        assert_eq!(wait(None, DATE_SECS), Some(Duration::from_secs(11)));
        assert_eq!(wait(Some("yesterday"), DATE_SECS + 4), Some(Duration::from_secs(7)));
    }

    #[test]
    fn a_number_that_is_a_moment_near_the_answers_date_is_read_as_one() {
        let date = "Fri, 15 Jan 2027 08:00:00 GMT";
        let check = |number: u64, want| {
            let got = hint(&[&number.to_string()], Some(date), 0).unwrap();
            assert_eq!((got.wait.map(|wait| wait.as_secs()), got.read), want, "{number}");
        };
        check(1_800_000_030, (Some(30), HintResult::Epoch));
        check(1_800_000_000, (None, HintResult::Past));
        check(1_799_999_000, (None, HintResult::Past));
        check(1_800_090_000, (Some(3600), HintResult::Capped));
        check(1_700_000_000, (Some(3600), HintResult::Capped));
    }

    #[test]
    fn no_number_is_too_large() {
        check("9999999999", (Some(3600), HintResult::Capped));
        check(&"9".repeat(100_000), (Some(3600), HintResult::Capped));
        check("Fri, 31 Dec 9999 23:59:59 GMT", (Some(3600), HintResult::Capped));
        check("3600", (Some(3600), HintResult::Ok));
        check("3601", (Some(3600), HintResult::Capped));
    }

    #[test]
    fn of_several_lines_the_longest_counts_whatever_the_others_are() {
        let of = |lines: &[&str]| hint(lines, Some(DATE_TEXT), 0).unwrap();
        assert_eq!(of(&["5", "junk", "30", "0"]).wait, Some(Duration::from_secs(30)));
        assert_eq!(of(&["junk", "0"]), Hint::none(HintResult::Malformed));
    }

    #[test]
    fn no_field_is_no_hint() {
        assert_eq!(hint(&[], None, 0), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics_or_names_less_than_a_second(
            line in "[ -~]{0,40}", date in "[ -~]{0,40}", arrived in 0_u64..4_000_000_000,
        ) {
            if let Some(Hint { wait: Some(wait), .. }) = hint(&[&line], Some(&date), arrived) {
                proptest::prop_assert!(wait >= Duration::from_secs(1));
            }
        }
    }
}
