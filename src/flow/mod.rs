//! How does one request travel?

pub mod settings;
