//! What do we show? The admin port, and the same pages as `http://pacegate.internal/`.
//!
//! This room must not know how requests travel, and decides nothing about them.

pub mod api;
pub mod explain;
pub mod guard;
pub mod pages;
pub mod query;
pub mod rows;
pub mod serve;
pub mod settings;

#[cfg(test)]
mod tests;
