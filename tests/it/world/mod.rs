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
use std::io::Write;
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

/// Says that this test checks nothing here, for want of something. A passing test's output is kept back
/// otherwise; this goes past it. With `PACEGATE_ALL_TESTS` set it is a failure.
pub fn unchecked(wants: &str) {
    let thread = std::thread::current();
    let line = format!("\nNOT CHECKED: {}: {wants}\n", thread.name().unwrap_or("a test"));
    assert!(std::env::var_os("PACEGATE_ALL_TESTS").is_none(), "{line}");
    std::io::stderr().write_all(line.as_bytes()).ok();
}

/// How large a test is: a variable's number, or the usual.
pub fn sized(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
