//! The fuzz targets' corpora as ordinary tests: what the engine found on the way, in small. `.ci/fuzz`
//! runs the same bodies on more inputs, with the nightly toolchain.

use std::fs;
use std::path::{Path, PathBuf};

#[path = "../fuzz/src/lib.rs"]
mod bodies;

/// Names the input whose claim doesn't hold.
struct Trying<'a>(&'a Path);

impl Drop for Trying<'_> {
    #[expect(clippy::print_stderr, reason = "a panic under way shows no second message")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this is what {} shows", self.0.display());
        }
    }
}

#[track_caller]
fn check(name: &str) {
    let found = bodies::ALL.iter().find(|(target, _)| *target == name);
    let (_, body) = found.expect("a target of this name");
    let files = corpus(name);
    let bytes: usize = files.iter().map(|file| read(file).len()).sum();
    assert!((1..=FILES).contains(&files.len()), "{name} has {} files", files.len());
    assert!(bytes <= BYTES, "{name} has {bytes} bytes");
    for file in &files {
        let _trying = Trying(file);
        body(&read(file));
    }
    for odd in [&b""[..], b"\0", b"\n", &[0xff; 40], &[b':'; 4096]] {
        body(odd);
    }
}

fn corpus(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

fn read(file: &Path) -> Vec<u8> {
    fs::read(file).unwrap_or_else(|why| panic!("{}: {why}", file.display()))
}

#[test]
fn requests_travel_as_one_request_that_all_readers_read_alike() {
    check("request");
}

#[test]
fn answers_travel_as_one_answer_that_all_readers_read_alike() {
    check("response");
}

#[test]
fn streams_become_one_request_each() {
    check("streams");
}

#[test]
fn targets_have_one_meaning() {
    check("targets");
}

#[test]
fn first_bytes_decide_the_same_however_they_come() {
    check("opening");
}

#[test]
fn no_name_is_without_an_answer_to_its_hello() {
    check("leaves");
}

#[test]
fn waits_that_origins_name_make_nothing_faster() {
    check("hints");
}

#[test]
fn wishes_stay_within_bounds() {
    check("wishes");
}

#[test]
fn every_mistake_in_a_configuration_has_a_place() {
    check("config");
}

#[test]
fn delays_of_robots_txt_are_read_whatever_else_it_says() {
    check("robots");
}

#[test]
fn amended_verdicts_keep_what_can_not_be_changed() {
    check("verdicts");
}

#[test]
fn the_admin_port_shows_pages_to_whom_they_are_for() {
    check("admin");
}

#[test]
fn fields_of_other_proxies_stay_theirs() {
    check("fields");
}

#[test]
fn every_target_has_its_program_and_its_test() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/Cargo.toml");
    let manifest = fs::read_to_string(manifest).expect("the manifest of the targets");
    let this = include_str!("corpora.rs");
    for (name, _) in bodies::ALL {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "no program: {name}");
        assert!(this.contains(&format!("check(\"{name}\")")), "no test: {name}");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), bodies::ALL.len());
}

/// Small enough for a checkout and for every run of the tests.
const FILES: usize = 200;
const BYTES: usize = 200 * 1024;
