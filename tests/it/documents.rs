//! The README says what the product does: its tables are held to the code's.

use pacegate::metrics::meter::Meter;
use std::fmt::Write;

#[test]
fn the_readme_lists_every_metric_with_its_labels_and_help() {
    let mut want = String::from("| metric | kind | labels | |\n|---|---|---|---|\n");
    for (name, kind, labels, help) in Meter::table() {
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        let _ = writeln!(want, "| `{name}` | {kind} | {} | {help} |", labels.join(" "));
    }
    let readme = include_str!("../../README.md");
    let (_, rest) = readme.split_once("<!-- metrics -->\n").expect("the table's beginning");
    let (table, _) = rest.split_once("<!-- /metrics -->").expect("the table's end");
    assert_eq!(table, want, "README.md's table of metrics; it should be:\n{want}");
}

#[test]
fn the_readme_names_every_kind_and_error_of_our_own_answers() {
    let readme = include_str!("../../README.md");
    for case in pacegate::flow::ending::Case::ALL {
        let row = case.row();
        for word in [row.kind, row.error] {
            assert!(readme.contains(&format!("`{word}`")), "README.md does not name `{word}`");
        }
    }
}

#[test]
fn the_promises_name_tests_and_scripts_that_exist() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = include_str!("../../docs/promises.md");
    let numbers = (1..=28).map(|number| format!("\n| G{number} | "));
    let lost: Vec<String> =
        numbers.filter(|start| page.matches(start.as_str()).count() != 1).collect();
    assert!(lost.is_empty(), "{lost:?}");
    let words = || page.split([' ', '`', '\n', ';', '(', ')', ',']);
    for name in words().filter_map(|word| word.split_once("::")) {
        let (module, test) = name;
        let files = [format!("tests/it/{module}.rs"), format!("src/{module}/mod.rs")];
        let found = files.iter().find_map(|file| std::fs::read_to_string(here.join(file)).ok());
        let text = found.unwrap_or_else(|| panic!("no room or module {module}"));
        let named = module == "state" || test.is_empty() || text.contains(&format!("fn {test}"));
        assert!(named, "no test of {module} begins with {test}");
    }
    for script in words().filter(|word| word.starts_with(".ci/") || *word == "bench/run") {
        assert!(here.join(script).exists(), "{script}");
    }
    let sizes = words().filter_map(|word| word.split_once('=')).map(|(name, _)| name);
    for name in sizes.filter(|name| name.starts_with("PACEGATE_")) {
        let used = std::fs::read_dir(here.join("tests/it")).expect("our own folder").flatten();
        let mut texts = used.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
        assert!(texts.any(|text| text.contains(&format!("\"{name}\""))), "{name}");
    }
}
