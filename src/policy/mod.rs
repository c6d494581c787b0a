//! Who, where, whether? Pure: who may use us, what may be reached, what a client asked for.
//!
//! This room must not know about sockets, resolvers, locks or logging, nor how a scope is paced.

pub mod access;
pub mod domain;
pub mod patience;
pub mod plan;
pub mod preset;
pub mod recent;
pub mod rules;
pub mod scoping;
pub mod seats;
pub mod user;
pub mod wishes;
