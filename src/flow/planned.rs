//! What the rules of the configuration say of a request and of its answers: asked here, in the words
//! of a journey.
//!
//! This file must not know how rules are written, nor what a scope's pace is.

use crate::flow::job::Job;
use crate::flow::terms::Terms;
use crate::flow::works::Flow;
use crate::net::target::Target;
use crate::pace::claims::{Asked, Claims};
use crate::pace::quota::{Cost, Reconcile};
use crate::pace::scope::{Host, Scope};
use crate::policy::plan::{Failure, Plan, Said};
use crate::policy::rules::facts::{Facts, ResponseFacts};
use crate::policy::scoping::Scoping;
use crate::policy::wishes::AskedScopes;
use http::{HeaderMap, StatusCode, Uri, request};

/// What rules say of a request whose head is ready to travel. Without any rule: one branch.
pub fn plan(
    flow: &Flow,
    terms: &Terms,
    target: &Target,
    head: &request::Parts,
    (client, tag): (Option<&str>, Option<&str>),
) -> Option<Box<Plan>> {
    if terms.rules.is_empty() {
        return None;
    }
    let plan = terms.rules.plan(&facts(target, head, client, tag))?;
    say(flow, terms, &plan.failures);
    Some(Box::new(plan))
}

/// The names of the rules that would apply to a GET of this URL without fields, and its scopes.
pub fn foreseen(terms: &Terms, url: &Uri, host: &Host) -> (Vec<String>, Claims) {
    let secure = url.scheme_str() == Some("https");
    let headers = HeaderMap::new();
    let facts = Facts {
        method: "GET",
        scheme: if secure { "https" } else { "http" },
        host: host.as_str(),
        port: url.port_u16().unwrap_or(if secure { 443 } else { 80 }),
        path: url.path(),
        query: url.query().unwrap_or_default(),
        headers: &headers,
        client: "",
        tag: "",
    };
    let own = terms.scoping.claims(host, facts.port, None);
    let applying = terms.rules.applying(&facts);
    let names = applying.iter().map(|rule| terms.rules.name(*rule).to_owned());
    (names.collect(), claims(terms.scoping, own, terms.rules.plan(&facts).as_ref(), None))
}

/// The scopes of a request: its own, what a plan puts in their place, or both; and those it asks for
/// itself.
pub fn claims(
    scoping: Scoping,
    own: Claims,
    plan: Option<&Plan>,
    asked: Option<&AskedScopes>,
) -> Claims {
    let planned = by_plan(scoping, own, plan);
    let Some(AskedScopes { adds, learn, names }) = asked else { return planned };
    let named = names.iter().filter_map(|(name, amount)| {
        let (scope, cost) = (Scope::named(name).ok()?, Cost::new(*amount)?);
        Some(Asked { scope, cost, learns: *learn })
    });
    let mut named = named.peekable();
    let planned =
        planned.iter().filter(|_| *adds || named.peek().is_none()).cloned().collect::<Vec<_>>();
    let mut claims = Claims::new(planned.into_iter().chain(named)).expect("its own, or a name");
    scoping.choose_learners(&mut claims);
    claims
}

fn by_plan(scoping: Scoping, own: Claims, plan: Option<&Plan>) -> Claims {
    let Some(plan) = plan else { return own };
    let cost = |amount: f64| Cost::new(amount).unwrap_or(Cost::ONE);
    let own = own.iter().map(|asked| Asked { cost: cost(plan.cost), ..asked.clone() });
    let named = plan.scopes.iter().flatten().filter_map(|(name, amount)| {
        let scope = Scope::named(name).ok()?;
        Some(Asked { cost: cost(*amount), ..Asked::new(scope) })
    });
    let mut named = named.peekable();
    let own = own.filter(|_| plan.adds || named.peek().is_none()).collect::<Vec<_>>();
    let mut claims = Claims::new(own.into_iter().chain(named)).expect("its own, or a name");
    scoping.choose_learners(&mut claims);
    if !plan.track {
        std::iter::once(&mut claims.first)
            .chain(&mut claims.rest)
            .for_each(|asked| asked.learns = false);
    }
    claims
}

/// The status an answer is judged as, if rules say one.
pub fn status(job: &Job, status: StatusCode, headers: &HeaderMap) -> Option<StatusCode> {
    let plan = job.plan.as_deref().filter(|plan| !plan.answers.is_empty())?;
    let response = ResponseFacts { status: status.as_u16(), headers };
    let said = job.terms.rules.status(plan, &of(job), &response)?;
    StatusCode::from_u16(said).ok()
}

/// What rules say of an answer; nothing for nearly all requests.
pub fn said(flow: &Flow, job: &Job, status: StatusCode, headers: &HeaderMap) -> Option<Said> {
    let plan = job.plan.as_deref().filter(|plan| !plan.answers.is_empty())?;
    let response = ResponseFacts { status: status.as_u16(), headers };
    let said = job.terms.rules.judge(plan, &of(job), &response);
    say(flow, &job.terms, &said.failures);
    let corrections = [
        (&said.consumed, Reconcile::Consumed as fn(f64) -> Reconcile),
        (&said.remaining, Reconcile::Remaining),
    ];
    for (named, correction) in corrections {
        for (name, amount) in named {
            if let Ok(scope) = Scope::named(name) {
                flow.gate.reconcile(&scope, correction(*amount));
            }
        }
    }
    Some(said)
}

fn of(job: &Job) -> Facts<'_> {
    let known = &job.trip.facts;
    facts(&job.target, &job.outbound.head, known.label.as_deref(), known.tag.as_deref())
}

fn facts<'a>(
    target: &'a Target,
    head: &'a request::Parts,
    client: Option<&'a str>,
    tag: Option<&'a str>,
) -> Facts<'a> {
    Facts {
        method: head.method.as_str(),
        scheme: if target.secure { "https" } else { "http" },
        host: target.host.as_str(),
        port: target.port,
        path: head.uri.path(),
        query: head.uri.query().unwrap_or_default(),
        headers: &head.headers,
        client: client.unwrap_or_default(),
        tag: tag.unwrap_or_default(),
    }
}

/// Counts rules that came to nothing; each is in the log once.
fn say(flow: &Flow, terms: &Terms, failures: &[Failure]) {
    for Failure { rule, why } in failures {
        flow.meter.rule_failed();
        let rule = terms.rules.name(*rule);
        if flow.first_time(format!("rule {rule}")) {
            tracing::warn!(
                rule,
                why,
                "a rule does not apply: an expression of it came to nothing for a request; said once per rule"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(plan: Plan, want: &[(&str, f64, bool)]) {
        let (scoping, host) = (Scoping::default(), Host::parse("books.toscrape.com"));
        let own = scoping.claims(&host.expect("a name"), 443, None);
        let claims = claims(scoping, own, Some(&plan), None);
        let found: Vec<_> = claims
            .iter()
            .map(|asked| (asked.scope.as_str(), asked.cost.amount(), asked.learns))
            .collect();
        assert_eq!(found, want);
    }

    fn plan(adds: bool, scopes: &[(&str, f64)]) -> Plan {
        let scopes = scopes.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect();
        Plan { adds, cost: 3.0, scopes: Some(scopes), ..Plan::default() }
    }

    #[test]
    fn a_plan_s_scopes_stand_beside_the_host_s_or_in_its_place() {
        check(Plan { cost: 2.0, ..Plan::default() }, &[("books.toscrape.com", 2.0, true)]);
        let both = [("books.toscrape.com", 3.0, true), ("api", 2.5, true)];
        check(plan(true, &[("api", 2.5)]), &both);
        check(
            plan(false, &[("api", 2.5), ("users", 3.0)]),
            &[("api", 2.5, true), ("users", 3.0, true)],
        );
        check(plan(false, &[("a b", 1.0)]), &[("books.toscrape.com", 3.0, true)]);
    }

    #[test]
    fn of_a_chain_the_narrowest_learns_and_nobody_of_what_is_not_tracked() {
        let chain = plan(false, &[("toscrape.com", 1.0), ("books.toscrape.com", 1.0)]);
        let learns =
            |wide, narrow| [("toscrape.com", 1.0, wide), ("books.toscrape.com", 1.0, narrow)];
        check(chain.clone(), &learns(false, true));
        check(Plan { track: false, ..chain }, &learns(false, false));
    }
}
