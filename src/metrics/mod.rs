//! What do we count? Every family and its labels in one table; events in, Prometheus text out.
//!
//! This room must not know why anything is counted: no pacing, no verdicts, no thresholds.

pub mod given;
pub mod host;
pub mod hosts;
pub mod labels;
pub mod meter;
pub mod series;
pub mod table;
pub mod text;
pub mod total;

#[cfg(test)]
mod tests;
