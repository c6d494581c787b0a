//! What was asked on the command line: one file per command, each a plain function.
//! What was asked on the command line, and the environment that makes clients use the proxy.
//!
//! This room must not decide anything about pace or requests.

pub mod env;
pub mod files;
pub mod health;
pub mod hints;
pub mod pem;
pub mod run;
pub mod shell;
pub mod summary;
pub mod truststore;

#[cfg(test)]
mod testing;
