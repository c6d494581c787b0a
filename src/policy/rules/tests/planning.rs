//! What rules say about a request.

use crate::policy::plan::Plan;
use crate::policy::preset::Preset;
use crate::policy::rules::Rules;
use crate::policy::rules::rule::RuleText;
use crate::policy::rules::tests::{compiled, fields, get, scopes, text, when};
use http::HeaderMap;

/// The scopes that one rule gives to a request, with their amounts.
#[track_caller]
fn check(names: &[(&str, &str)], url: (&str, &str), want: &[(&str, f64)]) {
    let rules = compiled(vec![scopes("true", names)]);
    let headers = fields(&[("x-kind", "images"), ("accept", "a"), ("accept", "b")]);
    let plan = rules.plan(&get(url.0, url.1, &headers)).expect("it applies");
    assert_eq!(plan.failures, [], "{names:?}");
    let found = plan.scopes.unwrap_or_default();
    let found: Vec<_> = found.iter().map(|(name, amount)| (name.as_str(), *amount)).collect();
    assert_eq!(found, want, "{names:?}");
}

#[test]
fn scopes_are_names_expressions_lists_and_maps() {
    let url = ("books.toscrape.com", "/a/b?url=https%3A%2F%2FX.example%3A8443%2Fp&n=2.5");
    check(&[("api", "")], url, &[("api", 1.0)]);
    check(
        &[("api.toscrape.com/fast", "2.5"), ("users", "")],
        url,
        &[("api.toscrape.com/fast", 2.5), ("users", 1.0)],
    );
    check(&[("domain", "")], url, &[("toscrape.com", 1.0)]);
    check(&[("domains", "")], url, &[("toscrape.com", 1.0), ("books.toscrape.com", 1.0)]);
    check(
        &[("domain_chain(host)", "3")],
        url,
        &[("toscrape.com", 3.0), ("books.toscrape.com", 3.0)],
    );
    check(&[("host + path", "")], url, &[("books.toscrape.com/a/b", 1.0)]);
    check(&[("host_of(query[\"url\"])", "number(query.n, 1)")], url, &[("x.example", 2.5)]);
    check(
        &[("{\"cost\": number(query[\"n\"]) * 2, \"calls\": 1}", "")],
        url,
        &[("calls", 1.0), ("cost", 5.0)],
    );
    check(&[("path.split(\"/\")[1]", "")], url, &[("a", 1.0)]);
    check(
        &[("[host, headers[\"x-kind\"], string(port)]", "")],
        url,
        &[("books.toscrape.com", 1.0), ("images", 1.0), ("8080", 1.0)],
    );
    check(&[("headers.get(\"accept\", \"\").split(\", \")", "")], url, &[("a", 1.0), ("b", 1.0)]);
    check(&[("registrable_domain(\"a.b.co.uk\")", "")], url, &[("b.co.uk", 1.0)]);
    check(
        &[("domains.map(d, \"x-\" + d)", "")],
        url,
        &[("x-toscrape.com", 1.0), ("x-books.toscrape.com", 1.0)],
    );
    check(&[("host_of(query.get(\"none\", \"\"))", "")], url, &[]);
    check(
        &[("client + \"/\" + tag + \"/\" + method.lower()", "")],
        url,
        &[("nightly/t1/get", 1.0)],
    );
}

#[test]
fn a_url_is_put_together_and_taken_apart() {
    let headers = HeaderMap::new();
    let rules = compiled(vec![scopes("true", &[("[url, host_of(url)]", "")])]);
    for (facts, want) in [
        (get("a.example", "/", &headers), ["http://a.example:8080/", "a.example"]),
        (get("2001:db8::1", "/?q", &headers), ["http://[2001:db8::1]:8080/?q", "2001:db8::1"]),
    ] {
        let found = rules.plan(&facts).and_then(|plan| plan.scopes).unwrap_or_default();
        let names: Vec<_> = found.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, want);
    }
    let of = |url: &str| {
        let text = format!("host_of(\"{url}\")");
        let found = compiled(vec![scopes("true", &[(&text, "")])]);
        let plan = found.plan(&get("h", "/", &headers)).and_then(|plan| plan.scopes);
        plan.and_then(|mut scopes| scopes.pop()).map_or(String::new(), |(name, _)| name)
    };
    let urls = [
        "https://User:p@WWW.Example.COM.:8443/x@y",
        "example.com/a",
        "//e.com",
        "",
        "b\u{fc}cher.example",
    ];
    let hosts = ["www.example.com", "example.com", "", "", "xn--bcher-kva.example"];
    assert_eq!(urls.map(of), hosts);
}

fn one(rules: &Rules, host: &str, target: &str) -> Option<Plan> {
    rules.plan(&get(host, target, &fields(&[("x-kind", "images")])))
}

#[test]
fn conditions_choose_and_pinned_ones_choose_the_same() {
    let conditions = [
        ("host == \"a.example\"", [true, false, false]),
        ("\"a.example\" == host && path == \"/x\"", [true, false, false]),
        ("host in [\"a.example\", \"b.example\"]", [true, true, false]),
        ("domain == \"a.example\"", [true, false, true]),
        ("domain in [\"a.example\"] && host.endsWith(\".example\")", [true, false, true]),
        ("host.endsWith(\".a.example\")", [false, false, true]),
        ("host.endsWith(\"a.example\")", [true, false, true]),
        ("host == \"a.example\" || host.endsWith(\".a.example\")", [true, false, true]),
        ("host == \"a.example\" || path == \"/x\"", [true, true, true]),
        ("!(host == \"a.example\")", [false, true, true]),
        ("method == \"GET\" && port == 8080 && scheme != \"https\"", [true, true, true]),
        ("\"x-kind\" in headers && headers[\"x-kind\"].startsWith(\"im\")", [true, true, true]),
        ("\"none\" in headers && headers[\"none\"] == \"\"", [false, false, false]),
        ("has(headers.none) || has(query.none)", [false, false, false]),
        ("headers.exists(name, name.startsWith(\"x-\"))", [true, true, true]),
        ("[1, 2].all(n, n < 3) && size(headers) == 1 && headers.size() < 2", [true, true, true]),
        ("client == \"nightly\" ? tag == \"t1\" : false", [true, true, true]),
    ];
    for (condition, want) in conditions {
        let rules = compiled(vec![scopes(condition, &[("s", "")])]);
        let hosts = ["a.example", "b.example", "c.a.example"];
        let found = hosts.map(|host| one(&rules, host, "/x").is_some());
        assert_eq!(found, want, "{condition}");
        let applying = hosts.map(|host| {
            !rules.applying(&get(host, "/x", &fields(&[("x-kind", "images")]))).is_empty()
        });
        assert_eq!(applying, want, "{condition}");
    }
}

#[test]
fn all_that_apply_count_and_what_a_later_one_says_goes_first() {
    let rules = compiled(vec![
        RuleText { cost: text("2"), preset: Some(Preset::Archive), ..scopes("true", &[("a", "")]) },
        RuleText { track: text("path != \"/login\""), ..scopes("true", &[("+b", "7")]) },
        RuleText { cost: text("host == \"h\" ? 3 : 4"), ..when("path != \"/x\"") },
        scopes("path == \"/own\"", &[("c", ""), ("a", "9")]),
        RuleText {
            preset: Some(Preset::Off),
            ..scopes("host == \"h\"", &[("+b", "1"), ("d", "")])
        },
    ]);
    let plan = one(&rules, "h", "/login").expect("it applies");
    let scopes = |plan: &Plan| plan.scopes.clone().unwrap_or_default();
    let named = |pairs: &[(&str, f64)]| {
        pairs.iter().map(|(name, of)| ((*name).to_owned(), *of)).collect::<Vec<_>>()
    };
    assert_eq!(scopes(&plan), named(&[("a", 3.0), ("b", 1.0), ("d", 3.0)]));
    assert_eq!((plan.cost, plan.preset, plan.track), (3.0, Some(Preset::Off), false));
    assert!(!plan.adds, "the first one's replace the host's");
    let plan = one(&rules, "i", "/own").expect("it applies");
    assert_eq!(scopes(&plan), named(&[("c", 4.0), ("a", 9.0)]));
    assert_eq!((plan.preset, plan.track), (Some(Preset::Archive), true));
    assert_eq!((plan.charge("a"), plan.charge("i")), (9.0, 4.0));
}

#[test]
fn scopes_are_added_where_all_rules_add() {
    let rules = compiled(vec![scopes("true", &[("+a", "")]), scopes("true", &[("+domain", "")])]);
    let plan = one(&rules, "x.b.example", "/").expect("it applies");
    assert!(plan.adds);
    assert_eq!(plan.scopes.map(|scopes| scopes.len()), Some(2));
    assert_eq!(one(&Rules::default(), "h", "/"), None);
}

#[test]
fn a_rule_that_comes_to_nothing_does_not_apply_at_all_and_says_why() {
    let failing = [
        (scopes("headers[\"none\"] == \"x\"", &[("s", "")]), "No such key: none"),
        (scopes("true", &[("ok", "number(headers[\"x-kind\"])")]), "\"images\" is no number"),
        (RuleText { cost: text("-1"), ..scopes("true", &[("s", "")]) }, "-1 is no cost"),
        (RuleText { cost: text("1.0 / 0"), ..scopes("true", &[("s", "")]) }, "of no use"),
        (scopes("1 / (port - 8080) == 0", &[("s", "")]), "zero"),
        (scopes("true", &[("\"a b\"", "")]), "no name of a scope"),
        (scopes("true", &[("headers[\"x-kind\"].split(\"m\")[9]", "")]), "out of bounds"),
        (scopes("9223372036854775807 + port > 0", &[("s", "")]), "verflow"),
    ];
    for (rule, why) in failing {
        let shown = format!("{rule:?}");
        let rules = compiled(vec![rule, when("true")]);
        let plan = one(&rules, "h", "/").expect("the second one applies");
        assert_eq!((&plan.scopes, plan.cost), (&None, 1.0), "{shown}");
        assert_eq!(plan.failures.len(), 1, "{shown}");
        assert!(plan.failures[0].why.contains(why), "{}: {shown}", plan.failures[0].why);
        assert_eq!(plan.failures[0].rule, 0);
    }
}

#[test]
fn what_a_request_brings_is_bounded() {
    let rules = compiled(vec![scopes("true", &[("query.map(name, name)", "")])]);
    let many: Vec<String> = (0..5000).map(|n| format!("k{n}=v")).collect();
    let target = format!("/?{}", many.join("&"));
    let plan = one(&rules, "h", &target).expect("it applies");
    assert_eq!(plan.scopes.as_ref().map(Vec::len), Some(16), "{plan:?}");
    let deep = vec!["a"; 80].join(".");
    let rules = compiled(vec![scopes("true", &[("domains", "")])]);
    assert_eq!(one(&rules, &deep, "/").and_then(|it| it.scopes).map(|it| it.len()), Some(16));
}
