//! What rules say about an answer.

use crate::policy::plan::Said;
use crate::policy::rules::Rules;
use crate::policy::rules::facts::ResponseFacts;
use crate::policy::rules::rule::RuleText;
use crate::policy::rules::tests::{bad, compiled, fields, get, scopes, text, when};
use http::HeaderMap;

fn said(rules: &Rules, status: u16, answer: &[(&str, &str)]) -> Said {
    let (none, headers) = (HeaderMap::new(), fields(answer));
    let facts = get("api.example", "/?features=js", &none);
    let plan = rules.plan(&facts).expect("it applies");
    let response = ResponseFacts { status, headers: &headers };
    let said = rules.judge(&plan, &facts, &response);
    assert_eq!(rules.status(&plan, &facts, &response).is_some(), said.status.is_some());
    said
}

fn classify(expression: &str) -> RuleText {
    RuleText { classify: text(expression), ..RuleText::default() }
}

#[test]
fn an_answer_is_judged_as_another_status_or_as_a_class() {
    let upstream =
        "number(response.headers.get(\"x-upstream-status-code\", \"\"), response.status)";
    let rules = compiled(vec![classify(upstream)]);
    for (status, field, want) in [
        (200, "503", Some(503)),
        (200, "", Some(200)),
        (429, "text", Some(429)),
        (200, "503.7", Some(503)),
        (200, "77", None),
        (200, "1e99", None),
    ] {
        let said = said(&rules, status, &[("X-Upstream-Status-Code", field)]);
        assert_eq!(said.status, want, "{field}");
        assert_eq!(said.failures.is_empty(), want.is_some(), "{:?}", said.failures);
    }
    for (text, want) in [
        ("overloaded", Some(500)),
        ("rate_limited", Some(429)),
        ("soft", Some(408)),
        ("served", Some(200)),
        ("599", Some(599)),
        ("response.status == 200 ? \"served\" : \"overloaded\"", Some(200)),
        ("response.headers[\"x\"]", None),
    ] {
        let said = said(&compiled(vec![classify(text)]), 200, &[("x", "none of them")]);
        assert_eq!(said.status, want, "{text}");
    }
    let later =
        compiled(vec![classify("429"), classify("503"), classify("response.headers[\"no\"]")]);
    assert_eq!(said(&later, 200, &[]).status, Some(503));
}

#[test]
fn what_was_spent_is_corrected_by_what_an_answer_says() {
    let charge = |scope: &str, text: &str| vec![(scope.to_owned(), text.to_owned())];
    let actual = "number(response.headers.get(\"x-actual-cost\", \"\"), charged) - charged";
    let rules = compiled(vec![RuleText {
        consumed: charge("cost", actual),
        remaining: charge("host", "number(response.headers[\"x-left\"])"),
        ..scopes(
            "true",
            &[("+cost", "\"js\" in query.get(\"features\", \"\").split(\",\") ? 10 : 1")],
        )
    }]);
    let found = said(&rules, 200, &[("x-actual-cost", "12.5"), ("x-left", "88")]);
    assert_eq!(found.consumed, [("cost".to_owned(), 2.5)]);
    assert_eq!(found.remaining, [("api.example".to_owned(), 88.0)]);
    assert!(found.failures.is_empty());
    let nothing = said(&rules, 200, &[("x-left", "-1")]);
    assert!(nothing.remaining.is_empty() && nothing.failures.is_empty(), "it says nothing");
    let found = said(&rules, 200, &[("x-left", "many")]);
    assert_eq!(found.consumed, [("cost".to_owned(), 0.0)]);
    assert_eq!((found.remaining.len(), found.failures.len()), (0, 1), "{:?}", found.failures);
}

#[test]
fn an_answer_may_say_that_it_teaches_nothing() {
    let track = |text_: &str| RuleText { track: text(text_), ..when("true") };
    let rules = compiled(vec![track("response.status != 404")]);
    assert!(said(&rules, 404, &[]).untracked);
    assert!(!said(&rules, 503, &[]).untracked);
    let rules = compiled(vec![track("false")]);
    let plan = rules.plan(&get("h", "/", &HeaderMap::new())).expect("it applies");
    assert!(!plan.track && plan.answers.is_empty());
}

#[test]
fn classes_that_answers_can_not_be_of_are_refused() {
    for word in ["overlaoded", "reset", "explicit_wait"] {
        let bad = bad(classify(word));
        assert!(bad.hint.contains("overloaded") || bad.message.contains("there is no"), "{bad:?}");
    }
}
