//! Runs a command as if we were not there: its input and output, its signals, its exit code.

use crate::cli::witness::Witness;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitStatus;
use tokio::process::{Child, Command};

/// How a command ended, or why it never began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The command's own; 128 + n for signal n; 125, 126 and 127 as `env` and `timeout` use them.
    pub code: u8,
    /// A sentence for stderr where there was no command to speak for itself.
    pub said: Option<String>,
}

/// Runs `command` with `environment` on top of ours (`None` takes a variable away) and waits for
/// its end. It stays in our process group, so that terminal and job control work; `witness` is the
/// program of the [`Witness`] that tells which signals it has got by itself.
pub async fn run(
    command: &[OsString],
    environment: &[(&str, Option<String>)],
    witness: Command,
) -> Ended {
    let Some((program, arguments)) = command.split_first() else {
        return Ended::never(OUR_FAILURE, "no command given".to_owned());
    };
    let mut signals = match Signals::caught() {
        Ok(signals) => signals,
        Err(error) => return Ended::never(OUR_FAILURE, format!("can't catch signals: {error}")),
    };
    let mut command = Command::new(program);
    command.args(arguments);
    for (name, value) in environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ended::unstarted(program, &error),
    };
    let mut witness = Witness::call(witness);
    loop {
        let signal = tokio::select! {
            status = child.wait() => return Ended::with(status),
            signal = signals.next() => signal,
        };
        if !has_got(&child, signal, &mut witness).await {
            pass_on(&child, signal);
        }
    }
}

impl Ended {
    fn never(code: u8, said: String) -> Ended {
        Ended { code, said: Some(said) }
    }

    fn unstarted(program: &OsString, error: &io::Error) -> Ended {
        let missing = error.kind() == io::ErrorKind::NotFound;
        let code = if missing { NOT_FOUND } else { NOT_EXECUTABLE };
        Ended::never(code, format!("{}: {error}", program.to_string_lossy()))
    }

    fn with(status: io::Result<ExitStatus>) -> Ended {
        match status {
            Ok(status) => Ended { code: code(status), said: None },
            Err(error) => Ended::never(OUR_FAILURE, format!("can't wait for the command: {error}")),
        }
    }
}

#[cfg(unix)]
fn code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let signal = status.signal().map(|signal| 128 + signal);
    let code = status.code().or(signal).unwrap_or(i32::from(OUR_FAILURE));
    u8::try_from(code).unwrap_or(OUR_FAILURE)
}

#[cfg(not(unix))]
fn code(status: ExitStatus) -> u8 {
    // Windows' codes have 32 bits; what doesn't fit is a failure all the same.
    status.code().map_or(OUR_FAILURE, |code| u8::try_from(code).unwrap_or(1))
}

#[cfg(unix)]
use unix::{Signals, has_got, pass_on};

#[cfg(unix)]
mod unix {
    use super::{Child, IsTerminal, io};
    use crate::cli::witness::Witness;
    use rustix::process::{Pid, Signal, getpgid, kill_process};
    use std::future::poll_fn;
    use std::task::Poll;
    use tokio::signal::unix::{self, SignalKind};

    /// The signals that end or wake us, caught so that the command alone decides about them.
    pub struct Signals {
        caught: Vec<(unix::Signal, Signal)>,
    }

    impl Signals {
        pub fn caught() -> io::Result<Signals> {
            let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
            let mut caught = Vec::new();
            for (kind, signal) in KINDS {
                // Under nohup a hang-up stays ignored, by the command too.
                if !is_ignored(&status, signal) {
                    caught.push((unix::signal(kind())?, signal));
                }
            }
            Ok(Signals { caught })
        }

        /// The next one.
        pub async fn next(&mut self) -> Signal {
            poll_fn(|context| {
                for (stream, signal) in &mut self.caught {
                    if let Poll::Ready(Some(())) = stream.poll_recv(context) {
                        return Poll::Ready(*signal);
                    }
                }
                Poll::Pending
            })
            .await
        }
    }

    /// Whether the command has got a signal by itself: it is of our process group still, and all of
    /// that were told.
    pub async fn has_got(child: &Child, signal: Signal, witness: &mut Witness) -> bool {
        let group = |id| getpgid(id).ok();
        if id(child).is_none_or(|child| group(Some(child)) != group(None)) {
            return false;
        }
        // A change of the window's size ends nobody, so that nobody can witness it.
        let seen = signal != Signal::WINCH && witness.saw().await;
        let blind = signal == Signal::WINCH || !witness.is_there();
        seen || (blind && FROM_TERMINAL.contains(&signal) && has_terminal())
    }

    /// A terminal tells the whole process group itself.
    fn has_terminal() -> bool {
        std::process::id() != 1
            && (io::stdin().is_terminal()
                || io::stdout().is_terminal()
                || io::stderr().is_terminal())
    }

    /// A command that is just gone needs no signal.
    pub fn pass_on(child: &Child, signal: Signal) {
        if let Some(id) = id(child) {
            let _ = kill_process(id, signal);
        }
    }

    fn id(child: &Child) -> Option<Pid> {
        child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
    }

    /// Whether a process with this `/proc/PID/status` ignores a signal. Where there is no such file
    /// none is taken for ignored.
    pub fn is_ignored(status: &str, signal: Signal) -> bool {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        mask >> (signal.as_raw() - 1) & 1 == 1
    }

    type Kind = fn() -> SignalKind;
    const KINDS: [(Kind, Signal); 7] = [
        (SignalKind::terminate, Signal::TERM),
        (SignalKind::hangup, Signal::HUP),
        (SignalKind::interrupt, Signal::INT),
        (SignalKind::quit, Signal::QUIT),
        (SignalKind::user_defined1, Signal::USR1),
        (SignalKind::user_defined2, Signal::USR2),
        (SignalKind::window_change, Signal::WINCH),
    ];
    const FROM_TERMINAL: [Signal; 3] = [Signal::INT, Signal::QUIT, Signal::WINCH];
}

#[cfg(not(unix))]
use elsewhere::{Signals, has_got, pass_on};

#[cfg(not(unix))]
mod elsewhere {
    use super::{Child, io};
    use crate::cli::witness::Witness;

    /// Ctrl-C reaches the command by itself; we only must not end of it.
    pub struct Signals;

    impl Signals {
        pub fn caught() -> io::Result<Signals> {
            Ok(Signals)
        }

        pub async fn next(&mut self) {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    pub async fn has_got(_child: &Child, (): (), _witness: &mut Witness) -> bool {
        true
    }

    pub fn pass_on(_child: &Child, (): ()) {}
}

/// As `env`, `timeout` and `docker run` have them.
pub const OUR_FAILURE: u8 = 125;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::cli::testing::Folder;
    use rustix::process::Signal;
    use tokio::io::AsyncReadExt;

    async fn check(command: &[&str], code: u8) -> Ended {
        let command: Vec<OsString> = command.iter().map(Into::into).collect();
        let environment = [("PACEGATE_ACTIVE", Some("1".to_owned())), ("HOME", None)];
        let ended = run(&command, &environment, Command::new("cat")).await;
        assert_eq!(ended.code, code, "{command:?} {ended:?}");
        ended
    }

    #[tokio::test]
    async fn the_commands_exit_code_is_ours() {
        assert_eq!(check(&["sh", "-c", "exit 0"], 0).await.said, None);
        check(&["sh", "-c", "exit 3"], 3).await;
        check(&["sh", "-c", "kill -TERM $$"], 143).await;
        check(&["sh", "-c", "kill -KILL $$"], 137).await;
    }

    #[tokio::test]
    async fn a_command_that_never_began_has_the_codes_of_env_and_a_reason() {
        let ended = check(&["pacegate-no-such-command"], 127).await;
        assert!(ended.said.is_some_and(|said| said.contains("pacegate-no-such-command")));
        let folder = Folder::new();
        let plain = folder.file("plain", "no program");
        check(&[plain.to_str().unwrap()], 126).await;
        check(&[], 125).await;
    }

    #[tokio::test]
    async fn the_environment_is_on_top_of_ours() {
        let script = "[ \"$PACEGATE_ACTIVE\" = 1 ] && [ -z \"$HOME\" ] && [ -n \"$PATH\" ]";
        check(&["sh", "-c", script], 0).await;
    }

    #[test]
    fn what_was_ignored_from_the_start_is_known() {
        let status = "Name:\tx\nSigIgn:\t0000000000001001\n";
        assert!(unix::is_ignored(status, Signal::HUP));
        assert!(!unix::is_ignored(status, Signal::TERM));
        assert!(!unix::is_ignored("", Signal::HUP));
    }

    #[tokio::test]
    async fn a_signal_is_passed_on_and_the_command_decides() {
        // `read` is interrupted by the trap; the pipe it reads stays open until then.
        let script = "trap 'exit 7' USR1; echo ready; while :; do read -r line; done";
        let mut command = Command::new("sh");
        command.args(["-c", script]).kill_on_drop(true);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let mut ready = [0; 6];
        child.stdout.take().unwrap().read_exact(&mut ready).await.unwrap();
        pass_on(&child, Signal::USR1);
        assert_eq!(code(child.wait().await.unwrap()), 7);
        drop(input);
    }
}
