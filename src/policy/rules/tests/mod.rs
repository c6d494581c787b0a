//! Rules, through their door: a text, a request, what comes of it.

mod checking;
mod judging;
mod planning;

use crate::policy::rules::Rules;
use crate::policy::rules::facts::Facts;
use crate::policy::rules::rule::{BadRule, RuleText};
use http::{HeaderMap, HeaderName, HeaderValue};

fn fields(fields: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        headers.append(name, HeaderValue::from_bytes(value.as_bytes()).expect("a value"));
    }
    headers
}

/// `GET http://host/path?query`.
fn get<'a>(host: &'a str, target: &'a str, headers: &'a HeaderMap) -> Facts<'a> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Facts {
        method: "GET",
        scheme: "http",
        host,
        port: 8080,
        path,
        query,
        headers,
        client: "nightly",
        tag: "t1",
    }
}

fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

fn when(condition: &str) -> RuleText {
    RuleText { when: text(condition), ..RuleText::default() }
}

/// A rule that names scopes, each with what it spends there if it says so.
fn scopes(condition: &str, names: &[(&str, &str)]) -> RuleText {
    let amount = |amount: &str| (!amount.is_empty()).then(|| amount.to_owned());
    let scopes = names.iter().map(|(name, of)| ((*name).to_owned(), amount(of))).collect();
    RuleText { scopes, ..when(condition) }
}

#[track_caller]
fn compiled(texts: Vec<RuleText>) -> Rules {
    Rules::compile(texts).unwrap_or_else(|bad| panic!("{bad:#?}"))
}

#[track_caller]
fn bad(texts: RuleText) -> BadRule {
    match Rules::compile(vec![texts]) {
        Ok(_) => panic!("it is taken"),
        Err(mut bad) => bad.remove(0),
    }
}
