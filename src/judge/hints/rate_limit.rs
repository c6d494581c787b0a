//! `RateLimit` (draft-ietf-httpapi-ratelimit-headers, -08 to -12): what is left of a quota, and when
//! there will be more. `RateLimit-Policy`: how large it is.
//!
//! Only a quota with nothing left names a wait; one with little left, only where that is asked for.

use crate::judge::hints::{DAY, Hint, HintResult, LOW, Manner, may_space};
use crate::judge::outcome::Answer;
use http::HeaderName;
use http::header::HeaderValue;
use sfv::{BareItem, Dictionary, Item, List, ListEntry, Parser};
use std::borrow::Cow;
use std::time::Duration;

/// What is left.
pub const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
/// How much there is.
pub const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Reads the `RateLimit` of an answer: the longest wait of the quotas that are used up. `None` where
/// there is no such field, or all quotas have something left. What breaks its grammar is malformed
/// as a whole.
pub fn rate_limit(answer: &Answer<'_>, manner: &Manner<'_>) -> Option<Hint> {
    let text = field(&RATELIMIT, answer)?;
    let quotas = match quotas(&text) {
        Ok(quotas) => quotas,
        Err(read) => return Some(Hint::none(read)),
    };
    let used_up = quotas.iter().filter_map(Quota::wait).reduce(Hint::longer);
    let hint = used_up.or_else(|| {
        let asked = manner.preemptive && may_space(answer.status);
        asked.then(|| spacing(&quotas, answer)).flatten()
    });
    hint.map(|hint| hint.capped(manner.most))
}

/// Whether any quota has nothing left, whatever it says about when there is more.
pub fn is_used_up(answer: &Answer<'_>) -> bool {
    let quotas = field(&RATELIMIT, answer).and_then(|text| quotas(&text).ok());
    quotas.is_some_and(|quotas| quotas.iter().any(|quota| quota.left == 0))
}

/// One quota's state.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Quota {
    name: String,
    /// What is left of it.
    left: u64,
    /// Seconds until there is more.
    reset: Option<u64>,
}

impl Quota {
    /// What it asks for, if it is used up and says until when.
    fn wait(&self) -> Option<Hint> {
        let reset = self.reset.filter(|_| self.left == 0)?;
        let wait = Duration::from_secs(reset);
        Some(match reset {
            0 => Hint::none(HintResult::Zero),
            // A moment, or nonsense: no quota worth the name renews that slowly.
            _ if wait > DAY => Hint::none(HintResult::Malformed),
            _ => Hint { wait: Some(wait), read: HintResult::Ok },
        })
    }

    /// If little is left of it, what its policy allows in the long run: no rate follows from what is
    /// left and when there is more.
    fn spacing(&self, policies: &[Policy]) -> Option<Duration> {
        let policy = policies.iter().find(|policy| policy.name == self.name)?;
        let low = self.left > 0 && self.left.saturating_mul(LOW) <= policy.quota;
        low.then(|| Duration::from_secs_f64(policy.window as f64 / policy.quota as f64))
    }
}

/// How many requests there are in so many seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Policy {
    name: String,
    quota: u64,
    window: u64,
}

fn spacing(quotas: &[Quota], answer: &Answer<'_>) -> Option<Hint> {
    let policies = policies(&field(&RATELIMIT_POLICY, answer)?);
    let longest = quotas.iter().filter_map(|quota| quota.spacing(&policies)).max()?;
    Some(Hint { wait: Some(longest), read: HintResult::Ok })
}

/// A field's value; several lines are one list (RFC 9651 §4.2).
fn field<'a>(name: &HeaderName, answer: &Answer<'a>) -> Option<Cow<'a, [u8]>> {
    let lines: Vec<&[u8]> =
        answer.headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
    match lines[..] {
        [] => None,
        [line] => Some(Cow::Borrowed(line)),
        [..] => Some(Cow::Owned(lines.join(&b", "[..]))),
    }
}

fn quotas(text: &[u8]) -> Result<Vec<Quota>, HintResult> {
    match Parser::new(text).parse::<List>() {
        Ok(list) => list.iter().map(quota).collect(),
        Err(_) => before_08(text).map(|quota| vec![quota]),
    }
}

/// `limit=100, remaining=0, reset=5`: the drafts from -03 to -07.
fn before_08(text: &[u8]) -> Result<Quota, HintResult> {
    let members: Dictionary = Parser::new(text).parse().map_err(|_| HintResult::Malformed)?;
    let number = |name: &str| match members.get(name) {
        Some(ListEntry::Item(item)) => whole(&item.bare_item).map(Some),
        Some(ListEntry::InnerList(_)) => Err(HintResult::Malformed),
        None => Ok(None),
    };
    let left = number("remaining")?.ok_or(HintResult::Malformed)?;
    Ok(Quota { name: String::new(), left, reset: number("reset")? })
}

fn quota(member: &ListEntry) -> Result<Quota, HintResult> {
    let (name, item) = named(member).ok_or(HintResult::Malformed)?;
    let left = parameter(item, "r")?.ok_or(HintResult::Malformed)?;
    Ok(Quota { name: name.to_owned(), left, reset: parameter(item, "t")? })
}

/// Policies by requests. None at all where one breaks the grammar.
fn policies(text: &[u8]) -> Vec<Policy> {
    let list: List = Parser::new(text).parse().unwrap_or_default();
    let read: Result<Vec<_>, HintResult> = list.iter().map(policy).collect();
    read.unwrap_or_default().into_iter().flatten().collect()
}

fn policy(member: &ListEntry) -> Result<Option<Policy>, HintResult> {
    let (name, item) = named(member).ok_or(HintResult::Malformed)?;
    let quota = parameter(item, "q")?.ok_or(HintResult::Malformed)?;
    let window = parameter(item, "w")?.filter(|window| (1..=DAY.as_secs()).contains(window));
    let requests = item.params.get("qu").is_none_or(|unit| text(unit) == Some("requests"));
    let usable = window.filter(|_| requests && quota > 0);
    Ok(usable.map(|window| Policy { name: name.to_owned(), quota, window }))
}

/// The names are strings; servers write tokens as well.
fn named(member: &ListEntry) -> Option<(&str, &Item)> {
    let ListEntry::Item(item) = member else { return None };
    text(&item.bare_item).map(|name| (name, item))
}

fn text(item: &BareItem) -> Option<&str> {
    item.as_string().map(|text| text.as_str()).or_else(|| item.as_token().map(|text| text.as_str()))
}

fn parameter(item: &Item, name: &str) -> Result<Option<u64>, HintResult> {
    item.params.get(name).map(whole).transpose()
}

fn whole(value: &BareItem) -> Result<u64, HintResult> {
    let value = value.as_integer().ok_or(HintResult::Malformed)?;
    u64::try_from(i64::from(value)).map_err(|_| HintResult::Negative)
}
