//! The settings that are known: those with a key here, and what to say of the others.

use crate::cli::scrapy::kind::Kind;

/// Settings that have a key here.
pub const KEYS: &[(&str, &[&str], Kind)] = &[
    ("CONCURRENT_REQUESTS_PER_DOMAIN", &["pace", "concurrency"], Kind::Number),
    ("DOWNLOAD_DELAY", &["pace", "delay"], Kind::Seconds),
    ("DOWNLOAD_DELAY_PER_SLOT", &["pace", "slot_delay"], Kind::Seconds),
    ("RANDOMIZE_DOWNLOAD_DELAY", &["pace", "jitter"], Kind::Jitter),
    ("TARGET_RPM", &["pace", "target_rpm"], Kind::Number),
    ("THROTTLING_WINDOW", &["pace", "per"], Kind::Seconds),
    ("BACKOFF_HTTP_CODES", &["backoff", "statuses"], Kind::Codes),
    ("BACKOFF_EXCEPTIONS", &["backoff", "errors"], Kind::Errors),
    ("BACKOFF_DELAY_FACTOR", &["backoff", "factor"], Kind::Number),
    ("BACKOFF_MIN_DELAY", &["backoff", "min"], Kind::Seconds),
    ("BACKOFF_MAX_DELAY", &["backoff", "max"], Kind::Seconds),
    ("BACKOFF_JITTER", &["backoff", "jitter"], Kind::Jitter),
    ("BACKOFF_WINDOW", &["backoff", "quiet"], Kind::Seconds),
    ("CONCURRENT_REQUESTS", &["limits", "attempts"], Kind::Number),
    ("DELAYED_REQUESTS_WARN_THRESHOLD", &["warn", "held"], Kind::Number),
];

/// Settings that are read in their own way.
pub const ELSEWHERE: &[&str] = &[
    "THROTTLING_SCOPES",
    "RAMPUP_BACKOFF_TARGET",
    "THROTTLING_SCOPE_MAX_IDLE",
    "THROTTLING_DEBUG",
    "ROBOTSTXT_OBEY",
    "THROTTLING_ROBOTSTXT_OBEY",
    "THROTTLING_ROBOTSTXT_MAX_DELAY",
    "AUTOTHROTTLE_ENABLED",
    "AUTOTHROTTLE_START_DELAY",
    "AUTOTHROTTLE_MAX_DELAY",
    "AUTOTHROTTLE_TARGET_CONCURRENCY",
    "AUTOTHROTTLE_DEBUG",
    "RETRY_ENABLED",
    "DOWNLOAD_TIMEOUT",
];

/// Settings that have none, and what there is instead.
pub const SENTENCES: &[(&str, &str)] = &[
    (
        "THROTTLING_MANAGER",
        "it is code: `rules` say here which requests share a pace, and what an answer means",
    ),
    (
        "THROTTLING_SCOPE_MANAGER",
        "it is code: `law` chooses here between ladder, backoff and fixed",
    ),
    ("CONCURRENT_REQUESTS_PER_IP", "older: the pace is by host here"),
    (
        "RETRY_TIMES",
        "a request is repeated as long as `retry.window` lasts; `retry.max_attempts` bounds how often",
    ),
    ("RETRY_HTTP_CODES", "429 and 5xx are repeated; `verdicts` change what a status is taken for"),
    ("RETRY_EXCEPTIONS", "time-outs and broken connections are repeated, where that is safe"),
    ("RETRY_PRIORITY_ADJUST", "a repeat keeps its place in the line"),
    (
        "DOWNLOAD_SLOTS",
        "write each slot as a scope: `scopes: {shop.example: {concurrency: 2, delay: 1s}}`",
    ),
];
