//! `verdicts`: what is changed in the table of verdicts, class by class.
//!
//! This file must not know the table: which class can do what is `judge`'s.

use crate::config::keys::{SAME_SECTION, nearest};
use crate::config::mistake::Mistake;
use crate::config::node::{Entry, Node};
use crate::config::section::{Report, Section};
use crate::config::value::{Read, list, short, text, word, wrong};
use crate::judge::amend::{Amendments, Change, changeable, stand_in};
use crate::judge::verdict::{Class, PaceMove, Repeat};

/// Reads the section.
pub(in crate::config) fn read(top: &Section<'_>, report: &mut Report) -> Amendments {
    let mut amendments = Amendments::default();
    let mut taken: Vec<(u16, u16, Class)> = Vec::new();
    for entry in top.named("verdicts", report) {
        let Some(class) = Class::ALL.into_iter().find(|class| class.word() == entry.key) else {
            report.mistakes.push(no_class(entry));
            continue;
        };
        let section = Section::class(entry, report);
        let mut codes = Vec::new();
        let parse = |node: &Node| matched(node, class, &taken);
        section.read("match", &mut codes, parse, report);
        for (first, last) in codes {
            taken.push((first, last, class));
            amendments.take_for(first, last, class);
        }
        let mut change = Change::default();
        let parse = |node: &Node| pace(node, class).map(Some);
        section.read("pace", &mut change.pace, parse, report);
        let parse = |node: &Node| repeat(node, class).map(Some);
        section.read("repeat", &mut change.repeat, parse, report);
        amendments.change(class, change);
    }
    amendments
}

fn no_class(entry: &Entry) -> Mistake {
    let names = || Class::ALL.iter().map(|class| class.word());
    let hint = match nearest(&entry.key, names(), SAME_SECTION) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("classes: {}", names().collect::<Vec<_>>().join(", ")),
    };
    Mistake::error(
        format!("`verdicts` has no class `{}`", short(&entry.key)),
        &entry.key_place,
        hint,
    )
}

fn matched(node: &Node, class: Class, taken: &[(u16, u16, Class)]) -> Read<Vec<(u16, u16)>> {
    if stand_in(class).is_none() {
        let hint = "statuses can be `rate_limited` (a wait they name is obeyed), `overloaded`, `soft` \
                    or `served`";
        return wrong(node, format!("can't be: no status is `{}`", class.word()), hint);
    }
    list(node, |node| {
        let (first, last) = codes(node)?;
        match taken.iter().find(|(from, to, _)| *from <= last && first <= *to) {
            Some((_, _, other)) => {
                let why = format!("has statuses that `{}` has too", other.word());
                wrong(node, why, "each status is of one class")
            }
            None => Ok((first, last)),
        }
    })
}

/// `429`, `5xx`, `500-504`.
pub(in crate::config) fn codes(node: &Node) -> Read<(u16, u16)> {
    let text = text(node)?;
    let (first, last) = match (text.strip_suffix("xx"), text.split_once('-')) {
        (Some(hundreds), _) => (format!("{hundreds}00"), format!("{hundreds}99")),
        (None, Some((first, last))) => (first.trim().to_owned(), last.trim().to_owned()),
        (None, None) => (text.to_owned(), text.to_owned()),
    };
    let code = |text: &str| match (text.len(), text.parse::<u16>()) {
        (3, Ok(code)) if (LEAST..=MOST).contains(&code) => Some(code),
        (_, Ok(_) | Err(_)) => None,
    };
    match (code(&first), code(&last)) {
        (Some(first), Some(last)) if first <= last => Ok((first, last)),
        (_, _) => {
            let hint = "write it like `429`, `5xx` or `500-504`, from 200 to 999";
            wrong(node, format!("has no final status in `{}`", short(text)), hint)
        }
    }
}

fn pace(node: &Node, class: Class) -> Read<PaceMove> {
    let moves = [("climb", PaceMove::Climb), ("nothing", PaceMove::Nothing)];
    match changeable(class) {
        (true, _) => word(node, &moves),
        (false, _) => wrong(node, UNCHANGEABLE, "take it out"),
    }
}

fn repeat(node: &Node, class: Class) -> Read<Repeat> {
    match changeable(class) {
        (_, true) => word(node, &[("window", Repeat::InWindow), ("off", Repeat::No)]),
        (_, false) => wrong(node, UNCHANGEABLE, "take it out"),
    }
}

const UNCHANGEABLE: &str = "can't be changed for this class";
/// What is below is no final answer.
const LEAST: u16 = 200;
const MOST: u16 = 999;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load::{Sources, combine};
    use http::StatusCode;

    fn read(text: &str) -> Result<Amendments, String> {
        let loaded = combine(text, Sources::default());
        loaded.map(|loaded| loaded.config.verdicts).map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn statuses_and_classes_are_read() {
        let text = "verdicts:\n  rate_limited: {match: [403, 999]}\n  served: {match: 52x-9}\n";
        assert!(read(text).is_err());
        let text = "verdicts:\n  rate_limited: {match: [403, 990-999]}\n  overloaded: {pace: nothing, \
                    repeat: off}\n  refused: {repeat: window}\n  served: {match: 501}\n";
        let amendments = read(text).unwrap();
        let meant = |code| amendments.meant(StatusCode::from_u16(code).unwrap()).as_u16();
        assert_eq!([403, 995, 501, 429, 404].map(meant), [429, 429, 200, 429, 404]);
        let pace = |class| amendments.pace(class, PaceMove::Climb);
        assert_eq!(pace(Class::Overloaded), PaceMove::Nothing);
        assert_eq!(pace(Class::Reset), PaceMove::Climb);
        assert_eq!(amendments.repeat(Class::Overloaded, Repeat::InWindow), Repeat::No);
        assert_eq!(amendments.repeat(Class::Refused, Repeat::No), Repeat::InWindow);
    }

    #[track_caller]
    fn says(section: &str, words: &str) {
        let report = read(&format!("verdicts: {{{section}}}")).expect_err("a mistake");
        assert!(report.contains(words) && report.contains(":1:"), "{report}");
    }

    #[test]
    fn what_can_not_be_is_said_with_its_place() {
        says("rate_limted: {match: 403}", "did you mean `rate_limited`?");
        says("reset: {match: 403}", "no status is `reset`");
        says("explicit_wait: {match: 403}", "a wait they name is obeyed");
        says("served: {match: 101}", "from 200 to 999");
        says("served: {match: 504-500}", "like `429`, `5xx`");
        says("served: {match: 4xx}, soft: {match: 404}", "`served` has too");
        says("served: {pace: climb}", "can't be changed");
        says("abandoned: {repeat: window}", "can't be changed");
        says("overloaded: {pace: step_down}", "must be one of `climb`, `nothing`");
        says("overloaded: {answer: 502}", "not built yet");
        says("overloaded: {answer: 502}", "there are match, pace, repeat");
    }
}
