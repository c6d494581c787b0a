//! `robots`, and what scopes say to it.
//!
//! This file must not know what a robots.txt is.

use crate::config::section::{Report, Section};
use crate::config::settings::Config;
use crate::config::value::{boolean, duration, word};
use crate::flow::settings::{Own, RobotsDelay};
use crate::pace::rules::PaceRules;

/// Reads the section.
pub(in crate::config) fn read(top: &Section<'_>, config: &mut Config, report: &mut Report) {
    let section = top.below("robots", report);
    let ways = [
        ("passive", RobotsDelay::Passive),
        ("fetch", RobotsDelay::Fetch),
        ("off", RobotsDelay::Off),
    ];
    section.read("delay", &mut config.robots.delay, |node| word(node, &ways), report);
    section.read("max_delay", &mut config.robots.max_delay, duration, report);
}

/// What a scope says itself, whatever `pace` says.
pub(in crate::config) fn said(
    section: &Section<'_>,
    rules: &PaceRules,
    report: &mut Report,
) -> Own {
    let mut own = Own::default();
    section.read("ignore_robots", &mut own.ignores, boolean, report);
    let given = |key: &str| report.given(&format!("{}.{key}", section.path())).is_some();
    own.delay = (given("delay") || given("target_rpm")).then_some(rules.delay);
    own.concurrency = rules.concurrency.filter(|_| given("concurrency"));
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load::{Sources, combine};
    use std::time::Duration;

    #[test]
    fn what_a_scope_says_itself_is_told_from_what_it_inherits() {
        let text = "robots: {delay: fetch, max_delay: 5s}\npace: {delay: 9s, concurrency: 7}\n\
                    scopes:\n  a.test: {delay: 2s}\n  b.test: {concurrency: 3}\n  \
                    c.test: {target_rpm: 60, ignore_robots: true}\n  d.test: {jitter: 0.1}\n";
        let loaded = combine(text, Sources::default());
        let robots = loaded.map_err(|mistakes| mistakes.to_string()).unwrap().config.robots;
        assert_eq!((robots.delay, robots.max_delay), (RobotsDelay::Fetch, Duration::from_secs(5)));
        let own = |name: &str| {
            let own = robots.scopes.iter().find(|(scope, _)| scope.as_str() == name).unwrap().1;
            (own.delay.map(|delay| delay.as_secs()), own.concurrency, own.ignores)
        };
        assert_eq!(own("a.test"), (Some(2), None, false));
        assert_eq!(own("b.test"), (None, Some(3), false));
        assert_eq!(own("c.test"), (Some(1), None, true));
        assert_eq!(own("d.test"), (None, None, false));
        let off = combine("robots: {delay: false}\n", Sources::default());
        assert_eq!(off.unwrap().config.robots.delay, RobotsDelay::Off);
    }
}
