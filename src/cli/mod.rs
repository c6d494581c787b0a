//! What was asked on the command line: one file per command, each a plain function.
//! What was asked on the command line, and the environment that makes clients use the proxy.
//!
//! This room must not decide anything about pace or requests.

pub mod env;
pub mod files;
pub mod health;
pub mod hints;
pub mod log;
pub mod merged;
pub mod pem;
pub mod run;
pub mod shell;
pub mod summary;
pub mod truststore;

#[cfg(test)]
mod testing;
//! What was asked on the command line: one file per command, each a plain function that gives the text to
//! print and the code to leave with.
//!
//! This room decides nothing about requests.

pub mod check;
pub mod init;
