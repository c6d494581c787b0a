//! The house rules that a compiler doesn't check, read from the table in `ARCHITECTURE.md` itself so
//! that text and rule can't part. It looks at text only: what it can't see is left to reviewers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A file a reader can hold in mind. No other file may be longer; the list only shrinks.
const FILE_LINES: usize = 500;
const LONGER: [&str; 0] = [];
/// rustfmt holds code to 100; a comment or a table may stick out a little.
const COLUMNS: usize = 120;
const ARCHITECTURE_LINES: usize = 200;

/// One row of the floors table.
#[derive(Debug, Default)]
struct Room {
    floor: u32,
    imports: Vec<String>,
    banned: Vec<String>,
}

/// One file of `src/`, and the lines of its code: no comments, no strings, no tests.
struct Source {
    path: String,
    text: String,
    room: String,
    code: Vec<(usize, String)>,
}

#[test]
fn every_file_says_what_it_is_for() {
    check(|source| match source.text.starts_with("//!") {
        true => vec![],
        false => vec!["does not open with //!".to_owned()],
    });
}

#[test]
fn files_and_lines_are_short() {
    check(|source| {
        let lines = source.text.lines().count();
        let long = lines > FILE_LINES && !LONGER.contains(&source.path.as_str());
        let mut found: Vec<_> = long.then(|| format!("has {lines} lines")).into_iter().collect();
        for (number, line) in source.text.lines().enumerate() {
            if line.chars().count() > COLUMNS {
                found.push(format!("line {} is over {COLUMNS} columns", number + 1));
            }
        }
        found
    });
    let architecture = read(Path::new("ARCHITECTURE.md"));
    assert!(architecture.lines().count() <= ARCHITECTURE_LINES, "ARCHITECTURE.md is too long");
}

#[test]
fn every_room_has_a_row_and_imports_downwards_only() {
    let rooms = floors();
    for (name, room) in &rooms {
        for import in &room.imports {
            let floor = rooms[import.split("::").next().expect("a room")].floor;
            let below = floor < room.floor || (floor == room.floor && import.contains("::"));
            assert!(below, "the table lets {name} import {import}, which is not below it");
        }
    }
    check(|source| {
        let Some(room) = rooms.get(&source.room) else {
            return vec![format!("room {} has no row in ARCHITECTURE.md", source.room)];
        };
        let allowed = |path: &str| {
            let within = |entry: &str| path == entry || path.starts_with(&format!("{entry}::"));
            within(&source.room) || room.imports.iter().any(|entry| within(entry))
        };
        let imports = source
            .code
            .iter()
            .flat_map(|(number, line)| paths(line).into_iter().map(move |path| (number, path)));
        let refused = imports.filter(|(_, path)| !allowed(path));
        refused.map(|(number, path)| format!("line {number} imports {path}")).collect()
    });
}

#[test]
fn no_room_contains_what_it_must_not_know() {
    let rooms = floors();
    check(|source| {
        let banned = rooms.get(&source.room).map_or(&[][..], |room| &room.banned);
        let mut found = Vec::new();
        for (number, line) in &source.code {
            let words = banned.iter().filter(|word| contains(line, word));
            found.extend(words.map(|word| format!("line {number} names {word}")));
        }
        found
    });
}

#[test]
fn only_the_clock_reads_time() {
    check(|source| {
        let reads = |line: &str| line.contains("Instant::now") || line.contains("SystemTime::now");
        let lines = source.code.iter().filter(|(_, line)| reads(line) && source.room != "clock");
        lines.map(|(number, _)| format!("line {number} reads a clock")).collect()
    });
}

#[test]
fn imports_say_what_they_import() {
    check(|source| {
        let vague = |line: &str| {
            let line = line.trim_start();
            line.contains("super::super::")
                || line.contains("crate::{")
                || (line.contains("use ") && line.ends_with("::*;"))
        };
        let lines = source.code.iter().filter(|(_, line)| vague(line));
        lines.map(|(number, line)| format!("line {number}: {}", line.trim())).collect()
    });
}

#[test]
fn code_is_told_from_comments_strings_and_tests() {
    let text = "use a; // crate::net\n/// tokio\nlet x = \"async \\\" tokio\"; // y\n\
        let quote = '\"'; let z = 1;\n#[cfg(test)]\nmod tests {\nuse tokio;\n";
    let lines: Vec<_> = code(text).into_iter().map(|(_, line)| line.trim().to_owned()).collect();
    assert_eq!(lines, ["use a;", "let x = \"\";", "let quote = ' '; let z = 1;"]);
    assert_eq!(
        paths("use crate::net::dial::Dial; crate::state::x()"),
        ["net::dial::Dial", "state::x"]
    );
    assert!(contains("x: AtomicU64", "Atomic*") && !contains("x: NonAtomic", "Atomic*"));
    assert!(contains("use rand::Rng", "rand") && !contains("operand", "rand"));
}

/// Runs a rule over every file; all that it finds is shown at once.
#[track_caller]
fn check(rule: impl Fn(&Source) -> Vec<String>) {
    let sources = sources();
    assert!(sources.len() > 10, "the tree was not found");
    let of = |source: &Source| -> Vec<_> {
        rule(source).into_iter().map(|what| format!("{}: {what}", source.path)).collect()
    };
    let found: Vec<_> = sources.iter().flat_map(of).collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

fn sources() -> Vec<Source> {
    let mut files = Vec::new();
    collect(Path::new("src"), &mut files);
    files.sort();
    files.iter().map(|path| source(path)).collect()
}

fn source(path: &Path) -> Source {
    let text = read(path);
    let inner = path.strip_prefix("src").expect("it is below src");
    let room = inner.iter().next().expect("a name").to_string_lossy();
    let room = room.trim_end_matches(".rs").to_owned();
    let test = inner.iter().any(|part| {
        ["tests", "tests.rs", "testing.rs"].iter().any(|name| part.to_string_lossy() == *name)
    });
    let code = if test || room == "lib" { Vec::new() } else { code(&text) };
    let room = if room == "lib" { "main".to_owned() } else { room };
    Source { path: path.display().to_string(), text, room, code }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of this tree") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// The lines before an inner test module, with their numbers, without comments and strings.
fn code(text: &str) -> Vec<(usize, String)> {
    let mut kept = Vec::new();
    let mut within_string = false;
    let mut test_next = false;
    for (number, line) in text.lines().enumerate() {
        if test_next && line.trim_start().starts_with("mod ") && line.ends_with('{') {
            break;
        }
        test_next = line.trim_start().starts_with("#[cfg(") && line.contains("test");
        let line = without_strings(line, &mut within_string);
        if !line.trim().is_empty() && !test_next {
            kept.push((number + 1, line));
        }
    }
    kept
}

fn without_strings(line: &str, within: &mut bool) -> String {
    let line = line.replace("'\"'", "' '").replace("'\\\"'", "' '").replace("b\"", "\"");
    let mut kept = String::new();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if *within => drop(letters.next()),
            '"' => {
                *within = !*within;
                kept.push('"');
            }
            '/' if !*within && letters.peek() == Some(&'/') => break,
            _ if *within => {}
            _ => kept.push(letter),
        }
    }
    kept
}

/// The rooms' paths a line names: `net::dial::Dial` for `crate::net::dial::Dial`.
fn paths(line: &str) -> Vec<String> {
    let starts = line.match_indices("crate::").map(|(at, word)| at + word.len());
    let starts = starts.chain(line.match_indices("pacegate::").map(|(at, word)| at + word.len()));
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let path = |at: usize| line[at..].split(|c| !part(c)).next().unwrap_or_default();
    starts.map(|at| path(at).trim_end_matches(':').to_owned()).collect()
}

/// Whether a line names a word; `Atomic*` stands for all that begin with it.
fn contains(line: &str, word: &str) -> bool {
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    match word.strip_suffix('*') {
        Some(beginning) => words.any(|found| found.starts_with(beginning)),
        None => words.any(|found| found == word),
    }
}

/// The floors table: room to row.
fn floors() -> BTreeMap<String, Room> {
    let text = read(Path::new("ARCHITECTURE.md"));
    let table = text.lines().skip_while(|line| !line.starts_with("| floor |")).skip(2);
    let mut rooms = BTreeMap::new();
    for line in table.take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [floor, name, imports, banned] = cells[..] else { panic!("four cells: {line}") };
        let floor = floor.parse().expect("a floor is a number");
        let room = Room { floor, imports: words(imports), banned: words(banned) };
        rooms.insert(words(name).concat(), room);
    }
    assert!(rooms.len() > 10, "the floors table was not found");
    rooms
}

/// What stands between backticks.
fn words(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}
