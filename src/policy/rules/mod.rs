//! Rules: which requests go by what, as expressions say. Compiled and checked once, evaluated for
//! each request they may be for.
//!
//! This room must not know how a scope is paced, nor where rules are written.

pub mod check;
pub mod expression;
pub mod facts;
pub mod fields;
pub mod functions;
mod index;
pub mod kind;
mod planning;
pub mod rule;
#[cfg(test)]
mod tests;

use crate::policy::plan::{Failure, Plan, Said};
use crate::policy::rules::expression::Told;
use crate::policy::rules::facts::{Facts, Moment, ResponseFacts, Stage};
use crate::policy::rules::index::Index;
use crate::policy::rules::planning::Planning;
use crate::policy::rules::rule::{BadRule, Classify, Rule, RuleText, class_status};
use cel::Env;
use std::fmt;
use std::sync::Arc;

/// All rules of a configuration.
pub struct Rules {
    texts: Vec<RuleText>,
    rules: Vec<Rule>,
    index: Index,
    env: Arc<Env>,
}

impl Rules {
    /// Reads and checks them; or all that is wrong with them.
    pub fn compile(texts: Vec<RuleText>) -> Result<Rules, Vec<BadRule>> {
        let mut bad = Vec::new();
        let rules: Vec<Rule> = texts
            .iter()
            .enumerate()
            .map(|(place, text)| Rule::read(place, text, &mut bad))
            .collect();
        if !bad.is_empty() {
            return Err(bad);
        }
        let mut index = Index::default();
        for (place, rule) in rules.iter().enumerate() {
            index.add(place as u32, rule.when.as_ref().map(|when| &when.tree));
        }
        let env = match rules.is_empty() {
            true => Env::default(),
            false => functions::environment().expect("our functions have names of their own"),
        };
        Ok(Rules { texts, rules, index, env: Arc::new(env) })
    }

    /// Whether there is none: then no request need ask.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// How they are written.
    pub fn texts(&self) -> &[RuleText] {
        &self.texts
    }

    /// What a rule is called.
    pub fn name(&self, rule: u32) -> &str {
        self.texts.get(rule as usize).map_or("", |text| &text.name)
    }

    /// What they say about a request. All that apply count, and what a later one says goes first.
    /// `None`: none applies.
    pub fn plan(&self, facts: &Facts<'_>) -> Option<Plan> {
        let mut found = Vec::new();
        let candidates = self.index.find(facts.host, &mut found);
        let mut planning = Planning::new(&self.env, facts);
        for place in candidates {
            let Some(rule) = self.rules.get(*place as usize) else { continue };
            planning.apply(*place, rule);
        }
        planning.finish()
    }

    /// The rules that apply to a request, in their order: for people.
    pub fn applying(&self, facts: &Facts<'_>) -> Vec<u32> {
        let mut found = Vec::new();
        let moment = Moment::request(facts);
        let holds = |place: &&u32| {
            let when = self.rules.get(**place as usize).map(|rule| rule.when.as_ref());
            when.is_some_and(|when| when.is_none_or(|it| it.holds(&self.env, &moment) == Ok(true)))
        };
        self.index.find(facts.host, &mut found).iter().filter(holds).copied().collect()
    }

    /// What the rules of a plan say about its request's answer.
    pub fn judge(&self, plan: &Plan, facts: &Facts<'_>, response: &ResponseFacts<'_>) -> Said {
        let mut said = Said::default();
        let moment = Moment { response: Some(response), ..Moment::request(facts) };
        for place in &plan.answers {
            let Some(rule) = self.rules.get(*place as usize) else { continue };
            self.hear(rule, plan, moment, &mut said).unwrap_or_else(|why| {
                said.failures.push(Failure { rule: *place, why });
            });
        }
        said
    }

    /// The status an answer is judged as, if they say one.
    pub fn status(
        &self,
        plan: &Plan,
        facts: &Facts<'_>,
        response: &ResponseFacts<'_>,
    ) -> Option<u16> {
        let moment = Moment { response: Some(response), ..Moment::request(facts) };
        let rules = plan.answers.iter().rev().filter_map(|place| self.rules.get(*place as usize));
        rules
            .filter_map(|rule| rule.classify.as_ref())
            .find_map(|classify| classify.status(&self.env, &moment).ok())
    }

    fn hear(
        &self,
        rule: &Rule,
        plan: &Plan,
        moment: Moment<'_>,
        said: &mut Said,
    ) -> Result<(), String> {
        if let Some(track) = rule.track.as_ref().filter(|track| track.stage > Stage::Request) {
            said.untracked = !track.holds(&self.env, &moment)?;
        }
        if let Some(classify) = &rule.classify {
            said.status = Some(classify.status(&self.env, &moment)?);
        }
        for (charges, to, is_left) in [
            (&rule.consumed, &mut said.consumed, false),
            (&rule.remaining, &mut said.remaining, true),
        ] {
            for (name, amount) in charges {
                for (scope, _) in name.all(&self.env, &moment)? {
                    let moment = Moment { charged: plan.charge(&scope), ..moment };
                    let amount = amount.number(&self.env, &moment)?;
                    if is_left && amount < 0.0 {
                        continue;
                    }
                    to.retain(|(named, _)| *named != scope);
                    to.push((scope, amount));
                }
            }
        }
        Ok(())
    }
}

impl Classify {
    fn status(&self, env: &Arc<Env>, moment: &Moment<'_>) -> Result<u16, String> {
        let given = match self {
            Classify::Fixed(status) => return Ok(*status),
            Classify::Given(given) => given,
        };
        match given.status(env, moment)? {
            Told::Word(word) => {
                class_status(&word).ok_or_else(|| format!("\"{}\" is no class", short(&word)))
            }
            Told::Number(number) if (200.0..1000.0).contains(&number) => Ok(number as u16),
            Told::Number(number) => Err(format!("{number} is no final status")),
        }
    }
}

fn short(text: &str) -> String {
    text.escape_debug().take(SHOWN).collect()
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.texts).finish()
    }
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            texts: Vec::new(),
            rules: Vec::new(),
            index: Index::default(),
            env: Arc::new(Env::default()),
        }
    }
}

const SHOWN: usize = 60;
