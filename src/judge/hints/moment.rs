//! When a quota renews, in the units that sites write it in, as a wait from the answer on.

use crate::judge::hints::{DAY, EPOCHS_FROM, Hint, HintResult, sent_at};
use crate::judge::outcome::Answer;
use std::time::{Duration, UNIX_EPOCH};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// What a field's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Milliseconds,
    /// Seconds since 1970.
    Epoch,
    /// Milliseconds since 1970.
    EpochMilliseconds,
    /// A moment by RFC 3339 or RFC 9110.
    Date,
    /// Whichever of them it looks like.
    Any,
}

impl Unit {
    /// Those that can be named.
    pub const NAMED: [Unit; 5] =
        [Unit::Seconds, Unit::Milliseconds, Unit::Epoch, Unit::EpochMilliseconds, Unit::Date];

    /// The word in configurations.
    pub const fn word(self) -> &'static str {
        match self {
            Unit::Seconds => "seconds",
            Unit::Milliseconds => "milliseconds",
            Unit::Epoch => "epoch",
            Unit::EpochMilliseconds => "epoch_ms",
            Unit::Date => "date",
            Unit::Any => "any",
        }
    }
}

/// Reads a value. Only what lies within a day after the answer is a wait.
pub fn wait(value: &[u8], unit: Unit, answer: &Answer<'_>) -> Hint {
    let text = value.trim_ascii();
    let Some(number) = number(text) else {
        return match unit {
            Unit::Date | Unit::Any => of_date(text, answer),
            Unit::Seconds | Unit::Milliseconds | Unit::Epoch | Unit::EpochMilliseconds => {
                Hint::none(nonsense(text))
            }
        };
    };
    match unit {
        Unit::Seconds => of_span(number),
        Unit::Milliseconds => of_span(number / 1000.0),
        Unit::Epoch => of_moment(number, answer),
        Unit::EpochMilliseconds => of_moment(number / 1000.0, answer),
        Unit::Date => Hint::none(HintResult::Malformed),
        Unit::Any if number > MILLISECONDS_FROM => of_moment(number / 1000.0, answer),
        Unit::Any if number > EPOCHS_FROM as f64 => of_moment(number, answer),
        Unit::Any => of_span(number),
    }
}

/// A number as sites write them: digits, perhaps with a point among them.
pub fn number(text: &[u8]) -> Option<f64> {
    let (whole, part) = match text.iter().position(|byte| *byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &b""[..]),
    };
    let digits = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
    let plain = !whole.is_empty() && text.len() <= LONGEST && digits(whole) && digits(part);
    plain.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

fn nonsense(text: &[u8]) -> HintResult {
    match text.strip_prefix(b"-").and_then(number) {
        Some(_) => HintResult::Negative,
        None => HintResult::Malformed,
    }
}

fn of_span(seconds: f64) -> Hint {
    let wait = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    match wait {
        Duration::ZERO => Hint::none(HintResult::Zero),
        wait if wait > DAY => Hint::none(HintResult::Malformed),
        wait => Hint { wait: Some(wait), read: HintResult::Ok },
    }
}

/// A whole second may be any moment in it: its end is meant at the latest.
fn of_moment(seconds: f64, answer: &Answer<'_>) -> Hint {
    let sent = sent_at(answer).duration_since(UNIX_EPOCH).unwrap_or_default();
    let ahead = seconds - sent.as_secs_f64();
    if ahead <= 0.0 {
        return Hint::none(HintResult::Past);
    }
    if ahead > DAY.as_secs_f64() {
        return Hint::none(HintResult::Malformed);
    }
    let resolution = if seconds.fract() == 0.0 { 1.0 } else { 0.0 };
    let wait = Duration::from_secs_f64(ahead + resolution);
    Hint { wait: Some(wait), read: HintResult::Epoch }
}

fn of_date(text: &[u8], answer: &Answer<'_>) -> Hint {
    let read = std::str::from_utf8(text).ok().and_then(|text| {
        let iso = OffsetDateTime::parse(text, &Rfc3339).ok();
        iso.map(|date| date.unix_timestamp_nanos() as f64 / 1e9).or_else(|| {
            let since = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH);
            since.ok().map(|since| since.as_secs_f64())
        })
    });
    match read.map(|seconds| of_moment(seconds, answer)) {
        Some(Hint { wait: Some(wait), .. }) => Hint { wait: Some(wait), read: HintResult::Ok },
        Some(hint) => hint,
        None => Hint::none(nonsense(text)),
    }
}

/// From here on a number of seconds would be the year 33,658.
const MILLISECONDS_FROM: f64 = 1e12;
/// Longer numbers are none that anybody means.
const LONGEST: usize = 32;
