//! The head of an origin's answer, made fit for the client's connection.

use crate::judge::outcome::FaultKind;
use crate::net::headers::hop;
use http::header::{self, HeaderMap, HeaderValue};
use http::response::Parts;
use http::{StatusCode, Version};
use std::time::{SystemTime, UNIX_EPOCH};

/// What is left to know about the connection an answer came on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// False: how long the answer is could be read in two ways. Its connection must not carry
    /// another (RFC 9112 §6.3).
    pub reusable: bool,
}

/// Checks an answer and rewrites its head in place: HTTP/1.1, one length or none, a `Date`, nothing
/// of the connection it came on, none of our own fields. `upgrade`: the request asked for one.
/// What can't be passed on without changing its meaning is a fault.
pub fn forward(
    parts: &mut Parts,
    upgrade: bool,
    now: impl FnOnce() -> SystemTime,
) -> Result<Received, FaultKind> {
    let switching = parts.status == StatusCode::SWITCHING_PROTOCOLS;
    if switching && !(upgrade && speaks_websocket(&parts.headers)) {
        return Err(FaultKind::UpgradeFailed);
    }
    let coded = is_coded(&parts.headers)?;
    let length = hop::content_length(&parts.headers).map_err(|text| {
        FaultKind::NotHttp(format!("Content-Length is not one number: {text:?}"))
    })?;
    let bodiless = switching || parts.status == StatusCode::NO_CONTENT;
    let said = if coded || bodiless { None } else { length };
    if !is_fit(&parts.headers, said) {
        rewrite(&mut parts.headers, switching, said);
    }
    if let Some(date) = date(&parts.headers, now) {
        parts.headers.append(header::DATE, date);
    }
    parts.version = Version::HTTP_11;
    Ok(Received { reusable: !(coded && length.is_some()) })
}

/// Takes out of an interim answer what is about framing or a connection.
pub fn forward_interim(headers: &mut HeaderMap) {
    let named = hop::named(headers);
    hop::rebuild(headers, None, |name, value| {
        let out = hop::is_hop_by_hop(name)
            || hop::is_ours(name)
            || *name == header::CONTENT_LENGTH
            || named.iter().any(|named| named == name.as_str());
        (!out).then_some(value)
    });
}

/// Takes out of trailers what may not stand there (RFC 9110 §6.5.1): framing, routing,
/// credentials, and what belongs to a connection.
pub fn forward_trailers(trailers: &mut HeaderMap) {
    let named = hop::named(trailers);
    hop::rebuild(trailers, None, |name, value| {
        let text = name.as_str();
        let out = hop::is_hop_by_hop(name)
            || hop::is_ours(name)
            || NEVER_A_TRAILER.contains(&text)
            || named.iter().any(|named| named == text);
        (!out).then_some(value)
    });
}

fn speaks_websocket(headers: &HeaderMap) -> bool {
    let protocols = hop::tokens(headers, &header::UPGRADE);
    !protocols.is_empty() && protocols.iter().all(|protocol| protocol == "websocket")
}

/// hyper has read one layer of chunks. `chunked` written twice is a mistake of many servers and
/// means it once; `identity` means nothing. Any other coding would be left on the body, unnamed.
fn is_coded(headers: &HeaderMap) -> Result<bool, FaultKind> {
    if !headers.contains_key(header::TRANSFER_ENCODING) {
        return Ok(false);
    }
    let codings = hop::tokens(headers, &header::TRANSFER_ENCODING);
    let odd = |coding: &&String| *coding != "chunked" && *coding != "identity";
    match codings.iter().find(odd) {
        Some(coding) => {
            let coding: String = coding.chars().take(40).collect();
            Err(FaultKind::NotHttp(format!("unasked-for transfer coding {coding:?}")))
        }
        None => Ok(true),
    }
}

/// Whether there is nothing to rewrite.
fn is_fit(headers: &HeaderMap, length: Option<u64>) -> bool {
    headers.keys().all(|name| !(hop::is_hop_by_hop(name) || hop::is_ours(name)))
        && hop::is_as_written(headers, length)
}

fn rewrite(headers: &mut HeaderMap, switching: bool, length: Option<u64>) {
    let named = hop::named(headers);
    let mut length = length;
    let mut connection = switching.then(|| HeaderValue::from_static("Upgrade"));
    let mut upgrade = switching.then(|| HeaderValue::from_static("websocket"));
    hop::rebuild(headers, None, |name, value| match *name {
        header::CONNECTION => connection.take(),
        header::UPGRADE => upgrade.take(),
        header::CONTENT_LENGTH => length.take().map(HeaderValue::from),
        _ => {
            let out = hop::is_hop_by_hop(name)
                || hop::is_ours(name)
                || named.iter().any(|named| named == name.as_str());
            (!out).then_some(value)
        }
    });
    if let Some(connection) = connection {
        headers.append(header::CONNECTION, connection);
    }
}

/// RFC 9110 §6.6.1: for an answer that has none. The format ends with the year 9999 and begins with
/// 1970.
fn date(headers: &HeaderMap, now: impl FnOnce() -> SystemTime) -> Option<HeaderValue> {
    if headers.contains_key(header::DATE) {
        return None;
    }
    let now = now();
    let seconds = now.duration_since(UNIX_EPOCH).ok()?.as_secs();
    let writable = seconds < 253_402_300_800;
    let text = writable.then(|| httpdate::fmt_http_date(now))?;
    HeaderValue::try_from(text).ok()
}

const NEVER_A_TRAILER: [&str; 14] = [
    "authorization",
    "cache-control",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "cookie",
    "expect",
    "host",
    "max-forwards",
    "range",
    "set-cookie",
    "te",
    "trailer",
];
