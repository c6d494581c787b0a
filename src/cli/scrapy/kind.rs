//! What a setting's value is, and how it is written in the configuration.

use crate::cli::scrapy::exceptions::failures;
use crate::cli::scrapy::literal::Literal;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Number,
    Seconds,
    /// A fraction, a pair of them, or `True`.
    Jitter,
    /// Statuses.
    Codes,
    /// Exceptions.
    Errors,
}

/// A value in the configuration's words, and what was left out of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    pub text: Option<String>,
    pub left_out: Vec<String>,
}

impl Kind {
    /// Writes a value; `None` says nothing.
    pub fn write(self, value: &Literal) -> Written {
        let text = match (self, value) {
            (_, Literal::None) => return Written::default(),
            (Kind::Number, Literal::Number(number)) => Some(number.to_string()),
            (Kind::Seconds, Literal::Number(number)) => Some(seconds(*number)),
            (Kind::Jitter, Literal::Bool(true)) => Some("true".to_owned()),
            (Kind::Jitter, Literal::Bool(false)) => Some("0".to_owned()),
            (Kind::Jitter, Literal::Number(number)) => Some(number.to_string()),
            (Kind::Jitter | Kind::Codes, Literal::List(items)) => numbers(items),
            (Kind::Errors, Literal::List(items)) => return errors(items),
            (Kind::Number | Kind::Seconds | Kind::Jitter | Kind::Codes | Kind::Errors, _) => None,
        };
        match text {
            Some(text) => Written { text: Some(text), left_out: Vec::new() },
            None => Written::not(format!("`{}` is not {}", short(value), self.name())),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Kind::Number | Kind::Seconds => "a number that stands there",
            Kind::Jitter => "a number, a pair of them, True or False",
            Kind::Codes => "a list of numbers",
            Kind::Errors => "a list of exceptions",
        }
    }
}

impl Written {
    /// Nothing, and why.
    pub fn not(why: String) -> Written {
        Written { text: None, left_out: vec![why] }
    }
}

/// A span in seconds.
pub fn seconds(number: f64) -> String {
    format!("{number}s")
}

/// The beginning of a value on one line, for a remark.
pub fn short(value: &Literal) -> String {
    let text = value.to_string();
    let one_line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = one_line.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
    if shown.len() < one_line.len() { format!("{shown}…") } else { shown }
}

fn numbers(items: &[Literal]) -> Option<String> {
    let number = |item: &Literal| item.number().map(|number| number.to_string());
    let numbers: Option<Vec<String>> = items.iter().map(number).collect();
    numbers.map(|numbers| format!("[{}]", numbers.join(", ")))
}

fn errors(items: &[Literal]) -> Written {
    let (mut words, mut left_out) = (Vec::new(), Vec::new());
    for item in items {
        let (Literal::Text(name) | Literal::Code(name)) = item else {
            left_out.push(format!("`{}` is no exception", short(item)));
            continue;
        };
        match failures(name) {
            Some(found) => words.extend(found),
            None => {
                left_out.push(format!("the exception `{}` is none of a download's", short(item)))
            }
        }
    }
    let mut said = Vec::new();
    words.into_iter().for_each(|word: &str| {
        if !said.contains(&word) {
            said.push(word)
        }
    });
    Written { text: Some(format!("[{}]", said.join(", "))), left_out }
}

const SHOWN: usize = 60;
