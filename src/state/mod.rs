//! What do we remember? Shared and concurrent: rows, lines, permits. The deciding is `pace`'s.
//!
//! This room must not know about HTTP or sockets.

pub mod limits;
pub mod permit;
