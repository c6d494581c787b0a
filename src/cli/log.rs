//! The log: one line an event on stderr, text for people at a terminal, JSON for everything else.
//!
//! Much of what is logged was written by strangers (hosts, reasons, certificates): control
//! characters are escaped and every field is cut, so that no line can pretend to be another.
//!
//! A thread of its own writes the lines. Whoever reads our stderr may have stopped (a pager, a full
//! pipe), and no request waits for that: lines that find the queue full are lost, and counted.

use crate::clock::Clock;
use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    Text,
    Json,
}

/// What lines look like in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Text,
    Json,
}

/// Starts the log. `level` is for our own events; those of libraries are shown from warnings on.
/// Colours need a terminal, and `no_color` (NO_COLOR is set) forbids them. A second call does
/// nothing: the first log stays.
pub fn start(level: LevelFilter, format: Format, no_color: bool, clock: Clock) -> Style {
    let terminal = io::stderr().is_terminal();
    let look = match (format, terminal) {
        (Format::Text, false) => Look::Text { colours: false },
        (Format::Text | Format::Auto, true) => Look::Text { colours: !no_color },
        (Format::Json, _) | (Format::Auto, false) => Look::Json,
    };
    let lines = Lines { look, clock, sink: queue };
    let ours = Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_target(env!("CARGO_CRATE_NAME"), level);
    let _ = tracing_subscriber::registry().with(lines.with_filter(ours)).try_init();
    match look {
        Look::Text { .. } => Style::Text,
        Look::Json => Style::Json,
    }
}

/// A line of JSON that is there whatever the level is: what whoever starts us waits for.
pub fn line(message: &str, fields: Vec<(&'static str, String)>) {
    let others = fields.into_iter().map(|(name, value)| (name, Value::Text(value))).collect();
    let fields = Fields { message: message.to_owned(), others };
    queue(&json(&moment(&Clock::runtime()), Level::INFO, module_path!(), fields));
}

/// Gives what is queued a moment to be written: the last thing before the process ends.
pub fn flush() {
    let Some(queue) = QUEUE.get() else { return };
    let (done, written) = sync_channel(1);
    if queue.lines.try_send(Entry::Mark(done)).is_ok() {
        let _ = written.recv_timeout(LAST);
    }
}

/// What goes to the thread that writes.
enum Entry {
    Line(String),
    /// Said back once all before it is written.
    Mark(SyncSender<()>),
}

struct Queue {
    lines: SyncSender<Entry>,
    lost: AtomicU64,
}

impl Queue {
    fn put(&self, line: &str) {
        if self.lines.try_send(Entry::Line(line.to_owned())).is_err() {
            self.lost.fetch_add(1, Relaxed);
        }
    }
}

static QUEUE: OnceLock<Queue> = OnceLock::new();

fn queue(line: &str) {
    let queue = QUEUE.get_or_init(|| {
        let (lines, waiting) = sync_channel(QUEUED);
        // Without a thread all lines are lost: there is nowhere to say so.
        let writer = std::thread::Builder::new().name("log".to_owned());
        let _ = writer.spawn(move || write(&waiting, &mut io::stderr()));
        Queue { lines, lost: AtomicU64::new(0) }
    });
    queue.put(line);
}

/// Nobody is left to tell that the sink is gone.
fn write(waiting: &Receiver<Entry>, sink: &mut impl Write) {
    while let Ok(entry) = waiting.recv() {
        match entry {
            Entry::Line(line) => {
                let _ = sink.write_all(line.as_bytes());
            }
            Entry::Mark(done) => {
                let _ = done.try_send(());
            }
        }
        let lost = QUEUE.get().map_or(0, |queue| queue.lost.swap(0, Relaxed));
        if lost > 0 {
            tracing::warn!(lost, "lines of the log were lost: stderr takes them too slowly");
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Text { colours: bool },
    Json,
}

struct Lines<S> {
    look: Look,
    clock: Clock,
    sink: S,
}

impl<S: Fn(&str) + 'static, T: Subscriber> Layer<T> for Lines<S> {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, T>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let moment = moment(&self.clock);
        let metadata = event.metadata();
        let line = match self.look {
            Look::Text { colours } => text(&moment, *metadata.level(), &fields, colours),
            Look::Json => json(&moment, *metadata.level(), metadata.target(), fields),
        };
        (self.sink)(&line);
    }
}

fn moment(clock: &Clock) -> String {
    let moment = OffsetDateTime::from(clock.wall());
    let moment = moment.replace_nanosecond(moment.nanosecond() / MILLI * MILLI);
    moment.unwrap_or(OffsetDateTime::UNIX_EPOCH).format(&Rfc3339).unwrap_or_default()
}

/// An event's fields, each cut to [`FIELD_BYTES`], at most [`FIELDS`] of them.
#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, Value)>,
}

enum Value {
    Text(String),
    Json(serde_json::Value),
}

impl Fields {
    fn keep(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::Text(text)) => self.message = text,
            // What the `log` bridge adds is in the event's metadata already.
            (name, value) if self.others.len() < FIELDS && !name.starts_with("log.") => {
                self.others.push((name, value));
            }
            (_, Value::Text(_) | Value::Json(_)) => {}
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.keep(field, Value::Text(cut(format_args!("{value:?}"))));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.keep(field, Value::Text(cut(format_args!("{value}"))));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.keep(field, Value::Text(cut(format_args!("{value}"))));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.keep(field, Value::Json(value.into()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.keep(field, Value::Json(value.into()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.keep(field, Value::Json(value.into()));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.keep(field, Value::Json(value.into()));
    }
}

/// Writes what fits and an ellipsis for the rest.
fn cut(arguments: fmt::Arguments<'_>) -> String {
    let mut short = Short(String::new());
    if short.write_fmt(arguments).is_err() {
        short.0.push('…');
    }
    short.0
}

struct Short(String);

impl fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = FIELD_BYTES - self.0.len();
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        let whole = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        self.0.push_str(&text[..whole]);
        Err(fmt::Error)
    }
}

fn json(moment: &str, level: Level, target: &str, fields: Fields) -> String {
    let mut object = serde_json::Map::new();
    for (name, value) in fields.others {
        let value = match value {
            Value::Text(text) => text.into(),
            Value::Json(value) => value,
        };
        object.insert(name.to_owned(), value);
    }
    // Last, so that no field can take their place.
    object.insert("time".to_owned(), moment.into());
    object.insert("level".to_owned(), level.as_str().to_ascii_lowercase().into());
    object.insert("target".to_owned(), target.into());
    object.insert("message".to_owned(), fields.message.into());
    shown(serde_json::Value::Object(object).to_string()) + "\n"
}

/// JSON escapes control characters up to 0x1f only. Those beyond, and those that turn the direction of
/// writing, do as much to a terminal that shows the line; they stand in its strings only.
fn shown(line: String) -> String {
    let acts = |c: char| {
        matches!(c, '\u{7f}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2066}'..='\u{2069}')
    };
    if !line.contains(acts) {
        return line;
    }
    let mut out = String::with_capacity(line.len() + 16);
    for character in line.chars() {
        match acts(character) {
            true => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            false => out.push(character),
        }
    }
    out
}

fn text(moment: &str, level: Level, fields: &Fields, colours: bool) -> String {
    let (dim, paint, plain) = match (colours, level) {
        (false, _) => ("", "", ""),
        (true, Level::ERROR) => (DIM, "\x1b[31m", PLAIN),
        (true, Level::WARN) => (DIM, "\x1b[33m", PLAIN),
        (true, Level::INFO) => (DIM, "\x1b[32m", PLAIN),
        (true, _) => (DIM, "\x1b[36m", PLAIN),
    };
    let mut line = format!("{dim}{moment}{plain} {paint}{level:>5}{plain} ");
    escape(&fields.message, &mut line);
    for (name, value) in &fields.others {
        line.push_str(&format!(" {dim}{name}={plain}"));
        match value {
            Value::Text(text) if is_word(text) => line.push_str(text),
            Value::Text(text) => {
                line.push('"');
                escape(&text.replace('\\', r"\\").replace('"', "\\\""), &mut line);
                line.push('"');
            }
            Value::Json(value) => line.push_str(&value.to_string()),
        }
    }
    line.push('\n');
    line
}

/// Needs no quotes.
fn is_word(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '=');
    !text.is_empty() && text.chars().all(plain)
}

/// Control characters, and those that turn the direction of writing, are shown and not done.
fn escape(text: &str, line: &mut String) {
    for character in text.chars() {
        match character {
            '"' | '\'' | '\\' => line.push(character),
            _ => line.extend(character.escape_debug()),
        }
    }
}

const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";
/// Nanoseconds.
const MILLI: u32 = 1_000_000;
/// Of one field: a URL, a certificate's reason.
const FIELD_BYTES: usize = 1024;
const FIELDS: usize = 32;
/// Lines, of some 300 bytes and at most 32 KiB.
const QUEUED: usize = 4096;
/// For what is queued at the end.
const LAST: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    fn logged(look: Look, events: impl FnOnce()) -> String {
        let text = Arc::new(Mutex::new(String::new()));
        let kept = text.clone();
        let sink = move |line: &str| kept.lock().unwrap().push_str(line);
        let lines = Lines { look, clock: Clock::by_hand().0, sink };
        tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), events);
        text.lock().unwrap().clone()
    }

    const TEXT: Look = Look::Text { colours: false };

    #[test]
    fn text_reads_as_a_sentence_with_its_fields() {
        let line = logged(TEXT, || {
            tracing::info!(host = "a.test", rung = 2, cause = "429 too many", "paced");
        });
        let want = "2027-01-15T09:00:00Z  INFO paced host=a.test rung=2 cause=\"429 too many\"\n";
        assert_eq!(line, want);
    }

    #[test]
    fn json_is_one_object_a_line_and_keeps_numbers() {
        let line = logged(Look::Json, || tracing::warn!(rung = 2, time = "x", "a\nb"));
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["rung"], 2);
        assert_eq!(value["level"], "warn");
        assert_eq!(value["message"], "a\nb");
        assert_eq!(value["time"], "2027-01-15T09:00:00Z");
        assert_eq!(line.lines().count(), 1);
    }

    #[test]
    fn no_stranger_can_write_a_line_or_turn_the_terminal() {
        let evil = "x\r\n2027 INFO fine\x1b[31m\u{202e}\u{9b}";
        let line = logged(TEXT, || tracing::info!(reason = evil, host = %evil, "{evil}"));
        assert_eq!(line.matches('\n').count(), 1);
        let bad = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!line.contains(bad), "{line:?}");
    }

    #[test]
    fn json_escapes_what_acts_on_a_terminal_and_reads_as_it_was() {
        let evil = "x\r\n\x1b[31m\u{202e}\u{9b}2J\u{7f}\u{2028}ä";
        let line = logged(Look::Json, || tracing::info!(reason = evil, "m"));
        let bad = |c: char| c.is_control() && c != '\n' || ('\u{2028}'..'\u{2070}').contains(&c);
        assert!(!line.contains(bad) && line.contains('ä'), "{line:?}");
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["reason"], evil);
    }

    #[test]
    fn a_long_field_is_cut_between_characters() {
        let long = "ä".repeat(100_000);
        let line = logged(TEXT, || tracing::info!(url = %long, "m"));
        assert!(line.len() < 1200 && line.ends_with("…\"\n"), "{}", line.len());
    }

    #[test]
    fn colours_come_only_where_asked_for() {
        assert!(!logged(TEXT, || tracing::error!("m")).contains('\x1b'));
        let line = logged(Look::Text { colours: true }, || tracing::error!("m"));
        assert!(line.contains("\x1b[31mERROR\x1b[0m m"), "{line:?}");
    }
}
