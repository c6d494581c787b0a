//! Bodies on the wire: sent once more, answered early, held back.

use super::world::{IDLE, fed, fetch, get, ok, origin, pool, request, send, sized};
use crate::net::body::Budget;
use bytes::Bytes;
use http::Method;
use http_body::Frame;
use http_body_util::BodyExt;
use std::time::Duration;

// Two threads, so that the origin's RST meets writes under way; each time with some luck only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_given_while_the_body_is_sent_arrives_though_the_origin_closes() {
    let pool = pool();
    for _ in 0..60 {
        let shop = origin(|peer| async move {
            let mut peer = peer;
            peer.head().await;
            peer.read(10_000).await;
            peer.say("HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\n\r\ntoo large").await;
            // Unread bytes make this an RST.
        })
        .await;
        let post = request(Method::POST, sized(8 << 20, 0));
        assert_eq!(fetch(&pool, &shop.target(), &post).await, ok(413, "too large", false));
        assert_eq!(pool.counts().idle, 0, "it can't serve again");
    }
}

#[tokio::test]
async fn an_origin_that_answers_before_it_has_read_is_answered_for() {
    let shop = origin(|peer| async move {
        let mut peer = peer;
        peer.say("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy").await;
        peer.head().await;
    })
    .await;
    let pool = pool();
    for _ in 0..20 {
        let pool = pool.clone();
        pool.inner.close_idle();
        assert_eq!(fetch(&pool, &shop.target(), &get()).await, ok(503, "busy", false));
    }
}

const CHUNKS: &str = "5\r\nhello\r\n6\r\n again\r\n0\r\n\r\n";

#[tokio::test]
async fn a_body_is_sent_again_from_its_first_byte() {
    let shop = origin(|peer| async move {
        let mut peer = peer;
        peer.head().await;
        if peer.nth == 1 {
            peer.read(5).await;
            peer.say("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n").await;
            return;
        }
        let body = peer.read(CHUNKS.len()).await;
        assert_eq!(String::from_utf8_lossy(&body), CHUNKS);
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    })
    .await;
    let (feed, body) = fed(100, &Budget::new(100));
    let put = request(Method::PUT, body.clone());
    feed.send(Ok(Frame::data(Bytes::from_static(b"hello")))).expect("wanted");
    let pool = pool();
    let (status, ..) = fetch(&pool, &shop.target(), &put).await.expect("answer");
    assert_eq!((status.as_u16(), body.repeatable()), (503, true));
    feed.send(Ok(Frame::data(Bytes::from_static(b" again")))).expect("wanted");
    drop(feed);
    let (_, body, _) = fetch(&pool, &shop.target(), &put).await.expect("answer");
    assert_eq!(body, "ok");
}

#[tokio::test]
async fn a_get_with_a_body_of_unknown_length_is_not_stripped_of_it() {
    let shop = origin(|peer| async move {
        let mut peer = peer;
        let head = peer.head().await.expect("head");
        assert!(head.to_ascii_lowercase().contains("transfer-encoding: chunked"), "{head}");
        assert_eq!(peer.read(13).await, b"3\r\nabc\r\n0\r\n\r\n");
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    })
    .await;
    let (feed, body) = fed(100, &Budget::new(100));
    feed.send(Ok(Frame::data(Bytes::from_static(b"abc")))).expect("wanted");
    drop(feed);
    fetch(&pool(), &shop.target(), &request(Method::GET, body)).await.expect("answer");
}

#[tokio::test]
async fn a_body_nobody_reads_holds_its_origin_back() {
    const WHOLE: usize = 64 << 20;
    let shop = origin(|peer| async move {
        let mut peer = peer;
        peer.head().await;
        peer.say(&format!("HTTP/1.1 200 OK\r\nContent-Length: {WHOLE}\r\n\r\n")).await;
        let chunk = "x".repeat(1 << 20);
        for _ in 0..WHOLE / chunk.len() {
            peer.say(&chunk).await;
            peer.heads_push("MiB");
        }
    })
    .await;
    let exchanged = send(&pool(), &shop.target(), &get()).await.expect("head");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(shop.requests() < 32, "{} MiB sent unread", shop.requests());
    let mut body = exchanged.response.into_body();
    // Slow readers are not a fault of the origin.
    tokio::time::sleep(IDLE).await;
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        read += frame.expect("whole").data_ref().map_or(0, Bytes::len);
    }
    assert_eq!(read, WHOLE);
}
