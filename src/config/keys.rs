//! Every key there is, by section, and the nearest to one there is not.

use crate::config::mistake::{Mistake, Place};

/// Sections and their keys; the first is the top level. `scopes` has hosts and
/// `verdicts` classes for keys, `*` stands for one.
pub const SECTIONS: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "listen",
            "admin",
            "certs",
            "state_file",
            "preset",
            "clients",
            "control_headers",
            "patience",
            "response_headers",
            "via",
            "proxy_name",
            "resolve",
            "pace",
            "backoff",
            "retry",
            "retry_after",
            "verdicts",
            "tunnel",
            "scopes",
            "robots",
            "rules",
            "limits",
            "warn",
            "tls",
            "destinations",
            "shutdown",
            "metrics",
            "log",
        ],
    ),
    ("admin", &["listen", "public", "token_file"]),
    ("clients", &["allow", "idle", "unread", "connections", "weights"]),
    (
        "pace",
        &[
            "law",
            "ladder",
            "climb",
            "drain",
            "scope",
            "learn",
            "idle",
            "concurrency",
            "min_concurrency",
            "delay",
            "slot_delay",
            "jitter",
            "target_rpm",
            "quota",
            "per",
        ],
    ),
    ("backoff", BACKOFF),
    (
        "retry",
        &[
            "window",
            "window_max",
            "window_close",
            "response_timeout",
            "connect_timeout",
            "idle_timeout",
            "abandoned_after",
            "page_faults",
            "max_attempts",
            "min_attempt",
            "unsafe",
        ],
    ),
    ("retry_after", &["max", "preemptive", "profiles"]),
    ("verdicts.*", &["match", "pace", "repeat"]),
    ("tunnel", &["hold", "idle", "deny_ports"]),
    (
        "scopes.*",
        &[
            "concurrency",
            "min_concurrency",
            "delay",
            "slot_delay",
            "jitter",
            "target_rpm",
            "quota",
            "per",
            "law",
            "ladder",
            "climb",
            "drain",
            "backoff",
            "ignore_robots",
        ],
    ),
    ("robots", &["delay", "max_delay"]),
    ("scopes.*.backoff", BACKOFF),
    (
        "rules.*",
        &["name", "when", "scopes", "cost", "preset", "track", "classify", "consumed", "remaining"],
    ),
    (
        "limits",
        &[
            "held",
            "held_per_scope",
            "held_per_client",
            "attempts",
            "scopes",
            "replay_body",
            "replay_total",
            "kept_total",
            "response_buffer",
            "response_total",
            "header_bytes",
            "header_fields",
        ],
    ),
    ("warn", &["held"]),
    ("tls", &["intercept", "passthrough", "roots", "insecure", "key_log"]),
    ("destinations", &["deny", "allow"]),
    ("shutdown", &["grace"]),
    ("metrics", &["host_limit"]),
    ("log", &["level", "format"]),
];

const BACKOFF: &[&str] =
    &["statuses", "errors", "factor", "min", "max", "jitter", "quiet", "rampup"];

/// Keys of features that are planned and not built. They are errors, for a setting that does nothing
/// is worse than none.
const LATER: &[&str] = &[
    "verdicts.*.answer",
    "accounts",
    "routes",
    "robots.obey",
    "cache",
    "heartbeat",
    "limits.response_body",
    "scopes.*.idle",
];

/// The keys of a section; none of a name that is no section.
pub fn of(section: &str) -> &'static [&'static str] {
    SECTIONS.iter().find(|(name, _)| *name == section).map_or(&[], |(_, keys)| keys)
}

/// Paths of all values (not sections), for names of environment variables.
pub fn paths() -> impl Iterator<Item = String> {
    let sections = SECTIONS.iter().filter(|(section, _)| !section.contains('*'));
    let paths = sections.flat_map(|(section, keys)| keys.iter().map(|key| join(section, key)));
    paths.filter(|path| of(path).is_empty())
}

/// `section.key`, or the key alone at the top.
pub fn join(section: &str, key: &str) -> String {
    match section {
        "" => key.to_owned(),
        section => format!("{section}.{key}"),
    }
}

/// What to say of a key that `section` does not have. `path` is the section's as it is written.
pub fn unknown(section: &str, path: &str, key: &str, place: &Place) -> Mistake {
    let written = join(path, key);
    if LATER.contains(&join(section, key).as_str()) {
        let message = format!("`{written}` is not built yet in this version");
        let hint = match section {
            "verdicts.*" => format!("take it out; there are {}", of(section).join(", ")),
            _ => "take it out".to_owned(),
        };
        return Mistake::error(message, place, hint);
    }
    Mistake::error(format!("unknown key `{written}`"), place, advice(section, key))
}

fn advice(section: &str, key: &str) -> String {
    let elsewhere = SECTIONS.iter().filter(|(name, _)| *name != section && !name.contains('*'));
    let mut homes = elsewhere.clone().filter(|(_, keys)| keys.contains(&key));
    if let Some((home, _)) = homes.next() {
        let others: Vec<_> = homes.map(|(home, _)| under(home)).collect();
        let homes = [vec![under(home)], others].concat().join(" or ");
        return format!("`{key}` belongs {homes}");
    }
    if let Some((first, rest)) = key.split_once('.').filter(|(first, _)| !of(first).is_empty()) {
        return format!("write `{rest}` {}", under(first));
    }
    if let Some(near) = nearest(key, of(section).iter().copied(), SAME_SECTION) {
        return format!("did you mean `{near}`?");
    }
    let near = elsewhere.filter_map(|(home, keys)| {
        nearest(key, keys.iter().copied(), OTHER_SECTION).map(|near| (home, near))
    });
    match near.max_by(|a, b| likeness(key, a.1).total_cmp(&likeness(key, b.1))) {
        Some((home, near)) => format!("did you mean `{near}` {}?", under(home)),
        None => format!("known here: {}", of(section).join(", ")),
    }
}

fn under(section: &str) -> String {
    match section {
        "" => "at the top level".to_owned(),
        section => format!("under `{section}:`"),
    }
}

/// The name most like `word`, if any is at least so like.
pub fn nearest<'a>(
    word: &str,
    names: impl Iterator<Item = &'a str>,
    least: f64,
) -> Option<&'a str> {
    let scored = names.map(|name| (likeness(word, name), name));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= least).then_some(best.1)
}

fn likeness(word: &str, name: &str) -> f64 {
    let word: String = word.chars().take(LONGEST_WORD).collect();
    strsim::jaro_winkler(&word.to_lowercase().replace('-', "_"), name)
}

/// How like a name must be to be named (Jaro-Winkler): seen to offer `window` for `windw`, and nothing
/// for `banana`.
pub const SAME_SECTION: f64 = 0.8;
const OTHER_SECTION: f64 = 0.9;
/// Comparing is quadratic.
const LONGEST_WORD: usize = 64;
