//! Claims about the meter, made through its door: events in, text out.

use crate::clock::{Clock, Hand, Tick};
use crate::judge::verdict::Class;
use crate::metrics::given::Spread;
use crate::metrics::labels::{Final, Flow, Phase, Reason, RequestOutcome, Source, Waits};
use crate::metrics::meter::{Meter, RequestEnd};
use crate::metrics::text::{Evictions, Gauges};
use crate::metrics::total::Slowest;
use crate::pace::rules::PaceRules;
use crate::pace::scope::{Host, Scope};
use http::StatusCode;
use std::time::Duration;

struct Book {
    meter: Meter,
    clock: Clock,
    hand: Hand,
}

fn book(limit: usize) -> Book {
    let (clock, hand) = Clock::by_hand();
    Book { meter: Meter::new(limit, &PaceRules::default().ladder), clock, hand }
}

impl Book {
    fn now(&self) -> Tick {
        self.clock.now()
    }

    fn text(&self) -> String {
        self.meter.text(self.now(), Gauges::default)
    }

    fn page(&self, name: &str) {
        self.meter.attempt(&host(name), Class::Served);
        self.meter.request_ended(&end(Some(&host(name))));
    }

    #[track_caller]
    fn check(&self, series: &str, want: Option<&str>) {
        let text = self.text();
        let line = |line: &str| line.strip_prefix(series)?.strip_prefix(' ').map(str::to_owned);
        assert_eq!(text.lines().find_map(line).as_deref(), want, "{series}\n{text}");
    }
}

fn host(name: &str) -> Host {
    Host::parse(name).unwrap()
}

fn end(host: Option<&Host>) -> RequestEnd<'_> {
    RequestEnd {
        host,
        outcome: RequestOutcome::Served,
        code: Some(StatusCode::OK),
        source: Source::Origin,
        took: Duration::from_millis(40),
        attempts: 1,
        waits: &[],
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn waits(parts: &[(Reason, u64)]) -> Waits {
    let mut waits = Waits::default();
    parts.iter().for_each(|(reason, seconds)| waits[*reason as usize] = secs(*seconds));
    waits
}

#[test]
fn waiting_grows_while_a_request_is_held_and_goes_to_the_reasons_it_waited_for() {
    let book = book(10);
    let pace = "pacegate_host_wait_seconds_total{host=\"a.test\",reason=\"pace\"}";
    let pause = "pacegate_host_wait_seconds_total{host=\"a.test\",reason=\"pause\"}";
    let mark = book.meter.hold_began(&host("a.test"));
    let while_held = |parts: &[(Reason, u64)]| {
        let waiting = vec![(host("a.test"), waits(parts))];
        book.meter.text(book.now(), || Gauges { waiting, ..Gauges::default() });
    };
    while_held(&[(Reason::Pace, 2)]);
    book.check(pace, Some("2"));
    book.check("pacegate_host_held_requests{host=\"a.test\"}", Some("1"));
    while_held(&[(Reason::Pace, 2), (Reason::Pause, 3)]);
    book.check(pace, Some("2"));
    book.check(pause, Some("3"));
    book.meter.hold_ended(mark, &waits(&[(Reason::Pace, 2), (Reason::Pause, 4)]));
    book.check(pause, Some("4"));
    book.check("pacegate_host_held_requests{host=\"a.test\"}", Some("0"));
    drop(book.meter.hold_began(&host("a.test")));
    book.check(pause, Some("4"));
    book.check("pacegate_host_held_requests{host=\"a.test\"}", Some("0"));
}

#[test]
fn a_quarter_of_the_labels_is_kept_for_hosts_with_a_row_and_the_rest_is_other() {
    let book = book(4);
    for name in ["a.test", "b.test", "c.test", "d.test"] {
        book.page(name);
    }
    let served =
        |name: &str| format!("pacegate_requests_total{{host=\"{name}\",outcome=\"served\"}}");
    book.check(&served("c.test"), Some("1"));
    book.check(&served("d.test"), None);
    book.check(&served("_other"), Some("1"));
    book.check("pacegate_host_label_overflow_total", Some("1"));
    book.meter.rung(&host("d.test"), 0, 1, secs(2), Class::RateLimited);
    book.page("d.test");
    book.check(&served("d.test"), Some("1"));
    book.meter.rung(&host("e.test"), 0, 1, secs(2), Class::RateLimited);
    book.check("pacegate_host_rung{host=\"e.test\"}", None);
    book.check("pacegate_host_rung{host=\"_other\"}", None);
    let climb =
        "pacegate_rung_changes_total{class=\"rate_limited\",direction=\"up\",host=\"_other\"}";
    book.check(climb, Some("1"));
}

#[test]
fn a_host_idle_for_an_hour_frees_its_label_and_takes_its_series_along() {
    let book = book(1);
    let series = "pacegate_attempts_total{class=\"served\",host=\"a.test\"}";
    book.page("a.test");
    book.check(series, Some("1"));
    book.hand.advance(secs(3599));
    book.check(series, Some("1"));
    book.page("a.test");
    book.hand.advance(secs(3599));
    book.check(series, Some("2"));
    book.hand.advance(secs(3600));
    book.check(series, None);
    book.page("b.test");
    book.check("pacegate_attempts_total{class=\"served\",host=\"b.test\"}", Some("1"));
}

#[test]
fn a_host_with_a_row_or_a_held_request_keeps_its_label() {
    let book = book(2);
    book.meter.rung(&host("row.test"), 2, 3, secs(15), Class::Overloaded);
    let mark = book.meter.hold_began(&host("held.test"));
    book.text();
    book.hand.advance(secs(9000));
    book.check("pacegate_host_rung{host=\"row.test\"}", Some("3"));
    book.check("pacegate_host_delay_seconds{host=\"row.test\"}", Some("15"));
    book.check("pacegate_host_held_requests{host=\"held.test\"}", Some("1"));
    book.meter.hold_ended(mark, &waits(&[(Reason::Pause, 1)]));
    book.meter.row_gone(&host("row.test"));
    book.check("pacegate_host_rung{host=\"row.test\"}", Some("0"));
    book.check("pacegate_host_delay_seconds{host=\"row.test\"}", Some("0"));
    book.hand.advance(secs(3600));
    book.check("pacegate_host_rung{host=\"row.test\"}", None);
}

#[test]
fn a_host_that_is_called_other_does_not_take_over_the_shared_series() {
    let book = book(10);
    book.page("_other");
    book.text();
    book.hand.advance(secs(9000));
    book.text();
    book.page("_other");
    book.check("pacegate_attempts_total{class=\"served\",host=\"_other\"}", Some("2"));
}

#[test]
fn a_request_is_in_flight_until_its_mark_is_dropped() {
    let book = book(10);
    let mark = book.meter.request_began();
    book.check("pacegate_requests_in_flight", Some("1"));
    drop(mark);
    book.check("pacegate_requests_in_flight", Some("0"));
}

#[test]
fn a_wait_is_observed_once_per_reason_on_the_values_of_the_ladder() {
    let book = book(10);
    let waits = [(Reason::Pace, secs(15)), (Reason::Pause, Duration::ZERO)];
    book.meter.request_ended(&RequestEnd { waits: &waits, ..end(None) });
    book.check("pacegate_wait_seconds_bucket{reason=\"pace\",le=\"5\"}", Some("0"));
    book.check("pacegate_wait_seconds_bucket{reason=\"pace\",le=\"15\"}", Some("1"));
    book.check("pacegate_wait_seconds_count{reason=\"pause\"}", Some("0"));
    book.check("pacegate_requests_total{host=\"_none\",outcome=\"served\"}", Some("1"));
}

#[test]
fn totals_of_other_rooms_are_shown_as_they_are_and_never_fall() {
    let book = book(10);
    let gauges = Gauges {
        grants: 7,
        rows_by_rung: vec![0, 2],
        evictions: Evictions { idle: 3, ..Evictions::default() },
        lateness: Spread {
            bounds: vec![Duration::from_micros(100), Duration::from_millis(5)],
            counts: vec![4, 2, 1],
            sum: Duration::from_millis(250),
        },
        ..Gauges::default()
    };
    let text = book.meter.text(book.now(), || gauges);
    assert!(text.contains("pacegate_grants_total 7\n"), "{text}");
    assert!(text.contains("pacegate_hosts{rung=\"1\"} 2\n"), "{text}");
    assert!(text.contains("pacegate_evictions_total{reason=\"idle\"} 3\n"), "{text}");
    for line in [
        "bucket{le=\"0.0001\"} 4",
        "bucket{le=\"0.005\"} 6",
        "bucket{le=\"+Inf\"} 7",
        "sum 0.25",
        "count 7",
    ] {
        assert!(text.contains(&format!("pacegate_start_error_seconds_{line}\n")), "{line}\n{text}");
    }
    book.check("pacegate_grants_total", Some("7"));
}

#[test]
fn totals_name_the_host_that_was_waited_for_longest() {
    let book = book(10);
    let (slow, quick) = (host("slow.test"), host("quick.test"));
    let mark = book.meter.hold_began(&slow);
    let other = book.meter.hold_began(&quick);
    book.meter.hold_ended(other, &waits(&[(Reason::Pace, 4)]));
    book.meter.hold_ended(mark, &waits(&[(Reason::Pace, 4), (Reason::Pause, 5)]));
    book.meter.rung(&slow, 1, 2, secs(5), Class::RateLimited);
    book.meter.rung(&slow, 2, 1, secs(2), Class::Served);
    book.meter.retry(&slow, Class::RateLimited);
    let waits = [(Reason::Pace, secs(4)), (Reason::Pause, secs(5))];
    book.meter.request_ended(&RequestEnd { waits: &waits, ..end(Some(&slow)) });
    let totals = book.meter.totals();
    assert_eq!((totals.requests, totals.answered, totals.repeated), (1, 1, 1));
    assert!(totals.waits.contains(&(Reason::Pause, secs(5))));
    let want = Slowest {
        host: "slow.test".to_owned(),
        rung: 2,
        top: 5,
        cause: Some((Class::RateLimited, 1)),
        longest_wait: secs(9),
    };
    assert_eq!(totals.slowest, Some(want));
}

#[test]
fn known_words_are_shown_as_nothing_from_the_start() {
    let book = book(10);
    for series in [
        "pacegate_client_gone_total{phase=\"held\"}",
        "pacegate_early_answers_total{kind=\"line_full\"}",
        "pacegate_hints_total{header=\"retry-after\",result=\"epoch\"}",
        "pacegate_client_tls_failures_total{reason=\"unknown_ca\"}",
        "pacegate_client_tunnels_total{mode=\"opaque\"}",
        "pacegate_transferred_bytes_total{direction=\"sent\",final=\"false\"}",
        "pacegate_wait_seconds_count{reason=\"quota\"}",
        "pacegate_hosts{rung=\"5\"}",
    ] {
        book.check(series, Some("0"));
    }
}

#[test]
fn every_family_of_the_table_is_written_once_something_of_it_has_happened() {
    let book = book(10);
    let (a, meter) = (host("a.test"), &book.meter);
    book.page("a.test");
    meter.retry(&a, Class::Reset);
    meter.window_exhausted(&a, Class::Reset);
    meter.rung(&a, 0, 1, secs(2), Class::Reset);
    meter.client_gone(Phase::Held, secs(5));
    meter.transferred(Flow::Received, Final::Yes, 9);
    let _mark = meter.hold_began(&a);
    let wall = book.clock.wall();
    let waiting = vec![(a.clone(), waits(&[(Reason::Pace, 1)]))];
    let gauges = Gauges { ca_expiry: Some(wall), waiting, ..Gauges::default() };
    let text = meter.text(book.now(), || gauges);
    for (name, kind, _, help) in Meter::table() {
        assert!(text.contains(&format!("# TYPE {name} {kind}\n")), "{name} is missing\n{text}");
        assert!(text.contains(&format!("# HELP {name} {help}\n")), "{name} has another help");
    }
    let ours = text.lines().filter(|line| line.starts_with("# TYPE pacegate_")).count();
    assert_eq!(ours, Meter::table().len());
    lint(&text);
}

/// Where there is a `promtool`, it has nothing to say.
fn lint(text: &str) {
    let piped = || std::process::Stdio::piped();
    let mut command = std::process::Command::new("promtool");
    command.args(["check", "metrics"]).stdin(piped()).stdout(piped()).stderr(piped());
    let Ok(mut child) = command.spawn() else { return };
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    let said = child.wait_with_output().unwrap();
    assert!(said.status.success() && said.stderr.is_empty(), "{said:?}");
}

#[test]
fn the_rules_that_are_shipped_name_metrics_that_exist() {
    let rules = include_str!("../../config/prometheus/rules.yml");
    let known: Vec<String> = Meter::table().into_iter().map(|row| row.0).collect();
    let words = rules.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
    let named: Vec<&str> = words
        .filter(|word| word.starts_with("pacegate_"))
        .map(|word| word.strip_suffix("_bucket").unwrap_or(word))
        .collect();
    assert!(named.len() > 10);
    let missing: Vec<_> = named.iter().filter(|name| !known.iter().any(|k| k == *name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_rung_that_time_alone_brings_down_is_shown_as_it_is() {
    let book = book(10);
    let shop = host("shop.test");
    book.meter.rung(&shop, 0, 2, secs(2), Class::RateLimited);
    let shown = |paces: Vec<(Scope, u8, Duration)>| {
        let gauges = || Gauges { paces: Some(paces), ..Gauges::default() };
        let text = book.meter.text(book.now(), gauges);
        let value = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).expect(name);
            line.rsplit(' ').next().expect("a value").to_owned()
        };
        [value("pacegate_host_rung{"), value("pacegate_host_delay_seconds{")]
    };
    let own = Scope::of(&shop);
    assert_eq!(shown(vec![(own.clone(), 2, secs(2))]), ["2", "2"]);
    let domain = Scope::named("test.example").unwrap();
    book.meter.follow(&shop, &domain);
    assert_eq!(shown(vec![(own.clone(), 2, secs(2)), (domain, 1, secs(1))]), ["1", "1"]);
    book.meter.follow(&shop, &own);
    assert_eq!(shown(Vec::new()), ["0", "0"]);
    assert_eq!(shown(vec![(own, 1, secs(1))]), ["0", "0"], "a new row is told by its lesson");
}
