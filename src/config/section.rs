//! One section of the file: its known keys are read into their places, its unknown ones are reported.

use crate::config::keys;
use crate::config::mistake::{Mistake, Place};
use crate::config::node::{Entry, Node, Scalar, Value};
use crate::config::value::Read;
use std::collections::HashMap;

/// What has been found so far: mistakes, and which keys were given where.
#[derive(Debug, Default)]
pub struct Report {
    pub mistakes: Vec<Mistake>,
    given: HashMap<String, Place>,
}

impl Report {
    /// Where a key was given, if it was.
    pub fn given(&self, path: &str) -> Option<&Place> {
        self.given.get(path)
    }

    /// Where a key was given, or nowhere in particular.
    pub fn place(&self, path: &str) -> Place {
        self.given.get(path).cloned().unwrap_or(Place::Whole)
    }
}

/// One section.
#[derive(Debug)]
pub struct Section<'a> {
    path: String,
    entries: &'a [Entry],
}

impl<'a> Section<'a> {
    /// The top level.
    pub fn top(node: Option<&'a Node>, report: &mut Report) -> Section<'a> {
        Section::new("", String::new(), node, report)
    }

    /// The section `name` of the top level.
    pub fn below(&self, name: &str, report: &mut Report) -> Section<'a> {
        Section::new(name, name.to_owned(), self.node(name), report)
    }

    /// The section `key` of this one; `name` is how its keys are known.
    pub fn inner(&self, name: &str, key: &str, report: &mut Report) -> Section<'a> {
        Section::new(name, keys::join(&self.path, key), self.node(key), report)
    }

    /// Its path, as it is written.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Where its first key is.
    pub fn place(&self) -> Place {
        self.entries.first().map_or(Place::Whole, |entry| entry.key_place.clone())
    }

    /// The section of one host in `scopes`.
    pub fn scope(entry: &'a Entry, report: &mut Report) -> Section<'a> {
        Section::new("scopes.*", format!("scopes.{}", entry.key), Some(&entry.node), report)
    }

    /// The section of one class in `verdicts`.
    pub fn class(entry: &'a Entry, report: &mut Report) -> Section<'a> {
        Section::new("verdicts.*", format!("verdicts.{}", entry.key), Some(&entry.node), report)
    }

    /// The section of one rule in `rules`, which is a list.
    pub fn rule(place: usize, node: &'a Node, report: &mut Report) -> Section<'a> {
        Section::new("rules.*", format!("rules[{place}]"), Some(node), report)
    }

    fn new(name: &str, path: String, node: Option<&'a Node>, report: &mut Report) -> Section<'a> {
        let entries = entries(&path, node, report);
        let known = keys::of(name);
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            report.mistakes.push(keys::unknown(name, &path, &entry.key, &entry.key_place));
        }
        Section { path, entries }
    }

    /// Reads a key into its place, if it is there and right.
    pub fn read<T>(
        &self,
        key: &str,
        place: &mut T,
        parse: impl FnOnce(&Node) -> Read<T>,
        report: &mut Report,
    ) {
        let Some(node) = self.node(key) else { return };
        let path = keys::join(&self.path, key);
        report.given.insert(path.clone(), node.place.clone());
        match parse(node) {
            Ok(value) => *place = value,
            Err(wrongs) => report.mistakes.extend(wrongs.into_iter().map(|wrong| {
                Mistake::error(format!("`{path}` {}", wrong.why), &wrong.place, wrong.hint)
            })),
        }
    }

    /// The lines of a map whose keys are names.
    pub fn named(&self, key: &str, report: &mut Report) -> &'a [Entry] {
        entries(&keys::join(&self.path, key), self.node(key), report)
    }

    /// The items of a list of sections; one section is a list of one.
    pub fn listed(&self, key: &str, report: &mut Report) -> &'a [Node] {
        let Some(node) = self.node(key) else { return &[] };
        report.given.insert(keys::join(&self.path, key), node.place.clone());
        match &node.value {
            Value::List(nodes) => nodes,
            Value::Map(_) => std::slice::from_ref(node),
            Value::Scalar { kind: Scalar::Null, .. } => &[],
            Value::Scalar { .. } => {
                let message = format!("`{}` is a list of sections", keys::join(&self.path, key));
                report.mistakes.push(Mistake::error(message, &node.place, "each begins with `- `"));
                &[]
            }
        }
    }

    fn node(&self, key: &str) -> Option<&'a Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }
}

fn entries<'a>(path: &str, node: Option<&'a Node>, report: &mut Report) -> &'a [Entry] {
    let Some(node) = node else { return &[] };
    match &node.value {
        Value::Map(entries) => entries,
        Value::Scalar { kind: Scalar::Null, .. } => &[],
        Value::Scalar { .. } | Value::List(_) => {
            let message = match path {
                "" => "the file must be lines of `key: value`".to_owned(),
                path => format!("`{path}` is a section: it has keys below it"),
            };
            let hint = match keys::of(path) {
                [] => String::new(),
                keys => format!("like `{}: …`", keys[0]),
            };
            report.mistakes.push(Mistake::error(message, &node.place, hint));
            &[]
        }
    }
}
