//! pacegate: a forward proxy that enforces pacing transparently.
//!
//! A scraper sets `HTTP_PROXY` and `HTTPS_PROXY` to it and lets its client wait. A site that can't
//! keep up then makes a crawl slow, not failed. `ARCHITECTURE.md` has the map of the rooms, which
//! floor each stands on, and what it may import; `tests/tidy.rs` holds the code to it.

// The model checker (`--cfg loom`) sees the rooms it checks, and those they stand on.
#[cfg(not(loom))]
pub mod admin;
#[cfg(not(loom))]
pub mod app;
#[cfg(not(loom))]
pub mod ca;
#[cfg(not(loom))]
pub mod cli;
pub mod clock;
#[cfg(not(loom))]
pub mod config;
#[cfg(not(loom))]
pub mod demo;
#[cfg(not(loom))]
pub mod flow;
pub mod judge;
#[cfg(not(loom))]
pub mod metrics;
#[cfg(not(loom))]
pub mod net;
pub mod pace;
#[cfg(not(loom))]
pub mod policy;
pub mod state;
pub mod sync;
