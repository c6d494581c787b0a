//! Whether an address may be reached from here: asked about every resolved address, before it is
//! connected to. Which addresses are whose is `policy::access`'s.

use crate::judge::outcome::FaultKind;
use crate::net::settings::Destinations;
use crate::policy::access::Refusal;
use std::net::SocketAddr;

/// Whether `address` may be connected to.
pub fn permitted(destinations: &Destinations, address: SocketAddr) -> Result<(), FaultKind> {
    destinations.check(address).map_err(|refusal| match refusal {
        Refusal::OwnListener => FaultKind::OwnListener,
        Refusal::NotPublic(_) => FaultKind::Prohibited(address.ip().to_canonical()),
    })
}

/// Whether a connection, once made, turned out to lead to one of our own listeners: a listener on
/// every address can't be told from its address before.
pub fn led_home(destinations: &Destinations, local: SocketAddr, peer: SocketAddr) -> bool {
    local.ip() == peer.ip()
        && destinations.own.iter().any(|own| own.ip().is_unspecified() && own.port() == peer.port())
}
