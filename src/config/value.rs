//! What a value can say: durations, sizes, counts, words, addresses, hosts. Each reader takes a value and
//! gives what it means, or says what is wrong with it and what would be right.
//!
//! This file must not know which key a value is of.

use crate::config::keys::{SAME_SECTION, nearest};
use crate::config::mistake::Place;
use crate::config::node::{Node, Scalar, Value};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// A value, or all that is wrong with it.
pub type Read<T> = Result<T, Vec<Wrong>>;

/// What is wrong with a value: `why` goes on from the key's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub why: String,
    pub hint: String,
    pub place: Place,
}

/// A value that is not what it should be.
pub fn wrong<T>(node: &Node, why: impl Into<String>, hint: impl Into<String>) -> Read<T> {
    Err(vec![Wrong { why: why.into(), hint: hint.into(), place: node.place.clone() }])
}

/// Whether the value says that there is none: `none`, `null`, `off`, `false` or nothing.
pub fn is_none(node: &Node) -> bool {
    match &node.value {
        Value::Scalar { kind: Scalar::Null | Scalar::Bool(false), .. } => true,
        Value::Scalar { text, .. } => matches!(text.as_str(), "none" | "off"),
        Value::List(_) | Value::Map(_) => false,
    }
}

/// `None` where the value [says so](is_none), else what `parse` makes of it.
pub fn optional<T>(node: &Node, parse: impl FnOnce(&Node) -> Read<T>) -> Read<Option<T>> {
    if is_none(node) { Ok(None) } else { parse(node).map(Some) }
}

/// A list; a single value is a list of one, and [`none`](is_none) an empty one.
pub fn list<T>(node: &Node, parse: impl Fn(&Node) -> Read<T>) -> Read<Vec<T>> {
    let Value::List(nodes) = &node.value else {
        return if is_none(node) { Ok(Vec::new()) } else { Ok(vec![parse(node)?]) };
    };
    let (mut values, mut wrongs) = (Vec::new(), Vec::new());
    for node in nodes {
        match parse(node) {
            Ok(value) => values.push(value),
            Err(more) => wrongs.extend(more),
        }
    }
    if wrongs.is_empty() { Ok(values) } else { Err(wrongs) }
}

/// The text of a single value.
pub fn text(node: &Node) -> Read<&str> {
    match &node.value {
        Value::Scalar { kind: Scalar::Null, .. } => wrong(node, "has no value", ""),
        Value::Scalar { text, .. } => Ok(text),
        Value::List(_) => wrong(node, "takes one value, not a list", ""),
        Value::Map(_) => wrong(node, "takes one value, and has keys below it", ""),
    }
}

/// A span: `500ms`, `30s`, `1h30m`; between nothing and a year.
pub fn duration(node: &Node) -> Read<Duration> {
    let text = text(node)?;
    match spans(text) {
        Some(span) if span <= LONGEST => Ok(span),
        Some(_) => wrong(node, "is longer than a year", ""),
        None if text.parse::<f64>().is_ok_and(|number| number.is_finite() && number >= 0.0) => {
            let hint = format!("did you mean `{text}s`?");
            wrong(node, format!("needs a unit: `{text}` what?"), hint)
        }
        None => {
            let usual = usual_units(text);
            let hint = match spans(&usual) {
                Some(_) => format!("did you mean `{usual}`?"),
                None => DURATIONS.to_owned(),
            };
            wrong(node, format!("is no duration: `{}`", short(text)), hint)
        }
    }
}

/// The span that a text says, as a [`duration`] does.
pub fn span(text: &str) -> Option<Duration> {
    spans(text).filter(|span| *span <= LONGEST)
}

/// A [`duration`] that is not nothing.
pub fn some_duration(node: &Node) -> Read<Duration> {
    let span = duration(node)?;
    if span.is_zero() { wrong(node, "must be longer than nothing", "") } else { Ok(span) }
}

/// A pace of a ladder: a [`duration`], or seconds.
pub fn pace(node: &Node) -> Read<Duration> {
    match text(node)?.parse::<f64>().map(Duration::try_from_secs_f64) {
        Ok(Ok(span)) if span <= LONGEST => Ok(span),
        _ => duration(node),
    }
}

/// A number of bytes: `64KiB`, `10MB`, `4096`.
pub fn size(node: &Node, range: RangeInclusive<usize>) -> Read<usize> {
    let text = text(node)?;
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let unit = text[digits.len()..].trim();
    let scale = SIZES.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    let number = digits.parse::<usize>().ok();
    let Some(scale) = scale else {
        let near = SIZES.iter().find(|(name, _)| name.len() == 3 && same_start(name, unit));
        let near = near.filter(|_| number.is_some());
        let hint = near
            .map_or(SIZE_WORDS.to_owned(), |(name, _)| format!("did you mean `{digits}{name}`?"));
        return wrong(node, format!("is no size: `{}`", short(text)), hint);
    };
    match number.and_then(|number| number.checked_mul(scale)) {
        Some(bytes) if range.contains(&bytes) => Ok(bytes),
        Some(_) => {
            let (least, most) = (bytes(*range.start()), bytes(*range.end()));
            wrong(node, format!("must be between {least} and {most}"), "")
        }
        None => wrong(node, format!("is no size: `{}`", short(text)), SIZE_WORDS),
    }
}

/// A whole number.
pub fn count(node: &Node, range: RangeInclusive<usize>) -> Read<usize> {
    let text = text(node)?;
    match text.parse::<usize>() {
        Ok(number) if range.contains(&number) => Ok(number),
        Ok(_) => wrong(node, format!("must be between {} and {}", range.start(), range.end()), ""),
        Err(_) => wrong(node, format!("must be a whole number, not `{}`", short(text)), ""),
    }
}

/// Any number that is one.
pub fn number(node: &Node) -> Read<f64> {
    let text = text(node)?;
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) | Err(_) => wrong(node, format!("must be a number, not `{}`", short(text)), ""),
    }
}

/// A [`count`] from 1 on.
pub fn some_count(node: &Node) -> Read<u32> {
    count(node, 1..=1_000_000).map(|number| number as u32)
}

/// A port.
pub fn port(node: &Node) -> Read<u16> {
    count(node, 1..=65_535).map(|number| number as u16)
}

/// Yes or no, in all the ways YAML has had for it.
pub fn boolean(node: &Node) -> Read<bool> {
    match text(node)?.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Ok(true),
        "false" | "no" | "off" => Ok(false),
        other => wrong(node, format!("must be `true` or `false`, not `{}`", short(other)), ""),
    }
}

/// One of some words. `false` is `off`, for YAML once read one as the other.
pub fn word<T: Copy>(node: &Node, words: &[(&str, T)]) -> Read<T> {
    let written = text(node)?;
    let said = match &node.value {
        Value::Scalar { kind: Scalar::Bool(false), .. } => "off",
        Value::Scalar { .. } | Value::List(_) | Value::Map(_) => written,
    };
    let same = |word: &str| word == said || word == written;
    if let Some((_, value)) = words.iter().find(|(word, _)| same(word)) {
        return Ok(*value);
    }
    let names = || words.iter().map(|(word, _)| *word);
    let hint = match nearest(written, names(), SAME_SECTION) {
        Some(near) => format!("did you mean `{near}`?"),
        None => String::new(),
    };
    let all: Vec<_> = names().map(|word| format!("`{word}`")).collect();
    wrong(node, format!("must be one of {}, not `{}`", all.join(", "), short(written)), hint)
}

/// A file or folder.
pub fn path(node: &Node) -> Read<PathBuf> {
    match text(node)? {
        "" => wrong(node, "has no value", ""),
        text => Ok(PathBuf::from(text)),
    }
}

fn spans(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    let mut sum = None;
    while !rest.is_empty() {
        let unit = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let (number, tail) = rest.split_at(unit);
        let end = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let seconds = UNITS.iter().find(|(name, _)| *name == &tail[..end])?.1;
        let number = number.trim();
        if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return None;
        }
        let span = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
        sum = Some(sum.unwrap_or(Duration::ZERO).checked_add(span)?);
        rest = tail[end..].trim_start();
    }
    sum
}

/// `10 minutes` as `10m`, for the hint.
fn usual_units(text: &str) -> String {
    let text = text.to_lowercase();
    let words = [("mill", "ms"), ("ms", "ms"), ("s", "s"), ("m", "m"), ("h", "h"), ("d", "d")];
    let mut usual = String::new();
    let mut rest = text.trim();
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic()) {
        let (number, tail) = rest.split_at(start);
        let end = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let unit = words.iter().find(|(word, _)| tail[..end].starts_with(word));
        usual = usual + number.trim() + unit.map_or("?", |(_, unit)| unit);
        rest = &tail[end..];
    }
    usual + rest.trim()
}

fn same_start(name: &str, unit: &str) -> bool {
    matches!((name.chars().next(), unit.chars().next()), (Some(a), Some(b)) if a.eq_ignore_ascii_case(&b))
}

/// A size as people write it.
pub fn bytes(size: usize) -> String {
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, scale)| size >= *scale && size.is_multiple_of(*scale)) {
        Some((name, scale)) => format!("{}{name}", size / scale),
        None => size.to_string(),
    }
}

/// The beginning of a text, for a message.
pub fn short(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

const UNITS: [(&str, f64); 5] =
    [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)];
const DURATIONS: &str = "write it like `500ms`, `30s`, `10m` or `1h30m`";
const SIZES: [(&str, usize); 8] = [
    ("", 1),
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
];
const SIZE_WORDS: &str = "write it like `64KiB` or `10MiB`";
/// So that sums of moments and spans stay far from their ends.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);
const QUOTED: usize = 60;
