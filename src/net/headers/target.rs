//! Where a request is meant for: read once, checked, and then trusted (http.md, rows 1 to 18).

use crate::net::headers::refusal::Refusal;
use crate::pace::scope::{Host, NotAHost};
use http::header::HOST;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Uri, Version, header};

/// The two schemes a proxy speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    /// The port that goes without saying.
    pub const fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }

    /// The scheme's name.
    pub const fn word(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

/// What a request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestTarget {
    pub scheme: Scheme,
    /// What is paced and resolved.
    pub host: Host,
    pub port: u16,
    /// Host and port as the client wrote them: the `Host` that goes out (row 11).
    pub authority: HeaderValue,
    /// Path and query byte for byte; `*` for an OPTIONS that asks about the server.
    pub path: PathAndQuery,
}

/// A target that was read before: most requests of a connection are for the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    scheme: Scheme,
    host: Host,
    port: u16,
    /// A copy of its own, so that no old head is kept for it.
    authority: Box<[u8]>,
}

impl Known {
    fn is(&self, scheme: Scheme, authority: &HeaderValue) -> bool {
        self.scheme == scheme && *self.authority == *authority.as_bytes()
    }
}

/// The CONNECT a request came through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// What is spoken inside.
    pub scheme: Scheme,
    pub host: Host,
    pub port: u16,
    /// As the client wrote it.
    pub authority: HeaderValue,
}

impl Tunnel {
    /// What a CONNECT asks for: a host and a port, nothing else (rows 75, 77).
    pub fn of(uri: &Uri, headers: &HeaderMap, scheme: Scheme) -> Result<Tunnel, Refusal> {
        let authority = uri.authority().filter(|_| uri.path_and_query().is_none());
        let authority = authority.ok_or_else(|| Refusal::bad("CONNECT needs host:port"))?;
        let (host, port) = split(authority.as_str())?;
        let port = port.ok_or_else(|| Refusal::bad("CONNECT needs a port"))?;
        let length = headers.get(header::CONTENT_LENGTH);
        let body = length.is_some_and(|length| length.as_bytes() != b"0");
        if body || headers.contains_key(header::TRANSFER_ENCODING) {
            return Err(Refusal::bad("CONNECT can't have a body"));
        }
        Ok(Tunnel { scheme, host, port, authority: value(authority.as_str())? })
    }
}

impl RequestTarget {
    /// What the next request on the connection may be compared with.
    pub fn known(&self) -> Known {
        let (scheme, host, port) = (self.scheme, self.host.clone(), self.port);
        Known { scheme, host, port, authority: self.authority.as_bytes().into() }
    }

    /// Whether it is the one that was read before.
    pub fn is(&self, known: &Known) -> bool {
        known.is(self.scheme, &self.authority)
    }

    /// Reads the target of a request, but not of a CONNECT. `inside`: the tunnel it came through.
    /// `known`: where the request before it on this connection went, which spares reading that again.
    pub fn of(
        method: &Method,
        uri: &Uri,
        version: Version,
        headers: &HeaderMap,
        inside: Option<&Tunnel>,
        known: Option<&Known>,
    ) -> Result<RequestTarget, Refusal> {
        let path = path(method, uri, version)?;
        if let Some(target) = usual(uri, version, headers, inside, known, &path)? {
            return Ok(target);
        }
        let named = host_field(version, headers)?;
        match (uri.authority(), inside) {
            (Some(authority), inside) => {
                let scheme = scheme(uri, inside)?;
                let (host, port) = split(authority.as_str())?;
                let port = port.unwrap_or(scheme.port());
                if version == Version::HTTP_2 {
                    agree(&host, port, scheme, named)?;
                }
                Ok(RequestTarget {
                    scheme,
                    host,
                    port,
                    authority: value(authority.as_str())?,
                    path,
                })
            }
            (None, Some(tunnel)) => within(tunnel, named, path),
            (None, None) if version == Version::HTTP_2 && named.is_some() => {
                let outside = named.ok_or_else(no_host)?;
                Ok(outside.target(Scheme::Http, path))
            }
            (None, None) => Err(Refusal::bad(
                "this is a proxy: the request needs a whole URL, like GET http://host/path",
            )),
        }
    }
}

/// What nearly all requests look like: HTTP/1.1, one `Host`, and it says what the URL says, or the
/// CONNECT. Then it needn't be read twice.
fn usual(
    uri: &Uri,
    version: Version,
    headers: &HeaderMap,
    inside: Option<&Tunnel>,
    known: Option<&Known>,
    path: &PathAndQuery,
) -> Result<Option<RequestTarget>, Refusal> {
    let mut lines = headers.get_all(HOST).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return Ok(None) };
    if version != Version::HTTP_11 {
        return Ok(None);
    }
    let (authority, path) = (line.clone(), path.clone());
    match (uri.authority(), inside) {
        (None, Some(tunnel)) if line == tunnel.authority => {
            let (scheme, host, port) = (tunnel.scheme, tunnel.host.clone(), tunnel.port);
            Ok(Some(RequestTarget { scheme, host, port, authority, path }))
        }
        (Some(written), inside) if written.as_str().as_bytes() == line.as_bytes() => {
            let scheme = scheme(uri, inside)?;
            // Inside a tunnel a name without a port may mean the tunnel's.
            let known = known.filter(|known| inside.is_none() && known.is(scheme, line));
            let (host, port) = match known {
                Some(known) => (known.host.clone(), known.port),
                None => {
                    let (host, port) = split(written.as_str())?;
                    (host, port.unwrap_or(scheme.port()))
                }
            };
            Ok(Some(RequestTarget { scheme, host, port, authority, path }))
        }
        (Some(_) | None, _) => Ok(None),
    }
}

/// A `Host` field, read.
struct Named {
    host: Host,
    port: Option<u16>,
    written: HeaderValue,
}

impl Named {
    fn target(self, scheme: Scheme, path: PathAndQuery) -> RequestTarget {
        let port = self.port.unwrap_or(scheme.port());
        RequestTarget { scheme, host: self.host, port, authority: self.written, path }
    }
}

/// An inner name that differs is paced and checked under its own (row 16, a decision).
fn within(
    tunnel: &Tunnel,
    named: Option<Named>,
    path: PathAndQuery,
) -> Result<RequestTarget, Refusal> {
    let Some(mut named) = named else {
        let Tunnel { scheme, host, port, authority } = tunnel.clone();
        let authority = without_port(authority, scheme, port);
        return Ok(RequestTarget { scheme, host, port, authority, path });
    };
    if named.host == tunnel.host {
        named.port = named.port.or(Some(tunnel.port));
    }
    Ok(named.target(tunnel.scheme, path))
}

/// A CONNECT names the port always, a `Host` only where it doesn't go without saying.
fn without_port(authority: HeaderValue, scheme: Scheme, port: u16) -> HeaderValue {
    let bytes = authority.as_bytes();
    match bytes.iter().rposition(|byte| *byte == b':') {
        Some(end) if port == scheme.port() => {
            HeaderValue::from_bytes(&bytes[..end]).unwrap_or(authority)
        }
        Some(_) | None => authority,
    }
}

/// RFC 9112 §3.2: one `Host`, a valid one, and in HTTP/1.1 there must be one.
fn host_field(version: Version, headers: &HeaderMap) -> Result<Option<Named>, Refusal> {
    let mut lines = headers.get_all(HOST).iter();
    let Some(line) = lines.next() else {
        return if version == Version::HTTP_11 { Err(no_host()) } else { Ok(None) };
    };
    if lines.next().is_some() {
        return Err(Refusal::bad("more than one Host field"));
    }
    let text = line.to_str().map_err(|_| Refusal::bad("the Host field is not ASCII"))?;
    let (host, port) = split(text)?;
    Ok(Some(Named { host, port, written: line.clone() }))
}

/// RFC 9113 §8.3.1.
fn agree(host: &Host, port: u16, scheme: Scheme, named: Option<Named>) -> Result<(), Refusal> {
    let differs = |named: Named| named.host != *host || named.port.unwrap_or(scheme.port()) != port;
    match named.is_some_and(differs) {
        true => Err(Refusal::bad("Host and :authority differ")),
        false => Ok(()),
    }
}

fn scheme(uri: &Uri, inside: Option<&Tunnel>) -> Result<Scheme, Refusal> {
    let text = uri.scheme_str().unwrap_or_default();
    let scheme = match () {
        // A WebSocket begins as a request (RFC 6455 §3).
        () if ["http", "ws"].iter().any(|it| text.eq_ignore_ascii_case(it)) => Scheme::Http,
        () if ["https", "wss"].iter().any(|it| text.eq_ignore_ascii_case(it)) => Scheme::Https,
        () if text.is_empty() => return Err(Refusal::bad("the target is no URL")),
        () => return Err(Refusal::bad("only http and https URLs are fetched")),
    };
    match inside.is_some_and(|tunnel| tunnel.scheme != scheme) {
        true => Err(Refusal::bad("the URL's scheme is not the one spoken in this tunnel")),
        false => Ok(scheme),
    }
}

/// Row 10: an empty path is `/`. Row 9: that of an OPTIONS is `*`, for then it asks about the server.
fn path(method: &Method, uri: &Uri, version: Version) -> Result<PathAndQuery, Refusal> {
    let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    match path.as_str() {
        "*" if *method != Method::OPTIONS => Err(Refusal::bad("the target * is for OPTIONS only")),
        "/" if *method == Method::OPTIONS && version < Version::HTTP_2 && !wrote_slash(uri) => {
            Ok(PathAndQuery::from_static("*"))
        }
        // The type's path of `http://host#x` says that it is this, and is written as nothing.
        "/" => Ok(PathAndQuery::from_static("/")),
        text if text.starts_with('?') => {
            format!("/{text}").parse().map_err(|_| Refusal::bad("the target's query is malformed"))
        }
        _ => Ok(path),
    }
}

/// Whether the path `/` stands in the target. The URI type makes one where it doesn't, but a written
/// one is what follows the authority in the same piece of memory.
fn wrote_slash(uri: &Uri) -> bool {
    let Some(authority) = uri.authority() else { return true };
    std::ptr::eq(authority.as_str().as_bytes().as_ptr_range().end, uri.path().as_ptr())
}

/// Host and port of an authority; an empty port is none (RFC 3986 §3.2.3). No userinfo (row 5).
fn split(text: &str) -> Result<(Host, Option<u16>), Refusal> {
    if text.contains('@') {
        return Err(Refusal::bad("a user name or password in the URL is not passed on"));
    }
    let (host, port) = match text.find(']') {
        Some(end) if text.starts_with('[') => text.split_at(end + 1),
        Some(_) | None => text.split_at(text.rfind(':').unwrap_or(text.len())),
    };
    if host.contains(':') && !host.starts_with('[') {
        return Err(Refusal::bad("an IPv6 address stands in brackets, like [2001:db8::1]"));
    }
    let host = Host::parse(host).map_err(not_a_host)?;
    match port.strip_prefix(':') {
        None if port.is_empty() => Ok((host, None)),
        Some("") => Ok((host, None)),
        Some(digits) if digits.len() <= 5 && digits.bytes().all(|b| b.is_ascii_digit()) => {
            let port = digits.parse().ok().filter(|port| *port != 0);
            Ok((host, Some(port.ok_or_else(|| Refusal::bad("no such port"))?)))
        }
        Some(_) | None => Err(Refusal::bad("the port is not a number")),
    }
}

fn not_a_host(why: NotAHost) -> Refusal {
    match why {
        NotAHost::Empty => Refusal::bad("the host is empty"),
        NotAHost::TooLong => Refusal::bad("the host is too long"),
        NotAHost::Label => Refusal::bad("the host is malformed"),
        NotAHost::Number => Refusal::bad("an IPv4 address is written as four decimal numbers"),
        NotAHost::Character(c) => {
            Refusal::bad(format!("the host has a character it can't have: {}", c.escape_default()))
        }
    }
}

fn value(authority: &str) -> Result<HeaderValue, Refusal> {
    HeaderValue::from_str(authority).map_err(|_| Refusal::bad("the host is malformed"))
}

fn no_host() -> Refusal {
    Refusal::bad("an HTTP/1.1 request needs a Host field")
}
