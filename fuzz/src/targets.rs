//! Where a request says it goes: request targets, `Host` fields, the target of a CONNECT.
//!
//! Input: a byte of flags; lines: method, target, what the CONNECT around it was for, `Host` fields.

use super::request::refused;
use http::header::{HOST, HeaderMap, HeaderValue};
use http::{Method, Uri, Version};
use pacegate::net::headers::target::{RequestTarget, Scheme, Tunnel};
use pacegate::net::literal::bracketed;
use pacegate::net::target::Target;
use pacegate::pace::scope::Host;

pub fn body(data: &[u8]) {
    let Some((flags, text)) = data.split_first() else { return };
    let mut lines = text.split(|byte| *byte == b'\n');
    let (method, target) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let around = lines.next().unwrap_or_default();
    let mut headers = HeaderMap::new();
    for line in lines.take(4) {
        headers.extend(HeaderValue::from_bytes(line).map(|value| (HOST, value)));
    }
    literal(target);
    host(target);
    let inside = tunnel(around, *flags);
    tunnel(target, *flags);
    let (Ok(method), Ok(uri)) = (Method::from_bytes(method), Uri::try_from(target)) else { return };
    let version = [Version::HTTP_11, Version::HTTP_2, Version::HTTP_10][usize::from(flags % 3)];
    let inside = inside.filter(|_| flags & 8 == 8);
    let of = |known| RequestTarget::of(&method, &uri, version, &headers, inside.as_ref(), known);
    match of(None) {
        Ok(target) => {
            let known = target.known();
            assert!(target.is(&known));
            assert_eq!(of(Some(&known)).as_ref(), Ok(&target), "another, once known");
            check(&target);
            if inside.is_none() {
                again(&method, &target);
            }
        }
        Err(refusal) => refused(&refusal),
    }
}

/// A CONNECT's target, if it is one.
fn tunnel(target: &[u8], flags: u8) -> Option<Tunnel> {
    let uri = Uri::try_from(target).ok()?;
    let scheme = if flags & 16 == 16 { Scheme::Http } else { Scheme::Https };
    match Tunnel::of(&uri, &HeaderMap::new(), scheme) {
        Ok(tunnel) => {
            assert_ne!(tunnel.port, 0);
            normal(&tunnel.host);
            plain(&tunnel.authority);
            Some(tunnel)
        }
        Err(refusal) => {
            refused(&refusal);
            None
        }
    }
}

fn check(target: &RequestTarget) {
    assert_ne!(target.port, 0);
    normal(&target.host);
    plain(&target.authority);
    let path = target.path.as_str();
    assert!(path.starts_with('/') || path == "*", "{path}");
    assert!(path.bytes().all(|byte| byte > b' ' && byte != 0x7f && byte != b'#'), "{path:?}");
    for secure in [false, true] {
        let to = Target { secure, host: target.host.clone(), port: target.port };
        let uri = Uri::try_from(to.authority()).expect("an authority of ours");
        let (host, port) = (uri.host().expect("a host"), uri.port_u16());
        assert_eq!(Host::parse(host).as_ref(), Ok(&to.host));
        assert_eq!(port.unwrap_or(if secure { 443 } else { 80 }), to.port);
    }
}

/// The same target written out is the same target.
fn again(method: &Method, target: &RequestTarget) {
    if target.path.as_str() == "*" {
        return;
    }
    let authority = target.authority.to_str().expect("ASCII");
    let text = format!("{}://{authority}{}", target.scheme.word(), target.path);
    let uri = Uri::try_from(&text).unwrap_or_else(|why| panic!("{text}: {why}"));
    let headers = HeaderMap::from_iter([(HOST, target.authority.clone())]);
    let read = RequestTarget::of(method, &uri, Version::HTTP_11, &headers, None, None);
    assert_eq!(read.as_ref(), Ok(target), "{text}");
    assert_eq!(Uri::from(target.path.clone()).to_string(), target.path.as_str());
}

/// A host has one name, and nothing in it can be taken for something else.
fn normal(host: &Host) {
    let name = host.as_str();
    assert_eq!(Host::parse(name).as_ref(), Ok(host));
    assert!((1..=253).contains(&name.len()));
    let good = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b':');
    assert!(name.bytes().all(good), "{name}");
    assert!(host.ip().is_some() || !name.contains(':'), "{name}");
    // What a resolver of addresses takes for one, the checks on addresses must see as one.
    let last = name.rsplit('.').next().unwrap_or_default();
    assert!(host.ip().is_some() || !last.bytes().all(|byte| byte.is_ascii_digit()), "{name}");
}

/// What goes out as `Host`: an authority, without a user or anything that ends it.
fn plain(authority: &HeaderValue) {
    let text = authority.to_str().expect("ASCII");
    assert!(!text.is_empty() && !text.contains(['@', '/', '?', '#', ' ', ',', '\t']), "{text}");
}

fn host(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    if let Ok(host) = Host::parse(text) {
        normal(&host);
        assert!(!host.is_written(text) || text.eq_ignore_ascii_case(host.as_str()));
        for other in [text.to_ascii_uppercase(), format!("[{host}]"), format!("{host}.")] {
            let read = Host::parse(&other);
            assert!(read.is_err() || read.as_ref() == Ok(&host), "{other}");
        }
    }
}

/// Brackets make an address of what was one already, and change nothing else.
fn literal(target: &[u8]) {
    let line = [b"CONNECT ", target, b" HTTP/1.1\r\n"].concat();
    let Some(mended) = bracketed(&line) else { return };
    assert_eq!(bracketed(&mended), None);
    let end = mended[8..].iter().position(|byte| *byte == b' ').expect("a space follows");
    let (word, rest) = mended[8..].split_at(end);
    let bare: Vec<u8> = word.iter().copied().filter(|byte| !b"[]".contains(byte)).collect();
    assert_eq!([b"CONNECT ", &bare[..], rest].concat(), line);
    let uri = Uri::try_from(&mended[8..8 + end]).expect("an authority");
    let tunnel = Tunnel::of(&uri, &HeaderMap::new(), Scheme::Https);
    if let Ok(tunnel) = tunnel {
        assert!(tunnel.host.ip().is_some());
    }
}
