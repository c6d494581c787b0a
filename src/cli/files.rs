//! The files beside the CA that clients are pointed to (`clients.md` 1.1).
//!
//! Each is written whole and then moved into place, and only if it changed: programs that run with
//! the old one never see half of a new one. The CA's key is none of this room's business.

use crate::cli::env::{Files, User};
use crate::cli::pem;
use rustls::pki_types::CertificateDer;
use rustls_native_certs::load_certs_from_paths;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What came of writing them.
#[derive(Debug)]
pub struct Written {
    pub files: Files,
    /// Roots in the bundle, ours not counted.
    pub roots: usize,
    /// Sentences about what could not be read.
    pub notes: Vec<String>,
}

/// Writes the files beside the certificate `ca`, which exists.
///
/// # Errors
/// The certificate can't be read, or a file can't be written; the message names it.
pub fn write(ca: &Path, user: User<'_>) -> io::Result<Written> {
    let files = Files::beside(ca);
    let ours = fs::read_to_string(ca).map_err(|error| named(ca, &error))?;
    let mut notes = Vec::new();
    let mut roots = system_roots(&mut notes);
    for name in USER_BUNDLES {
        add(user_bundle(name, &files, user), &mut roots, &mut notes);
    }
    let mut extra = Vec::new();
    add(user_bundle("NODE_EXTRA_CA_CERTS", &files, user), &mut extra, &mut notes);
    if roots.is_empty() {
        notes.push("no system roots found: the bundle has our CA only".to_owned());
    }
    place(&files.bundle, &joined(&roots, &ours), PUBLIC)?;
    place(&files.extra, &joined(&extra, &ours), PUBLIC)?;
    place(&files.wgetrc, &wgetrc(&files, user), PRIVATE)?;
    fs::create_dir_all(&files.php).map_err(|error| named(&files.php, &error))?;
    place(&files.php.join("pace.ini"), &php_ini(&files), PUBLIC)?;
    Ok(Written { files, roots: roots.len(), notes })
}

/// The roots of this system, whatever the environment says: SSL_CERT_FILE may name one of ours.
fn system_roots(notes: &mut Vec<String>) -> Vec<CertificateDer<'static>> {
    for path in SYSTEM_BUNDLES.map(Path::new) {
        let loaded = load_certs_from_paths(Some(path), None);
        if !loaded.certs.is_empty() {
            return loaded.certs;
        }
    }
    let loaded = rustls_native_certs::load_native_certs();
    notes.extend(loaded.errors.iter().map(ToString::to_string));
    loaded.certs
}

/// A bundle of the user's, unless it is one that we wrote.
fn user_bundle(name: &str, files: &Files, user: User<'_>) -> Option<PathBuf> {
    let path = PathBuf::from(user(name).filter(|value| !value.is_empty())?);
    let ours = [&files.bundle, &files.extra, &files.ca];
    (!ours.contains(&&path)).then_some(path)
}

fn add(bundle: Option<PathBuf>, roots: &mut Vec<CertificateDer<'static>>, notes: &mut Vec<String>) {
    let Some(path) = bundle else { return };
    let loaded = load_certs_from_paths(Some(&path), None);
    notes.extend(loaded.errors.iter().map(|error| format!("{}: {error}", path.display())));
    for certificate in loaded.certs {
        if !roots.contains(&certificate) {
            roots.push(certificate);
        }
    }
}

fn joined(roots: &[CertificateDer<'_>], ours: &str) -> String {
    let mut text: String = roots.iter().map(|root| pem::certificate(root)).collect();
    text.push_str(ours);
    text
}

/// A WGETRC replaces the user's own file, so that comes first.
fn wgetrc(files: &Files, user: User<'_>) -> String {
    let home = || user("HOME").map(|home| Path::new(&home).join(".wgetrc"));
    let theirs = user("WGETRC").map(PathBuf::from).or_else(home);
    let text = theirs.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    let key = |line: &str| {
        line.split('=').next().unwrap_or_default().trim().to_ascii_lowercase().replace('-', "_")
    };
    let mut kept: String = text
        .lines()
        .filter(|line| key(line) != "ca_certificate")
        .map(|line| format!("{line}\n"))
        .collect();
    kept.push_str(&format!("ca_certificate = {}\n", files.bundle.display()));
    kept
}

fn php_ini(files: &Files) -> String {
    let bundle = files.bundle.display();
    format!("curl.cainfo = \"{bundle}\"\nopenssl.cafile = \"{bundle}\"\n")
}

/// Puts a file there whole, if it isn't there already.
fn place(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    // Two of us at once must not share a half-written file.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fresh = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = create(&fresh, mode)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&fresh, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&fresh);
        named(path, &error)
    })
}

#[cfg(unix)]
fn create(path: &Path, mode: u32) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    // What a run that was killed left behind; never a link put there by somebody else.
    let _ = fs::remove_file(path);
    fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

#[cfg(not(unix))]
fn create(path: &Path, _mode: u32) -> io::Result<fs::File> {
    fs::File::create(path)
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Variables that may name more roots of the user's.
const USER_BUNDLES: [&str; 3] = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"];

/// Where systems keep all their roots in one file: Debian, Arch, Alpine; Fedora; SUSE; BSD, macOS.
const SYSTEM_BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

const PUBLIC: u32 = 0o644;
/// A wgetrc may hold passwords.
const PRIVATE: u32 = 0o600;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::testing::Folder;

    fn authority(name: &str) -> String {
        let key = rcgen::KeyPair::generate().unwrap();
        rcgen::CertificateParams::new([name.to_owned()]).unwrap().self_signed(&key).unwrap().pem()
    }

    fn count(path: &Path) -> usize {
        fs::read_to_string(path).unwrap().matches("BEGIN CERTIFICATE").count()
    }

    #[test]
    fn the_bundle_has_the_systems_roots_the_users_and_ours_each_once() {
        let folder = Folder::new();
        let ca = folder.file("ca.pem", &authority("pace.test"));
        let plain = write(&ca, &|_| None).unwrap();
        assert_eq!(count(&plain.files.bundle), plain.roots + 1);
        assert_eq!(fs::read(&plain.files.extra).unwrap(), fs::read(&ca).unwrap());
        let theirs = folder.file("theirs.pem", &authority("corporate.test"));
        let user = |name: &str| match name {
            "SSL_CERT_FILE" | "REQUESTS_CA_BUNDLE" | "NODE_EXTRA_CA_CERTS" => {
                Some(theirs.to_string_lossy().into_owned())
            }
            _ => None,
        };
        let merged = write(&ca, &user).unwrap();
        assert_eq!(merged.roots, plain.roots + 1);
        assert_eq!(
            (count(&merged.files.bundle), count(&merged.files.extra)),
            (merged.roots + 1, 2)
        );
    }

    #[test]
    fn our_own_bundle_is_not_taken_for_the_users() {
        let folder = Folder::new();
        let ca = folder.file("ca.pem", &authority("pace.test"));
        let first = write(&ca, &|_| None).unwrap();
        let bundle = first.files.bundle.to_string_lossy().into_owned();
        let again = write(&ca, &|name| (name == "SSL_CERT_FILE").then(|| bundle.clone())).unwrap();
        assert_eq!(again.roots, first.roots);
    }

    #[test]
    fn a_bundle_that_cannot_be_read_is_a_note_and_not_a_failure() {
        let folder = Folder::new();
        let ca = folder.file("ca.pem", &authority("pace.test"));
        let user = |name: &str| (name == "CURL_CA_BUNDLE").then(|| "/nowhere/x.pem".to_owned());
        let written = write(&ca, &user).unwrap();
        assert!(written.notes.iter().any(|note| note.contains("/nowhere/x.pem")), "{written:?}");
    }

    #[test]
    fn the_users_wgetrc_is_kept_but_for_its_certificates_and_stays_private() {
        let folder = Folder::new();
        let ca = folder.file("ca.pem", &authority("pace.test"));
        folder.file(".wgetrc", "tries = 3\nCA-Certificate = /old.pem\n");
        let home = ca.parent().unwrap().to_string_lossy().into_owned();
        let user = |name: &str| (name == "HOME").then(|| home.clone());
        let files = write(&ca, &user).unwrap().files;
        let text = fs::read_to_string(&files.wgetrc).unwrap();
        let want = format!("tries = 3\nca_certificate = {}\n", files.bundle.display());
        assert_eq!(text, want);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&files.wgetrc), 0o600);
            assert_eq!(mode(&files.bundle) & 0o600, 0o600);
        }
    }
}
