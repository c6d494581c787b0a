//! Listening sockets, and accepting from them without dying when descriptors run out.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Listens at an address.
///
/// # Errors
/// The system's reason: in use, not ours, not permitted.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The next connection. A connection that failed before we got it is passed over; when descriptors
/// run out it waits a moment instead of spinning.
pub async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    let mut said = false;
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_passing(&error) => {}
            Err(error) => {
                if !std::mem::replace(&mut said, true) {
                    tracing::warn!(%error, "can't accept a connection; trying again every 50 ms");
                }
                tokio::time::sleep(FULL_PAUSE).await;
            }
        }
    }
}

/// Whether we, or the machine, have no descriptors left: nobody else's fault, and soon over.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(EMFILE | ENFILE))
}

/// The connection's own trouble, not ours (accept(2)).
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
            | io::ErrorKind::ConnectionRefused
    )
}

/// The kernel cuts it to net.core.somaxconn.
const BACKLOG: u32 = 4096;
/// POSIX numbers, the same on every Unix we run on; std has no kind for them.
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;
pub(super) const FULL_PAUSE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::outcome::FaultKind;
    use crate::net::fault;
    use crate::pace::scope::Host;

    #[test]
    fn descriptors_that_run_out_are_no_fault_of_a_site() {
        let host = Host::parse("shop.example").unwrap();
        for number in [EMFILE, ENFILE] {
            let error = io::Error::from_raw_os_error(number);
            assert!(is_full(&error), "{error}");
            assert_eq!(fault::lookup(&host, &error).kind, FaultKind::DnsTimeout);
        }
        assert!(!is_full(&io::ErrorKind::ConnectionRefused.into()));
    }
}
