//! `pacegate import-scrapy settings.py`: prints the configuration that a crawler's throttling settings
//! come to, and lists those that have none.
//!
//! Nothing of the file is executed. What `docs/migration.md` says in words is done here.

mod exceptions;
mod import;
mod kind;
mod literal;
mod names;
mod python;
mod scopes;
mod yaml;

#[cfg(test)]
mod tests;

use crate::cli::scrapy::import::Import;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads the file; the text is for standard output, the code is 0, or 1 where there is nothing to read.
pub fn import(file: &Path) -> (String, u8) {
    let named = file.display();
    let text = match read(file) {
        Ok(text) => text,
        Err(why) => return (format!("pacegate: {named} can't be read: {why}\n"), 1),
    };
    let reading = python::read(text.strip_prefix('\u{feff}').unwrap_or(&text));
    (Import::of(&reading).text(&named.to_string()), 0)
}

fn read(file: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(file)?.take(FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8"))
}

/// A hundred times the longest settings that were seen.
const FILE_BYTES: u64 = 1 << 20;
