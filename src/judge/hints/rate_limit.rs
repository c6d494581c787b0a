//! `RateLimit` (draft-ietf-httpapi-ratelimit-headers, -08 to -12): what is left of a quota, and when
//! there will be more.
//!
//! Only a quota with nothing left names a wait. `RateLimit-Policy` says how large quotas are, never
//! how long to wait.

use crate::judge::hints::{DAY, Hint, HintResult, is_stored};
use crate::judge::outcome::Answer;
use http::HeaderName;
use http::header::HeaderValue;
use sfv::{BareItem, Item, List, ListEntry, Parser};
use std::borrow::Cow;
use std::time::Duration;

/// The field.
pub const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// Reads the `RateLimit` of an answer: the longest wait of the quotas that are used up. `None` where
/// there is no such field, it comes out of a cache, or all quotas have something left. What breaks
/// its grammar is malformed as a whole.
pub fn rate_limit(answer: &Answer<'_>, most: Duration) -> Option<Hint> {
    let lines: Vec<&HeaderValue> = answer.headers.get_all(&RATELIMIT).iter().collect();
    if lines.is_empty() || is_stored(answer) {
        return None;
    }
    match quotas(&joined(&lines)) {
        Ok(quotas) => {
            let waits = quotas.into_iter().filter_map(Quota::wait);
            waits.reduce(Hint::longer).map(|hint| hint.capped(most))
        }
        Err(read) => Some(Hint::none(read)),
    }
}

/// One quota's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Quota {
    /// What is left of it.
    remaining: u64,
    /// Seconds until there is more.
    reset: Option<u64>,
}

impl Quota {
    /// What it asks for, if it is used up and says until when.
    fn wait(self) -> Option<Hint> {
        let reset = self.reset.filter(|_| self.remaining == 0)?;
        let wait = Duration::from_secs(reset);
        Some(match reset {
            0 => Hint::none(HintResult::Zero),
            // A moment, or nonsense: no quota worth the name renews that slowly.
            _ if wait > DAY => Hint::none(HintResult::Malformed),
            _ => Hint { wait: Some(wait), read: HintResult::Ok },
        })
    }
}

/// Several lines are one list (RFC 9651 §4.2).
fn joined<'a>(lines: &[&'a HeaderValue]) -> Cow<'a, [u8]> {
    match lines {
        [line] => Cow::Borrowed(line.as_bytes()),
        lines => {
            let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
            Cow::Owned(lines.join(&b", "[..]))
        }
    }
}

fn quotas(text: &[u8]) -> Result<Vec<Quota>, HintResult> {
    let list: List = Parser::new(text).parse().map_err(|_| HintResult::Malformed)?;
    list.iter().map(quota).collect()
}

/// The names are strings; servers write tokens as well.
fn quota(member: &ListEntry) -> Result<Quota, HintResult> {
    let ListEntry::Item(item) = member else { return Err(HintResult::Malformed) };
    if !matches!(item.bare_item, BareItem::String(_) | BareItem::Token(_)) {
        return Err(HintResult::Malformed);
    }
    let remaining = number(item, "r")?.ok_or(HintResult::Malformed)?;
    Ok(Quota { remaining, reset: number(item, "t")? })
}

fn number(item: &Item, name: &str) -> Result<Option<u64>, HintResult> {
    let Some(value) = item.params.get(name) else { return Ok(None) };
    let value = value.as_integer().ok_or(HintResult::Malformed)?;
    u64::try_from(i64::from(value)).map(Some).map_err(|_| HintResult::Negative)
}
