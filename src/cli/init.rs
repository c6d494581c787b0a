//! `pacegate init [FILE]`: writes a file with every setting, its default and what it does.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// The file that is written: `config/example.yaml`.
pub const EXAMPLE: &str = include_str!("../../config/example.yaml");

/// Writes the file. One that is there is written over only if forced. The text says what was done; the code
/// is 0, or 1 if nothing was written.
pub fn init(path: &Path, force: bool) -> (String, u8) {
    let mut options = OpenOptions::new();
    options.write(true).create(force).truncate(force).create_new(!force);
    let written = options.open(path).and_then(|mut file| file.write_all(EXAMPLE.as_bytes()));
    let name = path.display();
    match written {
        Ok(()) => (format!("{name} is written: every setting with its default\n"), 0),
        Err(why) if why.kind() == ErrorKind::AlreadyExists => {
            (format!("{name} is there already and is left as it is (--force writes over it)\n"), 1)
        }
        Err(why) => (format!("{name} can't be written: {why}\n"), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_is_left_as_it_is_unless_forced() {
        let path = std::env::temp_dir().join(format!("pacegate-init-{}.yaml", std::process::id()));
        let read = || std::fs::read_to_string(&path).unwrap();
        assert_eq!(init(&path, false).1, 0);
        assert_eq!(read(), EXAMPLE);
        std::fs::write(&path, "mine").unwrap();
        let (text, code) = init(&path, false);
        assert!(text.contains("--force") && code == 1, "{text}");
        assert_eq!(read(), "mine");
        assert_eq!(init(&path, true).1, 0);
        assert_eq!(read(), EXAMPLE);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(init(Path::new("/no/such/folder/x.yaml"), true).1, 1);
    }
}
