//! When may it go? Pure: a scope's state, the rules and the moment go in; a decision, and the state
//! after it, come out.
//!
//! This room must not know about HTTP, sockets, locks, atomics, sleeping or logging.

pub mod backoff;
pub mod claims;
pub mod decide;
pub mod floor;
pub mod jitter;
pub mod learn;
pub mod line;
pub mod memory;
pub mod quota;
pub mod rules;
pub mod saved;
pub mod scope;
pub mod seldom;
pub mod slot;
pub mod turn;
