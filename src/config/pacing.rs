//! `pace`, `backoff` and `scopes`: how scopes are paced.
//!
//! This file must not know what the laws do: which rules go together is said here, not why.

use crate::config::address;
use crate::config::mistake::Mistake;
use crate::config::node::{Node, Scalar, Value};
use crate::config::robots;
use crate::config::section::{Report, Section};
use crate::config::settings::Config;
use crate::config::value::{self, Read, Wrong, number, wrong};
use crate::config::verdicts::codes;
use crate::judge::verdict::Class;
use crate::pace::backoff::{Backoff, Rampup};
use crate::pace::jitter::{Factor, Jitter};
use crate::pace::quota::{Cost, Quota};
use crate::pace::rules::{Climb, Ladder, Law, PaceRules};
use crate::policy::scoping::{Kind, Learn};
use std::time::Duration;

/// Reads the three sections.
pub(in crate::config) fn read(top: &Section<'_>, config: &mut Config, report: &mut Report) {
    let pace = top.below("pace", report);
    let mut per = PER;
    pace.read("idle", &mut config.pace.idle, value::some_duration, report);
    let words = |node: &Node| value::word(node, &KINDS);
    pace.read("scope", &mut config.scoping.kind, words, report);
    let words = |node: &Node| value::word(node, &LEARNERS);
    pace.read("learn", &mut config.scoping.learn, words, report);
    let backoff = top.below("backoff", report);
    backing_off(&backoff, &mut config.pace.backoff, report);
    rules(&pace, &mut config.pace, &mut per, report);
    sense(&pace, &backoff, &config.pace, report);
    let mut any_backs_off = config.pace.law == Law::Backoff;
    for entry in top.named("scopes", report) {
        let scope = Section::scope(entry, report);
        let mut own = config.pace.clone();
        let backoff = scope.inner("scopes.*.backoff", "backoff", report);
        backing_off(&backoff, &mut own.backoff, report);
        rules(&scope, &mut own, &mut per.clone(), report);
        sense(&scope, &backoff, &own, report);
        any_backs_off |= own.law == Law::Backoff;
        if own.law != Law::Backoff && own.backoff != config.pace.backoff {
            idle(&format!("{}.backoff", scope.path()), "without `law: backoff`", backoff, report);
        }
        let said = robots::said(&scope, &own, report);
        match address::scope(&entry.key) {
            Ok(scope) => {
                config.robots.scopes.insert(scope.clone(), said);
                config.scopes.insert(scope, own);
            }
            Err(hint) => {
                let message = format!("`scopes` has no scope in `{}`", value::short(&entry.key));
                report.mistakes.push(Mistake::error(message, &entry.key_place, hint));
            }
        }
    }
    robots::read(top, config, report);
    if !any_backs_off && config.pace.backoff != Backoff::default() {
        idle("backoff", "where nothing has `law: backoff`", backoff, report);
    }
}

/// A section or key that does nothing.
fn idle(path: &str, why: &str, section: Section<'_>, report: &mut Report) {
    let place = section.place();
    let message = format!("`{path}` has no effect {why}");
    report.mistakes.push(Mistake::warning(message, &place, "take one of the two out"));
}

fn rules(section: &Section<'_>, rules: &mut PaceRules, per: &mut Duration, report: &mut Report) {
    let laws = [("ladder", Law::Ladder), ("backoff", Law::Backoff), ("fixed", Law::Fixed)];
    section.read("law", &mut rules.law, |node| value::word(node, &laws), report);
    section.read("ladder", &mut rules.ladder, ladder, report);
    let climbs = [("stall", Climb::Stall), ("incident", Climb::Incident)];
    section.read("climb", &mut rules.climb, |node| value::word(node, &climbs), report);
    section.read("drain", &mut rules.drain, value::some_count, report);
    let parse = |node: &Node| value::optional(node, value::some_count);
    section.read("concurrency", &mut rules.concurrency, parse, report);
    section.read("min_concurrency", &mut rules.min_concurrency, value::some_count, report);
    delays(section, rules, report);
    section.read("jitter", &mut rules.jitter, jitter, report);
    section.read("per", per, value::some_duration, report);
    let mut amount = rules.quota.map(|quota| quota.amount);
    section.read("quota", &mut amount, |node| value::optional(node, cost), report);
    rules.quota = amount.map(|amount| Quota { amount, per: *per });
}

/// `delay` and `target_rpm` say the same thing: of both the slower counts.
fn delays(section: &Section<'_>, rules: &mut PaceRules, report: &mut Report) {
    let (mut delay, mut rpm) = (None, None);
    section.read("delay", &mut delay, |node| value::duration(node).map(Some), report);
    section.read("target_rpm", &mut rpm, |node| value::optional(node, per_minute), report);
    if let (Some(delay), Some(rpm)) = (delay, rpm) {
        let (slower, faster) =
            if delay >= rpm { ("delay", "target_rpm") } else { ("target_rpm", "delay") };
        let path = section.path();
        let message = format!("`{path}.{slower}` is slower than `{path}.{faster}`, and counts");
        let place = report.place(&format!("{path}.{faster}"));
        report.mistakes.push(Mistake::warning(message, &place, "take one of the two out"));
    }
    rules.delay = delay.max(rpm).unwrap_or(rules.delay);
    let parse = |node: &Node| value::optional(node, value::duration);
    section.read("slot_delay", &mut rules.slot_delay, parse, report);
}

fn backing_off(section: &Section<'_>, rules: &mut Backoff, report: &mut Report) {
    section.read("statuses", &mut rules.statuses, |node| value::list(node, codes), report);
    let errors = ERRORS.map(|class| (class.word(), class));
    let parse = |node: &Node| value::list(node, |node| value::word(node, &errors));
    section.read("errors", &mut rules.errors, parse, report);
    section.read("factor", &mut rules.factor, |node| factor(node, GROWTH), report);
    section.read("min", &mut rules.min, value::some_duration, report);
    section.read("max", &mut rules.max, value::some_duration, report);
    section.read("jitter", &mut rules.jitter, jitter, report);
    section.read("quiet", &mut rules.quiet, quiet, report);
    section.read("rampup", &mut rules.rampup, rampup, report);
}

/// What doesn't go together.
fn sense(section: &Section<'_>, backoff: &Section<'_>, rules: &PaceRules, report: &mut Report) {
    let (path, backs_off) = (section.path(), rules.law == Law::Backoff);
    let at = |report: &Report, key: &str| report.given(&format!("{path}.{key}")).cloned();
    if let Some(most) = rules.concurrency.filter(|most| *most < rules.min_concurrency) {
        let (least, key) = (rules.min_concurrency, format!("{path}.min_concurrency"));
        let place = at(report, "min_concurrency").or_else(|| at(report, "concurrency"));
        let message = format!("`{key}` ({least}) is more than `{path}.concurrency` ({most})");
        let place = place.unwrap_or_else(|| report.place(&key));
        report.mistakes.push(Mistake::error(message, &place, "make it at most as large"));
    }
    let slots = rules.concurrency.is_some() || (backs_off && rules.backoff.rampup.is_some());
    if let (Some(place), Some(_), false) = (at(report, "slot_delay"), rules.slot_delay, slots) {
        let message = format!("`{path}.slot_delay` has no effect without `concurrency`");
        report.mistakes.push(Mistake::warning(message, &place, "say how many slots there are"));
    }
    if let (Some(place), false, true) =
        (at(report, "min_concurrency"), backs_off, rules.min_concurrency > 1)
    {
        let message = format!("`{path}.min_concurrency` has no effect without `law: backoff`");
        report.mistakes.push(Mistake::warning(message, &place, "only `rampup` changes how many"));
    }
    let given =
        |report: &Report, key: &str| report.given(&format!("{}.{key}", backoff.path())).cloned();
    let limits = given(report, "max").or_else(|| given(report, "min"));
    if let Some(place) = limits.filter(|_| rules.backoff.min > rules.backoff.max) {
        let path = backoff.path();
        let message = format!("`{path}.min` is longer than `{path}.max`");
        report.mistakes.push(Mistake::error(message, &place, "make it at most as long"));
    }
    if let (Some(place), true) = (at(report, "delay"), backs_off && rules.delay > rules.backoff.max)
    {
        let message = format!("`{path}.delay` is longer than `backoff.max`: it never backs off");
        report.mistakes.push(Mistake::warning(message, &place, "make `backoff.max` longer"));
    }
}

fn ladder(node: &Node) -> Read<Ladder> {
    let paces = value::list(node, value::pace)?;
    let hint = match (paces.len() > Ladder::MOST, paces.first()) {
        (true, _) => format!("{} rungs at most", Ladder::MOST),
        (false, Some(first)) if !first.is_zero() => {
            "rung 0 is `0s`: a healthy host has no delay".to_owned()
        }
        (false, _) => {
            "write it like `[0s, 2s, 5s, 15s]`, each slower than the one before".to_owned()
        }
    };
    match Ladder::new(paces) {
        Some(ladder) => Ok(ladder),
        None => wrong(node, "is no ladder", hint),
    }
}

/// A fraction to both sides, a pair of them, or `true` for half to both sides.
fn jitter(node: &Node) -> Read<Jitter> {
    if value::is_none(node) {
        return Ok(Jitter::NONE);
    }
    let ends = match &node.value {
        Value::Scalar { kind: Scalar::Bool(true), .. } => Some((-0.5, 0.5)),
        Value::Scalar { .. } => Some(number(node).map_err(likewise)?).map(|width| (-width, width)),
        Value::List(_) => match value::list(node, number).map_err(likewise)?[..] {
            [low, high] => Some((low, high)),
            _ => None,
        },
        Value::Map(_) => None,
    };
    match ends.and_then(|(low, high)| Jitter::new(low, high)) {
        Some(jitter) => Ok(jitter),
        None => wrong(node, "is no jitter", JITTER),
    }
}

/// A mistake in a jitter's numbers, with what would be right.
fn likewise(mut wrongs: Vec<Wrong>) -> Vec<Wrong> {
    wrongs.iter_mut().for_each(|wrong| JITTER.clone_into(&mut wrong.hint));
    wrongs
}

fn factor(node: &Node, (least, most): (f64, f64)) -> Read<Factor> {
    let fits = |number: &f64| (least..=most).contains(number);
    match Some(number(node)?).filter(fits).and_then(Factor::new) {
        Some(factor) => Ok(factor),
        None => wrong(node, format!("must be between {least} and {most}"), ""),
    }
}

fn cost(node: &Node) -> Read<Cost> {
    match Cost::new(number(node)?).filter(|cost| !cost.is_none()) {
        Some(cost) => Ok(cost),
        None => wrong(node, "must be a number above 0", "`none` for none"),
    }
}

/// The delay of so many requests a minute.
fn per_minute(node: &Node) -> Read<Duration> {
    let rpm = number(node)?;
    match (RPM.0..=RPM.1).contains(&rpm) {
        true => Ok(Duration::from_secs_f64(60.0 / rpm)),
        false => wrong(node, format!("must be between {} and {}", RPM.0, RPM.1), ""),
    }
}

fn quiet(node: &Node) -> Read<Duration> {
    match value::duration(node)? {
        span if span < SHORTEST_QUIET => wrong(node, "must be at least 10ms", ""),
        span => Ok(span),
    }
}

/// `none`, `true`, or what it goes by.
fn rampup(node: &Node) -> Read<Option<Rampup>> {
    if value::is_none(node) {
        return Ok(None);
    }
    let Value::Map(entries) = &node.value else {
        return value::boolean(node).map(|_| Some(Rampup::default()));
    };
    let (mut rampup, mut wrongs) = (Rampup::default(), Vec::new());
    for entry in entries {
        let node = &entry.node;
        let read = match entry.key.as_str() {
            "target" => target(node).map(|target| rampup.target = target),
            "factor" => factor(node, SHRINKAGE).map(|factor| rampup.factor = factor),
            "min_delay" => value::duration(node).map(|delay| rampup.min_delay = delay),
            other => {
                let at = Node { place: entry.key_place.clone(), ..node.clone() };
                let why = format!("has no key `{}`", value::short(other));
                wrong(&at, why, "known here: target, factor, min_delay")
            }
        };
        wrongs.extend(read.err().into_iter().flatten());
    }
    if wrongs.is_empty() { Ok(Some(rampup)) } else { Err(wrongs) }
}

/// Triggers a window: so many, or from so many to so many.
fn target(node: &Node) -> Read<(u32, u32)> {
    match value::list(node, value::some_count)?[..] {
        [target] => Ok((target, target)),
        [low, high] if low <= high => Ok((low, high)),
        _ => wrong(node, "is no target", "write it like `1` or `[1, 3]`"),
    }
}

const JITTER: &str = "write it like `0.2` (± 20 %), `[-0.1, 0.3]` or `true` (± 50 %)";
/// What shares a pace.
const KINDS: [(&str, Kind); 5] = [
    ("host", Kind::Host),
    ("host_port", Kind::HostPort),
    ("domain", Kind::Domain),
    ("chain", Kind::Chain),
    ("address", Kind::Address),
];
const LEARNERS: [(&str, Learn); 2] = [("narrowest", Learn::Narrowest), ("all", Learn::All)];
/// `quota` is for so long.
const PER: Duration = Duration::from_secs(60);
/// Once in four months, and as fast as anything can go.
const RPM: (f64, f64) = (0.000_01, 6_000_000.0);
/// With a smaller one the way back would have thousands of steps.
const GROWTH: (f64, f64) = (1.01, 1000.0);
const SHRINKAGE: (f64, f64) = (0.01, 0.99);
/// A backoff is looked at as often.
const SHORTEST_QUIET: Duration = Duration::from_millis(10);
/// What an attempt without an answer can be.
const ERRORS: [Class; 9] = [
    Class::ConnectTimeout,
    Class::ResponseTimeout,
    Class::Abandoned,
    Class::Reset,
    Class::Truncated,
    Class::Refused,
    Class::Dns,
    Class::Tls,
    Class::Unreachable,
];

#[cfg(test)]
mod tests;
