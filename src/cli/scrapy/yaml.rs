//! Writes the YAML of an import: sections, with a remark at the end of a line where there is one.

use std::fmt::Write;

/// A section: its keys in order.
#[derive(Clone, Debug, Default)]
pub struct Section {
    lines: Vec<(String, Value)>,
}

#[derive(Clone, Debug)]
enum Value {
    Is { text: String, remark: String },
    Has(Section),
}

impl Section {
    /// Sets a key to a value that is YAML already, with a remark if it isn't empty.
    pub fn set_with(&mut self, key: &str, text: impl Into<String>, remark: &str) {
        let value = Value::Is { text: text.into(), remark: remark.to_owned() };
        self.lines.retain(|(known, _)| known != key);
        self.lines.push((key.to_owned(), value));
    }

    /// The section below a key; made if there is none.
    pub fn below(&mut self, key: &str) -> &mut Section {
        let found = self.lines.iter().position(|(known, _)| known == key);
        let place = found.unwrap_or_else(|| {
            self.lines.push((key.to_owned(), Value::Has(Section::default())));
            self.lines.len() - 1
        });
        let value = &mut self.lines[place].1;
        if let Value::Is { .. } = value {
            *value = Value::Has(Section::default());
        }
        match value {
            Value::Has(section) => section,
            Value::Is { .. } => unreachable!("it was made a section"),
        }
    }

    /// The same without a key.
    #[must_use]
    pub fn without(&self, key: &str) -> Section {
        self.filtered(|known| known != key)
    }

    /// The same with one key of those below another.
    #[must_use]
    pub fn with_one(&self, above: &str, key: &str) -> Section {
        let mut section = self.without(above);
        let found = self.lines.iter().find(|(known, _)| known == above);
        if let Some((_, Value::Has(below))) = found {
            *section.below(above) = below.filtered(|known| known == key);
        }
        section
    }

    fn filtered(&self, keep: impl Fn(&str) -> bool) -> Section {
        let lines = self.lines.iter().filter(|(key, _)| keep(key));
        Section { lines: lines.cloned().collect() }
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The lines.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.write(0, &mut text);
        text
    }

    fn write(&self, depth: usize, text: &mut String) {
        for (key, value) in &self.lines {
            let (indent, key) = ("  ".repeat(depth), quoted(key));
            let _ = match value {
                Value::Is { text: value, remark } if remark.is_empty() => {
                    writeln!(text, "{indent}{key}: {value}")
                }
                Value::Is { text: value, remark } => {
                    writeln!(text, "{indent}{key}: {value}  # {remark}")
                }
                Value::Has(section) if section.is_empty() => writeln!(text, "{indent}{key}: {{}}"),
                Value::Has(section) => {
                    let _ = writeln!(text, "{indent}{key}:");
                    section.write(depth + 1, text);
                    Ok(())
                }
            };
        }
    }
}

/// A key as it can stand in YAML: JSON's quotes are YAML's.
fn quoted(key: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let starts = key.starts_with(|first: char| first.is_ascii_alphabetic());
    match starts && key.bytes().all(plain) && !WORDS.contains(&key.to_ascii_lowercase().as_str()) {
        true => key.to_owned(),
        false => serde_json::Value::from(key).to_string(),
    }
}

/// Words that YAML takes for something else.
const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
