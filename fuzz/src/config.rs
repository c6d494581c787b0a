//! A configuration: the text of a file, and variables, into settings or mistakes.
//!
//! Input: the file; after each unit separator (0x1f) a variable, `NAME=VALUE`.

use pacegate::config::load::{Loaded, Sources, combine};
use pacegate::config::mistake::{Mistakes, Place, Severity};
use std::path::PathBuf;

pub fn body(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut parts = text.split('\u{1f}');
    let file = parts.next().unwrap_or_default();
    let env: Vec<_> = parts.filter_map(|part| part.split_once('=')).map(owned).collect();
    let read = read(file, &env);
    match &read {
        Ok(loaded) => {
            assert!(!loaded.warnings.has_errors());
            placed(&loaded.warnings, file, &env);
        }
        Err(mistakes) => {
            assert!(mistakes.has_errors());
            placed(mistakes, file, &env);
        }
    }
    same(&read, file, &env);
}

type Variable = (String, String);

fn owned((name, value): (&str, &str)) -> Variable {
    (name.to_owned(), value.to_owned())
}

pub fn read(file: &str, env: &[Variable]) -> Result<Loaded, Mistakes> {
    let named = Some(PathBuf::from("pacegate.yaml"));
    combine(file, Sources { file: named, env: env.to_vec(), flags: Vec::new() })
}

/// Every mistake says where it is, and what is said of it can be shown on a terminal.
pub fn placed(mistakes: &Mistakes, file: &str, env: &[Variable]) {
    let lines = file.replace("\r\n", "\n").replace('\r', "\n");
    let lines = lines.lines().count().max(1);
    for mistake in mistakes.iter() {
        assert!(!mistake.message.is_empty());
        assert!(mistake.message.len() + mistake.hint.len() < 4096, "{}", mistake.message);
        match &mistake.place {
            // What can't be at the end of a file is said to be on the line after it.
            Place::File(spot) => assert!(
                (1..=lines + 1).contains(&spot.line) && spot.column >= 1 && spot.width >= 1,
                "{spot:?} of {lines} lines: {}",
                mistake.message
            ),
            Place::Environment(name) => assert!(env.iter().any(|(known, _)| known == name)),
            Place::Flag(path) => panic!("a flag nobody set: {path}"),
            Place::Whole => panic!("nowhere: {}", mistake.message),
        }
    }
    let shown = mistakes.to_string();
    assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
    assert!(mistakes.lines().all(|line| !line.contains(char::is_control)));
    let json: serde_json::Value = serde_json::from_str(&mistakes.to_json()).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(mistakes.iter().count()));
}

/// How lines end changes nothing, nor does reading it again.
fn same(read: &Result<Loaded, Mistakes>, file: &str, env: &[Variable]) {
    if file.contains('\r') {
        return;
    }
    let other = self::read(&file.replace('\n', "\r\n"), env);
    match (read, &other) {
        (Ok(one), Ok(other)) => {
            assert_eq!(format!("{:?}", one.config.pace), format!("{:?}", other.config.pace));
            assert_eq!(format!("{:?}", one.config.retry), format!("{:?}", other.config.retry));
            assert_eq!(one.config.verdicts, other.config.verdicts);
        }
        (Err(one), Err(other)) => assert!(one.iter().eq(other.iter()), "{one}{other}"),
        (Ok(_), Err(mistakes)) | (Err(mistakes), Ok(_)) => panic!("only one way: {mistakes}"),
    }
    assert!(
        read.as_ref().err().is_none_or(|it| it.iter().any(|it| it.severity == Severity::Error))
    );
}
