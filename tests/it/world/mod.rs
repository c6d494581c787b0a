//! A small world for the proxy to stand in: scripted origins on loopback, the real binary as a child
//! process on ports of its own, raw clients that say exactly the bytes they are told.
//!
//! Everything blocks: one thread per connection, one story per test, and whatever waits for
//! something gives up loudly after [`PATIENCE`]. Nothing here knows how the proxy is built inside.

pub mod answer;
pub mod arrival;
pub mod ask;
pub mod authority;
pub mod client;
pub mod door;
pub mod folder;
pub mod framed;
pub mod frames;
pub mod message;
pub mod metrics;
pub mod names;
pub mod origin;
pub mod proxy;
pub mod response;
pub mod stage;
pub mod streams;
pub mod wire;

use pacegate::clock::{Clock, Tick};
use std::sync::LazyLock;
use std::time::Duration;

/// How long anything may take before a test calls it stuck.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The moment it is, on the one clock all origins and clients of a test share.
pub fn now() -> Tick {
    static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::runtime);
    CLOCK.now()
}

/// Looks every few milliseconds until `look` finds something; `None` once [`PATIENCE`] is used up.
pub fn until<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if now() >= end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A `resolve:` line of a configuration that sends each name to its origin.
pub fn resolve(names: &[(&str, std::net::SocketAddr)]) -> String {
    let pairs: Vec<_> = names.iter().map(|(name, to)| format!("\"{name}\": \"{to}\"")).collect();
    format!("resolve: {{{}}}\n", pairs.join(", "))
}
