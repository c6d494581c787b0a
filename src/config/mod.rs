//! What was asked? The file, the environment and the flags, read into settings that can't be wrong.
//!
//! Only `raw` knows that YAML exists, and only `load` and `found` do IO. What is asked for is explained to nobody
//! here: every setting goes to the room whose type it is.

mod address;
pub mod check;
mod found;
mod keys;
pub mod load;
pub mod mistake;
mod node;
mod pacing;
mod raw;
mod robots;
mod rules;
mod section;
mod sense;
pub mod settings;
pub mod value;
mod verdicts;
mod waits;
mod weights;

#[cfg(test)]
mod tests;
