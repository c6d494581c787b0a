//! Variables and functions by their names, and the nearest to one there is not.
//!
//! This file must not know operators.

use crate::policy::rules::check::{Checker, Flaw, at_node};
use crate::policy::rules::facts::VARIABLES;
use crate::policy::rules::functions::{FUNCTIONS, Signature};
use crate::policy::rules::kind::Kind;

impl Checker {
    pub(in crate::policy::rules::check) fn variable(
        &mut self,
        at: u64,
        name: &str,
    ) -> Result<Kind, Flaw> {
        if let Some((_, kind)) = self.locals.iter().rev().find(|(local, _)| local == name) {
            return Ok(kind.clone());
        }
        let Some((_, kind, stage)) = VARIABLES.iter().find(|(known, ..)| *known == name) else {
            return Err(self.unknown(at, name));
        };
        if *stage > self.stage {
            let message = format!("`{name}` is not known yet where this is evaluated");
            return Err(at_node(at, message, "it can be asked about in `classify`, `consumed` …"));
        }
        self.latest = self.latest.max(*stage);
        Ok(kind())
    }

    pub(in crate::policy::rules::check) fn unknown(&self, at: u64, name: &str) -> Flaw {
        let known = VARIABLES.iter().filter(|(_, _, stage)| *stage <= self.stage);
        let known = || known.clone().map(|(name, ..)| *name);
        let locals = self.locals.iter().map(|(name, _)| name.as_str());
        let hint = match nearest(name, known().chain(locals)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if FUNCTIONS.iter().any(|function| function.name == name) => {
                format!("`{name}` is a function: write `{name}(…)`")
            }
            None => format!(
                "known: {}; text stands in quotes: \"{name}\"",
                known().collect::<Vec<_>>().join(", ")
            ),
        };
        at_node(at, format!("there is no `{name}`"), hint)
    }
}

pub(in crate::policy::rules::check) fn signature(
    at: u64,
    name: &str,
    target: Option<&Kind>,
    kinds: &[Kind],
) -> Result<&'static Signature, Flaw> {
    let named: Vec<_> = FUNCTIONS.iter().filter(|function| function.name == name).collect();
    let Some(shown) = named.first().map(|function| function.shown) else {
        let hint = match nearest(name, FUNCTIONS.iter().map(|function| function.name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if name == "matches" => "use startsWith, endsWith, contains or split".to_owned(),
            None => {
                let mut names: Vec<_> = FUNCTIONS.iter().map(|function| function.name).collect();
                names.dedup();
                format!("known: {}", names.join(", "))
            }
        };
        return Err(at_node(at, format!("there is no function `{name}`"), hint));
    };
    let fits = |function: &&Signature| {
        let on = match (function.on, target) {
            (Some(takes), Some(kind)) => takes.fits(kind),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let arguments = function.takes.iter().zip(kinds).all(|(takes, kind)| takes.fits(kind));
        on && arguments && function.takes.len() == kinds.len()
    };
    named.into_iter().find(fits).ok_or_else(|| {
        let given: Vec<String> = kinds.iter().map(Kind::to_string).collect();
        let on = target.map_or(String::new(), |kind| format!(" on {kind}"));
        let message = format!("`{name}` can't be called{on} with ({})", given.join(", "));
        at_node(at, message, format!("write it like `{shown}`"))
    })
}

/// The name most like `word`, if one is like it.
fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(LONGEST_WORD).collect();
    let scored = names.map(|name| (strsim::jaro_winkler(&word, name), name));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= LIKE).then_some(best.1)
}

/// How like a name must be to be named (Jaro-Winkler).
const LIKE: f64 = 0.8;
/// Comparing is quadratic.
const LONGEST_WORD: usize = 64;
