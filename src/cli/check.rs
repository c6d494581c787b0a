//! `pacegate check [FILE]`: is the configuration good, and if not, where is it wrong?

use crate::config::load::{Loaded, Sources, load, load_from};
use crate::config::mistake::Mistakes;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How the report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Human,
    /// For programs: a JSON list, empty if all is well.
    Json,
}

/// Checks the sources as they would be used; a file called `-` is read from `input`. The text is for standard
/// output; the code is 0, or 1 for warnings if they count (`strict`), or 2 for errors.
pub fn check(sources: Sources, format: Format, strict: bool, input: &mut dyn Read) -> (String, u8) {
    let file = sources.file.clone();
    let outcome = match file.as_deref() {
        Some(file) if file == Path::new("-") => from_input(sources, input),
        Some(_) | None => load(sources),
    };
    let (mistakes, failed) = match outcome {
        Ok(Loaded { warnings, .. }) => (warnings, false),
        Err(mistakes) => (mistakes, true),
    };
    let code = match (failed, mistakes.is_empty()) {
        (true, _) => 2,
        (false, false) if strict => 1,
        (false, _) => 0,
    };
    match format {
        Format::Json => (mistakes.to_json() + "\n", code),
        Format::Human => (for_people(&mistakes, file, failed), code),
    }
}

fn from_input(mut sources: Sources, input: &mut dyn Read) -> Result<Loaded, Mistakes> {
    sources.file = Some(PathBuf::from("(standard input)"));
    load_from(input, sources)
}

fn for_people(mistakes: &Mistakes, file: Option<PathBuf>, failed: bool) -> String {
    let name = file.map_or_else(|| "the defaults".to_owned(), |file| file.display().to_string());
    let count = mistakes.iter().count();
    let summary = match (failed, count) {
        (false, 0) => format!("{name}: good\n"),
        (false, 1) => format!("{name}: good, with 1 warning\n"),
        (false, _) => format!("{name}: good, with {count} warnings\n"),
        (true, 1) => format!("{name}: 1 mistake\n"),
        (true, _) => format!("{name}: {count} mistakes\n"),
    };
    format!("{mistakes}{summary}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, format: Format, strict: bool) -> (String, u8) {
        let sources = Sources { file: Some("-".into()), ..Sources::default() };
        check(sources, format, strict, &mut text.as_bytes())
    }

    #[test]
    fn the_code_says_good_warned_or_wrong() {
        let warned = "retry: {window: 30s, response_timeout: 10s}";
        assert_eq!(run("", Format::Human, true), ("-: good\n".to_owned(), 0));
        assert_eq!(run(warned, Format::Human, false).1, 0);
        assert_eq!(run(warned, Format::Human, true).1, 1);
        let (text, code) = run("banana: 1", Format::Human, false);
        assert!(
            text.ends_with("-: 1 mistake\n") && text.contains("(standard input):1:1"),
            "{text}"
        );
        assert_eq!(code, 2);
    }

    #[test]
    fn programs_get_json_and_nothing_else() {
        assert_eq!(run("", Format::Json, false), ("[]\n".to_owned(), 0));
        let (text, _) = run("banana: 1", Format::Json, false);
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
    }

    #[test]
    fn the_files_we_ship_are_good() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let examples = std::fs::read_dir(root.join("config/examples")).expect("a folder");
        let examples: Vec<_> = examples.map(|entry| entry.expect("a file").path()).collect();
        assert!(examples.len() >= 6, "{examples:?}");
        let own = ["config/example.yaml", "config/minimal.yaml"].map(|file| root.join(file));
        for file in own.into_iter().chain(examples) {
            let sources = Sources { file: Some(file), ..Sources::default() };
            assert_eq!(check(sources, Format::Human, true, &mut std::io::empty()).1, 0);
        }
    }
}
