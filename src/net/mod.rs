//! How do bytes travel? Sockets, TLS, connections, bodies.
//!
//! This room must not know about delays or accounts: it opens an upstream stream for a permit, and
//! that is all it knows of the pace.

pub mod body;
pub mod connect;
pub mod connect_io;
pub mod crowd;
pub mod dial;
pub mod exchange;
pub mod fault;
pub mod headers;
pub mod http1;
pub mod http2;
pub mod inbound;
pub mod lease;
pub mod lenient;
pub mod listen;
pub mod literal;
pub mod opening;
pub mod outbound;
pub mod patience;
pub mod places;
pub mod pool;
pub mod race;
pub mod reachable;
pub mod refusals;
pub mod resolve;
pub mod rewind;
pub mod room;
pub mod settings;
pub mod sniff;
pub mod speak;
pub mod stall;
pub mod target;
pub mod tls;
pub mod tls_fault;
pub mod tunnel;
pub mod upgrade;
pub mod wire;

#[cfg(test)]
mod tests;
