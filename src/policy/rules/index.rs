//! Which rules may be for a host, found without asking each: by the hosts and domains that their
//! conditions name.
//!
//! This file must not know how conditions are evaluated.

use crate::policy::domain;
use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, LiteralValue, operators};
use std::collections::HashMap;

/// The rules by what they are pinned to. A rule is in one place for each of its pins.
#[derive(Debug, Default)]
pub struct Index {
    hosts: HashMap<String, Vec<u32>>,
    domains: HashMap<String, Vec<u32>>,
    /// By the end of a host, its dot first.
    ends: HashMap<String, Vec<u32>>,
    /// Those that are pinned to nothing.
    all: Vec<u32>,
}

/// What a host must be for a condition to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Pin {
    Host(String),
    Domain(String),
    End(String),
}

impl Index {
    /// Puts a rule in its places; in their order.
    pub fn add(&mut self, rule: u32, condition: Option<&IdedExpr>) {
        let Some(pins) = condition.and_then(pins) else { return self.all.push(rule) };
        for pin in pins {
            let place = match pin {
                Pin::Host(host) => self.hosts.entry(host),
                Pin::Domain(name) => self.domains.entry(name),
                Pin::End(end) => self.ends.entry(end),
            };
            let rules = place.or_default();
            if rules.last() != Some(&rule) {
                rules.push(rule);
            }
        }
    }

    /// The rules that may be for a host, in their order.
    pub fn find<'a>(&'a self, host: &str, found: &'a mut Vec<u32>) -> &'a [u32] {
        let mut take = |place: Option<&Vec<u32>>| found.extend(place.into_iter().flatten());
        if !self.hosts.is_empty() {
            take(self.hosts.get(host));
        }
        if !self.domains.is_empty() {
            take(self.domains.get(domain::registrable(host)));
        }
        if !self.ends.is_empty() {
            host.match_indices('.').for_each(|(dot, _)| take(self.ends.get(&host[dot..])));
        }
        if found.is_empty() {
            return &self.all;
        }
        found.extend(&self.all);
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// What a condition is pinned to; `None`: it may hold for any host.
fn pins(condition: &IdedExpr) -> Option<Vec<Pin>> {
    let Expr::Call(call) = &condition.expr else { return None };
    match (call.func_name.as_str(), &call.args[..]) {
        (operators::LOGICAL_AND, [left, right]) => pins(left).or_else(|| pins(right)),
        (operators::LOGICAL_OR, [left, right]) => {
            let (mut left, right) = (pins(left)?, pins(right)?);
            left.extend(right);
            Some(left)
        }
        (operators::EQUALS, [left, right]) => {
            let pin = pin(left, right).or_else(|| pin(right, left));
            pin.map(|pin| vec![pin])
        }
        (operators::IN, [name, all]) => {
            let Expr::List(list) = &all.expr else { return None };
            list.elements.iter().map(|element| pin(name, element)).collect()
        }
        ("endsWith", [end]) => ending(call, end).map(|pin| vec![pin]),
        (_, _) => None,
    }
}

fn pin(name: &IdedExpr, value: &IdedExpr) -> Option<Pin> {
    let Expr::Ident(name) = &name.expr else { return None };
    let value = literal(value)?.to_owned();
    match name.as_str() {
        "host" => Some(Pin::Host(value)),
        "domain" => Some(Pin::Domain(value)),
        _ => None,
    }
}

/// `host.endsWith(".example")`: an end in the middle of a label can't be looked up.
fn ending(call: &CallExpr, end: &IdedExpr) -> Option<Pin> {
    let Expr::Ident(name) = &call.target.as_ref()?.expr else { return None };
    let end = literal(end).filter(|end| name == "host" && end.starts_with('.'))?;
    Some(Pin::End(end.to_owned()))
}

fn literal(expr: &IdedExpr) -> Option<&str> {
    match &expr.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        Expr::Literal(
            LiteralValue::Boolean(_)
            | LiteralValue::Bytes(_)
            | LiteralValue::Double(_)
            | LiteralValue::Int(_)
            | LiteralValue::UInt(_)
            | LiteralValue::Null,
        )
        | Expr::Call(_)
        | Expr::Ident(_)
        | Expr::Select(_)
        | Expr::List(_)
        | Expr::Map(_)
        | Expr::Comprehension(_)
        | Expr::Struct(_)
        | Expr::Unspecified => None,
    }
}
