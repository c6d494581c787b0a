//! What did the answer mean? Pure: an outcome goes in, a verdict with its reason comes out.
//!
//! This room must not know about sockets, locks, sleeping or logging. Time comes in as an argument.

pub mod again;
pub mod amend;
pub mod classify;
pub mod hints;
pub mod marks;
pub mod ourselves;
pub mod outcome;
pub mod page;
pub mod replay;
pub mod robots;
pub mod verdict;
