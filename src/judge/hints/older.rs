//! What sites wrote before there was a draft for it, each a little differently: `RateLimit-Remaining`
//! and `-Reset`, `X-RateLimit-…`, `X-Rate-Limit-…`, or what a profile names.
//!
//! A wait counts where nothing is left, or where the status says that a limit was hit.

use crate::judge::hints::moment::{Unit, number, wait};
use crate::judge::hints::profile::Profile;
use crate::judge::hints::{Hint, HintResult, LOW, Manner, may_space};
use crate::judge::outcome::Answer;
use http::HeaderName;
use http::StatusCode;
use std::time::Duration;

/// Fields that belong together.
struct Family {
    limit: HeaderName,
    left: HeaderName,
    reset: HeaderName,
    /// Always in seconds.
    reset_after: HeaderName,
}

static FAMILIES: [Family; 3] = [
    Family {
        limit: HeaderName::from_static("ratelimit-limit"),
        left: HeaderName::from_static("ratelimit-remaining"),
        reset: HeaderName::from_static("ratelimit-reset"),
        reset_after: HeaderName::from_static("ratelimit-reset-after"),
    },
    Family {
        limit: HeaderName::from_static("x-ratelimit-limit"),
        left: HeaderName::from_static("x-ratelimit-remaining"),
        reset: HeaderName::from_static("x-ratelimit-reset"),
        reset_after: HeaderName::from_static("x-ratelimit-reset-after"),
    },
    Family {
        limit: HeaderName::from_static("x-rate-limit-limit"),
        left: HeaderName::from_static("x-rate-limit-remaining"),
        reset: HeaderName::from_static("x-rate-limit-reset"),
        reset_after: HeaderName::from_static("x-rate-limit-reset-after"),
    },
];

/// Reads them; `None` where there are none that count.
pub fn older(answer: &Answer<'_>, manner: &Manner<'_>) -> Option<Hint> {
    let hint = match manner.profile {
        Some(profile) => by_profile(profile, answer),
        None if !has_any(answer) => None,
        None => {
            let hints = FAMILIES.iter().filter_map(|family| family.read(answer, manner));
            hints.reduce(Hint::longer)
        }
    };
    hint.map(|hint| hint.capped(manner.most))
}

/// Whether nothing is left, whatever they say about when there is more.
pub fn is_used_up(answer: &Answer<'_>, manner: &Manner<'_>) -> bool {
    let left = match manner.profile {
        Some(profile) => profile_left(profile, answer),
        None => usual_left(answer),
    };
    left == Some(0.0)
}

/// One look at the names tells nearly all answers that have none.
fn has_any(answer: &Answer<'_>) -> bool {
    let named = |name: &HeaderName| {
        let name = name.as_str();
        name.starts_with("ratelimit-") || name.starts_with("x-rate")
    };
    answer.headers.keys().any(named)
}

impl Family {
    fn read(&self, answer: &Answer<'_>, manner: &Manner<'_>) -> Option<Hint> {
        let left = left(&self.left, answer);
        let hint = self.wait(answer);
        if counts(left, answer.status) {
            return hint;
        }
        if !manner.preemptive || !may_space(answer.status) {
            return None;
        }
        let limit = limit(&self.limit, answer)?;
        let spacing = spacing(hint?.wait?, left?, limit)?;
        Some(Hint { wait: Some(spacing), read: HintResult::Ok })
    }

    /// A span beats a moment: it has no clock that could be wrong.
    fn wait(&self, answer: &Answer<'_>) -> Option<Hint> {
        let span = longest(&self.reset_after, Unit::Seconds, answer);
        match span {
            Some(Hint { wait: Some(_), .. }) => span,
            Some(_) | None => longest(&self.reset, Unit::Any, answer).or(span),
        }
    }
}

fn by_profile(profile: &Profile, answer: &Answer<'_>) -> Option<Hint> {
    let left = profile_left(profile, answer);
    let waits = profile.waits.iter().filter_map(|(name, unit)| longest(name, *unit, answer));
    counts(left, answer.status).then(|| waits.reduce(Hint::longer)).flatten()
}

fn profile_left(profile: &Profile, answer: &Answer<'_>) -> Option<f64> {
    match profile.left.is_empty() {
        true => usual_left(answer),
        false => profile.left.iter().filter_map(|name| left(name, answer)).reduce(f64::min),
    }
}

fn usual_left(answer: &Answer<'_>) -> Option<f64> {
    FAMILIES.iter().filter_map(|family| left(&family.left, answer)).reduce(f64::min)
}

fn longest(name: &HeaderName, unit: Unit, answer: &Answer<'_>) -> Option<Hint> {
    let lines = answer.headers.get_all(name).iter();
    lines.map(|line| wait(line.as_bytes(), unit, answer)).reduce(Hint::longer)
}

/// What is left: the least of several, less than nothing is nothing, `None` what is no number.
fn left(name: &HeaderName, answer: &Answer<'_>) -> Option<f64> {
    let lines = answer.headers.get_all(name).iter().map(|line| line.as_bytes().trim_ascii());
    let numbers = lines.filter_map(|text| match text.strip_prefix(b"-") {
        Some(below) => number(below).map(|_| 0.0),
        None => number(text),
    });
    numbers.reduce(f64::min)
}

/// A limit, which may have its windows behind it: `100, 100;w=60`.
fn limit(name: &HeaderName, answer: &Answer<'_>) -> Option<f64> {
    let first = answer.headers.get(name)?.as_bytes();
    let end = first.iter().position(|byte| matches!(byte, b',' | b';')).unwrap_or(first.len());
    number(first[..end].trim_ascii())
}

/// Nothing is left, or the status says so. A 503 with plenty left is about something else.
fn counts(left: Option<f64>, status: StatusCode) -> bool {
    left == Some(0.0) || matches!(status.as_u16(), 429 | 430)
}

/// These fields tell of fixed windows: what is left lasts to the window's end.
fn spacing(rest: Duration, left: f64, limit: f64) -> Option<Duration> {
    let low = left * LOW as f64 <= limit;
    low.then(|| Duration::try_from_secs_f64(rest.as_secs_f64() / left).ok()).flatten()
}
