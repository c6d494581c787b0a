//! A request as it is sent: the same for every sending, written as the connection's protocol wants
//! it.
//!
//! It must not know which connection that is.

use crate::net::body::{Outgoing, Replay};
use crate::net::target::Target;
use http::header::{HOST, TRANSFER_ENCODING};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, Version, request};
use http_body::Body;
use std::fmt;
use std::sync::Arc;

/// What is sent, as often as it is sent.
pub struct Outbound {
    /// Method, target (its path and query are used) and fields as HTTP/1.1 should have them,
    /// `Host` included.
    pub head: request::Parts,
    pub body: Replay,
    /// Told of interim answers (1xx but 100 and 101), over HTTP/1.1.
    pub informational: Option<Informational>,
}

/// Is told of an interim answer.
pub type Informational = Arc<dyn Fn(StatusCode, &HeaderMap) + Send + Sync>;

impl Outbound {
    /// Whether it may reach an origin twice (spec 2.8).
    pub(super) fn is_repeatable(&self) -> bool {
        let method = &self.head.method;
        [Method::GET, Method::HEAD, Method::OPTIONS, Method::PUT, Method::DELETE].contains(method)
    }

    pub(super) fn for_http1(&self, to: &Target) -> Request<Outgoing> {
        let mut head = self.head.clone();
        head.version = Version::HTTP_11;
        head.uri = Uri::from(self.path());
        if !head.headers.contains_key(HOST)
            && let Ok(host) = HeaderValue::from_maybe_shared(to.authority().into_bytes())
        {
            head.headers.insert(HOST, host);
        }
        let body = self.body.outgoing();
        let unsized_body = !body.is_end_stream() && body.size_hint().exact().is_none();
        if unsized_body && !head.headers.contains_key(TRANSFER_ENCODING) {
            // Without it hyper sends no body with a GET (hyper.md 12).
            head.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        let mut request = Request::from_parts(head, body);
        if let Some(told) = self.informational.clone() {
            hyper::ext::on_informational(&mut request, move |interim| {
                // Whether the client may send its body was ours to say (http.md, choices).
                if interim.status() != StatusCode::CONTINUE {
                    told(interim.status(), interim.headers());
                }
            });
        }
        request
    }

    pub(super) fn for_http2(&self, to: &Target) -> Request<Outgoing> {
        let mut head = self.head.clone();
        head.version = Version::HTTP_2;
        let host = head.headers.remove(HOST);
        let named = host.and_then(|host| Authority::from_maybe_shared(host).ok());
        let authority = named.or_else(|| Authority::from_maybe_shared(to.authority()).ok());
        let mut uri = http::uri::Parts::default();
        uri.scheme = Some(Scheme::HTTPS);
        uri.authority = authority;
        uri.path_and_query = Some(self.path());
        head.uri = Uri::from_parts(uri).unwrap_or_default();
        Request::from_parts(head, self.body.outgoing())
    }

    fn path(&self) -> PathAndQuery {
        let path = self.head.uri.path_and_query().cloned();
        path.unwrap_or_else(|| PathAndQuery::from_static("/"))
    }
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outbound({} {})", self.head.method, self.head.uri)
    }
}
