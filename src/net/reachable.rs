//! Whether an address may be reached from here: asked about every resolved address, before it is
//! connected to. The one place that asks; which addresses are private is not decided elsewhere in
//! this room.

use crate::judge::outcome::FaultKind;
use crate::net::settings::Destinations;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Whether `address` may be connected to.
pub fn permitted(destinations: &Destinations, address: SocketAddr) -> Result<(), FaultKind> {
    let ip = address.ip().to_canonical();
    if destinations.own.iter().any(|own| is_own(*own, ip, address.port())) {
        return Err(FaultKind::OwnListener);
    }
    if !destinations.deny_private || !is_private(ip) {
        return Ok(());
    }
    match destinations.allow.iter().any(|network| network.contains(&ip)) {
        true => Ok(()),
        false => Err(FaultKind::Prohibited(ip)),
    }
}

/// Whether a connection, once made, turned out to lead to one of our own listeners: a listener on
/// every address can't be told from its address before.
pub fn led_home(destinations: &Destinations, local: SocketAddr, peer: SocketAddr) -> bool {
    local.ip() == peer.ip()
        && destinations.own.iter().any(|own| own.ip().is_unspecified() && own.port() == peer.port())
}

fn is_own(own: SocketAddr, ip: IpAddr, port: u16) -> bool {
    if own.port() != port {
        return false;
    }
    let own_ip = own.ip().to_canonical();
    own_ip == ip
        || (own_ip.is_unspecified() && ip.is_loopback())
        || (own_ip.is_loopback() && ip.is_unspecified())
}

fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => is_private_v4(v4),
        IpAddr::V6(v6) => is_private_v6(v6),
    }
}

fn is_private_v4(ip: Ipv4Addr) -> bool {
    let [first, second, ..] = ip.octets();
    let shared = first == 100 && (64..128).contains(&second); // RFC 6598
    ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_documentation()
        || shared
        || first == 0
        || first >= 240
}

fn is_private_v6(ip: Ipv6Addr) -> bool {
    ip.is_loopback()
        || ip.is_unspecified()
        || ip.is_multicast()
        || ip.is_unique_local()
        || ip.is_unicast_link_local()
}
