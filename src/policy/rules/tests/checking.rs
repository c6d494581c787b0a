//! What makes no sense is said when rules are read, with its place and what to do.

use crate::policy::rules::facts::VARIABLES;
use crate::policy::rules::functions::FUNCTIONS;
use crate::policy::rules::rule::{Part, RuleText};
use crate::policy::rules::tests::{bad, scopes, text, when};

/// A condition is refused: `^` stands under the first character of what is wrong.
#[track_caller]
fn check(condition: &str, mark: &str, message: &str, hint: &str) {
    let bad = bad(when(condition));
    assert_eq!((bad.rule, bad.part), (0, Part::When));
    assert!(bad.message.contains(message), "{condition}: {}", bad.message);
    assert!(bad.hint.contains(hint), "{condition}: {}", bad.hint);
    let want = mark.find('^').expect("a mark");
    assert_eq!(bad.at, want, "{condition}: {} {}", bad.message, bad.width);
}

#[test]
fn unknown_names_are_named_with_the_nearest_known_one() {
    check("hots == \"a\"", "^", "there is no `hots`", "did you mean `host`?");
    check("path == \"/\" && hsot == \"a\"", "               ^", "there is no `hsot`", "`host`");
    check("request.host == \"a\"", "       ^", "`request.host`", "write `host`");
    check("response.status == 200", "        ^", "is not known yet", "classify");
    check("charged > 1.0", "^", "is not known yet", "");
    check(
        "host.startWith(\"a\")",
        "              ^",
        "no function `startWith`",
        "did you mean `startsWith`?",
    );
    check("path.matches(\"a+\")", "            ^", "no function `matches`", "contains");
    check("banana", "^", "there is no `banana`", "text stands in quotes: \"banana\"");
    check("number == 1", "^", "there is no `number`", "is a function");
    check("headers.exists(n, m == \"a\")", "                  ^", "there is no `m`", "");
}

#[test]
fn kinds_that_do_not_go_together_are_refused() {
    check("host", "^", "gives text, where true or false is needed", "compare");
    check("host == 1", "     ^", "compares text with a whole number", "quotes");
    check("port == \"80\"", "     ^", "compares a whole number with text", "quotes");
    check("host && true", "^", "where true or false is needed", "");
    check("!path", " ^", "where true or false is needed", "");
    check("\"a\" in host", "    ^", "not into text", "contains");
    check("1 in headers", "  ^", "can't be in a map", "");
    check("headers[1] == \"a\"", "        ^", "a map's key is text", "");
    check("host[0] == \"a\"", "^", "text has no `[…]`", "");
    check("host.size == 3", "    ^", "text has no `size`", "text.size()");
    check("host + 1 == \"a\"", "     ^", "don't go together", "");
    check("path * 2 == \"a\"", "     ^", "don't go together", "");
    check("path - host == \"a\"", "     ^", "takes numbers, not text", "number(text, default)");
    check(
        "number(path, 0) * size(path) > 1",
        "                ^",
        "don't go together",
        "double(…)",
    );
    check("headers == query", "        ^", "maps are not compared", "");
    check("[host, 1] == []", "^", "don't go together", "");
    check("size(port) == 1", "    ^", "can't be called with (a whole number)", "write it like");
    check("host == null", "        ^", "`null`", "asked for with `in`");
    check("host == b\"a\"", "        ^", "with a `b`", "");
}

#[test]
fn what_is_no_expression_is_said_with_its_place() {
    check("host == ", "       ^", "can't be read", "");
    check("host = \"a\"", "     ^", "can't be read", "");
    check("(host == \"a\"", "           ^", "can't be read", "");
    check("   ", "^", "says nothing", "");
    check("h\u{f6}st == \"a\"", " ^", "can't be read", "");
    check("\"\u{e4}\u{f6}\u{fc}\" == hots", "         ^", "there is no `hots`", "");
}

#[test]
fn each_part_of_a_rule_is_checked_for_what_it_is() {
    let of = |rule: RuleText| {
        let bad = bad(rule);
        (bad.part, bad.at, bad.message)
    };
    let named = |part: Part, at: usize, rule: RuleText, words: &str| {
        let (found, place, message) = of(rule);
        assert_eq!((found, place), (part, at), "{message}");
        assert!(message.contains(words), "{message}");
    };
    named(Part::Scope(1), 0, scopes("true", &[("a", ""), ("port + 1", "")]), "names");
    named(Part::Scope(0), 1, scopes("true", &[("+hsot + path", "")]), "no `hsot`");
    named(Part::Scope(0), 0, scopes("true", &[("[1]", "")]), "names");
    named(Part::Scope(0), 0, scopes("true", &[("{\"a\": \"b\"}", "")]), "names");
    named(Part::Amount(0), 0, scopes("true", &[("a", "path")]), "a number is needed");
    named(Part::Cost, 0, RuleText { cost: text("\"2\""), ..when("true") }, "a number is needed");
    named(Part::Track, 0, RuleText { track: text("1"), ..when("true") }, "true or false");
    named(Part::Classify, 0, RuleText { classify: text("[503]"), ..when("true") }, "a status");
    let charge = |scope: &str, of: &str| vec![(scope.to_owned(), of.to_owned())];
    let consumed = |scope, of| RuleText { consumed: charge(scope, of), ..when("true") };
    named(Part::ConsumedScope(0), 0, consumed("hots + path", "1"), "no `hots`");
    named(Part::Consumed(0), 0, consumed("a", "host"), "a number is needed");
    let remaining = RuleText { remaining: charge("a", "left"), ..when("true") };
    named(Part::Remaining(0), 0, remaining, "no `left`");
}

#[test]
fn nothing_long_or_deep_is_read() {
    let small_stack = std::thread::Builder::new().stack_size(1 << 20);
    let done = small_stack.spawn(|| {
        let deep = |open: &str, close: &str, of: usize| {
            format!("{}true{}", open.repeat(of), close.repeat(of))
        };
        for text in [
            format!("host == \"{}\"", "a".repeat(2000)),
            format!("1{} == 1", "+1".repeat(145)),
            format!("1{} == 1", "+1".repeat(900)),
            format!("host{}", ".x".repeat(140)),
            format!("headers{} == \"\"", "[0]".repeat(140)),
            deep("(", ")", 140),
            deep("[", "]", 140),
            deep("!", "", 140),
            deep("(((((", ")))))", 100),
            "true ? ".repeat(140) + "true",
            "host.exists(a, ".repeat(30) + "true" + &")".repeat(30),
            "domains.all(a, domains.all(b, domains.all(c, a + b == c)))".to_owned(),
        ] {
            let shown: String = text.chars().take(40).collect();
            let message = bad(when(&text)).message;
            assert!(!message.is_empty(), "{shown}");
        }
        let wide = vec!["host == \"a.example\""; 40].join(" || ");
        assert!(crate::policy::rules::Rules::compile(vec![when(&wide)]).is_ok());
    });
    done.expect("a thread").join().expect("no overflow");
}

#[test]
fn the_manual_names_every_variable_and_function() {
    let manual = include_str!("../../../../docs/rules.md");
    let variables = VARIABLES.iter().map(|(name, ..)| *name);
    for name in variables.chain(FUNCTIONS.iter().map(|function| function.name)) {
        let named = [format!("`{name}`"), format!("{name}("), format!(".{name}(")];
        assert!(named.iter().any(|it| manual.contains(it)), "{name} is not in docs/rules.md");
    }
}
