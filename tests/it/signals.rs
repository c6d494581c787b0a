//! `pacegate run` and signals: each reaches the command once, whether it was for all of us or for the
//! proxy alone.

use crate::world::folder::Folder;
use crate::world::proxy::{pacegate, send_signal};
use crate::world::until;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// `pacegate run` in a process group of its own, and what its command says.
struct Pair {
    child: Child,
    said: Arc<Mutex<Vec<String>>>,
    /// What the command waits for is never written.
    _input: Option<ChildStdin>,
    _folder: Folder,
}

impl Pair {
    /// Its command says each signal it gets, and ends with the third.
    fn start(wrapper: &[&str]) -> Pair {
        let script = "n=0; got() { echo got $1; n=$((n + 1)); [ $n -lt 3 ] || exit 7; }
            trap 'got INT' INT; trap 'got TERM' TERM; trap 'got HUP' HUP
            echo ready; while :; do read -r line; done";
        let folder = Folder::new();
        let mut command = pacegate(&folder);
        command.args(["run", "--quiet", "--"]).args(wrapper).args(["sh", "-c", script]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.process_group(0).spawn().expect("the binary starts");
        let (said, output) = (Arc::new(Mutex::new(Vec::new())), child.stdout.take());
        let shared = said.clone();
        std::thread::spawn(move || {
            let output = BufReader::new(output.expect("it is piped"));
            for line in output.lines().map_while(Result::ok) {
                shared.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        let pair = Pair { _input: child.stdin.take(), child, said, _folder: folder };
        pair.hears(&["ready"]);
        pair
    }

    fn said(&self) -> Vec<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for these lines, and for a while whether more come.
    #[track_caller]
    fn hears(&self, lines: &[&str]) {
        until(|| (self.said().len() >= lines.len()).then_some(()));
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(self.said(), lines);
    }

    fn to_all(&self, signal: &str) {
        let kill = format!("kill -{signal} -{}", self.child.id());
        let done = Command::new("sh").args(["-c", &kill]).status();
        assert!(done.expect("a shell").success(), "{kill}");
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let kill = format!("kill -KILL -{}", self.child.id());
            Command::new("sh").args(["-c", &kill]).status().ok();
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

#[test]
fn a_signal_to_the_group_reaches_the_command_once_and_so_does_one_to_the_proxy() {
    let mut pair = Pair::start(&[]);
    pair.to_all("INT");
    pair.hears(&["ready", "got INT"]);
    pair.to_all("TERM");
    pair.hears(&["ready", "got INT", "got TERM"]);
    send_signal(pair.child.id(), "HUP");
    let ended = until(|| pair.child.try_wait().expect("our own child"));
    assert_eq!(ended.and_then(|status| status.code()), Some(7), "{:?}", pair.said());
    assert_eq!(pair.said(), ["ready", "got INT", "got TERM", "got HUP"]);
}

#[test]
fn a_command_that_leaves_the_group_is_told_by_us() {
    // It makes a session of its own, so that nothing reaches it that is for the group.
    let pair = Pair::start(&["setsid"]);
    pair.to_all("INT");
    pair.hears(&["ready", "got INT"]);
    send_signal(pair.child.id(), "TERM");
    pair.hears(&["ready", "got INT", "got TERM"]);
    send_signal(pair.child.id(), "HUP");
    pair.hears(&["ready", "got INT", "got TERM", "got HUP"]);
}
