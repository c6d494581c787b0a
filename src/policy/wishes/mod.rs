//! What a client asks for, for one request: `Pace-…` fields, `Prefer: wait`, proxy user options.
//!
//! A known name with a bad value is an error, for else the client waits for something it never
//! asked for. Unknown `Pace-…` names are ignored (and stripped like the others), as unknown
//! preferences are (RFC 7240 §2). Unknown options of a proxy user are errors: nobody else reads
//! them.

#[cfg(test)]
mod tests;

use crate::judge::again::{After, Wish};
use crate::judge::verdict::Class;
use crate::policy::preset::Preset;
use crate::policy::user::ProxyUser;
use http::HeaderMap;
use http::header::HeaderValue;
use std::fmt;
use std::time::Duration;

/// What was asked for. `None`: nothing said, the next source decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    pub preset: Option<Preset>,
    /// From the request's acceptance: nothing of the request outlives it.
    pub deadline: Option<Duration>,
    /// The deadline is `Prefer: wait`'s: these seconds are said back in `Preference-Applied`.
    pub prefer_wait: Option<u64>,
    pub window: Option<Duration>,
    /// For one attempt.
    pub timeout: Option<Duration>,
    pub retry: Option<Wish>,
    /// For logs and the live view.
    pub tag: Option<String>,
    /// `Pace-Status` on the answer in any case.
    pub debug: Option<bool>,
}

/// A control that can't be obeyed: what, where, and what was expected. A 400.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadWish {
    /// The field or the option.
    pub place: String,
    /// What stood there, shortened, without control characters.
    pub text: String,
    /// What should stand there.
    pub want: &'static str,
}

impl fmt::Display for BadWish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: \"{}\" is not understood: expected {}", self.place, self.text, self.want)
    }
}

impl Wishes {
    /// What a request's fields ask for.
    pub fn of_headers(headers: &HeaderMap) -> Result<Wishes, BadWish> {
        let mut wishes = Wishes::default();
        // Nearly all requests wish for nothing: one look at the names, not a search for each.
        let steers = |name: &str| name.starts_with("pace-") || name == PREFER;
        if !headers.keys().any(|name| steers(name.as_str())) {
            return Ok(wishes);
        }
        for control in Control::ALL {
            let mut lines = headers.get_all(control.field()).iter();
            let Some(line) = lines.next() else { continue };
            let text = String::from_utf8_lossy(line.as_bytes());
            if lines.next().is_some() {
                return Err(bad(control.field(), &text, "one line of it, not several"));
            }
            let set = wishes.set(control, text.trim());
            set.map_err(|want| bad(control.field(), &text, want))?;
        }
        if wishes.deadline.is_none() {
            wishes.prefer_wait = prefer_wait(headers);
            wishes.deadline = wishes.prefer_wait.map(|wait| Duration::from_secs(wait).min(MOST));
        }
        Ok(wishes)
    }

    /// What the options of a proxy user ask for.
    pub fn of_user(user: &ProxyUser) -> Result<Wishes, BadWish> {
        let mut wishes = Wishes::default();
        for (key, value) in &user.options {
            let Some(control) = Control::ALL.into_iter().find(|c| c.option() == key) else {
                return Err(bad("proxy user", key, OPTIONS));
            };
            let place = format!("proxy user, option {key}");
            wishes.set(control, value).map_err(|want| bad(&place, value, want))?;
        }
        Ok(wishes)
    }

    /// These wishes, and where they say nothing the other ones: request over proxy user.
    pub fn over(self, other: Wishes) -> Wishes {
        let from_other = self.deadline.is_none();
        Wishes {
            preset: self.preset.or(other.preset),
            deadline: self.deadline.or(other.deadline),
            prefer_wait: if from_other { other.prefer_wait } else { self.prefer_wait },
            window: self.window.or(other.window),
            timeout: self.timeout.or(other.timeout),
            retry: self.retry.or(other.retry),
            tag: self.tag.or(other.tag),
            debug: self.debug.or(other.debug),
        }
    }

    /// What of it is granted. Nobody gets a window over `window_max`. A client that isn't trusted
    /// may make things politer, not faster: it can't switch the pace off, nor cut attempts so short
    /// (below `shortest_timeout`) that its own haste would climb as the site's time-outs.
    pub fn granted(
        mut self,
        trusted: bool,
        window_max: Duration,
        shortest_timeout: Duration,
    ) -> Wishes {
        self.window = self.window.map(|window| window.min(window_max));
        if trusted {
            return self;
        }
        self.preset = self.preset.filter(|preset| *preset != Preset::Off);
        self.timeout = self.timeout.map(|timeout| timeout.max(shortest_timeout));
        self
    }

    fn set(&mut self, control: Control, text: &str) -> Result<(), &'static str> {
        match control {
            Control::Preset => self.preset = Some(Preset::named(text).ok_or(PRESETS)?),
            Control::Deadline => self.deadline = Some(seconds(text).ok_or(SECONDS)?),
            Control::Window => self.window = Some(seconds(text).ok_or(SECONDS)?),
            Control::Timeout => {
                let timeout = seconds(text).filter(|timeout| !timeout.is_zero());
                self.timeout = Some(timeout.ok_or("seconds, more than 0, like 30 or 2.5")?);
            }
            Control::Retry => self.retry = Some(retry(text).ok_or(RETRY)?),
            Control::Tag => self.tag = Some(tag(text).ok_or(TAG)?),
            Control::Debug => self.debug = Some(yes_or_no(text).ok_or("yes or no")?),
        }
        Ok(())
    }
}

/// The controls, each a field and an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Control {
    Preset,
    Deadline,
    Window,
    Timeout,
    Retry,
    Tag,
    Debug,
}

impl Control {
    const ALL: [Control; 7] = [
        Control::Preset,
        Control::Deadline,
        Control::Window,
        Control::Timeout,
        Control::Retry,
        Control::Tag,
        Control::Debug,
    ];

    const fn field(self) -> &'static str {
        match self {
            Control::Preset => "pace-preset",
            Control::Deadline => "pace-deadline",
            Control::Window => "pace-window",
            Control::Timeout => "pace-timeout",
            Control::Retry => "pace-retry",
            Control::Tag => "pace-tag",
            Control::Debug => "pace-debug",
        }
    }

    fn option(self) -> &'static str {
        self.field().trim_start_matches("pace-")
    }
}

fn bad(place: &str, text: &str, want: &'static str) -> BadWish {
    let shown = text.trim().chars().filter(|c| !c.is_control()).take(SHOWN).collect();
    BadWish { place: place.to_owned(), text: shown, want }
}

/// Seconds, with decimals: no sign, no exponent, no unit.
fn seconds(text: &str) -> Option<Duration> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if text.len() > NUMBER_BYTES || !digits(whole) || !digits(part) {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    Some(Duration::try_from_secs_f64(value).unwrap_or(MOST).min(MOST))
}

fn retry(text: &str) -> Option<Wish> {
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

fn tag(text: &str) -> Option<String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.:/@+#".contains(&b);
    let fits = (1..=TAG_BYTES).contains(&text.len());
    (fits && text.bytes().all(plain)).then(|| text.to_owned())
}

fn yes_or_no(text: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    match (is(&["yes", "true", "on", "1", "?1"]), is(&["no", "false", "off", "0", "?0"])) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}

/// The first `wait` preference (RFC 7240 §4.3); a bad one is ignored like an unknown one.
fn prefer_wait(headers: &HeaderMap) -> Option<u64> {
    let lines = headers.get_all(PREFER).iter().filter_map(|line: &HeaderValue| line.to_str().ok());
    lines.flat_map(preferences).find_map(|preference| {
        let named = preference.split(';').next()?;
        let (name, value) = named.split_once('=')?;
        let value = value.trim().trim_matches('"');
        let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
        (name.trim().eq_ignore_ascii_case("wait") && digits && value.len() <= NUMBER_BYTES)
            .then(|| value.parse().unwrap_or(u64::MAX))
    })
}

/// Splits at commas outside of quotes.
fn preferences(line: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    line.split(move |c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    })
}

const PREFER: &str = "prefer";
const SECONDS: &str = "seconds, like 30 or 2.5";
const PRESETS: &str = "transparent, interactive, archive, api or off";
const RETRY: &str = "off, a number of extra attempts under 100, or what to repeat after, like \
     429, 5xx, 500-504, timeout or the name of a class";
const TAG: &str = "1 to 64 letters, digits or any of -_.:/@+#";
const OPTIONS: &str = "one of preset, deadline, window, timeout, retry, tag, debug";
/// Nothing is asked for that lasts longer: a day.
const MOST: Duration = Duration::from_secs(86_400);
const NUMBER_BYTES: usize = 32;
const TAG_BYTES: usize = 64;
/// So many things to repeat after.
const LIST: usize = 32;
/// So much of a bad value is shown.
const SHOWN: usize = 60;
