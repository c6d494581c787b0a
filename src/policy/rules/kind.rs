//! What an expression's value can be.
//!
//! This file must not know which variables and functions there are.

use std::fmt;

/// The kind of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Truth,
    /// A whole number.
    Whole,
    /// A number with decimals.
    Decimal,
    Text,
    List(Box<Kind>),
    /// Texts to something.
    Map(Box<Kind>),
    /// The elements of an empty list: whatever they are taken for.
    Anything,
}

impl Kind {
    /// Whether it is a number of either kind.
    pub fn is_number(&self) -> bool {
        matches!(self, Kind::Whole | Kind::Decimal)
    }

    /// What both are; `None` where they have nothing in common.
    pub fn join(&self, other: &Kind) -> Option<Kind> {
        match (self, other) {
            (Kind::Anything, kind) | (kind, Kind::Anything) => Some(kind.clone()),
            (Kind::List(a), Kind::List(b)) => a.join(b).map(|kind| Kind::List(Box::new(kind))),
            (Kind::Map(a), Kind::Map(b)) => a.join(b).map(|kind| Kind::Map(Box::new(kind))),
            (a, b) => (a == b).then(|| a.clone()),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Truth => f.write_str("true or false"),
            Kind::Whole => f.write_str("a whole number"),
            Kind::Decimal => f.write_str("a decimal number"),
            Kind::Text => f.write_str("text"),
            Kind::List(of) if **of == Kind::Anything => f.write_str("a list"),
            Kind::List(of) => write!(f, "a list (of {of})"),
            Kind::Map(of) if **of == Kind::Anything => f.write_str("a map"),
            Kind::Map(of) => write!(f, "a map (to {of})"),
            Kind::Anything => f.write_str("anything"),
        }
    }
}
