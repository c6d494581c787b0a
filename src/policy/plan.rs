//! What rules say about one request, all that apply taken together.
//!
//! This file must not know how rules are written.

use crate::policy::preset::Preset;

/// What is to be done with a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Scopes and what the request spends in each. `None`: no rule names any.
    pub scopes: Option<Vec<(String, f64)>>,
    /// They stand beside the host's own; else in its place.
    pub adds: bool,
    /// What it spends where nothing else is said: of the host's own scope, too.
    pub cost: f64,
    pub preset: Option<Preset>,
    /// Whether what comes back teaches the pace.
    pub track: bool,
    /// Rules that did not apply because an expression of theirs came to nothing.
    pub failures: Vec<Failure>,
    /// Rules that have something to say of the answer, in their order.
    pub answers: Vec<u32>,
}

/// What rules say about an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// The status it is judged as.
    pub status: Option<u16>,
    /// So much more was spent in a scope than was thought; less, if it is negative.
    pub consumed: Vec<(String, f64)>,
    /// So much is left in a scope; never less than nothing.
    pub remaining: Vec<(String, f64)>,
    /// It does not teach the pace.
    pub untracked: bool,
    pub failures: Vec<Failure>,
}

/// A rule whose expression came to nothing for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which one, from 0.
    pub rule: u32,
    pub why: String,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            scopes: None,
            adds: true,
            cost: 1.0,
            preset: None,
            track: true,
            failures: Vec::new(),
            answers: Vec::new(),
        }
    }
}

impl Plan {
    /// What it spends in a scope.
    pub fn charge(&self, scope: &str) -> f64 {
        let named = self.scopes.iter().flatten().find(|(name, _)| name == scope);
        named.map_or(self.cost, |(_, amount)| *amount)
    }
}
