//! HTTP/2: shared, bounded, refused, and left.

use super::secure::{Ca, Ending, NAME, h2_origin, params, say, secure, tls_origin};
use super::world::{fetch, get, ok, request, send, sized, text};
use crate::judge::outcome::{FaultKind, Sent};
use http::{Method, Version};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

#[tokio::test]
async fn requests_share_a_connection_once_http2_is_known() {
    let ca = Ca::new();
    let shop = h2_origin(&ca, 100, |request, mut respond, _| async move {
        assert_eq!(request.uri().to_string(), "https://shop.test/page?q=1");
        assert!(!request.headers().contains_key("host"));
        tokio::time::sleep(Duration::from_millis(20)).await;
        say(&mut respond, 200, "hello");
        Ending::Stay
    })
    .await;
    let (pool, to) = (ca.pool(), secure(NAME, shop.port));
    let first = send(&pool, &to, &get()).await.expect("answer");
    assert_eq!((first.response.version(), first.reused), (Version::HTTP_2, false));
    assert_eq!(text(first.response).await.as_deref(), Ok("hello"));
    let mut burst = JoinSet::new();
    for _ in 0..20 {
        let (pool, to) = (pool.clone(), to.clone());
        burst.spawn(async move { fetch(&pool, &to, &get()).await });
    }
    while let Some(done) = burst.join_next().await {
        assert_eq!(done.expect("task"), ok(200, "hello", true));
    }
    assert_eq!((shop.connections(), shop.requests()), (1, 21));
    assert_eq!((pool.counts().idle, pool.counts().busy), (1, 0));
}

#[tokio::test]
async fn a_burst_to_an_origin_known_to_speak_http2_dials_once() {
    let ca = Ca::new();
    let shop = h2_origin(&ca, 100, |_, mut respond, _| async move {
        say(&mut respond, 200, "hello");
        Ending::Stay
    })
    .await;
    let (pool, to) = (ca.pool(), secure(NAME, shop.port));
    fetch(&pool, &to, &get()).await.expect("answer");
    pool.inner.close_idle();
    let mut burst = JoinSet::new();
    for _ in 0..10 {
        let (pool, to) = (pool.clone(), to.clone());
        burst.spawn(async move { fetch(&pool, &to, &get()).await.expect("answer").1 });
    }
    assert_eq!(burst.join_all().await, ["hello"; 10]);
    assert_eq!(shop.connections(), 2);
}

#[tokio::test]
async fn a_first_burst_ends_up_on_few_connections() {
    let ca = Ca::new();
    let shop = h2_origin(&ca, 100, |_, mut respond, _| async move {
        say(&mut respond, 200, "hello");
        Ending::Stay
    })
    .await;
    let (pool, to) = (ca.pool(), secure(NAME, shop.port));
    let mut burst = JoinSet::new();
    for _ in 0..10 {
        let (pool, to) = (pool.clone(), to.clone());
        burst.spawn(async move { fetch(&pool, &to, &get()).await.expect("answer").1 });
    }
    assert_eq!(burst.join_all().await, ["hello"; 10]);
    assert_eq!(shop.requests(), 10);
    let kept = pool.counts().idle;
    assert!((1..=3).contains(&kept), "{kept} connections kept");
}

#[tokio::test]
async fn what_has_no_room_on_a_connection_gets_another_at_once() {
    let ca = Ca::new();
    let shop = h2_origin(&ca, 1, |_, mut respond, _| async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        say(&mut respond, 200, "hello");
        Ending::Stay
    })
    .await;
    let (pool, to) = (ca.pool(), secure(NAME, shop.port));
    fetch(&pool, &to, &get()).await.expect("the settings have arrived");
    tokio::time::sleep(Duration::from_millis(5)).await;
    let request = get();
    let (one, other) = tokio::join!(fetch(&pool, &to, &request), fetch(&pool, &to, &request));
    assert_eq!((one, other), (ok(200, "hello", true), ok(200, "hello", false)));
    assert_eq!(shop.connections(), 2);
}

#[tokio::test]
async fn a_refused_stream_was_not_looked_at_and_calm_is_asked_for_by_name() {
    let ca = Ca::new();
    let reasons = [
        (h2::Reason::REFUSED_STREAM, FaultKind::RefusedStream, Sent::Nothing),
        (h2::Reason::ENHANCE_YOUR_CALM, FaultKind::Calm, Sent::Perhaps),
        (h2::Reason::INTERNAL_ERROR, FaultKind::Reset, Sent::Perhaps),
    ];
    for (reason, kind, sent) in reasons {
        let shop = h2_origin(&ca, 100, move |_, mut respond, _| async move {
            respond.send_reset(reason);
            Ending::Stay
        })
        .await;
        let post = request(Method::POST, sized(10, 100));
        let fault = fetch(&ca.pool(), &secure(NAME, shop.port), &post).await.expect_err("refused");
        assert_eq!((fault.kind, fault.sent), (kind, sent), "{reason:?}");
        assert_eq!(shop.requests(), 1, "{reason:?}");
    }
}

#[tokio::test]
async fn a_connection_that_asks_for_calm_is_left() {
    let ca = Ca::new();
    let shop = h2_origin(&ca, 100, |_, respond, nth| async move {
        let mut respond = respond;
        if nth == 1 {
            tokio::spawn(async move {
                let _held = respond;
                std::future::pending::<()>().await;
            });
            return Ending::Abrupt(h2::Reason::ENHANCE_YOUR_CALM);
        }
        say(&mut respond, 200, "hello");
        Ending::Stay
    })
    .await;
    let (pool, to) = (ca.pool(), secure(NAME, shop.port));
    // hyper tells a stream below the GOAWAY's last one only that the connection is gone.
    assert_eq!(fetch(&pool, &to, &get()).await.expect_err("calm").kind, FaultKind::Reset);
    assert_eq!(fetch(&pool, &to, &get()).await, ok(200, "hello", false));
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_is_replaced() {
    let ca = Ca::new();
    let shop = h2_origin(&ca, 100, |_, mut respond, _| async move {
        say(&mut respond, 200, "hello");
        Ending::Graceful
    })
    .await;
    let (pool, to) = (ca.pool(), secure(NAME, shop.port));
    for _ in 0..5 {
        let post = request(Method::POST, sized(0, 0));
        let (status, body, _) = fetch(&pool, &to, &post).await.expect("answer");
        assert_eq!((status.as_u16(), body.as_str()), (200, "hello"));
    }
    assert_eq!(shop.requests(), 5);
}

#[tokio::test]
async fn a_connection_that_does_not_answer_gets_no_more_streams() {
    let ca = Ca::new();
    let shop = h2_origin(&ca, 100, |_, mut respond, nth| async move {
        if nth == 1 {
            std::future::pending::<()>().await;
        }
        say(&mut respond, 200, "hello");
        Ending::Stay
    })
    .await;
    let (pool, to) = (ca.pool(), secure(NAME, shop.port));
    let fault = fetch(&pool, &to, &get()).await.expect_err("silent");
    assert_eq!(fault.kind, FaultKind::ResponseTimeout);
    assert_eq!(fetch(&pool, &to, &get()).await, ok(200, "hello", false));
}

#[tokio::test]
async fn an_origin_that_insists_on_http1_gets_it() {
    let ca = Ca::new();
    let acceptor = ca.server(&params(NAME), &["h2", "http/1.1"]);
    let shop = tls_origin(acceptor, |mut stream, note| async move {
        if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
            let Ok(mut connection) = h2::server::handshake(stream).await else { return };
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                note.push("h2");
                respond.send_reset(h2::Reason::HTTP_1_1_REQUIRED);
            }
            return;
        }
        let mut read = [0; 1024];
        assert!(stream.read(&mut read).await.expect("request") > 0);
        note.push("h1");
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        stream.write_all(answer).await.expect("answer");
    })
    .await;
    let (pool, to) = (ca.pool(), secure(NAME, shop.port));
    let (status, body, _) = fetch(&pool, &to, &get()).await.expect("answer");
    assert_eq!((status.as_u16(), body.as_str()), (200, "hello"));
    assert_eq!(*shop.heads.lock().unwrap(), ["h2", "h1"]);
}

#[tokio::test]
async fn a_dropped_answer_resets_its_stream_only() {
    let ca = Ca::new();
    let shop = h2_origin(&ca, 100, |_, mut respond, _| async move {
        let head = http::Response::new(());
        let stream = respond.send_response(head, false).expect("head");
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(stream);
        Ending::Stay
    })
    .await;
    let (pool, to) = (ca.pool(), secure(NAME, shop.port));
    let exchanged = send(&pool, &to, &get()).await.expect("head");
    assert_eq!((pool.counts().idle, pool.counts().busy), (0, 1));
    drop(exchanged);
    assert_eq!((pool.counts().idle, pool.counts().busy), (1, 0));
    assert!(send(&pool, &to, &get()).await.expect("head").reused);
    assert_eq!(shop.connections(), 1);
}
