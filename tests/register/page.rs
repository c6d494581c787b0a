//! `docs/conformance.md`, written from the rows and the peers' files. The committed page is what
//! would be written now, or a test fails that says how to renew it.

use crate::peer::{Result, Results};
use crate::row::{Decision, Row, Stand};
use crate::rows;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/conformance.md";
const RENEW: &str = "RENEW=1 cargo test --test register the_page";

/// Where the peers' results are kept.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/conformance")
}

#[test]
fn the_page_says_what_the_rows_and_files_say() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let now = page(&peers());
    if std::env::var_os("RENEW").is_some() {
        fs::write(&file, &now).expect("the page can be written");
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == now, "{PAGE} is out of date; renew it with: {RENEW}");
}

#[test]
fn every_number_has_one_row() {
    let numbers: Vec<u16> = rows::all().map(|row| row.number).collect();
    assert_eq!(numbers, (1..=rows::LAST).collect::<Vec<_>>());
}

fn peers() -> Vec<Results> {
    let Ok(entries) = fs::read_dir(folder()) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "tsv"));
    files.sort();
    let read = |file: &PathBuf| Results::read(&fs::read_to_string(file).expect("a readable file"));
    files.iter().map(read).collect()
}

fn page(peers: &[Results]) -> String {
    let mut page = String::from(INTRODUCTION);
    totals(&mut page, peers);
    decisions(&mut page);
    page.push_str("\n## The register\n\n");
    let mut header = String::from("| # | statement | asked by | pacegate |");
    let mut rule = String::from("|---|---|---|---|");
    for peer in peers {
        write!(header, " {} {} |", peer.name, peer.version).expect("a string takes all");
        rule.push_str("---|");
    }
    writeln!(page, "{header}\n{rule}").expect("a string takes all");
    for row in rows::all() {
        line(&mut page, row, peers);
    }
    page
}

fn line(page: &mut String, row: &Row, peers: &[Results]) {
    let us = match &row.stand {
        Stand::Met => "met".to_owned(),
        Stand::Deviates { decision, .. } => format!("[{}](#decisions)", letter(*decision)),
        Stand::NotBuilt(what) => format!("not built: {what}"),
    };
    let Row { number, says, reference, .. } = row;
    write!(page, "| {number} | {says} | {reference} | {us} |").expect("a string takes all");
    for peer in peers {
        let found = peer.rows.iter().find(|(it, _)| it == number).map(|(_, result)| result);
        let word = match found {
            Some(Result::Met) => "met",
            Some(Result::NotMet(_)) => "**not met**",
            Some(Result::CannotRun(_)) | None => "–",
        };
        write!(page, " {word} |").expect("a string takes all");
    }
    page.push('\n');
}

fn totals(page: &mut String, peers: &[Results]) {
    let count = |test: fn(&Stand) -> bool| rows::all().filter(|row| test(&row.stand)).count();
    let met = count(|stand| matches!(stand, Stand::Met));
    let deviate = count(|stand| matches!(stand, Stand::Deviates { .. }));
    let missing = count(|stand| matches!(stand, Stand::NotBuilt(_)));
    page.push_str("\n| proxy | met | not met | by decision | not built | not measurable |\n");
    page.push_str("|---|---|---|---|---|---|\n");
    writeln!(page, "| pacegate | {met} | 0 | {deviate} | {missing} | 0 |").expect("a string");
    for peer in peers {
        let count = |test: fn(&Result) -> bool| peer.rows.iter().filter(|(_, it)| test(it)).count();
        let met = count(|result| matches!(result, Result::Met));
        let not = count(|result| matches!(result, Result::NotMet(_)));
        let rest = rows::all().count() - met - not;
        let Results { name, version, .. } = peer;
        writeln!(page, "| {name} {version} | {met} | {not} | – | – | {rest} |").expect("a string");
    }
}

fn decisions(page: &mut String) {
    page.push_str("\n## Decisions\n\nWhere we depart from a statement, knowingly:\n\n");
    for decision in Decision::ALL {
        writeln!(page, "* **{}** {}", letter(decision), decision.text()).expect("a string");
    }
}

fn letter(decision: Decision) -> char {
    let place = Decision::ALL.iter().position(|it| *it == decision).expect("one of all");
    char::from(b'A' + place as u8)
}

const INTRODUCTION: &str = "# Conformance

What HTTP asks of a forward proxy, as numbered statements that can be tested, and who meets them. The
page is written from the tests themselves (`tests/register/`): each statement has a test that carries
its number (`cargo test --test register row_009`), and a change that breaks one fails there.

The other columns are the same tests played to other proxies by `.ci/conformance-peers`, with their
defaults as far as that goes (squid without its cache and with all ports allowed, mitmproxy connecting
lazily, hudsucker with HTTP/2 on); what each was seen to do is in `conformance/*.tsv`. A dash means that
the test can't be played to that proxy: it is about our own answers or settings, or about HTTP/2 with a
client where the proxy speaks none. Nobody's word is taken, ours included.
";
