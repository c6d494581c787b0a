//! What a client asks for, for one request: `Pace-…` fields, `Prefer: wait`, proxy user options.
//!
//! A known name with a bad value is an error, for else the client waits for something it never
//! asked for. Unknown `Pace-…` names are ignored (and stripped like the others), as unknown
//! preferences are (RFC 7240 §2). Unknown options of a proxy user are errors: nobody else reads
//! them.

mod control;
#[cfg(test)]
mod tests;
mod words;

use crate::judge::again::Wish;
use crate::policy::preset::Preset;
use crate::policy::user::ProxyUser;
use crate::policy::wishes::control::{Control, PRIORITY};
use crate::policy::wishes::words::{
    MOST, NUMBER_BYTES, RETRY, SCOPES_WANTED, SECONDS, TAG, apart, retry, scopes, seconds, tag,
    urgency, yes_or_no,
};
use http::HeaderMap;
use http::header::HeaderValue;
use std::fmt;
use std::time::Duration;

/// What was asked for. `None`: nothing said, the next source decides.
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// Not before so long after its acceptance. Once: its repeats don't wait for it again.
    pub delay: Option<Duration>,
    /// Whether what comes back teaches the pace.
    pub track: Option<bool>,
    /// Its first attempt goes past the pace.
    pub bypass: Option<bool>,
    pub scopes: Option<AskedScopes>,
    /// 0 to 7, the most urgent first (RFC 9218 §4.1): among the client's own requests.
    pub urgency: Option<u8>,
}

/// The scopes a request asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AskedScopes {
    /// Beside those it has anyway; else in their place.
    pub adds: bool,
    /// Whether they learn from what comes back.
    pub learn: bool,
    /// Names, and what it spends in each.
    pub names: Vec<(String, f64)>,
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
        let steers = |name: &str| name.starts_with("pace-") || name == PREFER || name == PRIORITY;
        if !headers.keys().any(|name| steers(name.as_str())) {
            return Ok(wishes);
        }
        for control in Control::ALL {
            if control == Control::Priority {
                // It isn't ours alone: one that can't be read is ignored (RFC 9218 §4).
                let lines = headers.get_all(PRIORITY).iter().filter_map(|it| it.to_str().ok());
                wishes.urgency = lines.filter_map(urgency).next_back();
                continue;
            }
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
        for (key, value) in &joined(&user.options) {
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
            delay: self.delay.or(other.delay),
            track: self.track.or(other.track),
            bypass: self.bypass.or(other.bypass),
            scopes: self.scopes.or(other.scopes),
            urgency: self.urgency.or(other.urgency),
        }
    }

    /// What of it is granted. Nobody gets a window over `window_max`. A client that isn't trusted
    /// may make things politer, not faster: it can't switch the pace off or pass it, leave the scopes
    /// it has or teach others, keep its failures to itself, nor cut attempts so short (below
    /// `shortest_timeout`) that its own haste would climb as the site's time-outs.
    pub fn granted(
        mut self,
        trusted: bool,
        window_max: Duration,
        shortest_timeout: Duration,
    ) -> Wishes {
        self.window = self.window.map(|window| window.min(window_max));
        self.delay = self.delay.map(|delay| delay.min(window_max));
        self.scopes.iter_mut().for_each(|scopes| scopes.learn = trusted);
        if trusted {
            return self;
        }
        self.scopes.iter_mut().for_each(|scopes| scopes.adds = true);
        (self.track, self.bypass) = (None, None);
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
            Control::Debug => self.debug = Some(yes_or_no(text).ok_or(YES_OR_NO)?),
            Control::Delay => self.delay = Some(seconds(text).ok_or(SECONDS)?),
            Control::Track => self.track = Some(yes_or_no(text).ok_or(YES_OR_NO)?),
            Control::Bypass => self.bypass = Some(yes_or_no(text).ok_or(YES_OR_NO)?),
            Control::Scope => self.scopes = Some(scopes(text).ok_or(SCOPES_WANTED)?),
            Control::Priority => self.urgency = Some(urgency(text).ok_or(PRIORITIES)?),
        }
        Ok(())
    }
}

fn bad(place: &str, text: &str, want: &'static str) -> BadWish {
    let shown = text.trim().chars().filter(|c| !c.is_control()).take(SHOWN).collect();
    BadWish { place: place.to_owned(), text: shown, want }
}

/// The options, with what a semicolon within a list of scopes has parted put together again.
fn joined(options: &[(String, String)]) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::with_capacity(options.len());
    for (key, value) in options {
        match all.last_mut() {
            Some((last, scopes)) if last == Control::Scope.option() && key == "n" => {
                scopes.push_str(";n=");
                scopes.push_str(value);
            }
            Some(_) | None => all.push((key.clone(), value.clone())),
        }
    }
    all
}

/// The first `wait` preference (RFC 7240 §4.3); a bad one is ignored like an unknown one.
fn prefer_wait(headers: &HeaderMap) -> Option<u64> {
    let lines = headers.get_all(PREFER).iter().filter_map(|line: &HeaderValue| line.to_str().ok());
    lines.flat_map(apart).find_map(|preference| {
        let named = preference.split(';').next()?;
        let (name, value) = named.split_once('=')?;
        let value = value.trim().trim_matches('"');
        let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
        (name.trim().eq_ignore_ascii_case("wait") && digits && value.len() <= NUMBER_BYTES)
            .then(|| value.parse().unwrap_or(u64::MAX))
    })
}

const PREFER: &str = "prefer";
const PRESETS: &str = "transparent, interactive, archive, api, scrapy, strict or off";
const YES_OR_NO: &str = "yes or no";
const PRIORITIES: &str = "an urgency from u=0 to u=7";
const OPTIONS: &str = "one of preset, deadline, window, timeout, retry, tag, debug, delay, track, \
     bypass, scope, priority";
/// So much of a bad value is shown.
const SHOWN: usize = 60;
