//! What a value can say about the network: addresses, networks, hosts, names.
//!
//! This file must not know which key a value is of.

use crate::config::node::Node;
use crate::config::value::{Read, list, short, text, wrong};
use crate::net::settings::Override;
use crate::pace::scope::{Host, NotAScope, Scope};
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// An address to listen on: `127.0.0.1:3128`, `[::1]:3128`, `localhost:3128`, or a port alone, which
/// is this machine's own.
pub fn listener(node: &Node) -> Read<SocketAddr> {
    let text = text(node)?;
    let (host, port) = text.rsplit_once(':').unwrap_or(("localhost", text));
    if let (Ok(port), "localhost") = (port.parse(), host) {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let hint = match (port.parse::<u16>(), text.parse::<IpAddr>()) {
        (Ok(port), Err(_)) if matches!(host, "" | "*") => format!(
            "did you mean `127.0.0.1:{port}`? (`0.0.0.0:{port}` is for every machine that gets here)"
        ),
        (_, Ok(address)) => format!("did you mean `{}`?", SocketAddr::from((address, 3128))),
        _ => "write it like `127.0.0.1:3128`".to_owned(),
    };
    wrong(node, format!("is no address and port: `{}`", short(text)), hint)
}

/// Networks: `10.0.0.0/8`, an address, or `private`.
pub fn networks(node: &Node) -> Read<Vec<IpNet>> {
    let each = list(node, |node| {
        let text = text(node)?;
        if text == "private" {
            let parsed = PRIVATE.iter().map(|network| network.parse::<IpNet>());
            return Ok(parsed.map(|network| network.expect("a constant network")).collect());
        }
        let address = || text.parse::<IpAddr>().map(IpNet::from);
        match text.parse::<IpNet>().or_else(|_| address()) {
            Ok(network) => Ok(vec![network.trunc()]),
            Err(_) => {
                let hint = "write it like `10.0.0.0/8` or `private`";
                wrong(node, format!("has no network in `{}`", short(text)), hint)
            }
        }
    })?;
    Ok(each.concat())
}

/// A host, in whatever script: `shop.example`.
pub fn host(text: &str) -> Result<Host, String> {
    let ascii = match text.is_ascii() {
        true => text.to_owned(),
        false => {
            idna::domain_to_ascii(text).map_err(|_| "the name has no ASCII form".to_owned())?
        }
    };
    Host::parse(&ascii).map_err(|_| match ascii.contains("://") {
        true => "the name alone, without scheme and path".to_owned(),
        false if ascii.contains(['*', '/']) => "one host, without `*` or `/`".to_owned(),
        false if ascii.contains(':') => "the name alone, without port".to_owned(),
        false => "write it like `shop.example`".to_owned(),
    })
}

/// A scope: a host, in whatever script, a host with a port, or any other name.
pub fn scope(text: &str) -> Result<Scope, String> {
    if !text.is_ascii() {
        return host(text).map(|host| Scope::of(&host));
    }
    let hint = match Scope::named(text) {
        Ok(_) if text.contains("://") => "without scheme: `shop.example`, or a name of your own",
        Ok(_) if text.contains('*') => {
            "one host, without `*`; `pace.scope: domain` has one pace for all below a domain"
        }
        Ok(scope) => return Ok(scope),
        Err(NotAScope::Empty) => "write it like `shop.example` or `api`",
        Err(NotAScope::TooLong) => "200 characters at most",
        Err(NotAScope::Character(_)) => "no spaces, commas, semicolons or quotes",
    };
    Err(hint.to_owned())
}

/// One host.
pub fn host_of(node: &Node) -> Read<Host> {
    let text = text(node)?;
    match host(text) {
        Ok(host) => Ok(host),
        Err(hint) => wrong(node, format!("has no host in `{}`", short(text)), hint),
    }
}

/// A name to pass through: a host, or `*.example` for all below.
pub fn name_pattern(node: &Node) -> Read<String> {
    let text = text(node)?;
    match pattern(text) {
        Ok(pattern) => Ok(pattern),
        Err(hint) => wrong(node, format!("has no name in `{}`", short(text)), hint),
    }
}

/// A host, or `*.example` for all below; or what to write instead.
pub fn pattern(text: &str) -> Result<String, String> {
    let (star, name) = match text.strip_prefix("*.") {
        Some(name) => ("*.", name),
        None => ("", text),
    };
    host(name).map(|host| format!("{star}{host}"))
}

/// Where a name of `resolve` goes: an address, or an address and port.
pub fn place_to_go(node: &Node) -> Read<Override> {
    let text = text(node)?;
    let alone = text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match (alone, text.parse::<SocketAddr>()) {
        (Ok(address), _) => Ok(Override { address, port: None }),
        (_, Ok(to)) => Ok(Override { address: to.ip(), port: Some(to.port()) }),
        (Err(_), Err(_)) => {
            let hint = "write it like `127.0.0.1` or `127.0.0.1:8081`";
            wrong(node, format!("is no address: `{}`", short(text)), hint)
        }
    }
}

/// RFC 1918, RFC 4193, and the link-local ranges of RFC 3927 and RFC 4291.
const PRIVATE: [&str; 6] =
    ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "169.254.0.0/16", "fe80::/10"];
