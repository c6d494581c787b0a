//! What is asked of the admin port: bytes → the HTTP library → a page → bytes.
//!
//! Input: a byte of flags (who calls, from where, what is public); the bytes of a connection.

use super::memory::{Moves, connect, drive};
use super::sent::shown;
use super::strict::{Kind, Reading, read};
use bytes::Bytes;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use pacegate::admin::explain::Foreseen;
use pacegate::admin::pages::{Door, Readiness, Views, answer};
use pacegate::admin::settings::Public;
use pacegate::clock::Clock;
use pacegate::pace::claims::Claims;
use pacegate::pace::scope::Scope;
use pacegate::state::gate::{Gate, GateRules};
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

pub fn body(data: &[u8]) {
    let Some((flags, bytes)) = data.split_first() else { return };
    let moves = Moves::default();
    let (io, wire) = connect(Bytes::copy_from_slice(bytes), 4096, true, &moves);
    let asked = Arc::new(Mutex::new(None));
    let noted = asked.clone();
    let (views, flags) = (views(*flags), *flags);
    let service = service_fn(move |request: Request<Incoming>| {
        let parts = request.into_parts().0;
        let response = answer(&views, &parts, caller(flags), door(flags));
        check(&parts, response.status().as_u16(), response.headers(), flags);
        *noted.lock().unwrap_or_else(PoisonError::into_inner) = Some(parts.method == "HEAD");
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let mut builder = http1::Builder::new();
    builder.max_buf_size(16 * 1024).keep_alive(false).auto_date_header(false);
    drive(builder.serve_connection(io, service), &moves);
    let bytes = wire.heard();
    let head = asked.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_default();
    match read(&bytes, Kind::Response { bodiless: head }) {
        Reading::Whole(_, used) => assert_eq!(used, bytes.len(), "{}", shown(&bytes)),
        Reading::Partial => assert!(bytes.is_empty(), "{}", shown(&bytes)),
        Reading::Wrong(why) => panic!("{why}: {}", shown(&bytes)),
    }
}

fn views(flags: u8) -> Views {
    let ready = [Readiness::Starting, Readiness::Ready, Readiness::Draining];
    Views {
        metrics_text: Arc::new(|| "pacegate_scopes 0\n".to_owned()),
        ready: watch::channel(ready[usize::from(flags >> 4) % 3]).1,
        ca_pem: (flags & 4 == 4).then(|| Bytes::from_static(b"-----BEGIN CERTIFICATE-----\n")),
        public: Public { metrics: flags & 8 == 8, health: flags & 8 == 8 },
        gate: Gate::new(GateRules::default(), Clock::by_hand().0),
        foresight: Arc::new(|_, host| Foreseen {
            rules: Vec::new(),
            claims: Claims::of(Scope::of(host)),
        }),
        token: None,
    }
}

fn caller(flags: u8) -> IpAddr {
    match flags & 1 {
        0 => IpAddr::V4(Ipv4Addr::LOCALHOST),
        _ => IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)),
    }
}

fn door(flags: u8) -> Door {
    if flags & 2 == 2 { Door::Proxy } else { Door::Port }
}

/// Reading only, to those who may, under a name of ours, and nothing that a browser could misread.
fn check(parts: &http::request::Parts, status: u16, headers: &http::HeaderMap, flags: u8) {
    assert!([200, 400, 401, 403, 404, 405, 503].contains(&status));
    let reads = parts.method == "GET" || parts.method == "HEAD";
    let path = parts.uri.path();
    let api = path.starts_with("/api");
    // Only callers of this machine, on the port, write; and only under `/api/hosts/`.
    let writes = parts.method == "POST" && path.starts_with("/api/hosts/") && flags & 3 == 0;
    assert!(status != 200 || reads || writes, "{} is answered", parts.method);
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(headers["cache-control"], "no-store");
    assert!(headers.contains_key("content-security-policy"));
    let bare = ["/metrics", "/livez", "/readyz"].contains(&path);
    let elsewhere = flags & 1 == 1;
    if status == 200 && elsewhere {
        assert!(
            (bare && flags & 8 == 8) || (!bare && !api && flags & 2 == 2),
            "{path} from elsewhere"
        );
    }
    if status == 200 && !bare && flags & 2 == 0 {
        let hosts: Vec<_> = parts.headers.get_all("host").iter().collect();
        assert!(hosts.len() < 2, "two names");
        let ours = |host: &http::HeaderValue| {
            let host = host.to_str().expect("ASCII").to_ascii_lowercase();
            host.contains("localhost") || host.contains(|c: char| c == ':' || c.is_ascii_digit())
        };
        assert!(hosts.iter().all(|host| ours(host)), "under {hosts:?}");
    }
}
