//! From settings to a configuration: a table for those that have a key of ours, sentences for the rest.

use crate::cli::scrapy::kind::{Kind, Written, short};
use crate::cli::scrapy::literal::Literal;
use crate::cli::scrapy::names::{ELSEWHERE, KEYS, SENTENCES};
use crate::cli::scrapy::python::Reading;
use crate::cli::scrapy::scopes;
use crate::cli::scrapy::yaml::Section;
use crate::config::load::{Sources, combine};
use std::fmt::Write;

/// What a file comes to.
#[derive(Debug, Default)]
pub struct Import {
    yaml: Section,
    /// Settings that have no place here, and why.
    left_out: Vec<String>,
    /// What is to be changed in the settings themselves.
    theirs: Vec<String>,
    /// Settings about something else.
    others: Vec<String>,
    /// Lines that the configuration doesn't take yet.
    waiting: Vec<Line>,
}

/// A key to be set.
#[derive(Debug)]
struct Line {
    what: String,
    path: Vec<String>,
    text: String,
    remark: String,
}

impl Line {
    fn put(&self, yaml: &mut Section) {
        if let Some((key, above)) = self.path.split_last() {
            let section = above.iter().fold(yaml, |section, key| section.below(key));
            section.set_with(key, self.text.clone(), &self.remark);
        }
    }
}

impl Import {
    /// Goes through all settings that are about the pace.
    pub fn of(reading: &Reading) -> Import {
        let mut import = Import::default();
        import.yaml.below("pace").set_with("law", "backoff", "that framework's own");
        for (name, path, kind) in KEYS {
            import.plain(reading, name, path, *kind);
        }
        import.defaults(reading);
        import.autothrottle(reading);
        import.idle(reading);
        import.robots(reading);
        scopes::import(reading, &mut import);
        import.settle(true);
        import.sentences(reading);
        import.their_side(reading);
        import.note_changed(reading);
        import
    }

    /// The whole text.
    pub fn text(self, named: &str) -> String {
        let named: String = named.chars().filter(|c| !c.is_control()).collect();
        let mut text = format!(
            "# Made of {named} by `pacegate import-scrapy`; nothing in it was executed.\n\
             # What stands for what: docs/migration.md. `pacegate check FILE` checks it.\n\n"
        );
        text.push_str(&self.yaml.text());
        for (title, lines) in [
            ("Left out:", &self.left_out),
            (
                "To change in the settings, so that only one of the two waits and repeats:",
                &self.theirs,
            ),
        ] {
            if !lines.is_empty() {
                let _ = writeln!(text, "\n# {title}");
                lines.iter().for_each(|line| text.push_str(&format!("#   {line}\n")));
            }
        }
        if !self.others.is_empty() {
            let _ = writeln!(
                text,
                "\n# About something else, and not looked at: {}",
                self.others.join(", ")
            );
        }
        text
    }

    /// Sets a key, if the configuration takes the value; else says why not.
    pub fn set(&mut self, what: &str, path: &[&str], written: Written, remark: &str) {
        for why in written.left_out {
            self.leave_out(what, &why);
        }
        if let Some(text) = written.text {
            let path = path.iter().map(|key| (*key).to_owned()).collect();
            let (what, remark) = (what.to_owned(), remark.to_owned());
            self.waiting.push(Line { what, path, text, remark });
            self.settle(false);
        }
    }

    /// Sets what the configuration takes by now: a value may be wrong only until another is there.
    fn settle(&mut self, last_call: bool) {
        let mut waiting = std::mem::take(&mut self.waiting);
        loop {
            let before = waiting.len();
            waiting.retain(|line| match refused(&self.yaml, &line.path, &line.text) {
                Some(why) if last_call => {
                    self.left_out.push(format!("{}: {why}", line.what));
                    false
                }
                Some(_) => true,
                None => {
                    line.put(&mut self.yaml);
                    false
                }
            });
            if waiting.is_empty() || waiting.len() == before {
                break;
            }
        }
        self.waiting = waiting;
    }

    /// Whether there may be a scope of this name; why not.
    pub fn refuses_scope(&self, name: &str) -> Option<String> {
        refused(&Section::default(), &["scopes".to_owned(), name.to_owned()], "{}")
    }

    /// Says that something has no place here.
    pub fn leave_out(&mut self, what: &str, why: &str) {
        self.left_out.push(format!("{what}: {why}"));
    }

    fn plain(&mut self, reading: &Reading, name: &str, path: &[&str], kind: Kind) {
        if let Some(assignment) = reading.get(name) {
            let what = format!("{name} (line {})", assignment.line);
            self.set(&what, path, kind.write(&assignment.value), name);
        }
    }

    /// What counts where a setting is not there.
    fn defaults(&mut self, reading: &Reading) {
        let pace = self.yaml.below("pace");
        if reading.get("CONCURRENT_REQUESTS_PER_DOMAIN").is_none() {
            pace.set_with("concurrency", "8", "CONCURRENT_REQUESTS_PER_DOMAIN is not set");
        }
        if reading.get("RANDOMIZE_DOWNLOAD_DELAY").is_none() {
            pace.set_with("jitter", "true", "RANDOMIZE_DOWNLOAD_DELAY is not set");
        }
        if is(reading, "THROTTLING_DEBUG") || is(reading, "AUTOTHROTTLE_DEBUG") {
            self.yaml.below("log").set_with("level", "debug", "THROTTLING_DEBUG");
        }
    }

    /// The older extension, by the table of its own documentation.
    fn autothrottle(&mut self, reading: &Reading) {
        if !is(reading, "AUTOTHROTTLE_ENABLED") {
            return;
        }
        let pairs: [(&str, &[&str], &str); 2] = [
            ("AUTOTHROTTLE_START_DELAY", &["pace", "delay"], "DOWNLOAD_DELAY"),
            ("AUTOTHROTTLE_MAX_DELAY", &["backoff", "max"], "BACKOFF_MAX_DELAY"),
        ];
        for (name, path, newer) in pairs {
            if reading.get(newer).is_none() {
                self.plain(reading, name, path, Kind::Seconds);
            }
        }
        if let Some(assignment) = reading.get("AUTOTHROTTLE_TARGET_CONCURRENCY") {
            let what = format!("AUTOTHROTTLE_TARGET_CONCURRENCY (line {})", assignment.line);
            let written = Written { text: Some("true".to_owned()), left_out: Vec::new() };
            self.set(&what, &["backoff", "rampup"], written, "AUTOTHROTTLE_TARGET_CONCURRENCY");
            self.leave_out(
                &what,
                "as `rampup`, which seeks the rate by rejections, not by latency",
            );
        }
    }

    /// 0 is never; ours ends at a year.
    fn idle(&mut self, reading: &Reading) {
        let name = "THROTTLING_SCOPE_MAX_IDLE";
        match reading.get(name).map(|assignment| &assignment.value) {
            Some(Literal::Number(0.0)) => {
                self.yaml.below("pace").set_with(
                    "idle",
                    "366d",
                    "THROTTLING_SCOPE_MAX_IDLE = 0: never",
                );
            }
            Some(_) => self.plain(reading, name, &["pace", "idle"], Kind::Seconds),
            None => {}
        }
    }

    fn robots(&mut self, reading: &Reading) {
        let off = |name| reading.get(name).is_some_and(|a| a.value.is(false));
        if !is(reading, "ROBOTSTXT_OBEY") {
            return;
        }
        self.leave_out(
            "ROBOTSTXT_OBEY",
            "what may be fetched stays the crawler's to obey: leave it on",
        );
        if off("THROTTLING_ROBOTSTXT_OBEY") {
            return;
        }
        let written = Written { text: Some("passive".to_owned()), left_out: Vec::new() };
        let what = "Crawl-delay (THROTTLING_ROBOTSTXT_OBEY)";
        self.set(
            what,
            &["robots", "delay"],
            written,
            "the crawler fetches robots.txt; its delay is kept",
        );
        let name = "THROTTLING_ROBOTSTXT_MAX_DELAY";
        self.plain(reading, name, &["robots", "max_delay"], Kind::Seconds);
    }

    /// What only words can say.
    fn sentences(&mut self, reading: &Reading) {
        for (name, why) in SENTENCES {
            if let Some(assignment) = reading.get(name) {
                self.leave_out(&format!("{name} (line {})", assignment.line), why);
            }
        }
        if reading.get("TARGET_RPM").is_some_and(|found| found.value != Literal::None) {
            self.leave_out("TARGET_RPM", "set, and in force here without its add-on");
        }
        let known = |name: &str| {
            KEYS.iter().any(|(known, ..)| *known == name)
                || SENTENCES.iter().any(|(known, _)| *known == name)
                || ELSEWHERE.contains(&name)
        };
        for assignment in &reading.assignments {
            let name = &assignment.name;
            let capital =
                name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
            if capital && !known(name) && !self.others.contains(name) {
                self.others.push(name.clone());
            }
        }
    }

    fn their_side(&mut self, reading: &Reading) {
        let mut say = |line: String| self.theirs.push(line);
        if !reading.get("RETRY_ENABLED").is_some_and(|a| a.value.is(false)) {
            say("RETRY_ENABLED = False: repeating is done here, for `retry.window` (10m)"
                .to_owned());
        }
        let timeout = reading.get("DOWNLOAD_TIMEOUT").and_then(|found| found.value.number());
        let timeout = timeout.unwrap_or(TIMEOUT);
        if timeout < WAITS {
            let line = format!(
                "DOWNLOAD_TIMEOUT = {WAITS}: longer than `retry.window` (it is {timeout}); or \
                 `retry: {{window: {}s}}` here",
                (timeout - TIMEOUT_MARGIN).max(1.0)
            );
            say(line);
        }
        say("CONCURRENT_REQUESTS = 100 and CONCURRENT_REQUESTS_PER_DOMAIN = 100: a request that waits \
             here takes a place there"
            .to_owned());
        say("DOWNLOAD_DELAY = 0, RANDOMIZE_DOWNLOAD_DELAY = False, AUTOTHROTTLE_ENABLED = False: the \
             pace is kept here"
            .to_owned());
    }

    fn note_changed(&mut self, reading: &Reading) {
        for (name, line) in &reading.changed {
            let ours =
                KEYS.iter().any(|(known, ..)| known == name) || ELSEWHERE.contains(&name.as_str());
            if ours {
                let why = "changed in a way that only Python can follow; not looked at";
                self.leave_out(&format!("{name} (line {line})"), why);
            }
        }
    }
}

/// Whether a setting is switched on.
fn is(reading: &Reading, name: &str) -> bool {
    reading.get(name).is_some_and(|assignment| assignment.value.is(true))
}

/// What the configuration, as far as it goes, says against a key's value.
fn refused(yaml: &Section, path: &[String], text: &str) -> Option<String> {
    let mut whole = match path {
        [scopes, name, ..] if scopes == "scopes" => yaml.with_one(scopes, name),
        _ => yaml.without("scopes"),
    };
    let line = Line {
        what: String::new(),
        path: path.to_vec(),
        text: text.to_owned(),
        remark: String::new(),
    };
    line.put(&mut whole);
    let mistakes = combine(&whole.text(), Sources::default()).err()?;
    let said = mistakes.iter().map(|mistake| mistake.message.clone());
    Some(said.collect::<Vec<_>>().join("; "))
}

/// A value for a remark about a setting that is not what it must be.
pub fn odd(value: &Literal) -> String {
    format!("`{}` is not read", short(value))
}

/// That framework's DOWNLOAD_TIMEOUT where it is not set.
const TIMEOUT: f64 = 180.0;
/// Ten minutes and one attempt.
const WAITS: f64 = 660.0;
/// What is left of a time-out for the last attempt.
const TIMEOUT_MARGIN: f64 = 10.0;
