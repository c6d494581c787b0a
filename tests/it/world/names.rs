//! A name server of a test's own. The system's resolver asks only port 53 of whom `resolv.conf`
//! names, so the proxy is given one of its own in a mount namespace: that takes root.

use super::folder::Folder;
use super::unchecked;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

/// What the server says about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// It is at 127.0.0.1.
    Here,
    /// There is no such name.
    Unknown,
    /// The name is at these.
    At(&'static [Ipv4Addr]),
    /// The name is known, but has no address.
    Bare,
    /// SERVFAIL.
    Broken,
    /// Nothing.
    Silence,
}

/// The server. It ends with the process.
pub struct Names {
    file: PathBuf,
    _folder: Folder,
}

impl Names {
    /// A server that says this of a query's first label. `None`: this machine doesn't let us, which is
    /// said.
    pub fn serve(said: impl Fn(&str) -> Said + Send + 'static) -> Option<Names> {
        let names = Names::allowed(said);
        if names.is_none() {
            unchecked("a name server of its own takes root and unshare");
        }
        names
    }

    fn allowed(said: impl Fn(&str) -> Said + Send + 'static) -> Option<Names> {
        static NEXT: AtomicU8 = AtomicU8::new(1);
        let [_, _, high, low] = std::process::id().to_be_bytes();
        // An address nobody else has: the port is the same for all.
        let own = NEXT.fetch_add(1, Ordering::Relaxed) % 100 + 100;
        let address = Ipv4Addr::new(127, own, high, low.max(1));
        let socket = UdpSocket::bind(SocketAddrV4::new(address, 53)).ok()?;
        let folder = Folder::new();
        let lines = format!("nameserver {address}\noptions timeout:1 attempts:1\n");
        let file = folder.write("resolv.conf", &lines);
        let names = Names { file, _folder: folder };
        let allowed = names.under("true").output().is_ok_and(|done| done.status.success());
        std::thread::spawn(move || {
            let mut query = [0; 512];
            while let Ok((size, asker)) = socket.recv_from(&mut query) {
                if let Some(answer) = reply(&query[..size], &said) {
                    socket.send_to(&answer, asker).ok();
                }
            }
        });
        allowed.then_some(names)
    }

    /// A command that runs where this is the only name server. Its process is the program's.
    pub fn under(&self, program: &str) -> Command {
        let mut command = Command::new("unshare");
        let script = "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"";
        command.args(["-m", "sh", "-c", script]).arg(&self.file).arg(program);
        command
    }
}

/// The answer to a query (RFC 1035 §4.1).
fn reply(query: &[u8], said: impl Fn(&str) -> Said) -> Option<Vec<u8>> {
    let question = query.get(12..)?;
    let label = question.get(1..1 + usize::from(*question.first()?))?;
    let end = question.iter().position(|byte| *byte == 0)? + 5;
    let address = question.get(end - 4..end - 2)? == [0, 1];
    let said = said(&String::from_utf8_lossy(label));
    let code = match said {
        Said::Silence => return None,
        Said::Here | Said::At(_) | Said::Bare => 0,
        Said::Broken => 2,
        Said::Unknown => 3,
    };
    let found: &[Ipv4Addr] = match said {
        Said::Here if address => &[Ipv4Addr::LOCALHOST],
        Said::At(found) if address => found,
        Said::Here | Said::At(_) | Said::Bare | Said::Broken | Said::Unknown | Said::Silence => &[],
    };
    let mut answer = query.get(..2)?.to_vec();
    answer.extend([0x81, 0x80 | code, 0, 1, 0, found.len() as u8, 0, 0, 0, 0]);
    answer.extend_from_slice(question.get(..end)?);
    for address in found {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4]);
        answer.extend(address.octets());
    }
    Some(answer)
}
