//! The values of controls: how each is written.

use crate::judge::again::{After, Wish};
use crate::judge::verdict::Class;
use crate::policy::wishes::AskedScopes;
use std::time::Duration;

/// Seconds, with decimals: no sign, no exponent, no unit.
pub fn seconds(text: &str) -> Option<Duration> {
    let value = decimal(text)?;
    Some(Duration::try_from_secs_f64(value).unwrap_or(MOST).min(MOST))
}

fn number(text: &str) -> Option<f64> {
    decimal(text.trim()).filter(|number| *number <= AMOUNT)
}

fn decimal(text: &str) -> Option<f64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let written = text.len() <= NUMBER_BYTES && digits(whole) && digits(part);
    if written { text.parse().ok() } else { None }
}

pub fn retry(text: &str) -> Option<Wish> {
    if text.eq_ignore_ascii_case("off") {
        return Some(Wish { extra: Some(0), only: Vec::new() });
    }
    let mut wish = Wish::default();
    for word in text.split(',').map(str::trim) {
        match after(word) {
            Some(after) => wish.only.extend(after),
            None if wish.extra.is_none() => wish.extra = Some(extra_attempts(word)?),
            None => return None,
        }
    }
    (wish.only.len() <= LIST).then_some(wish)
}

fn extra_attempts(word: &str) -> Option<u32> {
    let short = (1..=2).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit());
    if short { word.parse().ok() } else { None }
}

/// `429`, `500-504`, `5xx`, the name of a class, or `timeout` for both kinds.
fn after(word: &str) -> Option<Vec<After>> {
    let word = word.to_ascii_lowercase();
    if word == "timeout" {
        return Some([Class::ConnectTimeout, Class::ResponseTimeout].map(After::Class).to_vec());
    }
    if let Some(class) = Class::ALL.into_iter().find(|class| class.word() == word) {
        return Some(vec![After::Class(class)]);
    }
    let (first, last) = match word.strip_suffix("xx") {
        Some(hundreds) => (format!("{hundreds}00"), format!("{hundreds}99")),
        None => match word.split_once('-') {
            Some((first, last)) => (first.trim().to_owned(), last.trim().to_owned()),
            None => (word.clone(), word),
        },
    };
    let (first, last) = (status(&first)?, status(&last)?);
    (first <= last).then(|| vec![After::Status(first, last)])
}

fn status(text: &str) -> Option<u16> {
    let three = text.len() == 3 && text.bytes().all(|b| b.is_ascii_digit());
    if three { text.parse().ok().filter(|status| *status >= 100) } else { None }
}

/// A word for logs.
pub fn tag(text: &str) -> Option<String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.:/@+#".contains(&b);
    let fits = (1..=TAG_BYTES).contains(&text.len());
    (fits && text.bytes().all(plain)).then(|| text.to_owned())
}

/// Yes or no, as it is written in many places.
pub fn yes_or_no(text: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    match (is(&["yes", "true", "on", "1", "?1"]), is(&["no", "false", "off", "0", "?0"])) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}

/// `api, users`; `cost;n=2.5` spends so much there; a `+` before any: beside the host's own scope.
pub fn scopes(text: &str) -> Option<AskedScopes> {
    let mut asked = AskedScopes::default();
    for word in text.split(',') {
        let (name, amount) = match word.split_once(';') {
            Some((name, amount)) => (name, number(amount.trim().strip_prefix("n=")?)?),
            None => (word, 1.0),
        };
        let name = name.trim();
        asked.adds |= name.starts_with('+');
        let name = name.strip_prefix('+').unwrap_or(name).trim_start();
        let plain = |byte: u8| byte.is_ascii_graphic() && !b",;\"'".contains(&byte);
        if !(1..=SCOPE_BYTES).contains(&name.len()) || !name.bytes().all(plain) {
            return None;
        }
        asked.names.push((name.to_owned(), amount));
    }
    (asked.names.len() <= SCOPES).then_some(asked)
}

/// RFC 9218 §4: the member `u` of a dictionary, 0 to 7; the last counts. Others say how an answer is
/// to be sent, which is the origin's business.
pub fn urgency(text: &str) -> Option<u8> {
    let members = apart(text).filter_map(|member| {
        let (key, value) = member.split(';').next()?.split_once('=')?;
        (key.trim() == "u").then(|| value.trim())
    });
    let digit = members.last()?;
    let urgency = digit.bytes().next().filter(|byte| (b'0'..=b'7').contains(byte))? - b'0';
    (digit.len() == 1).then_some(urgency)
}

/// Splits at commas outside of quotes.
pub fn apart(line: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    line.split(move |c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    })
}

/// What a text that should be seconds should be.
pub const SECONDS: &str = "seconds, like 30 or 2.5";
pub const RETRY: &str = "off, a number of extra attempts under 100, or what to repeat after, like \
     429, 5xx, 500-504, timeout or the name of a class";
pub const TAG: &str = "1 to 64 letters, digits or any of -_.:/@+#";
pub const SCOPES_WANTED: &str = "1 to 8 names of scopes, each of 1 to 200 visible characters, like \
     api, users or cost;n=2.5 or +api";
/// Nothing is asked for that lasts longer: a day.
pub const MOST: Duration = Duration::from_secs(86_400);
pub const NUMBER_BYTES: usize = 32;
const TAG_BYTES: usize = 64;
/// So many things to repeat after.
const LIST: usize = 32;
const SCOPES: usize = 8;
/// As [`crate::pace::scope::Scope::named`] has it.
const SCOPE_BYTES: usize = 200;
/// More than any quota has.
const AMOUNT: f64 = 1e12;
