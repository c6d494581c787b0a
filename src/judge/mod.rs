//! What did the answer mean? Pure: an outcome goes in, a verdict with its reason comes out.
//!
//! This room must not know about sockets, locks, sleeping or logging. Time comes in as an argument.

pub mod outcome;
pub mod verdict;
