//! A Python literal, and what only Python can say as its text.

use std::fmt;

/// A value as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    None,
    Bool(bool),
    Number(f64),
    Text(String),
    /// A list, a tuple or a set.
    List(Vec<Literal>),
    Map(Vec<(Literal, Literal)>),
    /// What only Python can say: its text.
    Code(String),
}

impl Literal {
    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Literal::Text(text) => Some(text),
            Literal::None
            | Literal::Bool(_)
            | Literal::Number(_)
            | Literal::List(_)
            | Literal::Map(_)
            | Literal::Code(_) => None,
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Literal::Number(number) => Some(*number),
            Literal::None
            | Literal::Bool(_)
            | Literal::Text(_)
            | Literal::List(_)
            | Literal::Map(_)
            | Literal::Code(_) => None,
        }
    }

    /// Whether it is this.
    pub fn is(&self, wanted: bool) -> bool {
        *self == Literal::Bool(wanted)
    }
}

impl fmt::Display for Literal {
    /// As Python writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::None => f.write_str("None"),
            Literal::Bool(true) => f.write_str("True"),
            Literal::Bool(false) => f.write_str("False"),
            Literal::Number(number) => write!(f, "{number}"),
            Literal::Text(text) => write!(f, "{text:?}"),
            Literal::Code(text) => f.write_str(text),
            Literal::List(items) => {
                let items: Vec<String> = items.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Literal::Map(pairs) => {
                let pairs: Vec<String> = pairs.iter().map(|(k, v)| format!("{k}: {v}")).collect();
                write!(f, "{{{}}}", pairs.join(", "))
            }
        }
    }
}
