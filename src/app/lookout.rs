//! Notices that a file has changed: written over, replaced, or reached through another link
//! (Kubernetes swaps the links of a ConfigMap). It looks twice a second, on every file system.
//!
//! This file must not know what the file is good for.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A file that is looked at.
pub struct Lookout {
    file: PathBuf,
    /// As it was when it was said last.
    known: Option<Mark>,
    /// A change that has to stand still first: whoever reads a file that is being written reads half
    /// of it.
    fresh: Option<Option<Mark>>,
}

/// What tells two states of a file apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    bytes: u64,
    written: Option<SystemTime>,
    /// Device and inode.
    place: (u64, u64),
}

impl Lookout {
    /// Looks at a file from now on.
    pub fn new(file: &Path) -> Lookout {
        let known = std::fs::metadata(file).ok().map(|data| Mark::of(&data));
        Lookout { file: file.to_owned(), known, fresh: None }
    }

    /// What it is like now is known.
    pub async fn note(&mut self) {
        self.known = self.look().await;
        self.fresh = None;
    }

    /// Waits until it has changed, and has stayed so for one look. Dropped, it goes on where it was.
    pub async fn changed(&mut self) {
        loop {
            tokio::time::sleep(LOOK).await;
            let now = self.look().await;
            if now == self.known {
                self.fresh = None;
            } else if self.fresh == Some(now) {
                self.known = now;
                self.fresh = None;
                return;
            } else {
                self.fresh = Some(now);
            }
        }
    }

    async fn look(&self) -> Option<Mark> {
        tokio::fs::metadata(&self.file).await.ok().map(|data| Mark::of(&data))
    }
}

impl Mark {
    fn of(data: &Metadata) -> Mark {
        Mark { bytes: data.len(), written: data.modified().ok(), place: place(data) }
    }
}

#[cfg(unix)]
fn place(data: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (data.dev(), data.ino())
}

#[cfg(not(unix))]
fn place(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

/// One `stat` each costs nothing that could be measured.
const LOOK: Duration = Duration::from_millis(500);
