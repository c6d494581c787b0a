//! Listening sockets, and accepting from them without dying when descriptors run out.

use socket2::{SockRef, TcpKeepalive};
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
    // What is accepted inherits both.
    keep_alive(&socket)?;
    hoard_little(&socket)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Has the system ask an idle connection's other end whether it is still there: one that went
/// without a word would hold its place, or its tunnel, for good.
pub(super) fn keep_alive<'a>(socket: impl Into<SockRef<'a>>) -> io::Result<()> {
    let asking = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 4);
    socket.into().set_tcp_keepalive(&asking)
}

/// Has the system take no more of an answer than it can soon send: left alone it takes megabytes for a
/// client that reads nothing, and a few hundred of those bring the whole machine's TCP to its limit,
/// where it drops what others send.
#[cfg(target_os = "linux")]
fn hoard_little<'a>(socket: impl Into<SockRef<'a>>) -> io::Result<()> {
    socket.into().set_tcp_notsent_lowat(UNSENT)
}

#[cfg(not(target_os = "linux"))]
fn hoard_little<'a>(_: impl Into<SockRef<'a>>) -> io::Result<()> {
    Ok(())
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
/// Below the 5 minutes after which most NATs forget a connection.
const KEEPALIVE: Duration = Duration::from_secs(60);
/// Bytes that wait to be sent for the first time; what is on its way doesn't count, so it slows
/// nobody who reads. Most pages are smaller.
#[cfg(target_os = "linux")]
const UNSENT: u32 = 128 * 1024;
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

    #[tokio::test]
    async fn the_system_asks_whether_a_client_is_still_there_and_hoards_little_for_it() {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (accepted, _) = accept(&listener).await;
        let socket = SockRef::from(&accepted);
        assert!(socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), KEEPALIVE);
        #[cfg(target_os = "linux")]
        assert_eq!(socket.tcp_notsent_lowat().unwrap(), UNSENT);
    }

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
