//! Claims about the admin port and its pages.

use crate::admin::explain::Foreseen;
use crate::admin::guard::Token;
use crate::admin::pages::{Door, Readiness, Views, answer};
use crate::admin::serve::serve;
use crate::admin::settings::Public;
use crate::clock::Clock;
use crate::pace::claims::Claims;
use crate::pace::scope::Scope;
use crate::state::gate::{Gate, GateRules};
use bytes::Bytes;
use http::Request;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};

mod api;

const HERE: &str = "127.0.0.1";
const MAPPED: &str = "::ffff:127.0.0.1";
const ELSEWHERE: &str = "192.0.2.7";

fn views(readiness: Readiness, public: Public) -> Views {
    Views {
        metrics_text: Arc::new(|| "pacegate_scopes 0\n".to_owned()),
        ready: watch::channel(readiness).1,
        ca_pem: Some(Bytes::from_static(b"-----BEGIN CERTIFICATE-----\n")),
        public,
        gate: Gate::new(GateRules::default(), Clock::by_hand().0),
        foresight: Arc::new(|_, host| Foreseen {
            rules: vec!["all".to_owned()],
            claims: Claims::of(Scope::of(host)),
        }),
        token: Token::new(TOKEN),
    }
}

const TOKEN: &str = "0123456789abcdef";

fn asked(views: &Views, method: &str, path: &str, host: &str, caller: &str, door: Door) -> u16 {
    let request = Request::builder().method(method).uri(path).header("host", host);
    let parts = request.body(()).unwrap().into_parts().0;
    answer(views, &parts, caller.parse::<IpAddr>().unwrap(), door).status().as_u16()
}

#[track_caller]
fn check(method: &str, path: &str, host: &str, caller: &str, door: Door, want: u16) {
    let views = views(Readiness::Ready, Public::default());
    assert_eq!(asked(&views, method, path, host, caller, door), want, "{method} {path} {host}");
}

#[test]
fn there_are_these_pages_and_no_others_for_reading_only() {
    let api = ["/api/hosts", "/api/hosts/shop.example", "/api/explain?url=http%3A%2F%2Fa.example"];
    let pages = ["/", "/metrics", "/livez", "/readyz", "/readyz?verbose", "/ca.pem"];
    for path in pages.into_iter().chain(api) {
        check("GET", path, "127.0.0.1:3129", HERE, Door::Port, 200);
        check("HEAD", path, "127.0.0.1:3129", HERE, Door::Port, 200);
        check("POST", path, "127.0.0.1:3129", HERE, Door::Port, 405);
    }
    check("GET", "/healthz", "127.0.0.1", HERE, Door::Port, 404);
}

#[test]
fn a_page_under_somebody_elses_name_is_refused_unless_probes_ask_for_it() {
    for host in ["localhost:3129", "shop.localhost", "[::1]:3129", "10.0.0.3", MAPPED_HOST] {
        check("GET", "/", host, HERE, Door::Port, 200);
    }
    for host in ["evil.example:3129", "localhost.evil.example", "[evil]", "", "127.0.0.1.evil"] {
        check("GET", "/", host, HERE, Door::Port, 403);
        check("GET", "/metrics", host, HERE, Door::Port, 200);
    }
}

const MAPPED_HOST: &str = "[::ffff:127.0.0.1]:3129";

#[test]
fn callers_from_elsewhere_reach_what_is_public_and_through_the_proxy_the_certificate() {
    for path in ["/", "/metrics", "/livez", "/readyz", "/ca.pem"] {
        check("GET", path, HERE, ELSEWHERE, Door::Port, 403);
        check("GET", path, HERE, MAPPED, Door::Port, 200);
    }
    check("GET", "/ca.pem", "pacegate.internal", ELSEWHERE, Door::Proxy, 200);
    check("GET", "/metrics", "pacegate.internal", ELSEWHERE, Door::Proxy, 403);
    let views = views(Readiness::Ready, Public { metrics: true, health: false });
    assert_eq!(asked(&views, "GET", "/metrics", "pace", ELSEWHERE, Door::Port), 200);
    assert_eq!(asked(&views, "GET", "/livez", "pace", ELSEWHERE, Door::Port), 403);
}

#[test]
fn not_ready_is_503_while_alive_stays_200() {
    for readiness in [Readiness::Starting, Readiness::Draining] {
        let views = views(readiness, Public::default());
        assert_eq!(asked(&views, "GET", "/readyz", HERE, HERE, Door::Port), 503);
        assert_eq!(asked(&views, "GET", "/livez", HERE, HERE, Door::Port), 200);
    }
}

async fn exchange(address: std::net::SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn serves_a_page_closes_and_ends_when_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let views = views(Readiness::Ready, Public::default());
    let task = tokio::spawn(serve(listener, views, async {
        let _ = stopped.await;
    }));
    let text = exchange(address, b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    assert!(text.contains("content-type: text/plain; version=0.0.4\r\n"), "{text}");
    assert!(text.ends_with("\r\n\r\npacegate_scopes 0\n"), "{text}");
    let text = exchange(address, b"HEAD /livez HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(text.contains("content-length: 3\r\n") && text.ends_with("\r\n\r\n"), "{text}");
    stop.send(()).unwrap();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_sends_no_head_is_let_go() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let views = views(Readiness::Ready, Public::default());
    let task = tokio::spawn(serve(listener, views, std::future::pending()));
    let clock = Clock::runtime();
    let asked = clock.now();
    let text = exchange(address, b"GET /livez HT").await;
    assert!(!text.contains("200 OK"), "{text}");
    assert!(clock.now().since(asked) < Duration::from_secs(6));
    task.abort();
}
