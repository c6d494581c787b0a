//! `retry_after`: how far a site's wait is obeyed, and what the fields of some hosts mean.
//!
//! This file must not know how a wait is read: the units are `judge`'s.

use crate::config::address;
use crate::config::node::{Entry, Node, Scalar, Value};
use crate::config::section::{Report, Section};
use crate::config::settings::Config;
use crate::config::value::{Read, Wrong, boolean, duration, short, word, wrong};
use crate::judge::hints::moment::Unit;
use crate::judge::hints::profile::{Profile, Profiles};
use http::HeaderName;

/// Reads the section.
pub(in crate::config) fn read(top: &Section<'_>, config: &mut Config, report: &mut Report) {
    let section = top.below("retry_after", report);
    section.read("max", &mut config.retry.retry_after_max, duration, report);
    section.read("preemptive", &mut config.retry.preemptive, boolean, report);
    section.read("profiles", &mut config.profiles, profiles, report);
}

fn profiles(node: &Node) -> Read<Profiles> {
    let mut profiles = Profiles::default();
    let mut wrongs = Vec::new();
    for entry in entries(node, "is a map of hosts, or endings like `*.example`, to their fields")? {
        let name = |why: String, hint: &str| Wrong {
            why,
            hint: hint.to_owned(),
            place: entry.key_place.clone(),
        };
        match (address::pattern(&entry.key), profile(&entry.node)) {
            (Ok(pattern), Ok(profile)) => profiles.add(&pattern, profile),
            (Err(hint), _) => {
                wrongs.push(name(format!("has no host in `{}`", short(&entry.key)), &hint));
            }
            (_, Err(more)) => wrongs.extend(more),
        }
    }
    if wrongs.is_empty() { Ok(profiles) } else { Err(wrongs) }
}

/// What a field says.
#[derive(Clone, Copy)]
enum Said {
    When(Unit),
    Left,
}

fn profile(node: &Node) -> Read<Profile> {
    let mut words: Vec<_> =
        Unit::NAMED.iter().map(|unit| (unit.word(), Said::When(*unit))).collect();
    words.push((LEFT, Said::Left));
    let (mut profile, mut wrongs) = (Profile::default(), Vec::new());
    for Entry { key, key_place, node } in entries(node, "is a map of fields to their units")? {
        let Ok(name) = HeaderName::try_from(key) else {
            let why = format!("has no name of a field in `{}`", short(key));
            wrongs.push(Wrong { why, hint: String::new(), place: key_place.clone() });
            continue;
        };
        match word(node, &words) {
            Ok(Said::When(unit)) => profile.waits.push((name, unit)),
            Ok(Said::Left) => profile.left.push(name),
            Err(more) => wrongs.extend(more),
        }
    }
    if wrongs.is_empty() { Ok(profile) } else { Err(wrongs) }
}

fn entries<'a>(node: &'a Node, why: &str) -> Read<&'a [Entry]> {
    match &node.value {
        Value::Map(entries) => Ok(entries),
        Value::Scalar { kind: Scalar::Null, .. } => Ok(&[]),
        Value::Scalar { .. } | Value::List(_) => {
            wrong(node, why, "write it like `{api.example: {X-Reset: seconds}}`")
        }
    }
}

/// The word for a field that says how much is left.
const LEFT: &str = "remaining";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load::{Sources, combine};

    fn read(text: &str) -> Result<Config, String> {
        let loaded = combine(text, Sources::default());
        loaded.map(|loaded| loaded.config).map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn profiles_are_read() {
        let config = read(
            "retry_after:\n  preemptive: true\n  profiles:\n    api.example: {X-Left: remaining, \
             X-Reset: epoch_ms}\n    '*.Shop.example': {Retry-After-Ms: milliseconds}\n    \
             plain.example:\n",
        );
        let config = config.unwrap();
        assert!(config.retry.preemptive);
        let profile = |host| config.profiles.of(host);
        let name = HeaderName::from_static;
        let api = Profile {
            waits: vec![(name("x-reset"), Unit::EpochMilliseconds)],
            left: vec![name("x-left")],
        };
        assert_eq!(profile("api.example"), Some(&api));
        let shop = profile("a.shop.example").expect("it is below");
        assert_eq!(shop.waits, [(name("retry-after-ms"), Unit::Milliseconds)]);
        assert_eq!(profile("plain.example"), Some(&Profile::default()));
        assert_eq!(profile("other.example"), None);
    }

    #[track_caller]
    fn says(profiles: &str, words: &str) {
        let report =
            read(&format!("retry_after: {{profiles: {profiles}}}")).expect_err("a mistake");
        assert!(report.contains(words) && report.contains(":1:"), "{report}");
    }

    #[test]
    fn what_can_not_be_is_said_with_its_place() {
        says("{api.example: {X-Reset: second}}", "did you mean `seconds`?");
        says("{api.example: {'X Reset': seconds}}", "no name of a field in `X Reset`");
        says("{api.example: seconds}", "is a map of fields");
        says("{'http://api.example': {X-Reset: seconds}}", "no host in `http://api.example`");
        says("{'a.*.example': {X-Reset: seconds}}", "no host in `a.*.example`");
        says("[api.example]", "is a map of hosts");
    }
}
