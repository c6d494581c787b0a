//! Answers to requests that may be forwarded no further: `Max-Forwards: 0` (RFC 9110 §7.6.2).
//!
//! This room must not know who asks: what comes back is what was asked, without its secrets.

use crate::clock::Tick;
use crate::flow::deliver::Reply;
use crate::flow::reply::date;
use crate::flow::works::Flow;
use crate::metrics::labels::{RequestOutcome, Source};
use crate::metrics::meter::RequestEnd;
use crate::net::headers::target::RequestTarget;
use bytes::Bytes;
use http::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, COOKIE, DATE, HeaderName, HeaderValue,
};
use http::{Method, Response, StatusCode, request};

/// Answers an OPTIONS with what we can do, a TRACE with what was received. `parts` is the head as
/// it would have gone on.
pub fn last_hop(
    flow: &Flow,
    parts: &request::Parts,
    meant: &RequestTarget,
    accepted: Tick,
) -> Response<Reply> {
    let traced = parts.method == Method::TRACE;
    let body = if traced { trace(parts, meant) } else { Vec::new() };
    let mut response =
        Response::new(Reply::Whole { body: Some(Bytes::from(body)), trailers: None });
    let fields = response.headers_mut();
    fields.insert(DATE, date(flow.clock.wall()));
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if traced {
        fields.insert(CONTENT_TYPE, HeaderValue::from_static("message/http"));
    } else {
        fields.insert(ALLOW, HeaderValue::from_static(METHODS));
    }
    flow.meter.request_ended(&RequestEnd {
        host: None,
        outcome: RequestOutcome::Served,
        code: Some(StatusCode::OK),
        source: Source::Proxy,
        took: flow.clock.now().since(accepted),
        attempts: 0,
        waits: &[],
    });
    response
}

/// RFC 9110 §9.3.8: the request, without what a script in a page must not learn.
fn trace(parts: &request::Parts, meant: &RequestTarget) -> Vec<u8> {
    let line = format!("TRACE {}://", meant.scheme.word());
    let mut text = [line.as_bytes(), meant.authority.as_bytes()].concat();
    text.extend_from_slice(format!("{} HTTP/1.1\r\n", meant.path).as_bytes());
    for (name, value) in parts.headers.iter().filter(|(name, _)| !is_secret(name)) {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"\r\n");
    text
}

/// `Proxy-Authorization` and our own fields are out already.
fn is_secret(name: &HeaderName) -> bool {
    *name == AUTHORIZATION || *name == COOKIE
}

const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE, CONNECT";
