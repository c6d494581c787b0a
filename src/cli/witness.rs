//! Tells a signal to our whole process group from one to us alone: a process of ours that stands
//! beside the command and does nothing. What ends it has reached the command as well (a terminal's
//! Ctrl-C, `timeout`, a supervisor that stops all it started), and is not passed on a second time.
//!
//! This file must not know what is done about a signal.

use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

/// The process beside the command. It ends with us: its input is a pipe from us.
pub struct Witness {
    program: Command,
    child: Option<(Child, ChildStdin)>,
}

impl Witness {
    /// Starts `program`, which must read its input to the end and leave signals their effect. Where
    /// it can't be started, nothing is ever [seen](Witness::saw).
    pub fn call(mut program: Command) -> Witness {
        program.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        program.kill_on_drop(true);
        let child = stands(&mut program);
        Witness { program, child }
    }

    /// Whether there is one.
    pub fn is_there(&self) -> bool {
        self.child.is_some()
    }

    /// Whether what came to us a moment ago came to it too. Another takes its place then.
    pub async fn saw(&mut self) -> bool {
        let Some((child, _input)) = &mut self.child else { return false };
        let ended = timeout(MOMENT, child.wait()).await.is_ok();
        let seen = ended || child.id().is_some_and(is_dying);
        if seen {
            self.child = stands(&mut self.program);
        }
        seen
    }
}

/// One more, and the pipe that is kept apart: who waits for a child closes what it has.
fn stands(program: &mut Command) -> Option<(Child, ChildStdin)> {
    let mut child = program.spawn().ok()?;
    let input = child.stdin.take()?;
    Some((child, input))
}

/// Whether a signal waits to end a process that a busy machine hasn't let run since.
fn is_dying(id: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    status.lines().any(|line| match line.split_once(':') {
        Some(("SigPnd" | "ShdPnd", mask)) => {
            u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask != 0)
        }
        Some(("State", state)) => state.trim_start().starts_with(['Z', 'X']),
        Some(_) | None => false,
    })
}

/// What the witness does: nothing, until its input ends.
pub fn stand_by() {
    // A witness of SIGQUIT leaves no core behind.
    let _ = rlimit::Resource::CORE.set(0, 0);
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}

/// The system tells all of a group before it goes on; a process that is to end needs a little longer.
const MOMENT: Duration = Duration::from_millis(50);
