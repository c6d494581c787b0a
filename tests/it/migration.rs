//! The migration page names everything of the framework that people come from, and no key that isn't
//! there; and what `import-scrapy` prints is accepted by `check`.

use crate::world::folder::Folder;
use crate::world::proxy::pacegate;

const PAGE: &str = include_str!("../../docs/migration.md");
const EXAMPLE: &str = include_str!("../../config/example.yaml");

/// Every setting, meta key and component that the framework's page on throttling names.
const NAMES: [&str; 40] = [
    "AUTOTHROTTLE_DEBUG",
    "AUTOTHROTTLE_ENABLED",
    "AUTOTHROTTLE_MAX_DELAY",
    "AUTOTHROTTLE_START_DELAY",
    "AUTOTHROTTLE_TARGET_CONCURRENCY",
    "BACKOFF_DELAY_FACTOR",
    "BACKOFF_EXCEPTIONS",
    "BACKOFF_HTTP_CODES",
    "BACKOFF_JITTER",
    "BACKOFF_MAX_DELAY",
    "BACKOFF_MIN_DELAY",
    "BACKOFF_WINDOW",
    "CONCURRENT_REQUESTS",
    "CONCURRENT_REQUESTS_PER_DOMAIN",
    "DELAYED_REQUESTS_WARN_THRESHOLD",
    "DOWNLOAD_DELAY",
    "DOWNLOAD_DELAY_PER_SLOT",
    "RAMPUP_BACKOFF_TARGET",
    "RANDOMIZE_DOWNLOAD_DELAY",
    "ROBOTSTXT_OBEY",
    "TARGET_RPM",
    "THROTTLING_DEBUG",
    "THROTTLING_MANAGER",
    "THROTTLING_ROBOTSTXT_MAX_DELAY",
    "THROTTLING_ROBOTSTXT_OBEY",
    "THROTTLING_SCOPES",
    "THROTTLING_SCOPE_MANAGER",
    "THROTTLING_SCOPE_MAX_IDLE",
    "THROTTLING_WINDOW",
    "throttling_scopes",
    "throttling_delay",
    "throttling_dont_track",
    "autothrottle_dont_adjust_delay",
    "get_scopes",
    "get_response_backoff",
    "reconcile_quota",
    "scope_cache",
    "add_scope",
    "update_scope_backoff",
    "FixedWindowScopeManager",
];

/// Keys of one scope.
const SCOPE_KEYS: [&str; 17] = [
    "concurrency",
    "min_concurrency",
    "delay",
    "jitter",
    "quota",
    "window",
    "rampup",
    "backoff_target",
    "delay_factor",
    "min_delay",
    "backoff",
    "http_codes",
    "exceptions",
    "max_delay",
    "manager",
    "ignore_robots_txt",
    "jitter",
];

/// A name in the first column of some row.
fn has_row(name: &str) -> bool {
    let mut rows = PAGE.lines().filter(|line| line.starts_with("| `"));
    rows.any(|row| row.split('|').nth(1).is_some_and(|cell| cell.contains(name)))
}

#[test]
fn every_name_of_the_framework_has_a_row() {
    for name in NAMES {
        assert!(has_row(name), "{name} has no row");
    }
    for key in SCOPE_KEYS {
        assert!(PAGE.contains(&format!("`\"{key}\"`")), "the scopes' {key} is not named");
    }
}

#[test]
fn every_key_that_the_page_names_is_in_the_example() {
    let example: serde_yaml::Value = serde_yaml::from_str(EXAMPLE).expect("the example is YAML");
    let words = PAGE.split('`').skip(1).step_by(2);
    let mut found = 0;
    for word in words {
        let Some((section, key)) = word.split_once('.') else { continue };
        let named = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let key = key.split(':').next().unwrap_or_default();
        if !named(section) || !named(key) || FILES.contains(&key) {
            continue;
        }
        found += 1;
        let there = example.get(section).is_some_and(|section| section.get(key).is_some());
        assert!(there || NOT_YET.contains(&section), "`{word}` is no key");
    }
    assert!(found > 30, "{found} keys are too few: is the page read right?");
}

/// `name.FILES` are files; keys below `NOT_YET` come with the room that reads robots.txt.
const FILES: [&str; 2] = ["py", "yaml"];
const NOT_YET: [&str; 1] = ["robots"];

#[test]
fn what_is_printed_of_settings_is_accepted_and_files_that_are_none_are_said() {
    let folder = Folder::new();
    let settings = folder.write(
        "settings.py",
        "CONCURRENT_REQUESTS_PER_DOMAIN = 2\nDOWNLOAD_DELAY = 0.3\n\
         THROTTLING_SCOPES = {'api.example': {'quota': 500.0, 'window': 30}}\n\
         THROTTLING_MANAGER = 'my.Manager'\n",
    );
    let printed = pacegate(&folder).arg("import-scrapy").arg(settings).output();
    let printed = printed.expect("the binary starts");
    assert!(printed.status.success() && printed.stderr.is_empty());
    let text = String::from_utf8(printed.stdout).expect("text");
    assert!(text.contains("delay: 0.3s") && text.contains("quota: 500"), "{text}");
    assert!(text.contains("#   THROTTLING_MANAGER (line 4): "), "{text}");
    let file = folder.write("made.yaml", &text);
    let checked = pacegate(&folder).arg("check").arg(file).output().expect("the binary starts");
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success() && said.ends_with("made.yaml: good\n"), "{said}");
    let none = pacegate(&folder).args(["import-scrapy", "no.py"]).output();
    let none = none.expect("the binary starts");
    let said = String::from_utf8_lossy(&none.stderr);
    assert!(none.stdout.is_empty() && said.contains("no.py can't be read"), "{said}");
    assert_eq!(none.status.code(), Some(1));
}
