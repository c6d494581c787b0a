//! Where the CA is kept: `ca-key.pem` and `ca.pem` in one folder. The only part of this room that does IO.
//!
//! The key's file carries the certificate as well, so that one atomic link publishes both: a second process
//! that starts at the same time finds either nothing or a whole CA. `ca.pem` is the copy for clients.

use crate::ca::read::certificates_in;
use crate::ca::root::{NotACa, Root};
use crate::clock::Clock;
use ring::rand::{SecureRandom, SystemRandom};
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The certificate's file: for everybody.
pub const CERTIFICATE_FILE: &str = "ca.pem";
/// The key's file: for its owner only.
pub const KEY_FILE: &str = "ca-key.pem";

/// A CA and where it is kept.
#[derive(Debug)]
pub struct Kept {
    pub root: Root,
    /// Whether this start made it.
    pub made_now: bool,
    /// What clients are pointed to.
    pub certificate_file: PathBuf,
}

/// Why the CA can't be used. All are for the operator to put right; none is worth another try.
#[derive(Debug)]
pub enum RootError {
    /// Others than its owner may read the key.
    Readable { key: PathBuf, mode: u32 },
    /// There is a certificate, but not its key.
    KeyMissing { certificate: PathBuf, key: PathBuf },
    /// There is a key, but no certificate for it.
    CertificateMissing { certificate: PathBuf, key: PathBuf },
    /// The files are there and are no CA we can use.
    Unusable { file: PathBuf, why: NotACa },
    /// Reading or writing failed.
    Files { path: PathBuf, doing: &'static str, why: io::Error },
}

/// Opens the CA kept in `folder`, or makes one there. The folder is made, or narrowed, to 0700 and the
/// key is created 0600 when the CA is made; a CA that is there is never written over.
pub fn open_or_create(folder: &Path, clock: &Clock) -> Result<Kept, RootError> {
    let now = clock.wall();
    if let Some(kept) = open(folder, now)? {
        close_to_writers(folder)?;
        return Ok(kept);
    }
    let made_now = create(folder, now)?;
    // Whoever won the race: what is published is what counts.
    match open(folder, now)? {
        Some(kept) => Ok(Kept { made_now, ..kept }),
        None => Err(failed(&folder.join(KEY_FILE), "find again")(ErrorKind::NotFound.into())),
    }
}

/// Opens the CA kept in `folder`; `None` if there is none.
pub fn open(folder: &Path, now: SystemTime) -> Result<Option<Kept>, RootError> {
    let (key_file, certificate_file) = (folder.join(KEY_FILE), folder.join(CERTIFICATE_FILE));
    let Some(key) = read(&key_file, Audience::Owner)? else {
        // Asked again, for a CA that is being made has its key first.
        return match read(&certificate_file, Audience::Everybody)? {
            Some(_) if !key_file.exists() => {
                Err(RootError::KeyMissing { certificate: certificate_file, key: key_file })
            }
            Some(_) => open(folder, now),
            None => Ok(None),
        };
    };
    let in_key_file = || certificates_in(&key).is_ok_and(|found| !found.is_empty());
    let published = read(&certificate_file, Audience::Everybody)?;
    if published.is_none() && !in_key_file() {
        return Err(RootError::CertificateMissing { certificate: certificate_file, key: key_file });
    }
    let root = Root::from_pem(published.as_deref().unwrap_or(&key), &key, now);
    let root = root.map_err(|why| {
        let blames_key = matches!(why, NotACa::NoKey | NotACa::EncryptedKey | NotACa::UnusableKey);
        let file = if blames_key { &key_file } else { &certificate_file };
        RootError::Unusable { file: file.clone(), why }
    })?;
    if published.is_none() {
        publish(&certificate_file, &root)?;
    }
    Ok(Some(Kept { root, made_now: false, certificate_file }))
}

/// Where the CA is kept when nothing says so: `./certs` if there is one, else the user's data folder.
/// `None` if the user has neither a data folder nor a home.
pub fn default_folder(
    working: &Path,
    data_home: Option<&OsStr>,
    home: Option<&OsStr>,
) -> Option<PathBuf> {
    let local = working.join("certs");
    if is_for_us(&local) {
        return Some(local);
    }
    // The base-directory specification: a relative path in it is to be ignored.
    let data_home = data_home.map(PathBuf::from).filter(|path| path.is_absolute());
    let home = home.filter(|home| !home.is_empty());
    let fallback = || Some(PathBuf::from(home?).join(".local").join("share"));
    Some(data_home.or_else(fallback)?.join("pacegate"))
}

/// Whether a `certs` folder is ours to use: it has a CA of ours, or nothing but a README. Other
/// people keep their certificates in folders of that name.
fn is_for_us(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    let mut names = entries.flatten().map(|entry| entry.file_name());
    folder.join(KEY_FILE).is_file() || names.all(|name| name == "README.md")
}

impl fmt::Display for RootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RootError::Readable { key, mode } => write!(
                f,
                "the CA's key {0} can be read by others (mode {mode:04o}): whoever reads it can read \
                 your traffic. If nobody has, `chmod 600 {0}`; else remove it and {CERTIFICATE_FILE}, \
                 and a new CA is made",
                key.display()
            ),
            RootError::KeyMissing { certificate, key } => write!(
                f,
                "{} is there, but its key {} is not: put the key back, or remove the certificate and \
                 a new CA is made",
                certificate.display(),
                key.display()
            ),
            RootError::CertificateMissing { certificate, key } => write!(
                f,
                "{} is there, but its certificate {} is not: put the certificate back, or remove the \
                 key and a new CA is made",
                key.display(),
                certificate.display()
            ),
            RootError::Unusable { file, why } => write!(
                f,
                "the CA in {} can't be used: {why}. Put it right, or remove {CERTIFICATE_FILE} and \
                 {KEY_FILE} and a new CA is made (clients then have to trust that one)",
                file.display()
            ),
            RootError::Files { path, doing, why } => {
                write!(f, "can't {doing} {}: {why}", path.display())
            }
        }
    }
}

impl std::error::Error for RootError {}

/// Who may read a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    Owner,
    Everybody,
}

fn read(path: &Path, audience: Audience) -> Result<Option<Vec<u8>>, RootError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(failed(path, "read")(why)),
    };
    if audience == Audience::Owner {
        let mode = mode_of(&file.metadata().map_err(failed(path, "read"))?);
        if mode & 0o077 != 0 {
            return Err(RootError::Readable { key: path.to_owned(), mode });
        }
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES).read_to_end(&mut bytes).map_err(failed(path, "read"))?;
    Ok(Some(bytes))
}

/// Whether it was this process that made the CA.
fn create(folder: &Path, now: SystemTime) -> Result<bool, RootError> {
    private_folder(folder)?;
    let key_file = folder.join(KEY_FILE);
    let root =
        Root::generate(now).map_err(|why| RootError::Unusable { file: key_file.clone(), why })?;
    let text = root.key_pem() + &root.pem();
    let draft = draft_beside(&key_file)?;
    let made = write_new(&draft, &text, Audience::Owner).and_then(|()| {
        match fs::hard_link(&draft, &key_file) {
            Ok(()) => Ok(true),
            Err(why) if why.kind() == ErrorKind::AlreadyExists => Ok(false),
            // A file system without links. The name is still taken by one process only.
            Err(_) => match write_new(&key_file, &text, Audience::Owner) {
                Ok(()) => Ok(true),
                Err(why) if why.kind() == ErrorKind::AlreadyExists => Ok(false),
                Err(why) => Err(why),
            },
        }
    });
    // The draft has served; that it stays is untidy, not wrong.
    drop(fs::remove_file(&draft));
    made.map_err(failed(&key_file, "create"))
}

/// Two processes that publish the same CA write the same bytes.
fn publish(path: &Path, root: &Root) -> Result<(), RootError> {
    let draft = draft_beside(path)?;
    let written =
        write_new(&draft, &root.pem(), Audience::Everybody).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        drop(fs::remove_file(&draft));
    }
    written.map_err(failed(path, "write"))
}

fn write_new(path: &Path, text: &str, audience: Audience) -> io::Result<()> {
    let mut file =
        for_audience(OpenOptions::new().write(true).create_new(true), audience).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn draft_beside(path: &Path) -> Result<PathBuf, RootError> {
    let mut random = [0; 8];
    let filled = SystemRandom::new().fill(&mut random);
    filled.map_err(|_| failed(path, "create")(io::Error::other("no randomness")))?;
    Ok(path.with_extension(format!("{:016x}.new", u64::from_be_bytes(random))))
}

fn failed(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> RootError {
    move |why| RootError::Files { path: path.to_owned(), doing, why }
}

#[cfg(unix)]
fn mode_of(metadata: &fs::Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o7777
}

#[cfg(unix)]
fn for_audience(options: &mut OpenOptions, audience: Audience) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    match audience {
        Audience::Owner => options.mode(0o600),
        Audience::Everybody => options.mode(0o644),
    }
}

/// Makes the folder, or takes others' rights on it away. A folder of somebody else's (a mounted volume)
/// stays as it is: the key's own mode protects it.
#[cfg(unix)]
fn private_folder(folder: &Path) -> Result<(), RootError> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(failed(folder, "create"))?;
    let mode = mode_of(&fs::metadata(folder).map_err(failed(folder, "read"))?);
    if mode & 0o077 != 0 {
        drop(fs::set_permissions(folder, fs::Permissions::from_mode(mode & 0o7700)));
    }
    Ok(())
}

/// Takes others' right to write in the folder away: who may put files there can put another CA. That
/// they may read it stays, for clients do. Where it isn't ours to change (mounted volumes, which are
/// the container's own whatever their mode says) it is said and left.
#[cfg(unix)]
fn close_to_writers(folder: &Path) -> Result<(), RootError> {
    use std::os::unix::fs::PermissionsExt;
    let mode = mode_of(&fs::metadata(folder).map_err(failed(folder, "read"))?);
    if mode & 0o022 == 0 {
        return Ok(());
    }
    let closed = fs::set_permissions(folder, fs::Permissions::from_mode(mode & 0o7755));
    let name = folder.display();
    match closed {
        Ok(()) => tracing::warn!(
            "others could write in the CA's folder {name} (mode {mode:04o}): they no longer can"
        ),
        Err(_) => tracing::warn!(
            "others may write in the CA's folder {name} (mode {mode:04o}), so they can put another \
             CA there: let its owner do `chmod go-w {name}`, or name another folder with `certs`"
        ),
    }
    Ok(())
}

#[cfg(not(unix))]
fn close_to_writers(_: &Path) -> Result<(), RootError> {
    Ok(())
}

#[cfg(not(unix))]
fn mode_of(_: &fs::Metadata) -> u32 {
    0o600
}

#[cfg(not(unix))]
fn for_audience(options: &mut OpenOptions, _: Audience) -> &mut OpenOptions {
    options
}

#[cfg(not(unix))]
fn private_folder(folder: &Path) -> Result<(), RootError> {
    fs::create_dir_all(folder).map_err(failed(folder, "create"))
}

/// No CA's files are longer.
const FILE_BYTES: u64 = 1 << 20;
