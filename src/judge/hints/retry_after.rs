//! `Retry-After` (RFC 9110 §10.2.3): a duration, or why not.

use crate::judge::hints::{DAY, EPOCHS_FROM, Hint, HintResult, sent_at};
use crate::judge::outcome::Answer;
use http::HeaderValue;
use http::header::RETRY_AFTER;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Reads the `Retry-After` of an answer; `None` where it has none. Of several lines the longest
/// wait counts. A wait longer than `most` (`retry_after.max`) is cut to it and read as `Capped`.
pub fn retry_after(answer: &Answer<'_>, most: Duration) -> Option<Hint> {
    let lines = answer.headers.get_all(RETRY_AFTER).iter();
    lines.map(|line| read(line, answer)).reduce(Hint::longer).map(|hint| hint.capped(most))
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

fn of_number(number: u64, answer: &Answer<'_>) -> Hint {
    if number == 0 {
        return Hint::none(HintResult::Zero);
    }
    let now = sent_at(answer).duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if number < EPOCHS_FROM || number.abs_diff(now) > DAY.as_secs() {
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

fn saturating(digits: &[u8]) -> u64 {
    digits
        .iter()
        .fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
}

/// RFC 9110 §5.6.7: dates have whole seconds.
const RESOLUTION: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::DATE;
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
