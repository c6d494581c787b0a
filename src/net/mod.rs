//! How do bytes travel? Sockets, TLS, connections, bodies.
//!
//! This room must not know about delays or accounts: it opens an upstream stream for a permit, and
//! that is all it knows of the pace.

pub mod headers;
pub mod settings;
