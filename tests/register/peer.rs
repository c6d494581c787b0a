//! Another proxy as the subject of the probes, and the file in which its results are kept.
//!
//! `REGISTER_PEER=name REGISTER_VERSION=… REGISTER_ADDRESS=127.0.0.1:3128 REGISTER_CA=ca.pem
//! REGISTER_ORIGINS=folder cargo test --test register -- --ignored measure_a_peer`. The folder holds
//! `ca.pem` and `ca-key.pem`, which sign for the origins and which the peer trusts.

use crate::play::{Cannot, Play};
use crate::row::{Probe, Row};
use crate::rows;
use crate::world::authority::Authority;
use std::any::Any;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A proxy that somebody else started.
#[derive(Clone)]
pub struct Peer {
    pub address: SocketAddr,
    /// What clients trust.
    pub ca: PathBuf,
    pub origins: Origins,
}

/// Where the origins' certificate authority is kept.
#[derive(Clone)]
pub struct Origins(PathBuf);

impl Origins {
    pub fn authority(&self) -> Authority {
        Authority::kept(&self.0.join("ca.pem"), &self.0.join("ca-key.pem"))
    }
}

/// What a row came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Result {
    Met,
    NotMet(String),
    CannotRun(String),
}

/// All rows' results of one peer, as its file keeps them.
pub struct Results {
    pub name: String,
    pub version: String,
    pub rows: Vec<(u16, Result)>,
}

impl Results {
    /// Reads a file: a line of name and version, then `number`, `word`, `why` by tabs.
    pub fn read(text: &str) -> Results {
        let mut lines = text.lines();
        let title = lines.next().and_then(|line| line.strip_prefix("# ")).expect("a title line");
        let (name, version) = title.split_once(' ').expect("name and version");
        let row = |line: &str| {
            let mut words = line.split('\t');
            let number = words.next().and_then(|it| it.parse().ok()).expect("a row's number");
            let (word, why) = (words.next().expect("a result"), words.next().unwrap_or_default());
            let result = match word {
                "met" => Result::Met,
                "not met" => Result::NotMet(why.to_owned()),
                "can't run" => Result::CannotRun(why.to_owned()),
                other => panic!("row {number}: what is {other:?}?"),
            };
            (number, result)
        };
        Results { name: name.into(), version: version.into(), rows: lines.map(row).collect() }
    }

    fn write(&self) -> String {
        let mut text = format!("# {} {}\n", self.name, self.version);
        for (number, result) in &self.rows {
            let (word, why) = match result {
                Result::Met => ("met", ""),
                Result::NotMet(why) => ("not met", why.as_str()),
                Result::CannotRun(why) => ("can't run", why.as_str()),
            };
            let line = format!("{number}\t{word}\t{why}");
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

#[test]
#[ignore = "measures the proxy that REGISTER_ADDRESS names; .ci/conformance-peers starts some"]
fn measure_a_peer() {
    let given = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let peer = Peer {
        address: given("REGISTER_ADDRESS").parse().expect("an address"),
        ca: given("REGISTER_CA").into(),
        origins: Origins(given("REGISTER_ORIGINS").into()),
    };
    std::panic::set_hook(Box::new(|_| {})); // what fails is written to the file
    let all: Vec<&Row> = rows::all().collect();
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(row) = all.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let result = judge(&peer, row.probes);
                    results.lock().expect("nobody panics here").push((row.number, result));
                }
            });
        }
    });
    let mut rows = results.into_inner().expect("nobody panicked");
    rows.sort_by_key(|(number, _)| *number);
    let results =
        Results { name: given("REGISTER_PEER"), version: given("REGISTER_VERSION"), rows };
    let file = crate::page::folder().join(format!("{}.tsv", results.name));
    std::fs::write(file, results.write()).expect("the results can be kept");
}

fn judge(peer: &Peer, probes: &[Probe]) -> Result {
    if probes.is_empty() {
        return Result::CannotRun("no probe".into());
    }
    let (mut met, mut missing) = (false, None);
    for probe in probes {
        let play = AssertUnwindSafe(|| probe(&Play::peer(peer.clone())));
        match catch_unwind(play).map_err(|why| reason(&*why)) {
            Ok(()) => met = true,
            Err(result @ Result::CannotRun(_)) => missing = Some(result),
            Err(result) => return result,
        }
    }
    // What can be played of a row speaks for it.
    missing.filter(|_| !met).unwrap_or(Result::Met)
}

fn reason(panic: &(dyn Any + Send)) -> Result {
    if let Some(Cannot(why)) = panic.downcast_ref() {
        return Result::CannotRun((*why).to_owned());
    }
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it failed");
    // Ports differ from run to run.
    let mut pieces = text.split("localhost:");
    let mut line = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        line += "localhost";
        line += piece.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    let line = line.replace("\r\n", " ").replace(['\n', '\t'], " ");
    let line = line.chars().filter(|c| !c.is_control()).take(160).collect();
    Result::NotMet(line)
}
