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
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_passing(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "can't accept a connection; trying again in 50 ms");
                tokio::time::sleep(FULL_PAUSE).await;
            }
        }
    }
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
const FULL_PAUSE: Duration = Duration::from_millis(50);
