//! What does it look like? A shop that can't keep up, a crawler that wants its pages, and the story
//! of the two: straight, through the proxy, and the ways it goes wrong.
//!
//! The same story is a test ([`record::Story::claims`]) and a demonstration (`pacegate demo`). This
//! room must not know how the proxy is made: whoever tells the story hands in what starts one, as
//! a [`scene::Proxy`].

pub mod crawler;
pub mod draw;
pub mod record;
pub mod scene;
pub mod shop;
pub mod story;
pub mod table;
pub mod visits;

mod wire;

#[cfg(test)]
mod tests;
