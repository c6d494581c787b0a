//! What may be said of the pace of hosts, what it means, and what is said of mistakes.

use crate::config::load::{Loaded, Sources, combine};
use crate::config::settings::Config;
use crate::judge::verdict::Class;
use crate::pace::backoff::{Backoff, Rampup};
use crate::pace::jitter::{Factor, Jitter};
use crate::pace::quota::Cost;
use crate::pace::rules::{Law, PaceRules};
use crate::pace::scope::Scope;
use std::path::PathBuf;
use std::time::Duration;

fn load(text: &str) -> Result<Loaded, String> {
    let file = Some(PathBuf::from("pace.yaml"));
    combine(text, Sources { file, ..Sources::default() }).map_err(|mistakes| mistakes.to_string())
}

#[track_caller]
fn good(text: &str) -> Config {
    load(text).unwrap_or_else(|why| panic!("{why}")).config
}

#[track_caller]
fn shop(text: &str) -> PaceRules {
    good(text).scopes[&Scope::named("shop.example").unwrap()].clone()
}

/// Said with its line, as an error or a warning.
#[track_caller]
fn says(text: &str, words: &str) {
    let report = match load(text) {
        Ok(loaded) => loaded.warnings.to_string(),
        Err(mistakes) => mistakes,
    };
    assert!(report.contains(words) && report.contains("pace.yaml:1:"), "{text}: {report}");
}

fn secs(secs: f64) -> Duration {
    Duration::from_secs_f64(secs)
}

#[test]
fn every_throttle_is_read_and_a_host_has_what_it_does_not_name_from_all() {
    let text = "pace: {concurrency: 4, min_concurrency: 2, delay: 300ms, slot_delay: 1s, jitter: true, \
                quota: 100, per: 1h, law: backoff}\n\
                scopes: {shop.example: {concurrency: 2, quota: 2.5, jitter: [-0.1, 0.3]}, \
                other.example: {delay: 0s, slot_delay: none, quota: none, law: fixed}}\n";
    let config = good(text);
    let jitter = |low, high| Jitter::new(low, high).unwrap();
    let quota = |rules: &PaceRules| rules.quota.map(|quota| (quota.amount.amount(), quota.per));
    let hour = Duration::from_secs(3600);
    assert_eq!((config.pace.concurrency, config.pace.min_concurrency), (Some(4), 2));
    assert_eq!((config.pace.delay, config.pace.slot_delay), (secs(0.3), Some(secs(1.0))));
    assert_eq!((config.pace.jitter, quota(&config.pace)), (jitter(-0.5, 0.5), Some((100.0, hour))));
    let own = shop(text);
    assert_eq!((own.law, own.concurrency, own.delay), (Law::Backoff, Some(2), secs(0.3)));
    assert_eq!((own.jitter, quota(&own)), (jitter(-0.1, 0.3), Some((2.5, hour))));
    let other = &config.scopes[&Scope::named("other.example").unwrap()];
    assert_eq!((other.law, other.delay, other.slot_delay), (Law::Fixed, Duration::ZERO, None));
    assert_eq!((other.quota, other.concurrency), (None, Some(4)));
}

#[test]
fn requests_a_minute_are_a_delay_and_the_slower_of_both_counts() {
    assert_eq!(good("pace: {target_rpm: 30}").pace.delay, secs(2.0));
    assert_eq!(good("pace: {target_rpm: 0.5}").pace.delay, secs(120.0));
    assert_eq!(good("pace: {target_rpm: none, delay: 1s}").pace.delay, secs(1.0));
    assert_eq!(good("pace: {target_rpm: 30, delay: 1s}").pace.delay, secs(2.0));
    assert_eq!(good("pace: {target_rpm: 120, delay: 1s}").pace.delay, secs(1.0));
    let inherited = "pace: {delay: 3s}\nscopes: {shop.example: {target_rpm: 60}}\n";
    assert_eq!(shop(inherited).delay, secs(1.0));
    let words = "`pace.target_rpm` is slower than `pace.delay`, and counts";
    says("pace: {target_rpm: 30, delay: 1s}", words);
}

#[test]
fn backing_off_is_read_for_all_and_for_one_host() {
    let text = "pace: {law: backoff}\n\
                backoff: {statuses: [429, 5xx], errors: refused, factor: 1.5, min: 2s, max: 1m, \
                jitter: 0, quiet: 90s, rampup: true}\n\
                scopes: {shop.example: {backoff: {statuses: 503, factor: 1.2, jitter: [0.01, 0.33], \
                rampup: {target: [1, 3], factor: 0.25, min_delay: 50ms}}}}\n";
    let config = good(text);
    let all = Backoff {
        statuses: vec![(429, 429), (500, 599)],
        errors: vec![Class::Refused],
        factor: Factor::new(1.5).unwrap(),
        min: secs(2.0),
        max: secs(60.0),
        jitter: Jitter::NONE,
        quiet: secs(90.0),
        rampup: Some(Rampup::default()),
    };
    assert_eq!(config.pace.backoff, all);
    let rampup =
        Rampup { target: (1, 3), factor: Factor::new(0.25).unwrap(), min_delay: secs(0.05) };
    let own = Backoff {
        statuses: vec![(503, 503)],
        factor: Factor::new(1.2).unwrap(),
        jitter: Jitter::new(0.01, 0.33).unwrap(),
        rampup: Some(rampup),
        ..all
    };
    assert_eq!(shop(text).backoff, own);
    let one = "scopes: {shop.example: {law: backoff, backoff: {rampup: {target: 2}}}}";
    assert_eq!(shop(one).backoff.rampup, Some(Rampup { target: (2, 2), ..Rampup::default() }));
    assert_eq!(shop(one).backoff.statuses, Backoff::default().statuses);
}

#[test]
fn a_flag_reaches_what_one_host_has_of_its_own() {
    let flag = |path: &str, value: &str| (path.to_owned(), value.to_owned());
    let flags = vec![
        flag("scopes.shop.example.law", "backoff"),
        flag("scopes.shop.example.backoff.min", "3s"),
        flag("scopes.shop.example.quota", "1.5"),
    ];
    let config = combine("", Sources { flags, ..Sources::default() }).expect("good").config;
    let own = &config.scopes[&Scope::named("shop.example").unwrap()];
    assert_eq!((own.law, own.backoff.min), (Law::Backoff, secs(3.0)));
    assert_eq!(
        own.quota.map(|quota| (quota.amount, quota.per)),
        Some((Cost::new(1.5).unwrap(), secs(60.0)))
    );
}

#[test]
fn what_can_not_be_is_said_with_its_place() {
    says("pace: {law: backof}", "did you mean `backoff`?");
    says("pace: {jitter: lots}", "write it like `0.2`");
    says("pace: {jitter: [low, high]}", "write it like `0.2`");
    says("pace: {jitter: 1.5}", "is no jitter");
    says("pace: {jitter: [0.3, 0.1]}", "is no jitter");
    says("pace: {jitter: [0.1, 0.2, 0.3]}", "write it like `0.2`");
    says("pace: {quota: 0}", "a number above 0");
    says("pace: {quota: -1}", "a number above 0");
    says("pace: {quota: .nan}", "must be a number");
    says("pace: {per: 0s}", "longer than nothing");
    says("pace: {target_rpm: 0}", "must be between");
    says("pace: {target_rpm: many}", "must be a number, not `many`");
    says("pace: {slot_delay: fast}", "is no duration");
    says("pace: {concurrency: 2, min_concurrency: 3}", "is more than `pace.concurrency` (2)");
    says("backoff: {factor: 1}", "must be between 1.01 and 1000");
    says("backoff: {min: 2m, max: 1m}", "`backoff.min` is longer than `backoff.max`");
    says("backoff: {errors: [reset, time_out]}", "must be one of `connect_timeout`");
    says("backoff: {statuses: [42]}", "no final status");
    says("backoff: {quiet: 1ms}", "at least 10ms");
    says("backoff: {rampup: {target: [3, 1]}}", "is no target");
    says("backoff: {rampup: {factor: 1.5}}", "must be between 0.01 and 0.99");
    says("backoff: {rampup: {goal: 1}}", "has no key `goal`");
    says("backoff: {rampup: often}", "must be `true` or `false`");
    says("backoff: {window: 60s}", "unknown key `backoff.window`");
    says("scopes: {shop.example: {backoff: {facto: 2}}}", "did you mean `factor`?");
}

#[test]
fn what_does_nothing_is_said_with_its_place() {
    says("pace: {slot_delay: 1s}", "`pace.slot_delay` has no effect without `concurrency`");
    says("pace: {min_concurrency: 2}", "no effect without `law: backoff`");
    says("backoff: {factor: 3}", "no effect where nothing has `law: backoff`");
    let one = "scopes: {shop.example: {backoff: {min: 3s}}}";
    says(one, "`scopes.shop.example.backoff` has no effect without `law: backoff`");
    says("pace: {law: backoff, delay: 10m}", "longer than `backoff.max`");
}
