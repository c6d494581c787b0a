//! How rules that apply to a request become one plan.
//!
//! This file must not know which rules may apply.

use crate::policy::plan::{Failure, Plan};
use crate::policy::rules::expression::Expression;
use crate::policy::rules::facts::{Facts, Moment, Stage};
use crate::policy::rules::rule::{Name, Rule};
use cel::Env;
use std::sync::Arc;

/// A plan as far as it is made.
pub(in crate::policy::rules) struct Planning<'a> {
    env: &'a Arc<Env>,
    facts: &'a Facts<'a>,
    plan: Option<Plan>,
    /// Scopes, with what is spent in each if a rule says.
    amounts: Vec<(String, Option<f64>)>,
}

impl<'a> Planning<'a> {
    /// Nothing is planned yet.
    pub fn new(env: &'a Arc<Env>, facts: &'a Facts<'a>) -> Planning<'a> {
        Planning { env, facts, plan: None, amounts: Vec::new() }
    }

    /// A rule applies whole, or not at all.
    pub fn apply(&mut self, place: u32, rule: &Rule) {
        if let Err(why) = self.try_apply(place, rule) {
            self.plan().failures.push(Failure { rule: place, why });
        }
    }

    fn plan(&mut self) -> &mut Plan {
        self.plan.get_or_insert_default()
    }

    fn try_apply(&mut self, place: u32, rule: &Rule) -> Result<(), String> {
        let moment = Moment::request(self.facts);
        if let Some(when) = &rule.when
            && !when.holds(self.env, &moment)?
        {
            return Ok(());
        }
        let number = |expression: &Expression| cost(expression.number(self.env, &moment)?);
        let cost = rule.cost.as_ref().map(number).transpose()?;
        let track = rule.track.as_ref().filter(|track| track.stage == Stage::Request);
        let track = track.map(|track| track.holds(self.env, &moment)).transpose()?;
        let mut scopes = Vec::new();
        for (name, amount) in &rule.scopes {
            let amount = amount.as_ref().map(number).transpose()?;
            let names = name.all(self.env, &moment)?;
            scopes.extend(names.into_iter().map(|(name, own)| (name, amount.or(own))));
        }
        let plan = self.plan();
        plan.cost = cost.unwrap_or(plan.cost);
        plan.preset = rule.preset.or(plan.preset);
        plan.track = track.unwrap_or(plan.track);
        if rule.is_for_answers() {
            plan.answers.push(place);
        }
        if !rule.scopes.is_empty() {
            self.take(scopes, rule.adds);
        }
        Ok(())
    }

    fn take(&mut self, scopes: Vec<(String, Option<f64>)>, adds: bool) {
        // A rule that gives no name at all, for what it looks for is not there, leaves all as it is.
        if scopes.is_empty() {
            return;
        }
        let plan = self.plan();
        plan.scopes.get_or_insert_default();
        if !adds {
            plan.adds = false;
            self.amounts.clear();
        }
        for (name, amount) in scopes {
            if let Some((_, known)) = self.amounts.iter_mut().find(|(known, _)| *known == name) {
                *known = amount.or(*known);
            } else if self.amounts.len() < SCOPES {
                self.amounts.push((name, amount));
            }
        }
    }

    /// What came of it; `None`: no rule applied.
    pub fn finish(self) -> Option<Plan> {
        let mut plan = self.plan?;
        let cost = plan.cost;
        if let Some(scopes) = &mut plan.scopes {
            let amounts = self.amounts.into_iter();
            *scopes = amounts.map(|(name, amount)| (name, amount.unwrap_or(cost))).collect();
        }
        Some(plan)
    }
}

impl Name {
    /// The names it stands for; empty ones are none.
    pub fn all(
        &self,
        env: &Arc<Env>,
        moment: &Moment<'_>,
    ) -> Result<Vec<(String, Option<f64>)>, String> {
        let given = match self {
            Name::Fixed(name) => return Ok(vec![(name.clone(), None)]),
            Name::Given(given) => given,
        };
        let mut names = Vec::new();
        let mut odd = None;
        given.names(env, moment, |name, amount| match (name.is_empty(), is_scope(name)) {
            (true, _) => {}
            (false, true) if names.len() < SCOPES => names.push((name.to_owned(), amount)),
            (false, true) => {}
            (false, false) => odd = Some(name.chars().take(SHOWN).collect::<String>()),
        })?;
        for (_, amount) in &mut names {
            *amount = amount.map(cost).transpose()?;
        }
        match odd {
            Some(name) => Err(format!("\"{}\" is no name of a scope", name.escape_debug())),
            None => Ok(names),
        }
    }
}

/// As every scope's name: visible ASCII without what separates names in a header field.
fn is_scope(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_graphic() && !b",;\"'".contains(&byte);
    name.len() <= NAME_BYTES && name.bytes().all(letter)
}

/// Costs are from nothing up.
fn cost(number: f64) -> Result<f64, String> {
    match (0.0..=MOST_COST).contains(&number) {
        true => Ok(number),
        false => Err(format!("{number} is no cost")),
    }
}

/// One request's scopes, at most.
const SCOPES: usize = 16;
const NAME_BYTES: usize = 200;
const MOST_COST: f64 = 1e12;
const SHOWN: usize = 60;
