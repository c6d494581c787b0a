//! What is written in a configuration, as a tree of values that know their places.
//!
//! This file must not know YAML, nor any key.

use crate::config::mistake::Place;

/// A value and where it is written.
#[derive(Clone, Debug)]
pub struct Node {
    pub value: Value,
    pub place: Place,
}

/// What is written.
#[derive(Clone, Debug)]
pub enum Value {
    Scalar { kind: Scalar, text: String },
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// What a scalar is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    Null,
    Bool(bool),
    Number,
    Text,
}

/// One line of a map.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: String,
    pub key_place: Place,
    pub node: Node,
}

impl Node {
    /// A node that says nothing.
    pub fn nothing() -> Node {
        let value = Value::Scalar { kind: Scalar::Null, text: String::new() };
        Node { value, place: Place::Whole }
    }

    /// Puts `node` at `path` below this one, over what is there. Whoever has a scalar where a map must be
    /// keeps it: the check will say so.
    pub fn overlay(&mut self, path: &[&str], node: Node) {
        let Some((first, rest)) = path.split_first() else {
            *self = node;
            return;
        };
        if matches!(self.value, Value::Scalar { kind: Scalar::Null, .. }) {
            self.value = Value::Map(Vec::new());
        }
        let Value::Map(entries) = &mut self.value else { return };
        let found = entries.iter().position(|entry| entry.key == *first);
        let at = found.unwrap_or_else(|| {
            let place = node.place.clone();
            let below = Node { value: Value::Map(Vec::new()), place: place.clone() };
            entries.push(Entry { key: (*first).to_owned(), key_place: place, node: below });
            entries.len() - 1
        });
        entries[at].node.overlay(rest, node);
    }

    /// Says that this and all below it is written at `place`.
    pub fn move_to(&mut self, place: &Place) {
        self.place = place.clone();
        match &mut self.value {
            Value::Scalar { .. } => {}
            Value::List(nodes) => nodes.iter_mut().for_each(|node| node.move_to(place)),
            Value::Map(entries) => entries.iter_mut().for_each(|entry| {
                entry.key_place = place.clone();
                entry.node.move_to(place);
            }),
        }
    }
}
