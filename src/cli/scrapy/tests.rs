//! Settings as people write them, and what they come to.

use crate::cli::scrapy::import::Import;
use crate::cli::scrapy::literal::Literal;
use crate::cli::scrapy::python::read;
use crate::config::load::{Loaded, Sources, combine};
use crate::pace::rules::{Law, PaceRules};
use crate::pace::scope::Scope;
use proptest::prelude::*;
use std::time::Duration;

fn imported(settings: &str) -> String {
    Import::of(&read(settings)).text("settings.py")
}

/// What the printed configuration comes to; it has no mistake, whatever it was made of.
#[track_caller]
fn loaded(settings: &str) -> Loaded {
    let text = imported(settings);
    combine(&text, Sources::default()).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

fn of(loaded: &Loaded, host: &str) -> PaceRules {
    loaded.config.scopes[&Scope::named(host).unwrap()].clone()
}

fn value(text: &str) -> Literal {
    let reading = read(&format!("X = {text}\nY = 1\n"));
    assert!(reading.get("Y").is_some(), "the next line is read: {reading:?}");
    reading.get("X").map(|found| found.value.clone()).expect("X is set")
}

fn text(text: &str) -> Literal {
    Literal::Text(text.to_owned())
}

fn number(number: f64) -> Literal {
    Literal::Number(number)
}

#[test]
fn literals_are_read_as_python_reads_them() {
    assert_eq!(value("None"), Literal::None);
    assert_eq!(value("True  # on"), Literal::Bool(true));
    for (written, want) in
        [("8", 8.0), ("-0.5", -0.5), ("1_000", 1000.0), ("2e3", 2000.0), (".5", 0.5)]
    {
        assert_eq!(value(written), number(want), "{written}");
    }
    assert_eq!(value("0x10"), number(16.0));
    assert_eq!(value(r#""a\"b" 'c'"#), text("a\"bc"));
    assert_eq!(value("'''two\nlines'''"), text("two\nlines"));
    assert_eq!(value(r"r'a\d'"), text(r"a\d"));
    assert_eq!(value("(1)"), number(1.0));
    assert_eq!(value("(1,)"), Literal::List(vec![number(1.0)]));
    assert_eq!(value("()"), Literal::List(vec![]));
    assert_eq!(value("{1, 2}"), Literal::List(vec![number(1.0), number(2.0)]));
    let nested = value("{\n  'a': [1, # one\n    2,],\n  'b': {},\n}");
    let list = Literal::List(vec![number(1.0), number(2.0)]);
    assert_eq!(nested, Literal::Map(vec![(text("a"), list), (text("b"), Literal::Map(vec![]))]));
    assert_eq!(value("[1,\n\n 2] \\\n"), Literal::List(vec![number(1.0), number(2.0)]));
}

#[test]
fn what_only_python_can_say_is_kept_as_its_text() {
    for code in
        ["60 * 10", "os.environ['X']", "f'{a}'", "int(\"8\")", "[x for x in y]", "{**BASE, 'a': 1}"]
    {
        match value(code) {
            Literal::Code(kept) => assert_eq!(kept, code),
            Literal::List(items) => assert_eq!(items, [Literal::Code("x for x in y".to_owned())]),
            other @ (Literal::None
            | Literal::Bool(_)
            | Literal::Number(_)
            | Literal::Text(_)
            | Literal::Map(_)) => panic!("{code} is read as {other:?}"),
        }
    }
    let mixed = value("{'manager': MyManager, 'delay': 2}");
    let manager = (text("manager"), Literal::Code("MyManager".to_owned()));
    assert_eq!(mixed, Literal::Map(vec![manager, (text("delay"), number(2.0))]));
}

#[test]
fn blocks_imports_and_docstrings_are_passed_over_and_the_last_assignment_counts() {
    let reading = read(
        "\"\"\"Settings.\n\nDOWNLOAD_DELAY = 9\n\"\"\"\nimport os; A = 1\nfrom x import (\n  Y,\n)\n\
         if os.environ:\n    DOWNLOAD_DELAY = 3\nDOWNLOAD_DELAY: float = 1\nDOWNLOAD_DELAY = 2\n\
         THROTTLING_SCOPES = {}\nTHROTTLING_SCOPES['a'] = 1\nCONCURRENT_REQUESTS += 2\nB == 3",
    );
    let found = reading.get("DOWNLOAD_DELAY").expect("it is set");
    assert_eq!((&found.value, found.line), (&number(2.0), 12));
    assert_eq!(reading.get("A").map(|found| found.line), Some(5));
    let changed: Vec<_> =
        reading.changed.iter().map(|(name, line)| (name.as_str(), *line)).collect();
    let want = [("DOWNLOAD_DELAY", 10), ("THROTTLING_SCOPES", 14), ("CONCURRENT_REQUESTS", 15)];
    assert_eq!(changed, want);
    assert!(reading.get("B").is_none());
}

proptest! {
    #[test]
    fn no_text_stops_the_reader_and_what_is_printed_is_a_configuration(
        file in "([A-Z_]{1,4}|DOWNLOAD_DELAY|BACKOFF_JITTER|[=\\[\\](){}:,#'\"\\\\\n 0-9.e-]|é){0,60}",
    ) {
        let text = imported(&file);
        prop_assert!(combine(&text, Sources::default()).is_ok(), "{text}");
    }
}

#[test]
fn every_setting_that_has_a_key_here_is_that_key() {
    let loaded = loaded(
        "CONCURRENT_REQUESTS = 32\nCONCURRENT_REQUESTS_PER_DOMAIN = 2\nDOWNLOAD_DELAY = 0.3\n\
         DOWNLOAD_DELAY_PER_SLOT = 1.0\nRANDOMIZE_DOWNLOAD_DELAY = [-0.1, 0.3]\nTHROTTLING_WINDOW = 30\n\
         BACKOFF_HTTP_CODES = [429, 503]\nBACKOFF_EXCEPTIONS = ['builtins.IOError', TimeoutError]\n\
         BACKOFF_DELAY_FACTOR = 1.2\nBACKOFF_MIN_DELAY = 5\nBACKOFF_MAX_DELAY = 180\n\
         BACKOFF_JITTER = 0.2\nBACKOFF_WINDOW = 20\nTHROTTLING_SCOPE_MAX_IDLE = 60\n\
         DELAYED_REQUESTS_WARN_THRESHOLD = 7\nTHROTTLING_DEBUG = True\n",
    );
    let (config, pace) = (&loaded.config, &loaded.config.pace);
    assert_eq!(
        (config.limits.attempts, pace.concurrency, pace.law),
        (Some(32), Some(2), Law::Backoff)
    );
    assert_eq!(pace.delay, Duration::from_millis(300));
    assert_eq!(pace.slot_delay, Some(Duration::from_secs(1)));
    let text = format!("{:?} {:?}", pace.jitter, pace.backoff);
    for part in
        ["low: -100000, high: 300000", "[(429, 429), (503, 503)]", "Factor(1200000)", "min: 5s"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    for part in [
        "ConnectTimeout, Reset, Refused, Unreachable, ResponseTimeout",
        "low: -200000",
        "quiet: 20s",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!((pace.backoff.max, pace.idle), (Duration::from_secs(180), Duration::from_secs(60)));
    assert_eq!(config.warn_held, 7);
    assert!(format!("{:?}", config.log).contains("Debug"));
    assert!(loaded.warnings.is_empty(), "{}", loaded.warnings);
}

#[test]
fn scopes_come_with_all_their_keys() {
    let settings = "RAMPUP_BACKOFF_TARGET = 2\nTHROTTLING_WINDOW = 30.0\nTHROTTLING_SCOPES = {\n\
         'quotes.toscrape.com': {'concurrency': 16, 'delay': 0.0, 'jitter': 0.2, 'min_concurrency': 3},\n\
         'api.toscrape.com': {'quota': 500.0, 'rampup': True, 'manager': 'my.Manager'},\n\
         'b.example': {'quota': 2, 'window': 90, 'rampup': {'backoff_target': [1, 3],\n\
            'delay_factor': 0.4, 'min_delay': 0.05}},\n\
         'example.com': {'backoff': {'http_codes': [429, 503], 'exceptions': ['builtins.IOError'],\n\
            'delay_factor': 1.2, 'max_delay': 180.0, 'min_delay': 5.0, 'jitter': [0.01, 0.33]}},\n}\n";
    let loaded = loaded(settings);
    let quotes = of(&loaded, "quotes.toscrape.com");
    assert_eq!(
        (quotes.concurrency, quotes.min_concurrency, quotes.delay),
        (Some(16), 3, Duration::ZERO)
    );
    let api = of(&loaded, "api.toscrape.com");
    let rampup = |rules: &PaceRules| rules.backoff.rampup.map(|rampup| rampup.target);
    assert_eq!(rampup(&api), Some((2, 2)));
    assert_eq!(api.quota.map(|quota| quota.per), Some(Duration::from_secs(30)));
    let other = of(&loaded, "b.example");
    assert_eq!(other.quota.map(|quota| quota.per), Some(Duration::from_secs(90)));
    let text = format!("{:?}", other.backoff.rampup);
    assert_eq!(rampup(&other), Some((1, 3)));
    assert!(text.contains("Factor(400000)") && text.contains("min_delay: 50ms"), "{text}");
    let own = format!("{:?}", of(&loaded, "example.com").backoff);
    for part in ["(503, 503)", "Refused", "Factor(1200000)", "max: 180s", "min: 5s", "high: 330000"]
    {
        assert!(own.contains(part), "{part}: {own}");
    }
    assert!(imported(settings).contains("#   scope api.toscrape.com, manager: it is code"));
}

#[test]
fn the_older_extension_is_what_its_documentation_says_and_nothing_if_it_is_off() {
    let on = "AUTOTHROTTLE_ENABLED = True\nAUTOTHROTTLE_START_DELAY = 5\nAUTOTHROTTLE_MAX_DELAY = 60\n\
              AUTOTHROTTLE_TARGET_CONCURRENCY = 2.0\nAUTOTHROTTLE_DEBUG = True\n";
    let pace = loaded(on).config.pace;
    assert_eq!((pace.delay, pace.backoff.max), (Duration::from_secs(5), Duration::from_secs(60)));
    assert!(pace.backoff.rampup.is_some());
    let off = loaded(&on.replace("ENABLED = True", "ENABLED = False")).config.pace;
    assert_eq!((off.delay, off.backoff.rampup), (Duration::ZERO, None));
    assert_eq!(off.backoff.max, Duration::from_secs(300));
}

#[test]
fn what_has_no_place_is_said_with_its_line_and_why() {
    let text = imported(
        "BOT_NAME = 'shop'\nDOWNLOAD_DELAY = 60 * 10\nTHROTTLING_MANAGER = 'my.Manager'\nRETRY_TIMES = 5\n\
         BACKOFF_EXCEPTIONS = [MyError]\nBACKOFF_DELAY_FACTOR = 0.5\nDOWNLOAD_TIMEOUT = 30\n\
         TARGET_RPM = 30\nCONCURRENT_REQUESTS += 1\n",
    );
    for part in [
        "#   DOWNLOAD_DELAY (line 2): `60 * 10` is not a number that stands there\n",
        "#   THROTTLING_MANAGER (line 3): it is code",
        "#   RETRY_TIMES (line 4): ",
        "#   BACKOFF_EXCEPTIONS (line 5): the exception `MyError` is none of a download's\n",
        "#   BACKOFF_DELAY_FACTOR (line 6): `backoff.factor` must be between",
        "#   CONCURRENT_REQUESTS (line 9): changed",
        "#   DOWNLOAD_TIMEOUT = 660: longer than `retry.window` (it is 30); or `retry: {window: 20s}`",
        "#   RETRY_ENABLED = False: ",
        "  target_rpm: 30  # TARGET_RPM\n",
        "# About something else, and not looked at: BOT_NAME\n",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let patient = imported("DOWNLOAD_TIMEOUT = 700\nRETRY_ENABLED = False\n");
    assert!(
        !patient.contains("DOWNLOAD_TIMEOUT") && !patient.contains("RETRY_ENABLED"),
        "{patient}"
    );
}

#[test]
fn values_that_only_go_together_are_taken_together_and_others_are_left_out() {
    let pace = loaded("BACKOFF_MAX_DELAY = 0.5\nBACKOFF_MIN_DELAY = 0.2\n").config.pace;
    assert_eq!(pace.backoff.max, Duration::from_millis(500));
    let scope = "THROTTLING_SCOPES = {'a.example': {'min_concurrency': 20, 'concurrency': 30}}\n";
    assert_eq!(of(&loaded(scope), "a.example").min_concurrency, 20);
    let text = imported("BACKOFF_MAX_DELAY = 350\nBACKOFF_MIN_DELAY = 400\n");
    assert!(
        text.contains("max: 350s") && text.contains("#   BACKOFF_MIN_DELAY (line 2): "),
        "{text}"
    );
}
