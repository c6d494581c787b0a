//! The file as it is written: a tree of values, each with its place. The only file that knows YAML.
//!
//! `serde_yaml` says what a scalar is; it stops at the first mistake and often has no line, so a marked reader
//! goes before it, which also refuses what a configuration has no use for: aliases (they can blow a small file up),
//! tags, deep nesting, a second document.

use crate::config::mistake::{Mistake, Place, Spot};
use crate::config::node::{Entry, Node, Scalar, Value};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};
use std::collections::HashMap;

/// What a text says, as far as it can be read, and what is wrong with how it says it.
#[derive(Debug)]
pub struct Reading {
    pub node: Option<Node>,
    pub mistakes: Vec<Mistake>,
}

/// Line ends as the marked reader counts them.
pub fn unify_line_ends(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n")
}

/// Reads a file's text (with [unified](unify_line_ends) line ends). An empty one says nothing.
pub fn read(text: &str) -> Reading {
    if let Some(mistake) = unreadable(text) {
        return Reading { node: None, mistakes: vec![mistake] };
    }
    let mut reader =
        Reader { text, parser: Parser::new_from_str(text), mistakes: Vec::new(), nodes: 0 };
    let mut node = match reader.document() {
        Ok(node) => node,
        Err(fatal) => {
            reader.mistakes.push(fatal);
            None
        }
    };
    let mut mistakes = reader.mistakes;
    if let (Some(node), true) = (&mut node, mistakes.is_empty()) {
        mistakes.extend(settle(node, text));
    }
    Reading { node, mistakes }
}

/// Reads the value of an environment variable or a flag: a scalar, or a list or map in brackets.
pub fn read_value(text: &str, place: &Place) -> Node {
    if text.starts_with(['[', '{']) {
        let reading = read(&unify_line_ends(text));
        if let (Some(mut node), true) = (reading.node, reading.mistakes.is_empty()) {
            node.move_to(place);
            return node;
        }
    }
    let value = Value::Scalar { kind: guess(text), text: text.to_owned() };
    Node { value, place: place.clone() }
}

struct Reader<'a> {
    text: &'a str,
    parser: Parser<'a, StrInput<'a>>,
    mistakes: Vec<Mistake>,
    nodes: usize,
}

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Option<Node>, Mistake> {
        let mut document = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(document),
                Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
                Event::DocumentStart(_) if document.is_some() => {
                    let place = place_of(span);
                    self.mistakes.push(Mistake::error(
                        "a second document begins here",
                        &place,
                        "the configuration is one document: take the `---` out",
                    ));
                    return Ok(document);
                }
                Event::DocumentStart(_) => {}
                Event::Alias(_)
                | Event::Scalar(..)
                | Event::SequenceStart(..)
                | Event::SequenceEnd
                | Event::MappingStart(..)
                | Event::MappingEnd => document = Some(self.node(event, span, 0)?),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Mistake> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(why)) => Err(not_yaml(self.text, &why)),
            None => Err(Mistake::error("the file ends too early", &Place::Whole, "")),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Mistake> {
        let place = place_of(span);
        self.nodes += 1;
        if depth > DEPTH || self.nodes > NODES {
            let what =
                if depth > DEPTH { "nested too deeply" } else { "more than anybody can mean" };
            return Err(Mistake::error(format!("this is {what}"), &place, ""));
        }
        let value = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse(&place, anchor != 0, tag.is_some());
                let kind = if style == ScalarStyle::Plain { guess(&text) } else { Scalar::Text };
                Value::Scalar { kind, text: text.into_owned() }
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse(&place, anchor != 0, tag.is_some());
                Value::List(self.list(depth)?)
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse(&place, anchor != 0, tag.is_some());
                Value::Map(self.map(depth)?)
            }
            Event::Alias(_) => {
                self.refuse(&place, true, false);
                Value::Scalar { kind: Scalar::Null, text: String::new() }
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => {
                return Err(Mistake::error("a value is missing here", &place, ""));
            }
        };
        Ok(Node { value, place })
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, Mistake> {
        let mut list = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(list);
            }
            list.push(self.node(event, span, depth + 1)?);
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Entry>, Mistake> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut lines: HashMap<String, usize> = HashMap::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(entries);
            }
            let key = self.node(event, span, depth + 1)?;
            let (event, span) = self.next()?;
            let node = self.node(event, span, depth + 1)?;
            let Value::Scalar { text, .. } = key.value else {
                self.mistakes.push(Mistake::error("a key must be a word", &key.place, ""));
                continue;
            };
            if let Some(line) = lines.get(&text) {
                let hint = format!("line {line} has it already: keep one");
                self.mistakes.push(Mistake::error(
                    format!("`{text}` is there twice"),
                    &key.place,
                    hint,
                ));
                continue;
            }
            lines.insert(text.clone(), line_of(&key.place));
            entries.push(Entry { key: text, key_place: key.place, node });
        }
    }

    fn refuse(&mut self, place: &Place, anchor: bool, tag: bool) {
        if anchor {
            let message = "anchors and aliases (`&`, `*`) are not read here";
            self.mistakes.push(Mistake::error(message, place, "write the value out, or quote it"));
        }
        if tag {
            let message = "tags (`!`) are not read here";
            self.mistakes.push(Mistake::error(
                message,
                place,
                "write the value without, or quote it",
            ));
        }
    }
}

/// Lets `serde_yaml` say what every scalar is.
fn settle(node: &mut Node, text: &str) -> Option<Mistake> {
    match serde_yaml::from_str::<serde_yaml::Value>(text) {
        Ok(value) if agree(node, &value) => None,
        Ok(_) => Some(Mistake::error("this can be read in two ways", &node.place, "")),
        Err(why) => {
            let place = why.location().map_or(node.place.clone(), |at| {
                Place::File(Spot { line: at.line(), column: at.column(), width: 1 })
            });
            Some(Mistake::error(format!("this is not YAML: {why}"), &place, ""))
        }
    }
}

fn agree(node: &mut Node, value: &serde_yaml::Value) -> bool {
    match (&mut node.value, value) {
        (Value::Scalar { kind, .. }, serde_yaml::Value::Null) => *kind = Scalar::Null,
        (Value::Scalar { kind, .. }, serde_yaml::Value::Bool(is)) => *kind = Scalar::Bool(*is),
        (Value::Scalar { kind, .. }, serde_yaml::Value::Number(_)) => *kind = Scalar::Number,
        (Value::Scalar { kind, .. }, serde_yaml::Value::String(_)) => *kind = Scalar::Text,
        (Value::List(nodes), serde_yaml::Value::Sequence(values)) => {
            return nodes.len() == values.len()
                && nodes.iter_mut().zip(values).all(|(node, value)| agree(node, value));
        }
        (Value::Map(entries), serde_yaml::Value::Mapping(values)) => {
            return entries.len() == values.len()
                && entries.iter_mut().zip(values).all(|(entry, (_, v))| agree(&mut entry.node, v));
        }
        (Value::Scalar { .. } | Value::List(_) | Value::Map(_), _) => return false,
    }
    true
}

/// What a plain scalar is, where no reader has said so.
fn guess(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "true" | "True" | "TRUE" => Scalar::Bool(true),
        "false" | "False" | "FALSE" => Scalar::Bool(false),
        text if text.parse::<f64>().is_ok() => Scalar::Number,
        _ => Scalar::Text,
    }
}

fn not_yaml(text: &str, why: &ScanError) -> Mistake {
    let at = why.marker();
    let line = text.lines().nth(at.line().saturating_sub(1)).unwrap_or("");
    let place = Place::File(Spot { line: at.line().max(1), column: at.col() + 1, width: 1 });
    let blank = line.len() - line.trim_start().len();
    if line[..blank].contains('\t') {
        let hint = "YAML indents with spaces";
        return Mistake::error("a tab indents this line", &place, hint);
    }
    Mistake::error(format!("this is not YAML: {}", why.info()), &place, "")
}

fn place_of(span: Span) -> Place {
    let width = match span.start.line() == span.end.line() {
        true => span.end.col().saturating_sub(span.start.col()),
        false => 1,
    };
    let line = span.start.line().max(1);
    Place::File(Spot { line, column: span.start.col() + 1, width: width.max(1) })
}

fn line_of(place: &Place) -> usize {
    match place {
        Place::File(spot) => spot.line,
        Place::Environment(_) | Place::Flag(_) | Place::Whole => 0,
    }
}

/// NUL; and line ends of YAML 1.1 that are none in 1.2, so that the two readers would disagree.
fn unreadable(text: &str) -> Option<Mistake> {
    let odd = |c: char| matches!(c, '\0' | '\u{85}' | '\u{2028}' | '\u{2029}');
    text.lines().enumerate().find_map(|(line, text)| {
        let (column, found) = text.chars().enumerate().find(|(_, c)| odd(*c))?;
        let spot = Place::File(Spot { line: line + 1, column: column + 1, width: 1 });
        Some(match found {
            '\0' => {
                Mistake::error("there is a NUL byte in the file", &spot, "is this a text file?")
            }
            found => {
                let message =
                    format!("there is an invisible line separator: {}", found.escape_unicode());
                Mistake::error(message, &spot, "end the line, or take it out")
            }
        })
    })
}

/// Deeper than anything that is configured, and far from the stack's end.
const DEPTH: usize = 16;
const NODES: usize = 100_000;
