//! Whether an expression makes sense, before it is ever evaluated: every name known, every value of
//! the kind it is taken for, nothing that goes on for long.
//!
//! This file must not know what an expression is for. Whole numbers that meet decimal ones become
//! decimal here, for the language itself does not mix them (`2 * 0.5` is an error in it).

mod names;
mod operation;

use crate::policy::rules::facts::{Stage, VARIABLES};
use crate::policy::rules::functions::FUNCTIONS;
use crate::policy::rules::kind::Kind;
use cel::IdedExpr;
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, MapExpr, SelectExpr,
};

/// What is wrong with an expression, and at which of its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    pub node: u64,
    pub message: String,
    pub hint: String,
}

/// What was found out about an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub kind: Kind,
    /// It goes through a map or list.
    pub iterates: bool,
    /// The latest stage of what it asks about.
    pub stage: Stage,
}

/// Checks an expression that is evaluated at a stage.
pub fn check(tree: &mut IdedExpr, stage: Stage) -> Result<Found, Flaw> {
    let mut checker = Checker {
        stage,
        locals: Vec::new(),
        depth: 0,
        loops: 0,
        iterates: false,
        latest: Stage::Request,
    };
    let kind = checker.kind(tree)?;
    Ok(Found { kind, iterates: checker.iterates, stage: checker.latest })
}

struct Checker {
    stage: Stage,
    /// Names that a loop gives, the innermost last.
    locals: Vec<(String, Kind)>,
    depth: usize,
    loops: usize,
    iterates: bool,
    latest: Stage,
}

impl Checker {
    fn kind(&mut self, expr: &mut IdedExpr) -> Result<Kind, Flaw> {
        if self.depth == DEPTH {
            return Err(flaw(expr, "is nested too deeply", "make two rules of it"));
        }
        self.depth += 1;
        let kind = self.within(expr);
        self.depth -= 1;
        kind
    }

    fn within(&mut self, expr: &mut IdedExpr) -> Result<Kind, Flaw> {
        let at = expr.id;
        match &mut expr.expr {
            Expr::Literal(literal) => of_literal(at, literal),
            Expr::Ident(name) => self.variable(at, name),
            Expr::Select(select) => self.select(at, select),
            Expr::Call(call) => self.call(at, call),
            Expr::List(list) => {
                let kind = self.together(at, list.elements.iter_mut().collect())?;
                Ok(Kind::List(Box::new(kind)))
            }
            Expr::Map(map) => self.map(at, map),
            Expr::Comprehension(comprehension) => self.comprehension(at, comprehension),
            Expr::Struct(_) | Expr::Unspecified => Err(at_node(at, "is no value", "")),
        }
    }

    fn select(&mut self, at: u64, select: &mut SelectExpr) -> Result<Kind, Flaw> {
        let field = select.field.clone();
        if let (Expr::Ident(name), false) = (&select.operand.expr, select.test) {
            let whole = format!("{name}.{field}");
            if VARIABLES.iter().any(|(known, ..)| *known == whole) {
                return self.variable(at, &whole);
            }
            let known = VARIABLES.iter().any(|(known, ..)| *known == field);
            if name == "request" && known {
                return Err(at_node(
                    at,
                    format!("there is no `{whole}`"),
                    format!("write `{field}`"),
                ));
            }
            if name == "response" {
                return Err(self.unknown(at, &whole));
            }
        }
        match self.kind(&mut select.operand)? {
            Kind::Map(_) if select.test => Ok(Kind::Truth),
            Kind::Map(of) => Ok(*of),
            Kind::Anything => Ok(Kind::Anything),
            other @ (Kind::Truth | Kind::Whole | Kind::Decimal | Kind::Text | Kind::List(_)) => {
                let hint = match FUNCTIONS.iter().find(|it| it.name == field && it.on.is_some()) {
                    Some(function) => format!("write it like `{}`", function.shown),
                    None => String::new(),
                };
                Err(at_node(at, format!("{other} has no `{field}`"), hint))
            }
        }
    }

    fn map(&mut self, at: u64, map: &mut MapExpr) -> Result<Kind, Flaw> {
        let mut values = Vec::new();
        for entry in &mut map.entries {
            let EntryExpr::MapEntry(pair) = &mut entry.expr else {
                return Err(at_node(at, "is no map", ""));
            };
            let key = self.kind(&mut pair.key)?;
            if key != Kind::Text {
                return Err(flaw(&pair.key, format!("a map's key is text, not {key}"), ""));
            }
            values.push(&mut pair.value);
        }
        Ok(Kind::Map(Box::new(self.together(at, values)?)))
    }

    fn comprehension(&mut self, at: u64, loop_: &mut ComprehensionExpr) -> Result<Kind, Flaw> {
        if self.loops == LOOPS || loop_.iter_var2.is_some() {
            let message = format!("goes through lists more than {LOOPS} deep");
            return Err(at_node(at, message, "make two rules of it"));
        }
        self.iterates = true;
        let element = match self.kind(&mut loop_.iter_range)? {
            Kind::List(of) => *of,
            Kind::Map(_) => Kind::Text,
            Kind::Anything => Kind::Anything,
            other @ (Kind::Truth | Kind::Whole | Kind::Decimal | Kind::Text) => {
                return Err(flaw(&loop_.iter_range, format!("{other} is no list"), ""));
            }
        };
        let first = self.kind(&mut loop_.accu_init)?;
        let scope = self.locals.len();
        self.loops += 1;
        self.locals.push((loop_.iter_var.clone(), element));
        self.locals.push((loop_.accu_var.clone(), first.clone()));
        self.truth(&mut loop_.loop_cond)?;
        let step = self.kind(&mut loop_.loop_step)?;
        let Some(result) = first.join(&step) else {
            return Err(flaw(&loop_.loop_step, format!("this is {step}, not {first}"), ""));
        };
        self.locals.truncate(scope);
        self.loops -= 1;
        self.locals.push((loop_.accu_var.clone(), result));
        let kind = self.kind(&mut loop_.result);
        self.locals.truncate(scope);
        kind
    }

    fn call(&mut self, at: u64, call: &mut CallExpr) -> Result<Kind, Flaw> {
        if call.target.is_none()
            && let Some(kind) = self.operator(at, call)?
        {
            return Ok(kind);
        }
        let target = match &mut call.target {
            Some(target) => Some(self.kind(target)?),
            None => None,
        };
        let mut kinds = Vec::new();
        for argument in &mut call.args {
            kinds.push(self.kind(argument)?);
        }
        names::signature(at, &call.func_name, target.as_ref(), &kinds).map(|found| (found.gives)())
    }

    fn truth(&mut self, expr: &mut IdedExpr) -> Result<Kind, Flaw> {
        let kind = self.kind(expr)?;
        if matches!(kind, Kind::Truth | Kind::Anything) {
            return Ok(kind);
        }
        let message = format!("this is {kind}, where true or false is needed");
        Err(flaw(expr, message, "compare it with something: `==`, `!=`, `in`"))
    }
}

fn of_literal(at: u64, literal: &LiteralValue) -> Result<Kind, Flaw> {
    match literal {
        LiteralValue::Boolean(_) => Ok(Kind::Truth),
        LiteralValue::Int(_) => Ok(Kind::Whole),
        LiteralValue::Double(_) => Ok(Kind::Decimal),
        LiteralValue::String(_) => Ok(Kind::Text),
        LiteralValue::UInt(_) => Err(at_node(at, "has a number with a `u`", "take the `u` out")),
        LiteralValue::Bytes(_) => Err(at_node(at, "has text with a `b`", "take the `b` out")),
        LiteralValue::Null => {
            Err(at_node(at, "has `null`", "what is not there is asked for with `in`"))
        }
    }
}

fn flaw(expr: &IdedExpr, message: impl Into<String>, hint: impl Into<String>) -> Flaw {
    at_node(expr.id, message, hint)
}

fn at_node(node: u64, message: impl Into<String>, hint: impl Into<String>) -> Flaw {
    Flaw { node, message: message.into(), hint: hint.into() }
}

/// Evaluating goes as deep, and a stack has an end.
const DEPTH: usize = 40;
/// A loop in a loop: 200 times 200 rounds at most.
const LOOPS: usize = 2;
