//! What was asked on the command line, and the text that answers it: one file per command.
//!
//! This room must not decide anything about pace or requests.

pub mod arguments;
pub mod check;
pub mod commands;
pub mod demo;
pub mod env;
pub mod explained;
pub mod files;
pub mod health;
pub mod hints;
pub mod init;
pub mod log;
pub mod merged;
pub mod operator;
pub mod pem;
pub mod run;
pub mod scrapy;
pub mod serve;
pub mod shell;
pub mod stop;
pub mod summary;
pub mod truststore;
pub mod witness;

pub use commands::main;

#[cfg(test)]
mod testing;
