//! What rules cost a request: `cargo bench --bench rules`.
//!
//! Goals: without a rule for its host a request pays next to nothing, with 1,000 rules for others ≤ 5 µs;
//! two scopes and one expression ≤ 3 µs, the claims made of them included.

use criterion::{Criterion, criterion_group, criterion_main};
use http::{HeaderMap, HeaderValue};
use pacegate::flow::planned::claims;
use pacegate::pace::claims::Claims;
use pacegate::pace::scope::{Host, Scope};
use pacegate::policy::rules::Rules;
use pacegate::policy::rules::facts::{Facts, ResponseFacts};
use pacegate::policy::rules::rule::RuleText;
use pacegate::policy::scoping::Scoping;
use std::hint::black_box;

fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("host", "api.example"),
        ("user-agent", "crawler/1.0"),
        ("accept", "*/*"),
        ("accept-encoding", "gzip, br"),
        ("x-kind", "images"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
}

fn facts<'a>(host: &'a Host, headers: &'a HeaderMap) -> Facts<'a> {
    Facts {
        method: "GET",
        scheme: "https",
        host: host.as_str(),
        port: 443,
        path: "/v1/items",
        query: "url=https%3A%2F%2Fshop.example%2Fa&n=2",
        headers,
        client: "nightly",
        tag: "",
    }
}

fn rule(when: &str, scopes: &[&str]) -> RuleText {
    RuleText {
        when: Some(when.to_owned()),
        scopes: scopes.iter().map(|scope| ((*scope).to_owned(), None)).collect(),
        ..RuleText::default()
    }
}

fn compiled(texts: Vec<RuleText>) -> Rules {
    Rules::compile(texts).unwrap_or_else(|bad| panic!("{bad:?}"))
}

/// Rules for a thousand other hosts, in all the ways of naming them.
fn thousand() -> Rules {
    let when = |number: usize| match number % 4 {
        0 => format!("host == \"shop{number}.example\" && path.startsWith(\"/a\")"),
        1 => format!("host in [\"a{number}.example\", \"b{number}.example\"]"),
        2 => format!("domain == \"site{number}.example\""),
        _ => format!("host.endsWith(\".site{number}.example\")"),
    };
    compiled((0..1000).map(|number| rule(&when(number), &["+cost"])).collect())
}

fn planning(criterion: &mut Criterion) {
    let headers = headers();
    let host = Host::parse("www.api.example").expect("a name");
    let facts = facts(&host, &headers);
    let cases = [
        ("1000 rules for other hosts", thousand()),
        (
            "a rule whose condition does not hold",
            compiled(vec![rule("method == \"POST\"", &["a"])]),
        ),
        (
            "two scopes and one expression",
            compiled(vec![rule("host == \"www.api.example\"", &["+host_of(query[\"url\"])"])]),
        ),
        (
            "a header, a path and a chain",
            compiled(vec![rule(
                "headers[\"x-kind\"] == \"images\" && path.startsWith(\"/v1/\")",
                &["domains"],
            )]),
        ),
    ];
    for (name, rules) in &cases {
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| {
                let plan = rules.plan(black_box(&facts));
                let own = Claims::of(Scope::of(&host));
                black_box(claims(Scoping::default(), own, plan.as_ref(), None));
            });
        });
    }
    criterion.bench_function("no plan", |bencher| {
        bencher.iter(|| {
            let own = Scoping::default().claims(black_box(&host), 443, None);
            black_box(claims(Scoping::default(), own, None, None))
        });
    });
}

fn judging(criterion: &mut Criterion) {
    let (headers, answer) = (headers(), self::headers());
    let host = Host::parse("www.api.example").expect("a name");
    let facts = facts(&host, &headers);
    let status = "number(response.headers.get(\"x-upstream-status-code\", \"\"), response.status)";
    let rules =
        compiled(vec![RuleText { classify: Some(status.to_owned()), ..RuleText::default() }]);
    let plan = rules.plan(&facts).expect("it applies");
    let response = ResponseFacts { status: 200, headers: &answer };
    criterion.bench_function("a status from a header", |bencher| {
        bencher.iter(|| black_box(rules.judge(&plan, black_box(&facts), &response)));
    });
}

criterion_group!(benches, planning, judging);
criterion_main!(benches);
