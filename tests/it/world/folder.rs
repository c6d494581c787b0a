//! Folders that a test makes and that go with it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of its own below cargo's folder for tests, removed on drop.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A new, empty folder.
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("world-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("cargo's folder for tests is writable");
        Folder { path }
    }

    /// Writes a file into the folder; gives its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path.join(name);
        std::fs::write(&path, text).expect("the folder is writable");
        path
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A file that is still being written may keep it: cargo clean takes the rest.
        std::fs::remove_dir_all(&self.path).ok();
    }
}
