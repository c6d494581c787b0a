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
use crate::net::listen::{FULL_PAUSE, is_full};
use crate::net::race::{family, race};
use crate::net::reachable;
use crate::net::resolve::Resolver;
use crate::net::settings::{Destinations, Reach};
use crate::net::target::Target;
use crate::net::tls::{self, ClientTls, Offer};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};

/// Dials.
pub struct Dialler {
    resolver: Resolver,
    destinations: Destinations,
    tls: ClientTls,
    connect_timeout: Duration,
    clock: Clock,
    /// Closes what has no use at the moment, for its descriptor.
    make_room: Box<dyn Fn() + Send + Sync>,
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
    pub fn new(
        reach: &Reach,
        tls: ClientTls,
        clock: Clock,
        make_room: impl Fn() + Send + Sync + 'static,
    ) -> Dialler {
        Dialler {
            resolver: Resolver::new(reach.resolve.clone(), clock.clone()),
            destinations: reach.destinations.clone(),
            tls,
            connect_timeout: reach.connect_timeout,
            clock,
            make_room: Box::new(make_room),
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
        let (stream, began) = self.connected(target).await?;
        let wire = Wire::new(stream);
        let (io, protocol) = match target.secure {
            false => (Io::plain(wire), Protocol::Http1),
            true => self.secured(target, offer, wire, began).await?,
        };
        Ok(Dialled { io, protocol, took: self.clock.now().since(began) })
    }

    /// Where a target is: the lowest of its addresses. Nothing is sent there, and whether it may be is
    /// asked when it is connected to.
    pub async fn place(&self, target: &Target) -> Option<IpAddr> {
        let asked = self.resolver.addresses(target);
        let found = tokio::time::timeout(self.connect_timeout, asked).await.ok()?.ok()?;
        found.iter().map(SocketAddr::ip).min()
    }

    /// A connected socket, with nothing said on it.
    ///
    /// # Errors
    ///
    /// Whatever kept it from coming about within `retry.connect_timeout`.
    pub async fn tcp(&self, target: &Target) -> Result<TcpStream, Fault> {
        self.connected(target).await.map(|(stream, _)| stream)
    }

    /// The same, and since when its time counts.
    async fn connected(&self, target: &Target) -> Result<(TcpStream, Tick), Fault> {
        let began = self.clock.now();
        let limit = self.connect_timeout;
        let asked = tokio::time::timeout(limit, self.resolver.addresses(target)).await;
        let found = asked.map_err(|_| fault::lookup_timeout(&target.host, limit))??;
        let addresses = self.allowed(target, found)?;
        let found = self.clock.now();
        let first = self.socket(target, &addresses).await?;
        // What we lack ourselves is not the site's time.
        let began = began + self.clock.now().since(found);
        let racing = tokio::time::timeout(self.left(began), race(addresses, first));
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
        Ok((stream, began))
    }

    /// A socket for the first address. Without a descriptor left it waits for one: an attempt that
    /// ends, or an idle connection that is closed, leaves some.
    async fn socket(
        &self,
        target: &Target,
        addresses: &[SocketAddr],
    ) -> Result<Option<TcpSocket>, Fault> {
        let began = self.clock.now();
        loop {
            match addresses.first().map(|address| family(*address)).transpose() {
                Err(error) if is_full(&error) => {}
                // What else is wrong shows when it is tried.
                socket => return Ok(socket.ok().flatten()),
            }
            (self.make_room)();
            if self.clock.now().since(began) >= FULL_PATIENCE {
                return Err(fault::no_descriptor(target));
            }
            tokio::time::sleep(FULL_PAUSE).await;
        }
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

impl fmt::Debug for Dialler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dialler")
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

/// For a descriptor: most attempts end within it.
const FULL_PATIENCE: Duration = Duration::from_secs(60);
