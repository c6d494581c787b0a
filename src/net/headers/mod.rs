//! What is passed on between the two sides, and what is not: a pure sanitiser of heads.
//!
//! Strict on requests, where a second reading is an attack; tolerant on responses where it is safe
//! (http.md). It must not know of sockets, and it invents no answer: it says what is wrong.
//!
//! Maps are rebuilt, never `remove`d from: removal moves the last field into the gap, and hyper
//! pairs the i-th value of a name with the i-th spelling it saw of it.

mod hop;
pub mod refusal;
pub mod request;
pub mod response;
pub mod status;
pub mod target;
#[cfg(test)]
mod tests;
pub mod via;
