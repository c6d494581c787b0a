//! What operators take, and what they give.
//!
//! This file must not know any name.

use crate::policy::rules::check::{Checker, Flaw, at_node, flaw};
use crate::policy::rules::kind::Kind;
use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, LiteralValue, operators};
use cel::common::types::CelDouble;

impl Checker {
    /// `None`: it is none.
    pub(in crate::policy::rules::check) fn operator(
        &mut self,
        at: u64,
        call: &mut CallExpr,
    ) -> Result<Option<Kind>, Flaw> {
        let name = call.func_name.clone();
        let found = match (name.as_str(), &mut call.args[..]) {
            (operators::CONDITIONAL, [condition, yes, no]) => {
                self.truth(condition)?;
                self.together(at, vec![yes, no])?
            }
            (operators::LOGICAL_AND | operators::LOGICAL_OR, [left, right]) => {
                self.truth(left)?;
                self.truth(right)?
            }
            (operators::LOGICAL_NOT | operators::NOT_STRICTLY_FALSE, [one]) => self.truth(one)?,
            (operators::EQUALS | operators::NOT_EQUALS, [left, right]) => {
                self.comparable(at, left, right)?
            }
            (operators::IN, [one, all]) => self.membership(at, one, all)?,
            (operators::INDEX, [whole, index]) => self.index(whole, index)?,
            (operators::NEGATE, [one]) => {
                let kind = self.kind(one)?;
                if !kind.is_number() {
                    return Err(flaw(one, format!("`-` takes a number, not {kind}"), ""));
                }
                kind
            }
            (name, [left, right]) if ORDER.contains(&name) => {
                let kind = self.together(at, vec![left, right])?;
                if !(kind.is_number() || kind == Kind::Text) {
                    return Err(at_node(at, format!("{kind} has no order"), ""));
                }
                Kind::Truth
            }
            (name, [left, right]) if ARITHMETIC.contains(&name) => {
                self.arithmetic(at, name, left, right)?
            }
            _ => return Ok(None),
        };
        Ok(Some(found))
    }

    fn arithmetic(
        &mut self,
        at: u64,
        name: &str,
        left: &mut IdedExpr,
        right: &mut IdedExpr,
    ) -> Result<Kind, Flaw> {
        let kind = self.together(at, vec![left, right])?;
        let adds = name == operators::ADD && matches!(kind, Kind::Text | Kind::List(_));
        let fits = match name {
            operators::MODULO => kind == Kind::Whole,
            _ => kind.is_number() || adds || kind == Kind::Anything,
        };
        let sign = name.trim_matches('_');
        match (fits, &kind) {
            (true, _) => Ok(kind),
            (false, Kind::Text) => {
                let hint = "make numbers of texts: `number(text, default)`";
                Err(at_node(at, format!("`{sign}` takes numbers, not text"), hint))
            }
            (false, other) => Err(at_node(at, format!("`{sign}` takes numbers, not {other}"), "")),
        }
    }

    fn comparable(
        &mut self,
        at: u64,
        left: &mut IdedExpr,
        right: &mut IdedExpr,
    ) -> Result<Kind, Flaw> {
        let (a, b) = (self.kind(left)?, self.kind(right)?);
        if matches!(a, Kind::Map(_)) || matches!(b, Kind::Map(_)) {
            return Err(at_node(at, "maps are not compared", "compare what is in them"));
        }
        match a.join(&b).is_some() || (a.is_number() && b.is_number()) {
            true => Ok(Kind::Truth),
            false => {
                let hint = match a == Kind::Text || b == Kind::Text {
                    true if a.is_number() || b.is_number() => {
                        "text stands in quotes, numbers do not"
                    }
                    true | false => "",
                };
                Err(at_node(at, format!("this compares {a} with {b}"), hint))
            }
        }
    }

    fn membership(
        &mut self,
        at: u64,
        one: &mut IdedExpr,
        all: &mut IdedExpr,
    ) -> Result<Kind, Flaw> {
        let (element, whole) = (self.kind(one)?, self.kind(all)?);
        let fits = match &whole {
            Kind::List(of) => element.join(of).is_some() || (element.is_number() && of.is_number()),
            Kind::Map(_) => element == Kind::Text,
            Kind::Anything => true,
            Kind::Text => {
                let hint = "write `text.contains(part)`";
                return Err(at_node(at, "`in` looks into a list or map, not into text", hint));
            }
            Kind::Truth | Kind::Whole | Kind::Decimal => false,
        };
        match fits {
            true => Ok(Kind::Truth),
            false => Err(at_node(at, format!("{element} can't be in {whole}"), "")),
        }
    }

    fn index(&mut self, whole: &mut IdedExpr, index: &mut IdedExpr) -> Result<Kind, Flaw> {
        let (kind, by) = (self.kind(whole)?, self.kind(index)?);
        match (&kind, &by) {
            (Kind::Map(of), Kind::Text) | (Kind::List(of), Kind::Whole) => Ok((**of).clone()),
            (Kind::Map(_), _) => Err(flaw(index, format!("a map's key is text, not {by}"), "")),
            (Kind::List(_), _) => {
                Err(flaw(index, format!("a place in a list is a whole number, not {by}"), ""))
            }
            (Kind::Anything, _) => Ok(Kind::Anything),
            (Kind::Truth | Kind::Whole | Kind::Decimal | Kind::Text, _) => {
                Err(flaw(whole, format!("{kind} has no `[…]`"), ""))
            }
        }
    }

    /// What all of them are; whole numbers among decimal ones become decimal.
    pub(in crate::policy::rules::check) fn together(
        &mut self,
        at: u64,
        mut exprs: Vec<&mut IdedExpr>,
    ) -> Result<Kind, Flaw> {
        let mut kinds = Vec::new();
        for expr in &mut exprs {
            kinds.push(self.kind(expr)?);
        }
        if kinds.contains(&Kind::Decimal) {
            for (expr, kind) in exprs.iter_mut().zip(&mut kinds) {
                if *kind == Kind::Whole && promote(expr) {
                    *kind = Kind::Decimal;
                }
            }
        }
        let mut all = Kind::Anything;
        for kind in &kinds {
            let Some(joined) = all.join(kind) else {
                let numbers = all.is_number() && kind.is_number();
                let hint = if numbers { "write `double(…)` around the whole number" } else { "" };
                return Err(at_node(at, format!("{all} and {kind} don't go together"), hint));
            };
            all = joined;
        }
        Ok(all)
    }
}

/// Makes a whole number that is written out a decimal one.
fn promote(expr: &mut IdedExpr) -> bool {
    match &mut expr.expr {
        Expr::Literal(literal) => {
            let LiteralValue::Int(whole) = literal else { return false };
            let decimal = *whole.inner() as f64;
            *literal = LiteralValue::Double(CelDouble::from(decimal));
            true
        }
        Expr::Call(call) if call.func_name == operators::NEGATE => {
            call.args.first_mut().is_some_and(promote)
        }
        Expr::Call(_)
        | Expr::Ident(_)
        | Expr::Select(_)
        | Expr::List(_)
        | Expr::Map(_)
        | Expr::Comprehension(_)
        | Expr::Struct(_)
        | Expr::Unspecified => false,
    }
}

const ORDER: [&str; 4] =
    [operators::LESS, operators::LESS_EQUALS, operators::GREATER, operators::GREATER_EQUALS];
const ARITHMETIC: [&str; 5] = [
    operators::ADD,
    operators::SUBSTRACT,
    operators::MULTIPLY,
    operators::DIVIDE,
    operators::MODULO,
];
