//! What do we remember? Shared and concurrent: rows, lines, permits. The deciding is `pace`'s.
//!
//! This room must not know about HTTP or sockets.

pub mod agenda;
pub mod cell;
pub mod chance;
pub mod claiming;
pub mod command;
pub mod crowd;
pub mod errand;
pub mod floors;
pub mod gate;
pub mod hall;
pub mod hold;
pub mod keeping;
pub mod ledger;
pub mod limits;
pub mod lobby;
pub mod mark;
pub mod permit;
pub mod picture;
pub mod scopes;
pub mod seats;
pub mod snapshot;
pub mod sweep;
pub mod ticket;
pub mod timekeeper;
pub mod total;
pub mod visit;
pub mod waiter;

#[cfg(test)]
mod tests;
