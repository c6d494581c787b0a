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
