//! Which addresses may be reached, and who may reach them through us (spec section 15).
//!
//! Addresses only: a name is resolved once, elsewhere, and every address it has is asked about here
//! before the very same address is connected to.

#[cfg(test)]
mod tests;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Which addresses may be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destinations {
    /// Whether private, link-local and other non-global addresses are refused. (`auto` is decided
    /// by the configuration: they are when a listener is not on loopback.)
    pub deny_private: bool,
    /// Networks that may be reached all the same.
    pub allow: Vec<IpNet>,
    /// Our own listeners: never a destination.
    pub own: Vec<SocketAddr>,
}

/// Why an address may not be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// One of our own listeners: a loop, or our admin port.
    OwnListener,
    /// Not an address of the public internet.
    NotPublic(Special),
}

/// What a non-public address is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    ThisHost,
    Loopback,
    Private,
    LinkLocal,
    /// Between a carrier and its customers (RFC 6598).
    Shared,
    Documentation,
    Benchmark,
    Multicast,
    Reserved,
    /// An IPv6 form that carries an IPv4 address past checks that don't look for it.
    Transition,
}

/// Where `localhost` and every name below it goes (RFC 6761 §6.3); never asked of a resolver.
pub const LOCALHOST: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

impl Destinations {
    /// Whether this very address may be connected to. Own listeners are refused whatever is
    /// allowed.
    pub fn check(&self, to: SocketAddr) -> Result<(), Refusal> {
        let address = to.ip().to_canonical();
        if self.own.iter().any(|own| is_listener(*own, address, to.port())) {
            return Err(Refusal::OwnListener);
        }
        if !self.deny_private || is_within(&self.allow, address) {
            return Ok(());
        }
        match special(address) {
            Some(special) => Err(Refusal::NotPublic(special)),
            None => Ok(()),
        }
    }
}

/// Who may use a listener that is not on loopback: `clients.allow`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    networks: Vec<IpNet>,
}

impl Admission {
    /// Reads the words of `clients.allow`: networks, single addresses, or `private`. The error is
    /// the first word that is neither.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Admission, &'a str> {
        let mut networks = Vec::new();
        for word in words {
            match word.trim() {
                "private" => networks.extend(PRIVATE),
                text => networks.push(network(text).ok_or(word)?),
            }
        }
        Ok(Admission { networks })
    }

    /// Admits these networks.
    pub const fn new(networks: Vec<IpNet>) -> Admission {
        Admission { networks }
    }

    /// Whether nobody but this machine is admitted.
    pub fn is_empty(&self) -> bool {
        self.networks.is_empty()
    }

    /// Whether a peer may use us. This machine always may.
    pub fn admits(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        peer.is_loopback() || is_within(&self.networks, peer)
    }
}

/// What kind of non-public address this is; `None` for public ones.
pub fn special(address: IpAddr) -> Option<Special> {
    match address.to_canonical() {
        IpAddr::V4(address) => lookup(SPECIAL_V4, |net| net.contains(&address)),
        IpAddr::V6(address) => special_v6(address),
    }
}

/// NAT64 (RFC 6052) and ISATAP (RFC 5214 §6.1) are judged by the IPv4 address they reach.
fn special_v6(address: Ipv6Addr) -> Option<Special> {
    let parts = address.segments();
    let last = Ipv4Addr::from((u32::from(parts[6]) << 16) | u32::from(parts[7]));
    let nat64 = parts[..6] == [0x64, 0xff9b, 0, 0, 0, 0];
    let isatap = matches!(parts[4] & !ISATAP_GLOBAL, 0) && parts[5] == 0x5efe;
    lookup(SPECIAL_V6, |net| net.contains(&address)).or_else(|| {
        (nat64 || isatap).then(|| lookup(SPECIAL_V4, |net| net.contains(&last))).flatten()
    })
}

fn lookup<Net>(table: &[(Net, Special)], holds: impl Fn(&Net) -> bool) -> Option<Special> {
    table.iter().find(|(net, _)| holds(net)).map(|(_, special)| *special)
}

/// A listener on all addresses is on every loopback one, and `0.0.0.0` as a destination is this
/// host. (Other addresses of this host have to stand in `own` themselves.)
fn is_listener(own: SocketAddr, address: IpAddr, port: u16) -> bool {
    let listener = own.ip().to_canonical();
    let here = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
    let reached = match (listener.is_unspecified(), address.is_unspecified()) {
        (true, _) => here(address),
        (false, true) => here(listener),
        (false, false) => listener == address,
    };
    own.port() == port && reached
}

fn is_within(networks: &[IpNet], address: IpAddr) -> bool {
    networks.iter().any(|net| net.contains(&address))
}

fn network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Special::ThisHost => "this host",
            Special::Loopback => "loopback",
            Special::Private => "private",
            Special::LinkLocal => "link-local",
            Special::Shared => "shared (carrier NAT)",
            Special::Documentation => "documentation",
            Special::Benchmark => "benchmark",
            Special::Multicast => "multicast",
            Special::Reserved => "reserved",
            Special::Transition => "IPv4-in-IPv6",
        })
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

/// The first two or three segments; the rest is nothing.
const fn v6(a: u16, b: u16, c: u16, length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), length)
}

/// The IANA registry of special-purpose IPv4 addresses.
const SPECIAL_V4: &[(Ipv4Net, Special)] = &[
    (v4(0, 0, 0, 0, 8), Special::ThisHost),
    (v4(127, 0, 0, 0, 8), Special::Loopback),
    (v4(10, 0, 0, 0, 8), Special::Private),
    (v4(172, 16, 0, 0, 12), Special::Private),
    (v4(192, 168, 0, 0, 16), Special::Private),
    (v4(169, 254, 0, 0, 16), Special::LinkLocal),
    (v4(100, 64, 0, 0, 10), Special::Shared),
    (v4(192, 0, 0, 0, 24), Special::Reserved),
    (v4(192, 0, 2, 0, 24), Special::Documentation),
    (v4(198, 51, 100, 0, 24), Special::Documentation),
    (v4(203, 0, 113, 0, 24), Special::Documentation),
    (v4(192, 88, 99, 0, 24), Special::Transition),
    (v4(198, 18, 0, 0, 15), Special::Benchmark),
    (v4(224, 0, 0, 0, 4), Special::Multicast),
    (v4(240, 0, 0, 0, 4), Special::Reserved),
];

/// The IANA registry of special-purpose IPv6 addresses, and the older ways to write IPv4 in it.
const SPECIAL_V6: &[(Ipv6Net, Special)] = &[
    (Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 128), Special::ThisHost),
    (Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128), Special::Loopback),
    // IPv4-compatible (RFC 4291 §2.5.5.1) and IPv4-translated (RFC 2765).
    (v6(0, 0, 0, 96), Special::Transition),
    (Ipv6Net::new_assert(Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96), Special::Transition),
    // NAT64 inside one network (RFC 8215), Teredo (RFC 4380), 6to4 (RFC 3056).
    (v6(0x64, 0xff9b, 1, 48), Special::Transition),
    (v6(0x2001, 0, 0, 32), Special::Transition),
    (v6(0x2002, 0, 0, 16), Special::Transition),
    (v6(0x100, 0, 0, 64), Special::Reserved),
    (v6(0x2001, 2, 0, 48), Special::Benchmark),
    (v6(0x2001, 0xdb8, 0, 32), Special::Documentation),
    (v6(0x3fff, 0, 0, 20), Special::Documentation),
    // ORCHID, both versions (RFC 4843, RFC 7343), and segment routing (RFC 9602).
    (v6(0x2001, 0x10, 0, 28), Special::Reserved),
    (v6(0x2001, 0x20, 0, 28), Special::Reserved),
    (v6(0x5f00, 0, 0, 16), Special::Reserved),
    (v6(0xfc00, 0, 0, 7), Special::Private),
    (v6(0xfe80, 0, 0, 10), Special::LinkLocal),
    // Site-local (RFC 3879).
    (v6(0xfec0, 0, 0, 10), Special::Private),
    (v6(0xff00, 0, 0, 8), Special::Multicast),
];

/// `private` in `clients.allow`: RFC 1918, unique local, link-local.
const PRIVATE: [IpNet; 6] = [
    IpNet::V4(v4(10, 0, 0, 0, 8)),
    IpNet::V4(v4(172, 16, 0, 0, 12)),
    IpNet::V4(v4(192, 168, 0, 0, 16)),
    IpNet::V4(v4(169, 254, 0, 0, 16)),
    IpNet::V6(v6(0xfc00, 0, 0, 7)),
    IpNet::V6(v6(0xfe80, 0, 0, 10)),
];

/// The bit of an ISATAP interface identifier that says its IPv4 address is global.
const ISATAP_GLOBAL: u16 = 0x0200;
