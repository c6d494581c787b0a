//! Whose certificates hold, and what a bad one is called: before a byte of a request is sent.

use super::secure::{Ca, NAME, params, secure, tls_origin};
use super::world::{Origin, fetch, get, ok, origin, request, send, sized};
use crate::judge::outcome::{Fault, FaultKind, Sent};
use crate::net::settings::Roots;
use crate::net::tls::{ClientTls, RootsError};
use http::{Method, StatusCode};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, date_time_ymd};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// An HTTP/1.1 origin in TLS that notes every request's first line.
async fn http1(acceptor: TlsAcceptor) -> Origin {
    tls_origin(acceptor, |mut stream, note| async move {
        let mut read = vec![0; 64 << 10];
        while let Ok(size @ 1..) = stream.read(&mut read).await {
            let text = String::from_utf8_lossy(&read[..size]).into_owned();
            note.push(text.lines().next().unwrap_or_default());
            stream.write_all(HELLO).await.expect("read by the client");
        }
    })
    .await
}

async fn fault_of(ca: &Ca, to_name: &str, acceptor: TlsAcceptor) -> Fault {
    let shop = http1(acceptor).await;
    let post = request(Method::POST, sized(10, 100));
    let fault = fetch(&ca.pool(), &secure(to_name, shop.port), &post).await.expect_err("bad");
    assert_eq!((fault.sent, shop.requests()), (Sent::Nothing, 0), "{fault:?}");
    fault
}

#[track_caller]
fn check(fault: &Fault, words: &str) {
    assert!(matches!(&fault.kind, FaultKind::Certificate(why) if why.contains(words)), "{fault:?}");
    assert!(fault.detail.contains(words), "{fault:?}");
}

#[tokio::test]
async fn a_certificate_that_does_not_hold_is_a_fault_that_says_why() {
    let ca = Ca::new();
    let with = |change: fn(&mut CertificateParams)| {
        let mut params = params(NAME);
        change(&mut params);
        ca.server(&params, &["http/1.1"])
    };
    let expired = with(|params| params.not_after = date_time_ymd(2020, 1, 1));
    check(&fault_of(&ca, NAME, expired).await, "has expired");
    let future = with(|params| params.not_before = date_time_ymd(2090, 1, 1));
    check(&fault_of(&ca, NAME, future).await, "not valid yet");
    let client = with(|params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    });
    check(&fault_of(&ca, NAME, client).await, "not one for servers");
    let other = ca.server(&params("other.localhost"), &["http/1.1"]);
    check(&fault_of(&ca, NAME, other).await, "for other names (other.localhost)");
    let name_only = ca.server(&params(NAME), &["http/1.1"]);
    check(&fault_of(&ca, "127.0.0.1", name_only).await, "for other names");
    let stranger = Ca::new().server(&params(NAME), &["http/1.1"]);
    check(&fault_of(&ca, NAME, stranger).await, "nobody trusted here");
}

#[tokio::test]
async fn an_address_is_verified_as_an_address() {
    let ca = Ca::new();
    let shop = http1(ca.server(&params("127.0.0.1"), &[])).await;
    let to = secure("127.0.0.1", shop.port);
    assert_eq!(fetch(&ca.pool(), &to, &get()).await, ok(200, "hello", false));
}

#[tokio::test]
async fn a_connection_in_tls_serves_again_in_spite_of_its_session_tickets() {
    let ca = Ca::new();
    let shop = http1(ca.server(&params(NAME), &["http/1.1"])).await;
    let (pool, to) = (ca.pool(), secure(NAME, shop.port));
    for reused in [false, true, true] {
        assert_eq!(fetch(&pool, &to, &get()).await, ok(200, "hello", reused));
    }
    assert_eq!(shop.connections(), 1);
}

#[tokio::test]
async fn a_burst_to_an_http1_origin_dials_once_for_each() {
    let ca = Ca::new();
    let acceptor = ca.server(&params(NAME), &["http/1.1"]);
    let shop = tls_origin(acceptor, |mut stream, note| async move {
        let mut read = [0; 1024];
        // Each handshake ends at another time.
        while stream.read(&mut read).await.is_ok_and(|size| size > 0) {
            note.push("request");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            stream.write_all(HELLO).await.expect("answer");
        }
    })
    .await;
    let (pool, to) = (ca.pool(), secure(NAME, shop.port));
    for (bursts, reused) in [(1, false), (2, true)] {
        let mut burst = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let (pool, to) = (pool.clone(), to.clone());
            burst.spawn(async move { fetch(&pool, &to, &get()).await });
        }
        for done in burst.join_all().await {
            assert_eq!(done, ok(200, "hello", reused));
        }
        assert_eq!((shop.connections(), shop.requests()), (8, 8 * bursts));
    }
}

#[tokio::test]
async fn a_stale_connection_in_tls_is_replaced() {
    let ca = Ca::new();
    let acceptor = ca.server(&params(NAME), &["http/1.1"]);
    let shop = tls_origin(acceptor, |mut stream, note| async move {
        let mut read = [0; 1024];
        assert!(stream.read(&mut read).await.expect("request") > 0);
        note.push("request");
        stream.write_all(HELLO).await.expect("answer");
        let _gone = stream.shutdown().await;
    })
    .await;
    let (pool, to) = (ca.pool(), secure(NAME, shop.port));
    for _ in 0..3 {
        let post = request(Method::POST, sized(0, 0));
        assert_eq!(fetch(&pool, &to, &post).await, ok(200, "hello", false));
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(shop.requests(), 3);
}

#[tokio::test]
async fn what_is_no_tls_and_what_hangs_up_are_told_apart() {
    let ca = Ca::new();
    let plain = origin(|peer| async move {
        let mut peer = peer;
        peer.say("HTTP/1.1 400 Bad Request\r\n\r\n").await;
        peer.head().await;
    })
    .await;
    let fault = fetch(&ca.pool(), &secure(NAME, plain.port), &get()).await.expect_err("plain");
    assert!(matches!(fault.kind, FaultKind::Tls(_)), "{fault:?}");
    let gone = origin(|peer| async move {
        let mut peer = peer;
        peer.read(5).await;
    })
    .await;
    let fault = fetch(&ca.pool(), &secure(NAME, gone.port), &get()).await.expect_err("gone");
    assert_eq!((fault.kind, fault.sent), (FaultKind::Reset, Sent::Nothing));
}

#[tokio::test]
async fn a_request_to_upgrade_goes_over_http1_even_where_http2_is_spoken() {
    let ca = Ca::new();
    let acceptor = ca.server(&params(NAME), &["h2", "http/1.1"]);
    let shop = tls_origin(acceptor, |mut stream, note| async move {
        let mut read = vec![0; 4096];
        let size = stream.read(&mut read).await.expect("request");
        let text = String::from_utf8_lossy(&read[..size]).into_owned();
        note.push(&text);
        let answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n\
                      Upgrade: websocket\r\n\r\nfirst";
        stream.write_all(answer.as_bytes()).await.expect("answer");
        let size = stream.read(&mut read).await.expect("frame");
        stream.write_all(&read[..size]).await.expect("echo");
    })
    .await;
    let mut upgrade = get();
    upgrade.head.headers.insert("connection", "upgrade".parse().unwrap());
    upgrade.head.headers.insert("upgrade", "websocket".parse().unwrap());
    let exchanged = send(&ca.pool(), &secure(NAME, shop.port), &upgrade).await.expect("switched");
    assert_eq!(exchanged.response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let upgraded = hyper::upgrade::on(exchanged.response).await.expect("connection");
    let mut stream = hyper_util::rt::TokioIo::new(upgraded);
    stream.write_all(b"hello").await.expect("written");
    let mut read = [0; 10];
    stream.read_exact(&mut read).await.expect("read");
    assert_eq!(&read, b"firsthello");
    assert!(shop.heads.lock().unwrap()[0].starts_with("GET /page?q=1 HTTP/1.1\r\n"));
}

#[tokio::test]
async fn our_own_ca_is_never_trusted_whatever_its_certificate() {
    let ca = Ca::new();
    let roots = Roots::File(ca.path.clone());
    assert!(ClientTls::new(&roots, &[]).is_ok());
    let shunned = ClientTls::new(&roots, std::slice::from_ref(&ca.der));
    assert_eq!(shunned.err(), Some(RootsError::Empty));
    let missing = Roots::File("/nowhere/roots.pem".into());
    assert!(matches!(ClientTls::new(&missing, &[]).err(), Some(RootsError::Unreadable(_))));
}
