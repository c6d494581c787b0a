//! The head of a request, made fit for the next connection.

use crate::net::headers::hop;
use crate::net::headers::refusal::Refusal;
use crate::net::headers::target::RequestTarget;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, StatusCode, Uri, Version};

/// What is known of a request's body before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Empty,
    Exact(u64),
    Unknown,
}

/// What the client asked of its own connection, for whoever serves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// It wants to go on as a WebSocket: a 101 is an answer to this request.
    pub upgrade: bool,
    /// It reads trailers.
    pub wants_trailers: bool,
    /// It waits for our 100 before it sends its body.
    pub expects_continue: bool,
    /// Max-Forwards is 0: the answer is ours to give (RFC 9110 §7.6.2).
    pub answer_here: bool,
}

/// How large the head of a request may be: `limits.header_bytes` and `limits.header_fields`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// Names and values of all fields together.
    pub bytes: usize,
    pub fields: usize,
    /// Of the target. RFC 9110 §4.1 wants 8,000 at least.
    pub target_bytes: usize,
}

/// Refuses a head that is too large: 414 for its target (row 12), 431 for its fields (row 13).
pub fn measure(parts: &Parts, limits: &HeadLimits) -> Result<(), Refusal> {
    let target = parts.uri.path_and_query().map_or(0, |path| path.as_str().len());
    let target = target + parts.uri.authority().map_or(0, |authority| authority.as_str().len());
    if target > limits.target_bytes {
        return Err(Refusal::of(StatusCode::URI_TOO_LONG, "the target is too long"));
    }
    let bytes = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    let fields = parts.headers.len();
    if fields <= limits.fields && limits.bytes >= bytes {
        return Ok(());
    }
    let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
    Err(Refusal::of(status, format!("the header is too large: {fields} fields, {bytes} bytes")))
}

/// Checks a request and rewrites its head in place: origin-form, HTTP/1.1, `Host` from the target,
/// nothing of the connection it came on, nothing meant for us. Refused: what two readers could
/// frame in two ways (400, 501), and expectations nobody knows (417).
pub fn forward(parts: &mut Parts, target: &RequestTarget, body: Shape) -> Result<Passage, Refusal> {
    if is_ordinary(parts, target) {
        frame(&mut parts.headers, body, None);
        parts.uri = Uri::from(target.path.clone());
        return Ok(Passage::default());
    }
    let headers = &parts.headers;
    let length = framing(headers)?;
    if parts.version == Version::HTTP_2 {
        no_outer_space(headers)?;
    }
    let passage = Passage {
        upgrade: wants_websocket(parts),
        // HTTP/1.0 has no trailers.
        wants_trailers: parts.version > Version::HTTP_10
            && hop::tokens(headers, &header::TE).iter().any(|token| token == "trailers"),
        expects_continue: expects_continue(headers, parts.version)?,
        answer_here: false,
    };
    let hops = max_forwards(&parts.method, headers);
    let joined = joined_cookies(parts.version, headers);
    rewrite(&mut parts.headers, target, passage, length, hops, joined);
    frame(&mut parts.headers, body, length);
    parts.uri = Uri::from(target.path.clone());
    parts.version = Version::HTTP_11;
    Ok(Passage { answer_here: hops == Some(0), ..passage })
}

/// One length, or chunked and nothing else; not both (http.md, rows 19 to 26).
fn framing(headers: &HeaderMap) -> Result<Option<u64>, Refusal> {
    let length = hop::content_length(headers)
        .map_err(|text| Refusal::bad(format!("Content-Length is not one number: {text:?}")))?;
    if !headers.contains_key(header::TRANSFER_ENCODING) {
        return Ok(length);
    }
    if length.is_some() {
        return Err(Refusal::bad("both Content-Length and Transfer-Encoding"));
    }
    let mut lines = headers.get_all(header::TRANSFER_ENCODING).iter();
    match (lines.next(), lines.next()) {
        // The word alone: an empty element or a parameter is where two readers part.
        (Some(line), None) if line.as_bytes().eq_ignore_ascii_case(b"chunked") => Ok(None),
        (Some(_) | None, _) => Err(Refusal::of(
            StatusCode::NOT_IMPLEMENTED,
            "the only transfer coding taken is chunked, once",
        )),
    }
}

/// RFC 9113 §8.2.1.
fn no_outer_space(headers: &HeaderMap) -> Result<(), Refusal> {
    let spaced = |value: &HeaderValue| {
        let bytes = value.as_bytes();
        bytes.trim_ascii().len() != bytes.len()
    };
    match headers.iter().find(|(_, value)| spaced(value)) {
        Some((name, _)) => {
            Err(Refusal::bad(format!("the value of {name} begins or ends with a space")))
        }
        None => Ok(()),
    }
}

/// RFC 9110 §10.1.1; in HTTP/1.0 it means nothing.
fn expects_continue(headers: &HeaderMap, version: Version) -> Result<bool, Refusal> {
    if version < Version::HTTP_11 || !headers.contains_key(header::EXPECT) {
        return Ok(false);
    }
    let expected = hop::tokens(headers, &header::EXPECT);
    match expected.iter().all(|token| token == "100-continue") {
        true => Ok(!expected.is_empty()),
        false => Err(Refusal::of(
            StatusCode::EXPECTATION_FAILED,
            "the only expectation met is 100-continue",
        )),
    }
}

/// RFC 6455 §4.1. Other protocols, h2c before all, would carry requests past us.
fn wants_websocket(parts: &Parts) -> bool {
    let has = |name, word: &str| hop::tokens(&parts.headers, name).iter().any(|t| t == word);
    parts.version == Version::HTTP_11
        && parts.method == Method::GET
        && has(&header::CONNECTION, "upgrade")
        && has(&header::UPGRADE, "websocket")
}

/// What is left of `Max-Forwards` on the two methods it is for; a malformed one is none.
fn max_forwards(method: &Method, headers: &HeaderMap) -> Option<u64> {
    if *method != Method::OPTIONS && *method != Method::TRACE {
        return None;
    }
    let text = headers.get(header::MAX_FORWARDS)?.to_str().ok()?;
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// RFC 9113 §8.2.3: HTTP/2 splits cookies, HTTP/1 servers read one line.
fn joined_cookies(version: Version, headers: &HeaderMap) -> Option<HeaderValue> {
    if version != Version::HTTP_2 {
        return None;
    }
    let mut crumbs = headers.get_all(header::COOKIE).iter();
    let first = crumbs.next()?.as_bytes().to_vec();
    let joined = crumbs.fold(first, |mut joined, crumb| {
        joined.extend_from_slice(b"; ");
        joined.extend_from_slice(crumb.as_bytes());
        joined
    });
    HeaderValue::from_maybe_shared(bytes::Bytes::from(joined)).ok()
}

/// Whether nothing in it has to be read or rewritten: what most clients send most of the time.
fn is_ordinary(parts: &Parts, target: &RequestTarget) -> bool {
    let stays = |name: &HeaderName| match *name {
        header::CONTENT_LENGTH | header::TE | header::EXPECT | header::MAX_FORWARDS => false,
        _ => !(hop::is_hop_by_hop(name) || is_for_a_proxy(name)),
    };
    parts.version == Version::HTTP_11
        && parts.headers.get(header::HOST) == Some(&target.authority)
        && parts.headers.keys().all(stays)
}

fn rewrite(
    headers: &mut HeaderMap,
    target: &RequestTarget,
    passage: Passage,
    length: Option<u64>,
    hops: Option<u64>,
    mut joined: Option<HeaderValue>,
) {
    let named = hop::named(headers);
    let host =
        (!headers.contains_key(header::HOST)).then(|| (header::HOST, target.authority.clone()));
    let mut authority = Some(target.authority.clone());
    let joins = joined.is_some();
    let mut connection = connection(passage);
    let mut length = length;
    let mut upgrade = passage.upgrade.then(|| HeaderValue::from_static("websocket"));
    let mut trailers = passage.wants_trailers.then(|| HeaderValue::from_static("trailers"));
    hop::rebuild(headers, host, |name, value| match *name {
        header::HOST => authority.take(),
        header::CONNECTION => connection.take(),
        header::UPGRADE => upgrade.take(),
        header::TE => trailers.take(),
        header::CONTENT_LENGTH => length.take().map(HeaderValue::from),
        header::TRANSFER_ENCODING => Some(HeaderValue::from_static("chunked")),
        header::COOKIE if joins => joined.take(),
        header::MAX_FORWARDS => match hops {
            Some(hops) => Some(HeaderValue::from(hops.saturating_sub(1))),
            None => Some(value),
        },
        header::EXPECT => None,
        _ => (!ends_here(name, &named)).then_some(value),
    });
    if let Some(connection) = connection {
        headers.append(header::CONNECTION, connection);
    }
}

/// RFC 9110 §10.1.4: who sends TE says so in Connection.
fn connection(passage: Passage) -> Option<HeaderValue> {
    match (passage.upgrade, passage.wants_trailers) {
        (true, true) => Some(HeaderValue::from_static("Upgrade, TE")),
        (true, false) => Some(HeaderValue::from_static("Upgrade")),
        (false, true) => Some(HeaderValue::from_static("TE")),
        (false, false) => None,
    }
}

fn ends_here(name: &HeaderName, named: &[String]) -> bool {
    let is_named = || named.iter().any(|named| named == name.as_str());
    hop::is_hop_by_hop(name) || is_for_a_proxy(name) || is_named()
}

/// Whatever is called `Proxy-…` is meant for a proxy, so for us.
fn is_for_a_proxy(name: &HeaderName) -> bool {
    hop::is_ours(name) || name.as_str().starts_with("proxy-")
}

/// A body of unknown length has to be announced: hyper's client else takes a GET for bodiless and
/// drops it (row 49). A body that hyper knows to be empty needs nothing.
fn frame(headers: &mut HeaderMap, body: Shape, length: Option<u64>) {
    match body {
        Shape::Unknown if length.is_none() => {
            headers.insert(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        Shape::Unknown | Shape::Exact(_) | Shape::Empty => {}
    }
}
