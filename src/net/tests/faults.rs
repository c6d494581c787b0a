//! What each way of failing is called.

use super::world::{
    IDLE, Peer, RESPONSE, fed, fetch, get, origin, pool, request, send, sized, target, text,
};
use crate::judge::outcome::{FaultKind, Sent};
use crate::net::body::Budget;
use bytes::Bytes;
use http::Method;
use http_body::Frame;
use std::time::Duration;
use tokio::net::TcpListener;

/// What a GET comes to when the origin says `answer` and closes.
#[track_caller]
fn check(answer: &'static str, want: FaultKind) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let shop = origin(move |peer| async move {
            let mut peer = peer;
            peer.head().await;
            peer.say(answer).await;
        })
        .await;
        let fault = fetch(&pool(), &shop.target(), &get()).await.expect_err(answer);
        let mut kind = fault.kind;
        if let FaultKind::NotHttp(why) = &mut kind {
            why.clear();
        }
        assert_eq!((kind, fault.sent), (want, Sent::Perhaps), "{answer:?} at {caller}");
        assert_eq!(shop.requests(), 1, "{answer:?}: a fresh connection's failure is not repeated");
    }
}

#[tokio::test]
async fn an_end_before_the_head_is_a_reset_and_after_it_a_truncation() {
    check("", FaultKind::Reset).await;
    check("HTTP/1.1 200 OK\r\nContent-", FaultKind::Reset).await;
    check("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", FaultKind::Truncated).await;
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    check(chunked, FaultKind::Truncated).await;
}

#[tokio::test]
async fn what_is_not_http_is_told_so() {
    let not_http = FaultKind::NotHttp(String::new());
    check("220 mail.example ESMTP\r\n", not_http.clone()).await;
    check("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", not_http.clone())
        .await;
    check("HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n", not_http).await;
}

#[tokio::test]
async fn harmless_dirt_is_delivered() {
    let answers = [
        "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Fold: a\r\n b\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Waf: a\x01b\r\nno colon\r\n\r\nhello",
        "HTTP/1.1 999 \r\nContent-Length: 0000005\r\n\r\nhello",
        "HTTP/1.1 200\nContent-Length: 5\n\nhello",
        "HTTP/1.0 200 OK\r\n\r\nhello",
    ];
    for answer in answers {
        let shop = origin(move |peer| async move {
            let mut peer = peer;
            peer.head().await;
            peer.say(answer).await;
        })
        .await;
        let got = fetch(&pool(), &shop.target(), &get()).await;
        assert_eq!(got.map(|(_, body, _)| body).as_deref(), Ok("hello"), "{answer:?}");
    }
    let many =
        format!("HTTP/1.1 200 OK\r\n{}Content-Length: 5\r\n\r\nhello", "A: b\r\n".repeat(190));
    let shop = origin(move |peer| {
        let many = many.clone();
        async move { peer.always(&many).await }
    })
    .await;
    let got = fetch(&pool(), &shop.target(), &get()).await;
    assert_eq!(got.map(|(_, body, _)| body).as_deref(), Ok("hello"));
}

#[tokio::test]
async fn a_head_over_the_limits_is_not_passed_on() {
    let fields = "A: b\r\n".repeat(201);
    let bytes = format!("A: {}\r\n", "b".repeat(66_000));
    for head in [fields, bytes] {
        let shop = origin(move |peer| {
            let answer = format!("HTTP/1.1 200 OK\r\n{head}Content-Length: 0\r\n\r\n");
            async move { peer.always(&answer).await }
        })
        .await;
        let fault = fetch(&pool(), &shop.target(), &get()).await.expect_err("too large");
        assert_eq!(fault.kind, FaultKind::HeadTooLarge, "{fault:?}");
    }
}

#[tokio::test]
async fn a_port_nobody_listens_on_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let port = listener.local_addr().expect("address").port();
    drop(listener);
    let fault = fetch(&pool(), &target(port), &get()).await.expect_err("refused");
    assert_eq!((fault.kind, fault.sent), (FaultKind::Refused, Sent::Nothing));
}

#[tokio::test]
async fn an_rst_before_the_head_is_a_reset() {
    let shop = origin(|peer| async move {
        let mut peer = peer;
        peer.head().await;
        peer.reset();
    })
    .await;
    let fault = fetch(&pool(), &shop.target(), &get()).await.expect_err("reset");
    assert_eq!((fault.kind, fault.sent), (FaultKind::Reset, Sent::Perhaps));
}

async fn silent(mut peer: Peer) {
    peer.head().await;
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_head_that_does_not_come_is_a_response_timeout() {
    let shop = origin(silent).await;
    let pool = pool();
    let fault = fetch(&pool, &shop.target(), &get()).await.expect_err("timeout");
    assert_eq!((fault.kind, fault.sent), (FaultKind::ResponseTimeout, Sent::Perhaps));
    assert_eq!(pool.counts().busy, 0);
}

#[tokio::test]
async fn the_response_timeout_begins_with_the_last_byte_of_the_request() {
    let shop = origin(|peer| async move {
        let mut peer = peer;
        peer.head().await;
        peer.read(("400\r\n\r\n".len() + 1024) * 4 + 5).await;
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    })
    .await;
    let (feed, body) = fed(100, &Budget::new(100));
    tokio::spawn(async move {
        for _ in 0..4 {
            tokio::time::sleep(RESPONSE * 2 / 3).await;
            feed.send(Ok(Frame::data(Bytes::from_static(&[b'u'; 1024])))).expect("wanted");
        }
    });
    let post = request(Method::POST, body);
    fetch(&pool(), &shop.target(), &post).await.expect("the body flows");
}

#[tokio::test]
async fn a_client_that_stops_sending_is_not_the_origins_fault() {
    let shop = origin(silent).await;
    let (feed, body) = fed(100, &Budget::new(100));
    feed.send(Ok(Frame::data(Bytes::from_static(b"abc")))).expect("wanted");
    let fault = fetch(&pool(), &shop.target(), &request(Method::POST, body)).await;
    assert_eq!(fault.expect_err("silent").kind, FaultKind::ClientBody);
    let (feed, body) = fed(100, &Budget::new(100));
    feed.send(Err(std::io::ErrorKind::ConnectionReset.into())).expect("wanted");
    let fault = fetch(&pool(), &shop.target(), &request(Method::POST, body)).await;
    assert_eq!(fault.expect_err("broke").kind, FaultKind::ClientBody);
}

#[tokio::test]
async fn a_client_that_sends_in_drips_is_not_the_origins_fault() {
    let shop = origin(silent).await;
    let (feed, body) = fed(100, &Budget::new(100));
    tokio::spawn(async move {
        while feed.send(Ok(Frame::data(Bytes::from_static(b"abc")))).is_ok() {
            tokio::time::sleep(IDLE / 5).await;
        }
    });
    let fault = fetch(&pool(), &shop.target(), &request(Method::POST, body)).await;
    assert_eq!(fault.expect_err("drips").kind, FaultKind::ClientBody);
}

#[tokio::test]
async fn an_origin_that_takes_nothing_more_of_a_body_is_stuck() {
    let shop = origin(silent).await;
    let put = request(Method::PUT, sized(32 << 20, 0));
    let fault = fetch(&pool(), &shop.target(), &put).await.expect_err("stuck");
    assert_eq!(fault.kind, FaultKind::Stuck);
}

#[tokio::test]
async fn a_body_that_stands_still_is_stuck() {
    let shop = origin(|peer| async move {
        let mut peer = peer;
        peer.head().await;
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n").await;
        for _ in 0..3 {
            tokio::time::sleep(IDLE * 2 / 3).await;
            peer.say("ab").await;
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
    })
    .await;
    let exchanged = send(&pool(), &shop.target(), &get()).await.expect("head");
    assert_eq!(text(exchanged.response).await.expect_err("stuck").kind, FaultKind::Stuck);
}
