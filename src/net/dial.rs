//! From a target to a connected socket, and to TLS on it: the one place that dials.
//!
//! Several addresses are tried as RFC 8305 says: families in turn, a new one every 250 ms or as
//! soon as one has failed, the rest dropped when one stands.
//!
//! It must not know what the connection is for.

use crate::clock::{Clock, Tick};
use crate::judge::outcome::{Fault, FaultKind};
use crate::net::connect_io::{Io, Wire};
use crate::net::fault;
use crate::net::listen::{FULL_PAUSE, is_full, keep_alive};
use crate::net::reachable;
use crate::net::resolve::Resolver;
use crate::net::settings::{Destinations, Reach};
use crate::net::target::Target;
use crate::net::tls::{self, ClientTls, Offer};
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;

/// Dials.
#[derive(Debug)]
pub struct Dialler {
    resolver: Resolver,
    destinations: Destinations,
    tls: ClientTls,
    connect_timeout: Duration,
    clock: Clock,
}

/// A connection to speak HTTP on.
#[derive(Debug)]
pub struct Dialled {
    pub io: Io,
    /// What the origin chose.
    pub protocol: Protocol,
    /// Name, TCP and TLS together.
    pub took: Duration,
}

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Http1,
    Http2,
}

impl Dialler {
    /// A dialler that goes by `reach`.
    pub fn new(reach: &Reach, tls: ClientTls, clock: Clock) -> Dialler {
        Dialler {
            resolver: Resolver::new(reach.resolve.clone(), clock.clone()),
            destinations: reach.destinations.clone(),
            tls,
            connect_timeout: reach.connect_timeout,
            clock,
        }
    }

    /// What name, TCP and TLS together may take.
    pub fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    /// A connection to speak HTTP on: with TLS if the target is secure.
    ///
    /// # Errors
    ///
    /// Whatever kept it from coming about within `retry.connect_timeout`; nothing was sent.
    pub async fn http(&self, target: &Target, offer: Offer) -> Result<Dialled, Fault> {
        let began = self.clock.now();
        let stream = self.tcp(target).await?;
        let wire = Wire::new(stream);
        let (io, protocol) = match target.secure {
            false => (Io::plain(wire), Protocol::Http1),
            true => self.secured(target, offer, wire, began).await?,
        };
        Ok(Dialled { io, protocol, took: self.clock.now().since(began) })
    }

    /// A connected socket, with nothing said on it.
    ///
    /// # Errors
    ///
    /// Whatever kept it from coming about within `retry.connect_timeout`.
    pub async fn tcp(&self, target: &Target) -> Result<TcpStream, Fault> {
        let began = self.clock.now();
        let limit = self.connect_timeout;
        let asked = tokio::time::timeout(limit, self.resolver.addresses(target)).await;
        let found = asked.map_err(|_| fault::lookup_timeout(&target.host, limit))??;
        let addresses = self.allowed(target, found)?;
        let racing = tokio::time::timeout(self.left(began), race(addresses));
        let stream = match racing.await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                self.resolver.forget(&target.host);
                return Err(fault::connect(target, &error));
            }
            Err(_elapsed) => {
                self.resolver.forget(&target.host);
                return Err(fault::connect_timeout(target, limit));
            }
        };
        self.check_home(target, &stream)?;
        Ok(stream)
    }

    async fn secured(
        &self,
        target: &Target,
        offer: Offer,
        wire: Wire,
        began: Tick,
    ) -> Result<(Io, Protocol), Fault> {
        let name = tls::server_name(target)?;
        let shaking = self.tls.connector(offer).connect(name, wire);
        let stream = match tokio::time::timeout(self.left(began), shaking).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(fault::handshake(target, &error)),
            Err(_elapsed) => return Err(fault::connect_timeout(target, self.connect_timeout)),
        };
        let protocol = match tls::is_h2(stream.get_ref().1.alpn_protocol()) {
            true => Protocol::Http2,
            false => Protocol::Http1,
        };
        Ok((Io::tls(stream), protocol))
    }

    fn allowed(&self, target: &Target, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Fault> {
        let mut refused = None;
        let mut addresses = Vec::with_capacity(found.len());
        for address in found {
            match reachable::permitted(&self.destinations, address) {
                Ok(()) => addresses.push(address),
                Err(kind) if kind == FaultKind::OwnListener => {
                    return Err(fault::forbidden(target, kind));
                }
                Err(kind) => refused = Some(kind),
            }
        }
        match refused {
            Some(kind) if addresses.is_empty() => Err(fault::forbidden(target, kind)),
            Some(_) | None => Ok(interleave(addresses)),
        }
    }

    fn check_home(&self, target: &Target, stream: &TcpStream) -> Result<(), Fault> {
        let (Ok(local), Ok(peer)) = (stream.local_addr(), stream.peer_addr()) else {
            return Ok(());
        };
        match reachable::led_home(&self.destinations, local, peer) {
            true => Err(fault::forbidden(target, FaultKind::OwnListener)),
            false => Ok(()),
        }
    }

    fn left(&self, began: Tick) -> Duration {
        self.connect_timeout.saturating_sub(self.clock.now().since(began))
    }
}

/// Families in turn, beginning with the resolver's first choice (RFC 8305 §4).
fn interleave(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (preferred, others): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| address.is_ipv6() == first_is_v6);
    let mut others = others.into_iter();
    let mut turns = Vec::new();
    for address in preferred {
        turns.push(address);
        turns.extend(others.next());
    }
    turns.extend(others);
    turns
}

/// Connects to the first address that lets us; the error is the most telling one.
pub(super) async fn race(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = addresses.into_iter();
    let mut running: Vec<Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>> = Vec::new();
    let mut worst: Option<io::Error> = None;
    loop {
        match waiting.next() {
            Some(address) => running.push(Box::pin(connect(address))),
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

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = once_there_is_room(address).await?;
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
