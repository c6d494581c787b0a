//! The pages: a request's head in, a response out. No sockets.

use crate::admin::api;
use crate::admin::explain::Foresight;
use crate::admin::guard::{Token, is_ours};
use crate::admin::settings::Public;
use crate::metrics::text::CONTENT_TYPE;
use crate::state::gate::Gate;
use bytes::Bytes;
use http::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE as TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode};
use http_body_util::Full;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::watch;

/// What the pages are made of.
#[derive(Clone)]
pub struct Views {
    /// Prometheus's text, as of now.
    pub metrics_text: Arc<dyn Fn() -> String + Send + Sync>,
    pub ready: watch::Receiver<Readiness>,
    /// Our CA's certificate; `None` where nothing is intercepted.
    pub ca_pem: Option<Bytes>,
    pub public: Public,
    /// The rows that are shown, and that operators change.
    pub gate: Arc<Gate>,
    pub foresight: Foresight,
    /// What lets callers from anywhere do so.
    pub token: Option<Token>,
}

/// Whether new requests are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    Starting,
    Ready,
    Draining,
}

impl Readiness {
    /// The word for the health page.
    pub const fn word(self) -> &'static str {
        match self {
            Readiness::Starting => "starting",
            Readiness::Ready => "ok",
            Readiness::Draining => "draining",
        }
    }
}

/// Which way a caller came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// The admin port.
    Port,
    /// `http://pacegate.internal/` through the proxy.
    Proxy,
}

/// Answers for one page. `caller` is the address at the other end of the connection.
pub fn answer(views: &Views, parts: &Parts, caller: IpAddr, door: Door) -> Response<Full<Bytes>> {
    if api::is_api(parts.uri.path()) {
        return api::answer(views, parts, caller, door);
    }
    let Some(page) = Page::at(parts.uri.path()) else {
        return plain(StatusCode::NOT_FOUND, "no such page; / lists those there are\n");
    };
    if !page.may_be_seen(views.public, caller, door) {
        let text = "not from here: admin.public lists what others may reach\n";
        return plain(StatusCode::FORBIDDEN, text);
    }
    if door == Door::Port && !page.is_bare() && !is_ours(&parts.headers) {
        return plain(StatusCode::FORBIDDEN, "the Host header names somebody else\n");
    }
    if parts.method != Method::GET && parts.method != Method::HEAD {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    page.show(views, parts)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Page {
    Index,
    Alive,
    Ready,
    Metrics,
    Ca,
}

impl Page {
    fn at(path: &str) -> Option<Page> {
        match path {
            "/" | "" => Some(Page::Index),
            "/livez" => Some(Page::Alive),
            "/readyz" => Some(Page::Ready),
            "/metrics" => Some(Page::Metrics),
            "/ca.pem" => Some(Page::Ca),
            _ => None,
        }
    }

    fn may_be_seen(self, public: Public, caller: IpAddr, door: Door) -> bool {
        if caller.to_canonical().is_loopback() {
            return true;
        }
        match self {
            Page::Metrics => public.metrics,
            Page::Alive | Page::Ready => public.health,
            // Who may use the proxy needs its certificate, which is no secret.
            Page::Index | Page::Ca => door == Door::Proxy,
        }
    }

    /// Pages that scrapers and probes ask for by whatever name they know us.
    fn is_bare(self) -> bool {
        match self {
            Page::Metrics | Page::Alive | Page::Ready => true,
            Page::Index | Page::Ca => false,
        }
    }

    fn show(self, views: &Views, parts: &Parts) -> Response<Full<Bytes>> {
        let verbose = parts.uri.query().is_some_and(asks_verbose);
        match self {
            Page::Index => index(&parts.headers),
            Page::Alive if verbose => plain(StatusCode::OK, "[+]process ok\nlivez ok\n"),
            Page::Alive => plain(StatusCode::OK, "ok\n"),
            Page::Ready => ready(*views.ready.borrow(), verbose),
            Page::Metrics => {
                respond(StatusCode::OK, CONTENT_TYPE, Bytes::from((views.metrics_text)()))
            }
            Page::Ca => ca(views),
        }
    }
}

fn ready(readiness: Readiness, verbose: bool) -> Response<Full<Bytes>> {
    let status = match readiness {
        Readiness::Ready => StatusCode::OK,
        Readiness::Starting | Readiness::Draining => StatusCode::SERVICE_UNAVAILABLE,
    };
    let word = readiness.word();
    if !verbose {
        return plain(status, format!("{word}\n"));
    }
    let mark = |holds: bool| if holds { "[+]" } else { "[-]" };
    let started = mark(readiness != Readiness::Starting);
    let accepting = mark(readiness != Readiness::Draining);
    plain(status, format!("{started}listening\n{accepting}accepting\nreadyz {word}\n"))
}

fn ca(views: &Views) -> Response<Full<Bytes>> {
    let Some(pem) = views.ca_pem.clone() else {
        return plain(StatusCode::NOT_FOUND, "no CA: nothing is intercepted\n");
    };
    // The type that makes browsers offer to trust it.
    let mut response = respond(StatusCode::OK, "application/x-x509-ca-cert", pem);
    let name = HeaderValue::from_static("inline; filename=\"pacegate-ca.pem\"");
    response.headers_mut().insert(CONTENT_DISPOSITION, name);
    response
}

fn index(headers: &HeaderMap) -> Response<Full<Bytes>> {
    let mut accepts = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    if accepts.any(|value| value.contains("text/html")) {
        respond(StatusCode::OK, "text/html; charset=utf-8", Bytes::from_static(HTML.as_bytes()))
    } else {
        plain(StatusCode::OK, TEXT)
    }
}

/// `?verbose`, with or without a value, among other things.
fn asks_verbose(query: &str) -> bool {
    query.split('&').any(|part| part == "verbose" || part.starts_with("verbose="))
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    respond(status, "text/plain; charset=utf-8", text.into())
}

pub(in crate::admin) fn respond(
    status: StatusCode,
    kind: &'static str,
    body: Bytes,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}

const TEXT: &str = "pacegate
/metrics  counters, for Prometheus
/livez    the process is alive
/readyz   new requests are taken (?verbose)
/ca.pem   the certificate that clients must trust
/api/hosts         hosts that have a row, as JSON (?limit, ?after); /api/hosts/NAME
/api/explain?url=  why a request would wait
";

const HTML: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>pacegate</title>
<meta name=viewport content='width=device-width'>
<style>body{font:16px/1.5 system-ui;max-width:40em;margin:3em auto;padding:0 1em}</style>
<h1>pacegate</h1><dl>
<dt><a href=/metrics>/metrics</a><dd>counters, for Prometheus
<dt><a href=/livez>/livez</a><dd>the process is alive
<dt><a href='/readyz?verbose'>/readyz</a><dd>new requests are taken
<dt><a href=/ca.pem>/ca.pem</a><dd>the certificate that clients must trust
<dt><a href=/api/hosts>/api/hosts</a><dd>hosts that have a row, as JSON
</dl></html>
";
