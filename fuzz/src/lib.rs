//! The bodies of the fuzz targets: each takes any bytes and holds what must be true of them. They run
//! under the engine (`cargo fuzz`, `.ci/fuzz`), and over the kept corpora as ordinary tests
//! (`tests/corpora.rs`, which takes this very file).
//!
//! A body panics where a claim doesn't hold. It stands on pacegate's public paths only.

pub mod admin;
pub mod config;
pub mod fields;
pub mod hints;
pub mod leaves;
mod memory;
pub mod opening;
pub mod request;
pub mod response;
pub mod robots;
mod sent;
pub mod streams;
mod strict;
pub mod targets;
pub mod verdicts;
pub mod wishes;

/// What is done with an input.
pub type Body = fn(&[u8]);

/// Every target: its name, which is that of its corpus, and its body.
pub const ALL: [(&str, Body); 13] = [
    ("admin", admin::body),
    ("config", config::body),
    ("fields", fields::body),
    ("hints", hints::body),
    ("leaves", leaves::body),
    ("opening", opening::body),
    ("request", request::body),
    ("response", response::body),
    ("robots", robots::body),
    ("streams", streams::body),
    ("targets", targets::body),
    ("verdicts", verdicts::body),
    ("wishes", wishes::body),
];
