//! What is wrong with a configuration, and how it is shown: the line itself, carets, and what to do.
//!
//! This file must not know any key.

use serde_json::json;
use std::fmt;
use std::path::{Path, PathBuf};

/// Whether a mistake keeps the configuration from being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
}

impl Severity {
    /// The word in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// Where a value, and so a mistake, comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file.
    File(Spot),
    /// An environment variable, by name.
    Environment(String),
    /// A flag, by the path of its key.
    Flag(String),
    /// Nothing in particular: the file as a whole, or a default.
    Whole,
}

/// Some characters of one line. Lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    pub line: usize,
    pub column: usize,
    pub width: usize,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    pub severity: Severity,
    pub message: String,
    pub place: Place,
    /// What to do about it; may be empty.
    pub hint: String,
}

impl Mistake {
    /// A mistake that keeps the configuration from being used.
    pub fn error(message: impl Into<String>, place: &Place, hint: impl Into<String>) -> Mistake {
        let (message, hint) = (message.into(), hint.into());
        Mistake { severity: Severity::Error, message, place: place.clone(), hint }
    }

    /// One that does not.
    pub fn warning(message: impl Into<String>, place: &Place, hint: impl Into<String>) -> Mistake {
        Mistake { severity: Severity::Warning, ..Mistake::error(message, place, hint) }
    }
}

/// All that is wrong with a configuration, in the order of the file. `Display` is the report for
/// people.
#[derive(Clone, Debug, Default)]
pub struct Mistakes {
    file: Option<PathBuf>,
    lines: Vec<String>,
    all: Vec<Mistake>,
}

impl Mistakes {
    /// The mistakes of a configuration whose file, if there is one, has this text.
    pub fn new(file: Option<&Path>, text: &str, mut all: Vec<Mistake>) -> Mistakes {
        all.sort_by_key(|mistake| (mistake.severity, order(&mistake.place)));
        all.dedup();
        let lines = match all.is_empty() {
            true => Vec::new(),
            false => text.lines().map(str::to_owned).collect(),
        };
        Mistakes { file: file.map(Path::to_owned), lines, all }
    }

    /// One by one.
    pub fn iter(&self) -> std::slice::Iter<'_, Mistake> {
        self.all.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether any keeps the configuration from being used.
    pub fn has_errors(&self) -> bool {
        self.all.iter().any(|mistake| mistake.severity == Severity::Error)
    }

    /// The report for programs: a JSON list, one object each.
    pub fn to_json(&self) -> String {
        let objects: Vec<_> = self.all.iter().map(|mistake| self.object(mistake)).collect();
        serde_json::Value::from(objects).to_string()
    }

    /// The report for a log: a line each, with its place and what to do.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.all.iter().map(|mistake| {
            let place = match &mistake.place {
                Place::File(spot) => format!("{}:{}:{}", self.file_name(), spot.line, spot.column),
                Place::Environment(name) => format!("environment variable {}", show(name)),
                Place::Flag(path) => format!("flag for `{}`", show(path)),
                Place::Whole => self.file_name(),
            };
            let hint = match mistake.hint.as_str() {
                "" => String::new(),
                hint => format!(" ({})", show(hint)),
            };
            let severity = mistake.severity.word();
            format!("{place}: {severity}: {}{hint}", show(&mistake.message))
        })
    }

    fn object(&self, mistake: &Mistake) -> serde_json::Value {
        let mut object = json!({
            "severity": mistake.severity.word(),
            "message": mistake.message,
            "hint": mistake.hint,
        });
        match &mistake.place {
            Place::File(spot) => {
                object["file"] = self.file_name().into();
                object["line"] = spot.line.into();
                object["column"] = spot.column.into();
                object["width"] = spot.width.into();
            }
            Place::Environment(name) => object["environment"] = name.as_str().into(),
            Place::Flag(path) => object["flag"] = path.as_str().into(),
            Place::Whole => object["file"] = self.file_name().into(),
        }
        object
    }

    fn file_name(&self) -> String {
        self.file
            .as_ref()
            .map_or_else(|| "(defaults)".to_owned(), |file| show(&file.to_string_lossy()))
    }

    fn write_snippet(&self, f: &mut fmt::Formatter<'_>, spot: Spot, hint: &str) -> fmt::Result {
        let line: Vec<char> =
            self.lines.get(spot.line - 1).map_or_else(Vec::new, |line| line.chars().collect());
        let before = (spot.column - 1).min(line.len());
        let start = before.saturating_sub(BEFORE);
        let end = line.len().min(start + SHOWN);
        let shown = show(&line[start..end].iter().collect::<String>());
        let number = spot.line.to_string();
        let carets = "^".repeat(spot.width.clamp(1, (end - before).max(1)));
        let margin = " ".repeat(number.len());
        writeln!(f, "{number} | {}", shown.trim_end())?;
        writeln!(
            f,
            "{}",
            format!("{margin} | {}{carets} {hint}", " ".repeat(before - start)).trim_end()
        )
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for mistake in &self.all {
            writeln!(f, "{}: {}", mistake.severity.word(), show(&mistake.message))?;
            let hint = show(&mistake.hint);
            match &mistake.place {
                Place::File(spot) => {
                    writeln!(f, "  --> {}:{}:{}", self.file_name(), spot.line, spot.column)?;
                    self.write_snippet(f, *spot, &hint)?;
                    continue;
                }
                Place::Environment(name) => {
                    writeln!(f, "  --> environment variable {}", show(name))?
                }
                Place::Flag(path) => writeln!(f, "  --> flag for `{}`", show(path))?,
                Place::Whole => writeln!(f, "  --> {}", self.file_name())?,
            }
            if !hint.is_empty() {
                writeln!(f, "  {hint}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}

fn order(place: &Place) -> (u8, usize, usize) {
    match place {
        Place::File(spot) => (0, spot.line, spot.column),
        Place::Whole => (1, 0, 0),
        Place::Environment(_) => (2, 0, 0),
        Place::Flag(_) => (3, 0, 0),
    }
}

/// A text for a terminal: what a file says must not steer it. One character stays one, so that
/// carets point right.
fn show(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\t' => ' ',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// Characters of a long line shown before the spot, and in all.
const BEFORE: usize = 60;
const SHOWN: usize = 110;
