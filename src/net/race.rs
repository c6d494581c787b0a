//! Which of several addresses a connection comes about with.
//!
//! It must not know whose addresses they are.

use crate::net::listen::{FULL_PAUSE, is_full, keep_alive};
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};

/// A socket that may connect to such an address.
pub(super) fn family(address: SocketAddr) -> io::Result<TcpSocket> {
    match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }
}

/// Connects to the first address that lets us; the error is the most telling one. `first` is a
/// socket for the first.
pub(super) async fn race(
    addresses: Vec<SocketAddr>,
    mut first: Option<TcpSocket>,
) -> io::Result<TcpStream> {
    let mut waiting = addresses.into_iter();
    let mut running: Vec<Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>> = Vec::new();
    let mut worst: Option<io::Error> = None;
    loop {
        match waiting.next() {
            Some(address) => running.push(Box::pin(connect(address, first.take()))),
            None if running.is_empty() => {
                return Err(worst.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into()));
            }
            None => {}
        }
        let more = waiting.len() > 0;
        let mut pause = pin!(tokio::time::sleep(STAGGER));
        let ended = poll_fn(|context| {
            if let Some(result) = first_ready(&mut running, context) {
                return Poll::Ready(Some(result));
            }
            if more && pause.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            Poll::Pending
        });
        match ended.await {
            Some(Ok(stream)) => return Ok(stream),
            Some(Err(error)) => worst = Some(more_telling(worst, error)),
            None => {}
        }
    }
}

fn first_ready<T>(
    running: &mut Vec<Pin<Box<dyn Future<Output = T> + Send>>>,
    context: &mut Context<'_>,
) -> Option<T> {
    for index in 0..running.len() {
        if let Poll::Ready(result) = running[index].as_mut().poll(context) {
            drop(running.swap_remove(index));
            return Some(result);
        }
    }
    None
}

/// A port that refuses says more than a network that can't be reached, and a server that hangs up
/// or is silent more than a port of its other family that nobody listens on.
fn more_telling(before: Option<io::Error>, now: io::Error) -> io::Error {
    match before {
        Some(before) if telling(before.kind()) >= telling(now.kind()) => before,
        Some(_) | None => now,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the library's enum, which grows")]
fn telling(kind: io::ErrorKind) -> u8 {
    match kind {
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::TimedOut => 2,
        io::ErrorKind::ConnectionRefused => 1,
        _other => 0,
    }
}

async fn connect(address: SocketAddr, socket: Option<TcpSocket>) -> io::Result<TcpStream> {
    let stream = match socket {
        Some(socket) => socket.connect(address).await?,
        None => once_there_is_room(address).await?,
    };
    // Without it a request waits for the acknowledgement of what was written before: 40 ms.
    stream.set_nodelay(true)?;
    keep_alive(&stream)?;
    Ok(stream)
}

/// Connects; without a descriptor left it waits for one, for that says nothing about the site.
async fn once_there_is_room(address: SocketAddr) -> io::Result<TcpStream> {
    for _ in 0..FULL_TRIES {
        match TcpStream::connect(address).await {
            Err(error) if is_full(&error) => tokio::time::sleep(FULL_PAUSE).await,
            connected => return connected,
        }
    }
    TcpStream::connect(address).await
}

/// A second: below every sensible `retry.connect_timeout`, whose end would be the site's fault.
const FULL_TRIES: u32 = 20;
/// RFC 8305 §5: the recommended Connection Attempt Delay.
const STAGGER: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::more_telling;
    use std::io::ErrorKind;

    #[test]
    fn of_several_addresses_the_most_telling_error_is_told() {
        use ErrorKind::{ConnectionRefused, ConnectionReset, HostUnreachable, TimedOut};
        let check = |one: ErrorKind, other: ErrorKind, want| {
            for (before, now) in [(one, other), (other, one)] {
                assert_eq!(more_telling(Some(before.into()), now.into()).kind(), want);
            }
        };
        check(ConnectionReset, ConnectionRefused, ConnectionReset);
        check(TimedOut, ConnectionRefused, TimedOut);
        check(ConnectionRefused, HostUnreachable, ConnectionRefused);
        check(ConnectionReset, HostUnreachable, ConnectionReset);
    }
}
