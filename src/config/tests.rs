//! Configurations seen through the door: what they mean, and what is said of their mistakes.

use crate::config::load::{Loaded, Sources, combine, load};
use crate::config::mistake::Mistakes;
use crate::config::settings::{Config, LogLevel};
use crate::config::{keys, node, raw};
use crate::flow::settings::{ControlHeaders, Preset};
use crate::net::settings::{Override, Roots};
use crate::pace::jitter::Jitter;
use crate::pace::rules::Law;
use crate::pace::scope::{Host, Scope};
use proptest::prelude::*;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLE: &str = include_str!("../../config/example.yaml");
const MINIMAL: &str = include_str!("../../config/minimal.yaml");

fn sources(env: &[(&str, &str)], flags: &[(&str, &str)]) -> Sources {
    let own = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    Sources { file: Some(PathBuf::from("pace.yaml")), env: own(env), flags: own(flags) }
}

#[track_caller]
fn good(text: &str) -> Config {
    with(text, &[], &[])
}

#[track_caller]
fn with(text: &str, env: &[(&str, &str)], flags: &[(&str, &str)]) -> Config {
    combine(text, sources(env, flags)).unwrap_or_else(|why| panic!("{why}")).config
}

fn bad(text: &str) -> Mistakes {
    combine(text, sources(&[], &[])).expect_err("there is a mistake in it")
}

/// The whole report of a configuration.
#[track_caller]
fn check(text: &str, want: &str) {
    let report = match combine(text, sources(&[], &[])) {
        Ok(Loaded { warnings, .. }) => warnings.to_string(),
        Err(mistakes) => mistakes.to_string(),
    };
    assert_eq!(report.trim_end(), want.trim(), "\n{report}");
}

#[test]
fn the_example_is_the_defaults_and_has_every_key() {
    let default = format!("{:?}", Config::default());
    assert_eq!(format!("{:?}", good(EXAMPLE)), default);
    assert_eq!(format!("{:?}", good("")), default);
    let node::Value::Map(top) = raw::read(EXAMPLE).node.unwrap().value else { panic!() };
    for path in keys::paths() {
        let mut entries = &top;
        for key in path.split('.') {
            let entry = entries.iter().find(|entry| entry.key == key);
            let entry = entry.unwrap_or_else(|| panic!("{path} is not in the example"));
            if let node::Value::Map(below) = &entry.node.value {
                entries = below;
            }
        }
    }
}

#[test]
fn an_empty_file_is_as_good_as_none() {
    for text in ["", "\n", "# nothing\n", "---\n", "\u{feff}", "~", "retry:\n", "{}"] {
        assert_eq!(format!("{:?}", good(text)), format!("{:?}", Config::default()), "{text:?}");
    }
}

#[test]
fn the_minimal_file_paces_one_host() {
    let config = good(MINIMAL);
    let shop = &config.scopes[&Scope::named("shop.example").unwrap()];
    assert_eq!((shop.concurrency, shop.delay), (Some(2), Duration::from_secs(1)));
    assert_eq!(shop.ladder, config.pace.ladder);
}

#[test]
fn scopes_are_hosts_in_any_script_or_spelling_and_names_of_ones_own() {
    let config =
        good("scopes: {größe.Example: {delay: 1s}, 'A.example:80': {delay: 2s}, API/v1: {}}");
    for name in ["xn--gre-6ka8i.example", "a.example:80", "API/v1"] {
        assert!(config.scopes.contains_key(&Scope::named(name).unwrap()), "{name}");
    }
}

#[test]
fn values_can_be_written_as_people_write_them() {
    let config = good(
        "listen: [localhost:4000, '[::1]:4000', 4001]\nadmin: {listen: off}\ncontrol_headers: false\n\
         retry: {window: 1h30m, page_faults: none, response_timeout: 1.5s, abandoned_after: 0}\n\
         pace: {ladder: [0, 0.5, 2s], concurrency: 4}\n\
         limits: {replay_body: 1MiB, response_buffer: 10000}\n\
         tls: {intercept: no, passthrough: '*.Bücher.example', roots: /etc/roots.pem}\n\
         resolve: {shop.test: '127.0.0.1:8081', '*.x': 1}\n"
            .replace(", '*.x': 1", "")
            .as_str(),
    );
    assert_eq!(config.listen[1].to_string(), "[::1]:4000");
    assert_eq!(config.listen[2].to_string(), "127.0.0.1:4001");
    assert_eq!(config.admin.listen, None);
    assert_eq!(config.control_headers, ControlHeaders::Off);
    assert_eq!(config.retry.window, Duration::from_secs(5400));
    assert_eq!(config.retry.page_faults, None);
    assert_eq!(config.retry.response_timeout, Duration::from_millis(1500));
    assert_eq!(config.pace.ladder.pace(1), Duration::from_millis(500));
    assert_eq!(config.pace.concurrency, Some(4));
    assert_eq!((config.buffers.replay_body, config.buffers.response), (1 << 20, 10_000));
    assert!(!config.intercept.enabled);
    assert_eq!(config.intercept.passthrough, ["*.xn--bcher-kva.example"]);
    assert_eq!(config.reach.roots, Roots::File("/etc/roots.pem".into()));
    let to = config.reach.resolve.names[&Host::parse("shop.test").unwrap()];
    assert_eq!(to, Override { address: [127, 0, 0, 1].into(), port: Some(8081) });
}

#[test]
fn flags_win_over_the_environment_which_wins_over_the_file() {
    let file = "retry: {window: 1m, idle_timeout: 7s}\n";
    let env = [("PACEGATE_RETRY__WINDOW", "2m"), ("PACEGATE_LOG__LEVEL", "debug"), ("HOME", "/")];
    let config = with(file, &env, &[("retry.window", "3m"), ("scopes.a.example.delay", "2s")]);
    assert_eq!(config.retry.window, Duration::from_secs(180));
    assert_eq!(config.reach.idle_timeout, Duration::from_secs(7));
    assert_eq!(config.log.level, LogLevel::Debug);
    assert_eq!(config.scopes[&Scope::named("a.example").unwrap()].delay, Duration::from_secs(2));
    assert_eq!(with(file, &env, &[]).retry.window, Duration::from_secs(120));
    let env =
        [("PACEGATE_LISTEN", "[::1]:5000"), ("PACEGATE_CERTS", "/data"), ("PACEGATE_QUIET", "1")];
    let config = with("", &env, &[]);
    assert_eq!(config.listen[0].to_string(), "[::1]:5000");
    assert_eq!(config.certs, Some("/data".into()));
    let config = with("", &[("PACEGATE_PACE__LADDER", "[0s, 9s]")], &[]);
    assert_eq!(config.pace.ladder.pace(1), Duration::from_secs(9));
}

#[test]
fn a_preset_brings_its_times_and_the_file_has_the_last_word() {
    let config = good("preset: interactive\nretry: {response_timeout: 20s}\n");
    assert_eq!(config.preset, Preset::Interactive);
    assert_eq!(config.retry.window, Duration::from_secs(45));
    assert_eq!(config.retry.response_timeout, Duration::from_secs(20));
    assert_eq!(good("preset: archive").retry.window, Duration::from_secs(3600));
    let pace = good("preset: scrapy\npace: {concurrency: 2}").pace;
    assert_eq!((pace.law, pace.concurrency), (Law::Backoff, Some(2)));
    assert_eq!(
        (pace.delay, pace.jitter),
        (Duration::from_secs(1), Jitter::new(-0.5, 0.5).unwrap())
    );
    let weights = good("clients: {weights: {nightly: 3, 'a b': 100}}").weights;
    assert_eq!(weights.get("nightly").map(|weight| weight.get()), Some(3));
    for wrong in ["{nightly: 0}", "{nightly: 101}", "{nightly: heavy}", "[nightly]"] {
        bad(&format!("clients: {{weights: {wrong}}}"));
    }
}

#[test]
fn private_addresses_are_refused_when_other_machines_can_ask() {
    let open = "listen: 0.0.0.0:3128\nclients: {allow: private}\n";
    assert!(good(open).reach.destinations.deny_private);
    assert!(!good("").reach.destinations.deny_private);
    assert!(good("destinations: {deny: true}").reach.destinations.deny_private);
    assert!(!good(&format!("{open}destinations: {{deny: false}}")).reach.destinations.deny_private);
}

#[test]
fn all_mistakes_are_reported_at_once_with_their_lines_and_what_to_do() {
    check(
        "listen: ':3128'\nwindow: 5m\nretry:\n  windw: 5m\n  idle_timeout: 30\n  unsafe: allways\nbanana: 1\n\
         robots: {obey: true}\n",
        "\
error: `listen` is no address and port: `:3128`
  --> pace.yaml:1:9
1 | listen: ':3128'
  |         ^^^^^^^ did you mean `127.0.0.1:3128`? (`0.0.0.0:3128` is for every machine that gets here)
error: unknown key `window`
  --> pace.yaml:2:1
2 | window: 5m
  | ^^^^^^ `window` belongs under `retry:`
error: unknown key `retry.windw`
  --> pace.yaml:4:3
4 |   windw: 5m
  |   ^^^^^ did you mean `window`?
error: `retry.idle_timeout` needs a unit: `30` what?
  --> pace.yaml:5:17
5 |   idle_timeout: 30
  |                 ^^ did you mean `30s`?
error: `retry.unsafe` must be one of `never`, `always`, not `allways`
  --> pace.yaml:6:11
6 |   unsafe: allways
  |           ^^^^^^^ did you mean `always`?
error: unknown key `banana`
  --> pace.yaml:7:1
7 | banana: 1
  | ^^^^^^ known here: listen, admin, certs, state_file, preset, clients, control_headers, patience, \
  response_headers, via, proxy_name, resolve, pace, backoff, retry, retry_after, verdicts, tunnel, scopes, robots, \
  rules, limits, warn, tls, destinations, shutdown, metrics, log
error: `robots.obey` is not built yet in this version
  --> pace.yaml:8:10
8 | robots: {obey: true}
  |          ^^^^ take it out",
    );
}

#[test]
fn settings_that_contradict_each_other_are_warnings() {
    check(
        "retry: {window: 30s, response_timeout: 40s}\nadmin: {listen: '0.0.0.0:3129'}\n",
        "\
warning: `retry.window` (30s) is shorter than the top of `pace.ladder` (60s)
  --> pace.yaml:1:17
1 | retry: {window: 30s, response_timeout: 40s}
  |                 ^^^ a request on the top rung gets one attempt or none
warning: `retry.response_timeout` (40s) is longer than `retry.window` (30s)
  --> pace.yaml:1:40
1 | retry: {window: 30s, response_timeout: 40s}
  |                                        ^^^ an attempt that times out is never repeated
warning: `admin.listen` is open to other machines (0.0.0.0:3129), and `admin.public` shows them nothing
  --> pace.yaml:2:17
2 | admin: {listen: '0.0.0.0:3129'}
  |                 ^^^^^^^^^^^^^^ add `public: [metrics, health]`, or listen on 127.0.0.1",
    );
}

#[test]
fn an_open_listener_without_clients_is_refused() {
    check(
        "listen: 0.0.0.0:3128",
        "\
error: `listen` is open to other machines (0.0.0.0:3128), and `clients.allow` doesn't say to which
  --> pace.yaml:1:9
1 | listen: 0.0.0.0:3128
  |         ^^^^^^^^^^^^ add `clients: {allow: private}`, name networks, or listen on 127.0.0.1",
    );
}

#[test]
fn what_yaml_allows_and_nobody_means_is_refused() {
    let twice = bad("log:\n  level: info\nlog: {}\n").to_string();
    assert!(twice.contains("`log` is there twice") && twice.contains("line 1 has it"), "{twice}");
    assert!(bad("retry:\n\twindow: 5m\n").to_string().contains("a tab indents this line"));
    assert!(bad("a: &x [1]\nb: *x\n").to_string().contains("anchors and aliases"));
    assert!(bad("listen: !!str x\n").to_string().contains("tags"));
    assert!(bad("log: {}\n---\nlog: {}\n").to_string().contains("second document"));
    assert!(bad(&"[".repeat(40)).to_string().contains("deeply"));
    for deep in ["[", "{", "- ", "? ", "a: {", "&a [", "\n-"] {
        assert!(bad(&deep.repeat(50_000)).has_errors(), "{deep}");
    }
    assert!(bad(&"- a\n".repeat(200_000)).to_string().contains("more than anybody can mean"));
    assert!(bad("- a\n- b\n").to_string().contains("lines of `key: value`"));
    assert!(bad("log: {}\0").to_string().contains("NUL"));
    // One reader takes them for ends of lines, the other doesn't.
    for end in ['\u{85}', '\u{2028}', '\u{2029}'] {
        let said = bad(&format!("log: {{}}\na: b{end}c: d\n")).to_string();
        assert!(said.contains("line separator") && said.contains(":2:5"), "{said}");
    }
    assert!(bad("retry: {window: [").has_errors());
    assert!(bad("retry: 5m\n").to_string().contains("`retry` is a section"));
    assert!(bad("? [a]\n: b\n").to_string().contains("a key must be a word"));
    assert!(bad("<<: {log: {}}\n").to_string().contains("unknown key"));
}

#[test]
fn a_wrong_value_says_what_would_be_right() {
    #[track_caller]
    fn says(text: &str, want: &str) {
        let report = bad(text).to_string();
        assert!(report.contains(want), "{want:?} is not in\n{report}");
    }
    says("retry: {window: 10 minutes}", "did you mean `10m`?");
    says("retry: {window: 10x}", "write it like `500ms`");
    says("retry: {window: 0s}", "must be longer than nothing");
    says("retry: {window: 1000d}", "longer than a year");
    says("pace: {ladder: [2s, 5s]}", "rung 0 is `0s`");
    says("pace: {ladder: [0s, 5s, 2s]}", "each slower");
    says("pace: {ladder: []}", "is no ladder");
    says("limits: {replay_body: 64K}", "did you mean `64KiB`?");
    says("limits: {replay_body: 2MiB}", "between 0 and 1MiB");
    says("limits: {held: 0}", "between 1 and");
    says("limits: {held: lots}", "whole number");
    says("pace: {concurency: 2}", "did you mean `concurrency`?");
    says("retry.window: 5m", "write `window` under `retry:`");
    says("clients: {connections: 0}", "`auto` keeps a quarter");
    says("via: true", "`both` signs requests and responses");
    says("via: responces", "did you mean `responses`?");
    says("pace: {scope: hosts}", "must be one of");
    says("tls: {intercept: auto}", "not built yet");
    says("preset: escalate", "must be one of");
    says("scopes: {'*.example': {delay: 1s}}", "without `*`");
    says("scopes: {'https://shop.example': {delay: 1s}}", "without scheme");
    says("scopes: {'a shop': {delay: 1s}}", "no spaces");
    says("scopes: {shop.example: {idle: 1h}}", "not built yet");
    says("clients: {allow: lan}", "`10.0.0.0/8` or `private`");
    says("resolve: {shop.test: shop2.test}", "127.0.0.1:8081");
    says("listen: 127.0.0.1", "did you mean `127.0.0.1:3128`?");
    says("listen: [127.0.0.1:1, 127.0.0.1:1]", "listened on twice");
    says("tunnel: {deny_ports: [0, 70000]}", "between 1 and 65535");
    says("listen:", "names no address");
}

#[test]
fn a_mistake_in_the_environment_names_the_variable() {
    #[track_caller]
    fn says(name: &str, value: &str, want: &str) {
        let report = combine("", sources(&[(name, value)], &[])).unwrap_err().to_string();
        assert!(report.contains(&format!("environment variable {name}")), "{report}");
        assert!(report.contains(want), "{want:?} is not in\n{report}");
    }
    says("PACEGATE_RETRY__WINDOW", "30", "did you mean `30s`?");
    says("PACEGATE_RETRY_WINDOW", "30s", "did you mean `PACEGATE_RETRY__WINDOW`?");
    says("PACEGATE_LISEN", "x", "did you mean `PACEGATE_LISTEN`?");
    says("PACEGATE_RETRY", "x", "like `PACEGATE_RETRY__WINDOW`");
    says("PACEGATE_BANANA", "x", "sets `window` under `retry:`");
}

#[test]
fn what_a_file_says_does_not_steer_the_terminal() {
    let report = bad("\"a\\eb\": 1\n# \u{1b}[31m\nlog: {level: \"\\u001b[2J\"}\n").to_string();
    assert!(!report.contains('\u{1b}'), "{report:?}");
}

#[test]
fn the_report_for_programs_has_the_same_mistakes() {
    let mistakes = bad("retry:\n  windw: 5m\n");
    let json: serde_json::Value = serde_json::from_str(&mistakes.to_json()).unwrap();
    assert_eq!(json[0]["line"], 2);
    assert_eq!(json[0]["column"], 3);
    assert_eq!(json[0]["file"], "pace.yaml");
    assert_eq!(json[0]["hint"], "did you mean `window`?");
}

#[test]
fn a_file_that_cannot_be_read_is_a_sentence() {
    let folder = std::env::temp_dir();
    let says =
        |file: PathBuf| load(Sources { file: Some(file), ..Sources::default() }).unwrap_err();
    assert!(says(folder.clone()).to_string().contains("is a folder"));
    let missing = says(folder.join("pacegate-no-such-file.yaml")).to_string();
    assert!(missing.contains("there is no file") && missing.contains("pacegate init"), "{missing}");
    let odd = folder.join(format!("pacegate-odd-{}.yaml", std::process::id()));
    std::fs::write(&odd, b"a: 1\nb: \xff\n").unwrap();
    assert!(says(odd.clone()).to_string().contains("line 2"));
    std::fs::write(&odd, vec![b'#'; (1 << 20) + 1]).unwrap();
    assert!(says(odd.clone()).to_string().contains("1 MiB"));
    std::fs::remove_file(&odd).unwrap();
}

/// Whatever is read, it ends in a configuration or a report that can be shown.
fn ends_well(text: &str) {
    if let Err(mistakes) = combine(text, sources(&[], &[])) {
        assert!(mistakes.has_errors());
        assert!(!mistakes.to_string().is_empty() && !mistakes.to_json().is_empty());
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC*|[-:{}\\[\\],&*!|>'\"%@`#?\\s\\t\\r\\n a-z0-9\u{0}]{0,200}") {
        ends_well(&text);
    }

    #[test]
    fn no_change_to_the_example_makes_it_panic(
        changes in prop::collection::vec(
            (0..EXAMPLE.len(), 0..20usize, "[-:{}\\[\\],&*'\"|>\\t\\n a-z0-9.]{0,6}"),
            1..6,
        ),
    ) {
        let mut text = EXAMPLE.to_owned();
        for (at, gone, new) in changes {
            let floor = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
            let (start, end) = (floor(at).unwrap(), floor(at + gone).unwrap());
            text.replace_range(start..end.max(start), &new);
        }
        ends_well(&text);
    }

    #[test]
    fn no_value_makes_it_panic(
        path in prop::sample::select(keys::paths().collect::<Vec<_>>()),
        value in "\\PC{0,12}|[0-9a-zA-Z.:/\\[\\]{},]{0,12}",
    ) {
        drop(combine("", sources(&[], &[(&path, &value)])));
    }
}
