//! The rows, in the order of their numbers.

mod bodies;
mod cache;
mod chunks;
mod connections;
mod fields;
mod framing;
mod own;
mod passage;
mod routing;
mod streams;
mod tunnels;

use crate::row::Row;

/// The number of the last row.
pub const LAST: u16 = 121;

/// All rows.
pub fn all() -> impl Iterator<Item = &'static Row> {
    [
        routing::ROWS,
        framing::ROWS,
        chunks::ROWS,
        bodies::ROWS,
        fields::ROWS,
        passage::ROWS,
        tunnels::ROWS,
        streams::ROWS,
        connections::ROWS,
        own::ROWS,
        cache::ROWS,
    ]
    .into_iter()
    .flatten()
}
