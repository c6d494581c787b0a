//! Tests of the demo's parts, in virtual time. The story on the product itself is in `tests/it`.

mod crawl;
mod drawing;
mod pacer;
mod telling;
