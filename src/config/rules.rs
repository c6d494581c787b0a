//! `rules`: which requests go by what.
//!
//! This file must not know what an expression may say: that is `policy::rules`'.

use crate::config::mistake::{Mistake, Place, Spot};
use crate::config::node::{Node, Scalar, Value};
use crate::config::section::{Report, Section};
use crate::config::value::{self, Read, wrong};
use crate::policy::preset::Preset;
use crate::policy::rules::Rules;
use crate::policy::rules::rule::{BadRule, Part, RuleText};
use std::sync::Arc;

/// Reads the section. Nothing, if any of it is wrong.
pub(in crate::config) fn read(top: &Section<'_>, report: &mut Report) -> Arc<Rules> {
    let written: Vec<Written> = top
        .listed("rules", report)
        .iter()
        .enumerate()
        .map(|(place, node)| Written::read(place, node, report))
        .collect();
    if written.len() > MOST {
        let message = format!("`rules` has {} rules", written.len());
        let hint = format!("{MOST} at most");
        report.mistakes.push(Mistake::error(message, &report.place("rules"), hint));
        return Arc::default();
    }
    match Rules::compile(written.iter().map(|rule| rule.text.clone()).collect()) {
        Ok(rules) => Arc::new(rules),
        Err(bad) => {
            report.mistakes.extend(bad.iter().map(|bad| mistake(bad, &written)));
            Arc::default()
        }
    }
}

/// A rule, and where each of its texts stands.
struct Written {
    path: String,
    text: RuleText,
    places: Vec<(Part, Place, String)>,
}

impl Written {
    fn read(place: usize, node: &Node, report: &mut Report) -> Written {
        let section = Section::rule(place, node, report);
        let mut text = RuleText { name: format!("rule {}", place + 1), ..RuleText::default() };
        section.read("name", &mut text.name, name, report);
        let words = Preset::ALL.map(|preset| (preset.word(), preset));
        let preset = |node: &Node| value::word(node, &words).map(Some);
        section.read("preset", &mut text.preset, preset, report);
        let mut places = Vec::new();
        let mut one = |key: &str, part: Part, to: &mut Option<String>| {
            section.read(key, to, |node| expression(node).map(Some), report);
            let place = report.place(&format!("{}.{key}", section.path()));
            places.extend(to.as_ref().map(|text| (part, place, text.clone())));
        };
        one("when", Part::When, &mut text.when);
        one("cost", Part::Cost, &mut text.cost);
        one("track", Part::Track, &mut text.track);
        one("classify", Part::Classify, &mut text.classify);
        let mut pairs = Pairs::default();
        section.read("scopes", &mut pairs, scopes, report);
        text.scopes = pairs.take(Part::Scope, Part::Amount, &mut places);
        for (key, of, amount, to) in [
            (
                "consumed",
                Part::ConsumedScope as fn(_) -> _,
                Part::Consumed as fn(_) -> _,
                &mut text.consumed,
            ),
            ("remaining", Part::RemainingScope, Part::Remaining, &mut text.remaining),
        ] {
            let mut pairs = Pairs::default();
            section.read(key, &mut pairs, amounts, report);
            let taken = pairs.take(of, amount, &mut places);
            *to = taken.into_iter().filter_map(|(name, of)| Some((name, of?))).collect();
        }
        let path = section.path().to_owned();
        if says_nothing(&text) {
            let message = format!("`{path}` says for which requests, and nothing of them");
            let hint =
                "add `scopes`, `cost`, `preset`, `track`, `classify`, `consumed` or `remaining`";
            report.mistakes.push(Mistake::warning(message, &node.place, hint));
        }
        Written { path, text, places }
    }
}

fn says_nothing(text: &RuleText) -> bool {
    let bare = RuleText { name: text.name.clone(), when: text.when.clone(), ..RuleText::default() };
    *text == bare
}

/// A text and where it stands.
type Standing = (String, Place);

/// Names with amounts.
#[derive(Default)]
struct Pairs(Vec<(Standing, Option<Standing>)>);

impl Pairs {
    fn take(
        self,
        name: fn(usize) -> Part,
        amount: fn(usize) -> Part,
        places: &mut Vec<(Part, Place, String)>,
    ) -> Vec<(String, Option<String>)> {
        let mut pairs = Vec::new();
        for (at, ((named, place), of)) in self.0.into_iter().enumerate() {
            places.push((name(at), place, named.clone()));
            let of = of.map(|(text, place)| {
                places.push((amount(at), place, text.clone()));
                text
            });
            pairs.push((named, of));
        }
        pairs
    }
}

/// A name, or several, or names with amounts.
fn scopes(node: &Node) -> Read<Pairs> {
    match &node.value {
        Value::Scalar { .. } => Ok(Pairs(vec![((expression(node)?, node.place.clone()), None)])),
        Value::Map(_) => amounts(node),
        Value::List(nodes) => {
            let mut all = Vec::new();
            for node in nodes {
                match &node.value {
                    Value::List(_) => return wrong(node, "has a list in a list", ""),
                    Value::Scalar { .. } | Value::Map(_) => all.extend(scopes(node)?.0),
                }
            }
            Ok(Pairs(all))
        }
    }
}

/// `{scope: amount}`.
fn amounts(node: &Node) -> Read<Pairs> {
    let Value::Map(entries) = &node.value else {
        return wrong(node, "says an amount for a scope", "write it like `{cost: 2.5}`");
    };
    let mut all = Vec::new();
    for entry in entries {
        let amount = (expression(&entry.node)?, entry.node.place.clone());
        all.push(((entry.key.clone(), entry.key_place.clone()), Some(amount)));
    }
    Ok(Pairs(all))
}

/// A text to be read elsewhere. YAML's words for yes and no are `true` and `false` there.
fn expression(node: &Node) -> Read<String> {
    let text = value::text(node)?;
    Ok(match (&node.value, text) {
        (Value::Scalar { kind: Scalar::Bool(is), .. }, _) => is.to_string(),
        (_, "yes" | "on") => "true".to_owned(),
        (_, "no" | "off") => "false".to_owned(),
        (_, text) => text.to_owned(),
    })
}

fn name(node: &Node) -> Read<String> {
    match value::text(node)? {
        "" => wrong(node, "has no value", ""),
        text if text.chars().count() > NAME => wrong(node, "is longer than 60 characters", ""),
        text => Ok(text.to_owned()),
    }
}

fn mistake(bad: &BadRule, written: &[Written]) -> Mistake {
    let rule = written.get(bad.rule);
    let found = rule.and_then(|rule| rule.places.iter().find(|(part, ..)| *part == bad.part));
    let path = rule.map_or("rules", |rule| rule.path.as_str());
    let Some((_, place, text)) = found else {
        return Mistake::error(format!("`{path}` {}", bad.message), &Place::Whole, &*bad.hint);
    };
    let message = format!("`{path}.{}` {}", key(bad.part), bad.message);
    Mistake::error(message, &within(place, text, bad), &*bad.hint)
}

fn key(part: Part) -> &'static str {
    match part {
        Part::When => "when",
        Part::Scope(_) | Part::Amount(_) => "scopes",
        Part::Cost => "cost",
        Part::Track => "track",
        Part::Classify => "classify",
        Part::ConsumedScope(_) | Part::Consumed(_) => "consumed",
        Part::RemainingScope(_) | Part::Remaining(_) => "remaining",
    }
}

/// The characters meant, where the text stands in the file as it is read: on one line, without
/// escapes. Else all of it.
fn within(place: &Place, text: &str, bad: &BadRule) -> Place {
    let Place::File(spot) = place else { return place.clone() };
    let quotes = match spot.width.checked_sub(text.chars().count()) {
        Some(0) => 0,
        Some(2) => 1,
        Some(_) | None => return place.clone(),
    };
    Place::File(Spot { column: spot.column + quotes + bad.at, width: bad.width, ..*spot })
}

/// More than anybody writes by hand.
const MOST: usize = 10_000;
const NAME: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load::{Sources, combine};
    use http::HeaderMap;

    fn read(text: &str) -> Result<Arc<Rules>, String> {
        let loaded = combine(text, Sources::default());
        loaded.map(|loaded| loaded.config.rules).map_err(|mistakes| mistakes.to_string())
    }

    #[track_caller]
    fn says(text: &str, words: &[&str]) {
        let report = read(text).expect_err("a mistake");
        for word in words {
            assert!(report.contains(word), "{word:?} is not in\n{report}");
        }
    }

    #[test]
    fn rules_are_read_in_all_their_shapes() {
        let text = "rules:
  - {name: api, when: 'host == \"api.example\"', scopes: +api, cost: 2, preset: archive, track: no}
  - scopes: [api, {users: 2.5, domain: 'number(query[\"n\"], 1)'}, 'host + path']
    classify: 503
    consumed: {cost: 1.5}
    remaining: {cost: 'charged * 2', api: 7}
  - scopes: >
      host
      + path
";
        let rules = read(text).unwrap_or_else(|why| panic!("{why}"));
        let [first, second, third] = rules.texts() else { panic!("{rules:?}") };
        assert_eq!((first.name.as_str(), second.name.as_str()), ("api", "rule 2"));
        assert_eq!((first.cost.as_deref(), first.track.as_deref()), (Some("2"), Some("false")));
        assert_eq!((first.preset, first.scopes.len()), (Some(Preset::Archive), 1));
        let names: Vec<_> = second.scopes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["api", "users", "domain", "host + path"]);
        assert_eq!((second.consumed.len(), second.remaining.len()), (1, 2));
        assert!(third.scopes[0].0.contains("+ path"));
        assert!(read("rules: {scopes: api}").is_ok_and(|rules| rules.texts().len() == 1));
        assert!(read("rules:").is_ok_and(|rules| rules.is_empty()));
    }

    #[test]
    fn the_manual_names_every_key() {
        let manual = include_str!("../../docs/rules.md");
        for key in crate::config::keys::of("rules.*") {
            assert!(manual.contains(&format!("| `{key}` |")), "{key} is not in docs/rules.md");
        }
    }

    #[test]
    fn the_rule_in_the_example_is_good() {
        let example = include_str!("../../config/example.yaml");
        let lines = example.lines().skip_while(|line| *line != "# rules:");
        let lines = lines.map_while(|line| line.strip_prefix("# "));
        let rules =
            read(&lines.collect::<Vec<_>>().join("\n")).unwrap_or_else(|why| panic!("{why}"));
        let headers = HeaderMap::new();
        let facts = crate::policy::rules::facts::Facts {
            method: "GET",
            scheme: "https",
            host: "api.example",
            port: 443,
            path: "/",
            query: "url=https://shop.example/",
            headers: &headers,
            client: "",
            tag: "",
        };
        let plan = rules.plan(&facts).expect("it applies");
        assert_eq!(plan.scopes, Some(vec![("shop.example".to_owned(), 2.5)]));
    }

    #[test]
    fn mistakes_are_shown_where_they_stand() {
        let text = "rules:\n  - when: hots == \"a\"\n    scopes: api\n";
        let caret = "2 |   - when: hots == \"a\"\n  |           ^^^^ did you mean `host`?";
        says(text, &["`rules[0].when` there is no `hots`", ":2:11", caret]);
        let text = "rules: [{when: 'path == 1', scopes: a}]";
        says(text, &["compares text with a whole number", ":1:22"]);
        let text = "rules:\n  - scopes: {api: 1, +users: 'path'}\n";
        says(text, &["`rules[0].scopes`", "a number is needed", ":2:31"]);
        let text = "rules:\n  - scopes: [\"+host + hots\"]\n";
        says(text, &["there is no `hots`", ":2:23"]);
        says(
            "rules: [{scopes: a, consumed: {cost: 'spent'}}]",
            &["`rules[0].consumed`", "`spent`", ":1:39"],
        );
        says("rules: [{scopes: a, when: |\n  host == hots\n}]", &["`rules[0].when`"]);
    }

    #[test]
    fn what_is_no_rule_is_said() {
        says("rules: api", &["is a list of sections"]);
        says("rules: [api]", &["`rules[0]`"]);
        says("rules: [{whn: 'true', scopes: a}]", &["unknown key `rules[0].whn`", "`when`"]);
        says("rules: [{scopes: [[a]]}]", &["a list in a list"]);
        says("rules: [{scopes: a, consumed: cost}]", &["`{cost: 2.5}`"]);
        says("rules: [{scopes: a, preset: strictly}]", &["must be one of"]);
        says(
            "rules: [{scopes: a, classify: overlaoded}]",
            &["rate_limited, overloaded, soft, served"],
        );
        let two = "rules: [{when: hots}, {when: hots2, cost: x}]";
        says(two, &["rules[0].when", "rules[1].when", "rules[1].cost"]);
        let loaded =
            combine("rules: [{when: 'true'}]", Sources::default()).expect("only a warning");
        assert!(loaded.warnings.to_string().contains("nothing of them"));
    }
}
