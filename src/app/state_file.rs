//! The file that carries rungs, pauses and quotas over a restart: a line of JSON each, after one that
//! says what it is.
//!
//! It is written beside and put in place, for its owner only. What can't be read is a warning with what
//! to do, never a reason not to start.

use crate::app::state_line::{header, kept, line, saved_at};
use crate::clock::Clock;
use crate::state::gate::Gate;
use crate::state::snapshot::Kept;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Where the state of a gate is kept.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    gate: Arc<Gate>,
    clock: Clock,
    /// Who writes; a later one must not be put in place before an earlier one.
    writing: Mutex<()>,
}

/// What a file said.
#[derive(Debug, Default)]
struct Found {
    rows: Vec<Kept>,
    elapsed: Duration,
    /// Lines that could not be read.
    damaged: usize,
}

impl StateFile {
    /// The file of a gate.
    pub fn new(path: &Path, gate: Arc<Gate>, clock: Clock) -> StateFile {
        StateFile { path: path.to_owned(), gate, clock, writing: Mutex::default() }
    }

    /// Gives the gate back what was saved, at most so many rows.
    pub fn load(&self, most: usize) {
        let file = self.path.display();
        let found = match self.read(most) {
            Ok(Some(found)) => found,
            Ok(None) => return tracing::info!(%file, "no state is kept yet"),
            Err(why) => {
                let aside = self.move_aside();
                return tracing::warn!(
                    %file, why, aside,
                    "state_file can't be read: every host starts without a past; its file was put aside"
                );
            }
        };
        let restored =
            found.rows.iter().filter(|row| self.gate.restore(row, found.elapsed)).count();
        let away = found.elapsed.as_secs();
        tracing::info!(%file, rows = restored, away_seconds = away, "state loaded");
        if found.damaged > 0 {
            let lines = found.damaged;
            tracing::warn!(%file, lines, "state_file has damaged lines: those hosts start without a past");
        }
    }

    /// Writes what there is to keep. Waits for the disk: not for a task that others wait for.
    pub fn save(&self) {
        let turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = self.gate.snapshot();
        let written = self.write(&rows);
        drop(turn);
        let file = self.path.display();
        match written {
            Ok(()) => tracing::debug!(%file, rows = rows.len(), "state saved"),
            Err(why) => tracing::warn!(
                %file, %why,
                "state_file can't be written: a restart will forget pauses and rungs; is its folder \
                 there, and ours to write in?"
            ),
        }
    }

    /// Saves now and then, for ends that nobody announces.
    pub async fn keep(self: Arc<Self>) {
        loop {
            self.clock.sleep_until(self.clock.now() + EVERY).await;
            let file = self.clone();
            let _ = tokio::task::spawn_blocking(move || file.save()).await;
        }
    }

    fn write(&self, rows: &[Kept]) -> io::Result<()> {
        let draft = beside(&self.path, &format!("{}.new", std::process::id()));
        let written =
            write_new(&draft, rows, &self.clock).and_then(|()| fs::rename(&draft, &self.path));
        if written.is_err() {
            drop(fs::remove_file(&draft));
        }
        written
    }

    /// `None`: there is no file yet.
    fn read(&self, most: usize) -> Result<Option<Found>, String> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(why.to_string()),
        };
        let mut lines = BufReader::new(file);
        let first = next_line(&mut lines).map_err(|why| why.to_string())?.unwrap_or_default();
        let saved_at = saved_at(&first)?;
        let mut found = Found {
            // A clock that was set back makes nothing longer, and one set forward nothing negative.
            elapsed: self.clock.wall().duration_since(saved_at).unwrap_or_default(),
            ..Found::default()
        };
        while found.rows.len() + found.damaged < most {
            let Some(text) = next_line(&mut lines).map_err(|why| why.to_string())? else { break };
            match kept(&text) {
                Some(row) => found.rows.push(row),
                None => found.damaged += 1,
            }
        }
        Ok(Some(found))
    }

    /// Where it can be looked at.
    fn move_aside(&self) -> String {
        let aside = beside(&self.path, "damaged");
        match fs::rename(&self.path, &aside) {
            Ok(()) => aside.display().to_string(),
            Err(why) => format!("nowhere ({why}): it is written over on stop"),
        }
    }
}

/// The same name with another end.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(end);
    path.with_file_name(name)
}

fn write_new(draft: &Path, rows: &[Kept], clock: &Clock) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // One of an earlier process with our number may have other rights.
    drop(fs::remove_file(draft));
    let mut file = BufWriter::new(options.open(draft)?);
    writeln!(file, "{}", header(clock.wall()))?;
    for row in rows {
        writeln!(file, "{}", line(row))?;
    }
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// A line, or the beginning of one that is too long; `None` at the end.
fn next_line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    from.by_ref().take(LINE_BYTES).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// What is lost if the process is killed.
const EVERY: Duration = Duration::from_secs(300);
/// Ten times the longest that is written.
const LINE_BYTES: u64 = 8192;
