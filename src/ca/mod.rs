//! Who do we say we are? The CA, the leaf certificates it signs, and the TLS set-up that shows them.
//!
//! This room must not know about HTTP, requests or paces.

pub mod files;
pub mod keyring;
pub mod leaf;
pub(crate) mod read;
pub mod root;

#[cfg(test)]
mod tests;
