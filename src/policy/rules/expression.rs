//! One expression: read, checked, and evaluated as often as asked.
//!
//! This file must not know what an expression is for.

use crate::policy::rules::check::{self, Flaw};
use crate::policy::rules::facts::{Moment, Stage};
use crate::policy::rules::functions::amount;
use crate::policy::rules::kind::Kind;
use cel::common::ast::SourceInfo;
use cel::common::types::{CelBool, CelList, CelMap, CelString};
use cel::common::value::{CowVal, Val};
use cel::parser::Parser;
use cel::{Context, Env, IdedExpr, Value};
use std::sync::Arc;

/// What an expression must give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Truth,
    Number,
    /// A text, texts, or a map from texts to numbers.
    Names,
    /// A number or a word.
    Status,
}

/// An expression that makes sense.
#[derive(Debug)]
pub struct Expression {
    pub(in crate::policy::rules) tree: IdedExpr,
    iterates: bool,
    /// The latest stage of what it asks about.
    pub stage: Stage,
}

/// Why a text is no expression, or not the wanted one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Where in the text, in characters from 0.
    pub at: usize,
    /// How many characters.
    pub width: usize,
    pub message: String,
    pub hint: String,
}

impl Expression {
    /// Reads and checks one.
    pub fn read(text: &str, stage: Stage, wanted: Wanted) -> Result<Expression, Wrong> {
        limits(text)?;
        let parser = Parser::new().max_recursion_depth(NESTING);
        let (mut tree, places) = parser.parse_with_source_info(text).map_err(|errors| {
            let first = errors.errors.first();
            let at = first.map_or(0, |error| offset(text, error.pos));
            let said = first.map_or("", |error| error.msg.as_str());
            Wrong { at, width: 1, message: unreadable(said), hint: String::new() }
        })?;
        let found = check::check(&mut tree, stage).map_err(|flaw| placed(flaw, &places, text))?;
        if let Some(message) = unfit(&found.kind, wanted) {
            let width = text.chars().count().max(1);
            return Err(Wrong { at: 0, width, message, hint: wanted.hint().to_owned() });
        }
        Ok(Expression { tree, iterates: found.iterates, stage: found.stage })
    }

    /// Whether it holds.
    pub fn holds(&self, env: &Arc<Env>, moment: &Moment<'_>) -> Result<bool, String> {
        self.evaluate(env, moment, |value| {
            value.downcast_ref::<CelBool>().map(|truth| *truth.inner())
        })
    }

    /// The number it gives.
    pub fn number(&self, env: &Arc<Env>, moment: &Moment<'_>) -> Result<f64, String> {
        self.evaluate(env, moment, amount)
    }

    /// The text it gives, if it gives one, else the number.
    pub fn status(&self, env: &Arc<Env>, moment: &Moment<'_>) -> Result<Told, String> {
        self.evaluate(env, moment, |value| match value.downcast_ref::<CelString<'_>>() {
            Some(text) => Some(Told::Word(text.inner().to_owned())),
            None => amount(value).map(Told::Number),
        })
    }

    /// Hands on the names it gives, each with its number if it has one; empty ones are none.
    pub fn names(
        &self,
        env: &Arc<Env>,
        moment: &Moment<'_>,
        mut take: impl FnMut(&str, Option<f64>),
    ) -> Result<(), String> {
        self.evaluate(env, moment, |value| {
            if let Some(name) = value.downcast_ref::<CelString<'_>>() {
                take(name.inner(), None);
            } else if let Some(list) = value.downcast_ref::<CelList<'_>>() {
                let texts = list.inner().iter().filter_map(|it| it.downcast_ref::<CelString<'_>>());
                texts.for_each(|name| take(name.inner(), None));
            } else {
                let mut pairs: Vec<(&str, Option<f64>)> = Vec::new();
                for (key, value) in value.downcast_ref::<CelMap<'_>>()?.inner() {
                    let name = key.inner().downcast_ref::<CelString<'_>>()?;
                    pairs.push((name.inner(), Some(amount(value.as_ref())?)));
                }
                // A map has no order; who reads a list of scopes wants one.
                pairs.sort_by_key(|(name, _)| *name);
                pairs.into_iter().for_each(|(name, amount)| take(name, amount));
            }
            Some(())
        })
    }

    fn evaluate<T>(
        &self,
        env: &Arc<Env>,
        moment: &Moment<'_>,
        read: impl FnOnce(&(dyn Val + '_)) -> Option<T>,
    ) -> Result<T, String> {
        let moment = Moment { whole: self.iterates, ..*moment };
        let mut context = Context::with_env(env.clone());
        context.set_variable_resolver(&moment);
        let value: CowVal<'_, '_> =
            Value::resolve_val(&self.tree, &context).map_err(|why| short(&why.to_string()))?;
        read(value.as_ref()).ok_or_else(|| "what it gives is of no use".to_owned())
    }
}

/// What `classify` gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    Number(f64),
    Word(String),
}

impl Wanted {
    const fn hint(self) -> &'static str {
        match self {
            Wanted::Truth => "compare something: `host == \"shop.example\"`",
            Wanted::Number => "make a number of text: `number(text, default)`",
            Wanted::Names => "names are text, a list of texts, or a map: {\"api\": 2.5}",
            Wanted::Status => "a status like 503, or a class: \"overloaded\"",
        }
    }
}

fn unfit(kind: &Kind, wanted: Wanted) -> Option<String> {
    let text = |kind: &Kind| matches!(kind, Kind::Text | Kind::Anything);
    let (fits, needed) = match wanted {
        Wanted::Truth => (*kind == Kind::Truth, "true or false"),
        Wanted::Number => (kind.is_number(), "a number"),
        Wanted::Names => match kind {
            Kind::Text => (true, ""),
            Kind::List(of) => (text(of), "names"),
            Kind::Map(of) => (of.is_number() || **of == Kind::Anything, "names"),
            Kind::Truth | Kind::Whole | Kind::Decimal | Kind::Anything => (false, "names"),
        },
        Wanted::Status => (kind.is_number() || *kind == Kind::Text, "a status or a class"),
    };
    (!fits).then(|| format!("gives {kind}, where {needed} is needed"))
}

/// What is refused before it is parsed: the parser goes as deep as the text.
fn limits(text: &str) -> Result<(), Wrong> {
    let wrong = |at: usize, message: &str| {
        let hint = "make two rules of it".to_owned();
        Err(Wrong { at, width: 1, message: message.to_owned(), hint })
    };
    if text.trim().is_empty() {
        let hint = "take it out, or write an expression".to_owned();
        return Err(Wrong { at: 0, width: 1, message: "says nothing".to_owned(), hint });
    }
    if text.len() > BYTES {
        return wrong(0, "is longer than 2000 bytes");
    }
    match too_deep(text) {
        Some(at) => wrong(at, "has too many parts one after another"),
        None => Ok(()),
    }
}

/// Where a text goes deeper than [`DEEP`]: operators, dots and brackets each may be a level, and what
/// `&&`, `||` or a comma parts is beside each other.
fn too_deep(text: &str) -> Option<usize> {
    let (mut bases, mut here) = (vec![0], 0);
    let (mut quote, mut before) = (None, ' ');
    for (at, letter) in text.chars().enumerate() {
        let base = bases.last().copied().unwrap_or(0);
        match (quote, letter) {
            (Some(_), _) if before == '\\' => {}
            (Some(open), letter) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '(' | '[' | '{') => {
                here += 1;
                bases.push(here);
            }
            (None, ')' | ']' | '}') => {
                bases.pop();
                here = base;
            }
            (None, '&' | '|' | ',') => here = base,
            (None, '=') if "=!<>".contains(before) => {}
            (None, letter) => here += usize::from("+-*/%.!?<>=".contains(letter)),
        }
        before = if before == '\\' { ' ' } else { letter };
        if here > DEEP {
            return Some(at);
        }
    }
    None
}

fn placed(flaw: Flaw, places: &SourceInfo, text: &str) -> Wrong {
    // The parser counts bytes, people count characters.
    let characters = |bytes: usize| text.get(..bytes).unwrap_or(text).chars().count();
    let (start, stop) = places.offset_for(flaw.node).unwrap_or((0, 0));
    let at = characters(start as usize).min(text.chars().count().saturating_sub(1));
    let width = characters(stop as usize + 1).saturating_sub(at).max(1);
    Wrong { at, width, message: flaw.message, hint: flaw.hint }
}

/// The parser's line and column, from 1, as a place in the text.
fn offset(text: &str, (line, column): (isize, isize)) -> usize {
    let before = text.split_inclusive('\n').take((line.max(1) - 1) as usize);
    let before: usize = before.map(|line| line.chars().count()).sum();
    (before + (column.max(1) - 1) as usize).min(text.chars().count().saturating_sub(1))
}

/// What the parser says, without its list of all that could have stood there.
fn unreadable(said: &str) -> String {
    let said = said.trim_start_matches("Syntax error: ");
    let said = said.split(" expecting").next().unwrap_or(said).replace("<EOF>", "its end");
    format!("can't be read: {}", short(&said))
}

fn short(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect()
}

const BYTES: usize = 2000;
/// Reading goes as deep, and a stack has an end.
const DEEP: usize = 48;
const NESTING: u16 = 40;
const SHOWN: usize = 160;
