//! The waits that origins name, as durations, or why not.
//!
//! Nothing an origin writes may panic, overflow, or name a moment earlier than it meant. What a wait
//! does, and to whom, is not decided here.

pub mod moment;
pub mod older;
pub mod profile;
pub mod rate_limit;
pub mod retry_after;
#[cfg(test)]
mod tests;

use crate::judge::hints::profile::Profile;
use crate::judge::outcome::Answer;
use http::StatusCode;
use http::header::{AGE, DATE};
use std::time::{Duration, SystemTime};

/// How hints are read: the configuration's `retry_after`, and what it says of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner<'a> {
    /// A longer wait is cut to it and read as [`HintResult::Capped`].
    pub most: Duration,
    /// Whether little left of a quota spaces the requests that are to come.
    pub preemptive: bool,
    /// What the host's fields mean, in place of what is guessed.
    pub profile: Option<&'a Profile>,
}

/// What an answer says about waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// What counts: the first of [`Field::ALL`] that names a wait.
    pub obeyed: Option<Hint>,
    /// How the reading of each field went; `None` where there was nothing to read.
    pub read: [Option<HintResult>; Field::ALL.len()],
}

/// A kind of field that may name a wait, the most telling first: the `header` of
/// `pacegate_hints_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    RetryAfter,
    RateLimit,
    /// What was written before there was a draft of it, and what a profile names.
    Older,
}

impl Field {
    /// Every kind.
    pub const ALL: [Field; 3] = [Field::RetryAfter, Field::RateLimit, Field::Older];

    /// The word for metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Field::RetryAfter => "retry-after",
            Field::RateLimit => "ratelimit",
            Field::Older => "x-ratelimit",
        }
    }
}

impl Hints {
    /// How long nobody should ask again.
    pub fn wait(&self) -> Option<Duration> {
        self.obeyed.and_then(|hint| hint.wait)
    }

    /// The fields that were read, and what they came to.
    pub fn results(&self) -> impl Iterator<Item = (Field, HintResult)> {
        let pairs = Field::ALL.into_iter().zip(self.read);
        pairs.filter_map(|(field, read)| read.map(|read| (field, read)))
    }
}

/// Reads what an answer says. `limit`: a 403 here may be one, and name a wait.
pub fn read(answer: &Answer<'_>, manner: &Manner<'_>, limit: bool) -> Hints {
    let stored = is_stored(answer);
    let fields = Field::ALL.map(|field| match field {
        Field::RetryAfter if !limit && !may_name_a_wait(answer.status) => None,
        Field::RetryAfter => retry_after::retry_after(answer, manner.most),
        Field::RateLimit | Field::Older if stored => None,
        Field::RateLimit => rate_limit::rate_limit(answer, manner),
        Field::Older => older::older(answer, manner),
    });
    let obeyed = fields.into_iter().flatten().find(|hint| hint.wait.is_some());
    Hints { obeyed, read: fields.map(|hint| hint.map(|hint| hint.read)) }
}

/// Where a `Retry-After` is read. On a plain 5xx it isn't obeyed, but says that the site speaks.
fn may_name_a_wait(status: StatusCode) -> bool {
    matches!(status.as_u16(), 300..=399 | 413 | 429 | 430 | 500..=599)
}

/// Where little that is left spaces the requests to come.
fn may_space(status: StatusCode) -> bool {
    status.is_success() || status.is_redirection()
}

/// It comes out of a cache: what it says about quotas was said to somebody else, some time ago.
fn is_stored(answer: &Answer<'_>) -> bool {
    let ages = answer.headers.get_all(AGE).iter();
    ages.map(|age| age.as_bytes().trim_ascii())
        .any(|age| age.iter().all(u8::is_ascii_digit) && age.iter().any(|digit| *digit != b'0'))
}

/// What a field that names a wait came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// How long from the answer's arrival nobody should ask again, at most the cap. `None`: the
    /// field says nothing usable, the ordinary step applies.
    pub wait: Option<Duration>,
    pub read: HintResult,
}

impl Hint {
    const fn none(read: HintResult) -> Hint {
        Hint { wait: None, read }
    }

    /// The other one wins a tie only if it says a wait: the first reason not to wait is kept.
    fn longer(self, other: Hint) -> Hint {
        if other.wait > self.wait { other } else { self }
    }

    /// A wait longer than `most` is cut to it.
    pub fn capped(self, most: Duration) -> Hint {
        match self.wait {
            Some(wait) if wait > most => Hint { wait: Some(most), read: HintResult::Capped },
            Some(_) | None => self,
        }
    }
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

/// When the answer was sent by the origin's own clock, so that its error cancels out.
fn sent_at(answer: &Answer<'_>) -> SystemTime {
    let date = answer.headers.get(DATE).and_then(|value| value.to_str().ok());
    date.and_then(|text| httpdate::parse_http_date(text).ok()).unwrap_or(answer.arrived)
}

/// From here on a number can be a moment: September 2001. As a wait it would be 31 years.
const EPOCHS_FROM: u64 = 1_000_000_000;
/// So little is left of a quota when less than one in so many is.
const LOW: u64 = 10;
/// How far from `Date` such a moment may lie, and the longest wait a rate limit may name.
const DAY: Duration = Duration::from_secs(86_400);
