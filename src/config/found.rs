//! Files that the configuration names: whether they are there, and hold what they are named for.
//!
//! This file must not know how certificates or tokens are used.

use crate::admin::guard::Token;
use crate::ca::read::certificates_in;
use crate::config::mistake::{Mistake, Place};
use crate::config::section::Report;
use crate::config::settings::Config;
use crate::net::settings::Roots;
use std::path::Path;

/// What is wrong with them.
pub(in crate::config) fn mistakes(config: &Config, report: &Report) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    if let Roots::File(path) = &config.reach.roots
        && let Some((message, hint)) = roots(path)
    {
        mistakes.push(Mistake::error(message, &report.place("tls.roots"), hint));
    }
    if let Some(path) = &config.admin.token_file {
        mistakes.extend(token(path, &report.place("admin.token_file")));
    }
    if let Some(path) = &config.state_file {
        mistakes.extend(state(path, &report.place("state_file")));
    }
    mistakes
}

/// The file itself need not be there yet.
fn state(path: &Path, place: &Place) -> Option<Mistake> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let (message, hint) = match folder {
        _ if path.is_dir() => {
            let message = format!("`state_file` is a folder: {}", path.display());
            (message, "name a file in it, like state.json")
        }
        Some(folder) if !folder.is_dir() => {
            let message = format!("`state_file`: there is no folder {}", folder.display());
            (message, "make it, for whoever runs pacegate")
        }
        Some(_) | None => return None,
    };
    Some(Mistake::error(message, place, hint))
}

fn token(path: &Path, place: &Place) -> Option<Mistake> {
    let named = path.display();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(why) => {
            let message = format!("`admin.token_file` can't be read: {named}: {why}");
            return Some(Mistake::error(message, place, "its first line is the token"));
        }
    };
    if Token::new(&text).is_none() {
        let message = format!("`admin.token_file` has no token: {named}");
        let hint = "its first line must be 16 visible characters or more";
        return Some(Mistake::error(message, place, hint));
    }
    is_open(path).then(|| {
        let message = format!("`admin.token_file` can be read by every user: {named}");
        Mistake::warning(message, place, "take that away: `chmod o-rwx`")
    })
}

#[cfg(unix)]
fn is_open(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|data| data.permissions().mode() & 0o007 != 0)
}

#[cfg(not(unix))]
fn is_open(_: &Path) -> bool {
    false
}

fn roots(path: &Path) -> Option<(String, &'static str)> {
    let named = path.display();
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(why) => {
            let message = format!("`tls.roots` can't be read: {named}: {why}");
            return Some((message, "name a PEM file of root certificates, or `auto`"));
        }
    };
    match certificates_in(&bytes) {
        Ok(found) if found.is_empty() => {
            let message = format!("`tls.roots` has no certificate: {named}");
            Some((message, "it must be PEM: -----BEGIN CERTIFICATE----- and so on"))
        }
        Ok(_) => None,
        Err(_) => {
            let message = format!("`tls.roots` has a certificate that can't be read: {named}");
            Some((message, "it must be PEM, whole: -----BEGIN CERTIFICATE----- and so on"))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::load::{Sources, load_from};
    use std::path::PathBuf;

    fn check(roots: &str, want: Option<&str>) {
        let text = format!("retry: {{window: 5m}}\ntls: {{roots: {roots}}}\n");
        let sources = Sources { file: Some(PathBuf::from("pace.yaml")), ..Sources::default() };
        match (load_from(text.as_bytes(), sources), want) {
            (Ok(_), None) => {}
            (Err(mistakes), Some(want)) => {
                let said = mistakes.to_string();
                assert!(said.contains(want) && said.contains("pace.yaml:2:14"), "{said}");
            }
            (Ok(_), Some(want)) => panic!("{roots} is taken, and should be: {want}"),
            (Err(mistakes), None) => panic!("{mistakes}"),
        }
    }

    #[test]
    fn roots_that_are_not_there_or_are_none_are_a_mistake_with_its_line() {
        let this = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        check("auto", None);
        check("/nowhere/roots.pem", Some("No such file"));
        check(this, Some("has no certificate"));
        check(env!("CARGO_MANIFEST_DIR"), Some("can't be read"));
    }
}
