//! pacegate: a forward proxy that enforces pacing transparently.
//!
//! A scraper sets `HTTP_PROXY` and `HTTPS_PROXY` to it and lets its client wait. A site that can't
//! keep up then makes a crawl slow, not failed. `ARCHITECTURE.md` has the map of the rooms, which
//! floor each stands on, and what it may import; `tests/tidy.rs` holds the code to it.

pub mod admin;
pub mod app;

pub mod ca;
pub mod cli;
pub mod clock;
pub mod config;
pub mod demo;
pub mod flow;
pub mod judge;
pub mod metrics;
pub mod net;
pub mod pace;
pub mod policy;
pub mod state;
pub mod sync;
