//! One rule: how it is written, and what it is once every expression of it makes sense.
//!
//! This file must not know how rules are chosen.

use crate::judge::amend::stand_in;
use crate::judge::verdict::Class;
use crate::policy::preset::Preset;
use crate::policy::rules::expression::{Expression, Wanted, Wrong};
use crate::policy::rules::facts::{Stage, VARIABLES};

/// A rule as it is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleText {
    /// What people call it.
    pub name: String,
    /// For which requests; without, for all.
    pub when: Option<String>,
    /// Names or expressions, each with what is spent in it. A `+` before any of them: they are added
    /// to what is there.
    pub scopes: Vec<(String, Option<String>)>,
    pub cost: Option<String>,
    pub preset: Option<Preset>,
    pub track: Option<String>,
    pub classify: Option<String>,
    /// Scopes, and what was spent more in each than was thought.
    pub consumed: Vec<(String, String)>,
    /// Scopes, and what is left in each.
    pub remaining: Vec<(String, String)>,
}

/// A text of a rule that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRule {
    /// Which one, from 0.
    pub rule: usize,
    pub part: Part,
    /// Where in that text, in characters from 0, and how many.
    pub at: usize,
    pub width: usize,
    pub message: String,
    /// What to do about it; may be empty.
    pub hint: String,
}

/// A text of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    When,
    /// Which of the scopes.
    Scope(usize),
    Amount(usize),
    Cost,
    Track,
    Classify,
    ConsumedScope(usize),
    Consumed(usize),
    RemainingScope(usize),
    Remaining(usize),
}

/// A rule that makes sense.
#[derive(Debug)]
pub(in crate::policy::rules) struct Rule {
    pub when: Option<Expression>,
    pub scopes: Vec<(Name, Option<Expression>)>,
    /// Its scopes stand beside what is there.
    pub adds: bool,
    pub cost: Option<Expression>,
    pub preset: Option<Preset>,
    pub track: Option<Expression>,
    pub classify: Option<Classify>,
    pub consumed: Vec<(Name, Expression)>,
    pub remaining: Vec<(Name, Expression)>,
}

/// A scope's name, or what gives names.
#[derive(Debug)]
pub(in crate::policy::rules) enum Name {
    Fixed(String),
    Given(Expression),
}

/// What an answer is taken for.
#[derive(Debug)]
pub(in crate::policy::rules) enum Classify {
    Fixed(u16),
    Given(Expression),
}

impl Rule {
    /// Whether it has something to say once there is an answer.
    pub fn is_for_answers(&self) -> bool {
        let late = self.track.as_ref().is_some_and(|track| track.stage > Stage::Request);
        late || self.classify.is_some() || !self.consumed.is_empty() || !self.remaining.is_empty()
    }

    /// Reads one; what is wrong with it goes to `bad`.
    pub fn read(place: usize, text: &RuleText, bad: &mut Vec<BadRule>) -> Rule {
        let mut reader = Reader { rule: place, bad };
        let truth = |reader: &mut Reader<'_>, part, text: &Option<String>, stage| {
            let text = text.as_ref()?;
            reader.expression(part, text, stage, Wanted::Truth)
        };
        let mut adds = false;
        let mut scopes = Vec::new();
        for (place, (name, amount)) in text.scopes.iter().enumerate() {
            let bare = name.strip_prefix('+');
            adds |= bare.is_some();
            let skipped = usize::from(bare.is_some());
            let name = reader.name(Part::Scope(place), bare.unwrap_or(name), skipped);
            let number = |text: &String| {
                reader.expression(Part::Amount(place), text, Stage::Request, Wanted::Number)
            };
            let amount = amount.as_ref().and_then(number);
            scopes.extend(name.map(|name| (name, amount)));
        }
        let cost = text.cost.as_ref();
        Rule {
            when: truth(&mut reader, Part::When, &text.when, Stage::Request),
            scopes,
            adds,
            cost: cost.and_then(|text| {
                reader.expression(Part::Cost, text, Stage::Request, Wanted::Number)
            }),
            preset: text.preset,
            track: truth(&mut reader, Part::Track, &text.track, Stage::Response),
            classify: text.classify.as_ref().and_then(|text| reader.classify(text)),
            consumed: reader.charges(&text.consumed, Part::ConsumedScope, Part::Consumed),
            remaining: reader.charges(&text.remaining, Part::RemainingScope, Part::Remaining),
        }
    }
}

struct Reader<'a> {
    rule: usize,
    bad: &'a mut Vec<BadRule>,
}

impl Reader<'_> {
    fn expression(
        &mut self,
        part: Part,
        text: &str,
        stage: Stage,
        wanted: Wanted,
    ) -> Option<Expression> {
        match Expression::read(text, stage, wanted) {
            Ok(expression) => Some(expression),
            Err(wrong) => {
                self.wrong(part, wrong);
                None
            }
        }
    }

    fn wrong(&mut self, part: Part, wrong: Wrong) {
        let Wrong { at, width, message, hint } = wrong;
        self.bad.push(BadRule { rule: self.rule, part, at, width, message, hint });
    }

    /// A text that is a name stands for itself; all else is an expression.
    fn name(&mut self, part: Part, text: &str, skipped: usize) -> Option<Name> {
        if is_name(text) {
            return Some(Name::Fixed(text.to_owned()));
        }
        match Expression::read(text, Stage::Request, Wanted::Names) {
            Ok(expression) => Some(Name::Given(expression)),
            Err(wrong) => {
                self.wrong(part, Wrong { at: wrong.at + skipped, ..wrong });
                None
            }
        }
    }

    fn classify(&mut self, text: &str) -> Option<Classify> {
        if let Some(status) = class_status(text) {
            return Some(Classify::Fixed(status));
        }
        if is_name(text) && text.parse::<f64>().is_err() {
            let width = text.chars().count();
            let message = format!("there is no class `{text}` that an answer can be of");
            let hint = "classes: rate_limited, overloaded, soft, served".to_owned();
            self.wrong(Part::Classify, Wrong { at: 0, width, message, hint });
            return None;
        }
        let given = self.expression(Part::Classify, text, Stage::Response, Wanted::Status);
        given.map(Classify::Given)
    }

    fn charges(
        &mut self,
        texts: &[(String, String)],
        name: fn(usize) -> Part,
        amount: fn(usize) -> Part,
    ) -> Vec<(Name, Expression)> {
        let mut charges = Vec::new();
        for (place, (scope, text)) in texts.iter().enumerate() {
            let scope = self.name(name(place), scope, 0);
            let expression = self.expression(amount(place), text, Stage::Charge, Wanted::Number);
            charges.extend(scope.zip(expression));
        }
        charges
    }
}

/// The status that stands for a class of answers.
pub(in crate::policy::rules) fn class_status(word: &str) -> Option<u16> {
    let class = Class::ALL.into_iter().find(|class| class.word() == word)?;
    stand_in(class).map(|status| status.as_u16())
}

/// Whether a text is a scope's name as it stands: of letters, digits and `. - _ / : ~ @ %`, and none
/// of the variables.
fn is_name(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b".-_/:~@%".contains(&byte);
    let variable = VARIABLES.iter().any(|(name, ..)| *name == text);
    !text.is_empty() && text.len() <= NAME_BYTES && text.bytes().all(letter) && !variable
}

/// As long as a scope's name may be.
const NAME_BYTES: usize = 200;
