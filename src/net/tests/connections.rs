//! Which connection a request goes out on, and when a dead one is replaced.

use super::world::{Peer, fetch, get, ok, origin, pool, request, send, sized};
use crate::judge::outcome::{FaultKind, Sent};
use crate::net::body::Replay;
use crate::net::connect_io::{Io, Wire};
use crate::net::http1::{Http1, Sending};
use crate::net::lease::Open;
use crate::net::outbound::Outbound;
use crate::net::pool::Counts;
use crate::net::target::Target;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use std::future::Future;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::net::TcpStream;

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Serves one request a connection and then ends it as told, without saying so in the head.
async fn one_then_close(mut peer: Peer) {
    if peer.head().await.is_some() {
        peer.say(HELLO).await;
    }
}

#[tokio::test]
async fn a_connection_serves_one_request_after_the_other() {
    let shop = origin(|peer| peer.always(HELLO)).await;
    let pool = pool();
    assert_eq!(fetch(&pool, &shop.target(), &get()).await, ok(200, "hello", false));
    assert_eq!(fetch(&pool, &shop.target(), &get()).await, ok(200, "hello", true));
    assert_eq!((shop.connections(), shop.requests()), (1, 2));
    assert_eq!(pool.counts(), Counts { idle: 1, busy: 0 });
    pool.inner.close_idle();
    assert_eq!(pool.counts(), Counts { idle: 0, busy: 0 });
}

#[tokio::test]
async fn answers_without_a_body_leave_the_connection_usable() {
    let answers = [
        (Method::HEAD, "HTTP/1.1 200 OK\r\nContent-Length: 628\r\n\r\n"),
        (Method::GET, "HTTP/1.1 204 No Content\r\n\r\n"),
        (Method::GET, "HTTP/1.1 304 Not Modified\r\nContent-Length: 628\r\n\r\n"),
        (Method::GET, "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n"),
        (Method::GET, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ];
    for (method, answer) in answers {
        let shop = origin(move |peer| peer.always(answer)).await;
        let pool = pool();
        for reused in [false, true] {
            let request = request(method.clone(), Replay::none());
            let (_, body, was) = fetch(&pool, &shop.target(), &request).await.expect(answer);
            assert_eq!((body.as_str(), was), ("", reused), "{answer}");
        }
        assert_eq!(shop.connections(), 1, "{answer}");
    }
}

#[tokio::test]
async fn a_stale_connection_is_seen_before_anything_is_sent_on_it() {
    let shop = origin(one_then_close).await;
    let pool = pool();
    for _ in 0..5 {
        assert_eq!(fetch(&pool, &shop.target(), &get()).await, ok(200, "hello", false));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(shop.requests(), 5);
}

#[tokio::test]
async fn a_connection_closed_while_the_reactor_slept_is_seen_all_the_same() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bind");
    let to = super::world::target(listener.local_addr().expect("address").port());
    let (closed, has_closed) = std::sync::mpsc::channel();
    let serving = std::thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let mut stream = stream.expect("connection");
            let mut read = [0; 1024];
            assert!(stream.read(&mut read).expect("request") > 0);
            stream.write_all(HELLO.as_bytes()).expect("answer");
            std::thread::sleep(Duration::from_millis(20));
            drop(stream);
            closed.send(()).expect("somebody waits");
        }
    });
    let pool = pool();
    assert_eq!(fetch(&pool, &to, &get()).await, ok(200, "hello", false));
    // On this thread, and so that no event is taken in.
    has_closed.recv().expect("it closes");
    let post = request(Method::POST, sized(0, 0));
    assert_eq!(fetch(&pool, &to, &post).await, ok(200, "hello", false));
    serving.join().expect("both served");
}

// The origin's end comes after the look at the socket: the request is handed to a connection that
// ends before it begins with it.
#[tokio::test]
async fn a_connection_that_ends_before_it_begins_gives_its_request_back() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bind");
    let to = super::world::target(listener.local_addr().expect("address").port());
    let (close, may_close) = std::sync::mpsc::channel();
    let (closed, has_closed) = std::sync::mpsc::channel();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("connection");
        assert!(stream.read(&mut [0; 1024]).expect("request") > 0);
        stream.write_all(HELLO.as_bytes()).expect("answer");
        may_close.recv().expect("somebody says so");
        drop(stream);
        closed.send(()).expect("somebody waits");
    });
    let stream = TcpStream::connect(("127.0.0.1", to.port)).await.expect("connect");
    let open = Open::new(&Arc::default());
    let mut connection = Http1::new(Io::plain(Wire::new(stream)), open).await.expect("no IO");
    let answer = sent(&mut connection, &get(), &to).await.expect("an answer");
    drop(answer.into_body().collect());
    std::future::poll_fn(|context| {
        let _ = connection.drive(context);
        if connection.settles() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    close.send(()).expect("it waits");
    has_closed.recv().expect("it closes");
    // The reactor takes the event in; nobody has driven the connection since.
    tokio::time::sleep(Duration::from_millis(1)).await;
    let failed = sent(&mut connection, &get(), &to).await.expect_err("it has ended");
    assert!(failed.message().is_some(), "nothing of it was sent: {failed:?}");
    serving.join().expect("served");
}

async fn sent(connection: &mut Http1, request: &Outbound, to: &Target) -> Sending {
    let mut answer = std::pin::pin!(connection.send(request.for_http1(to)));
    let waits = std::future::poll_fn(|context| {
        let _ = connection.drive(context);
        answer.as_mut().poll(context)
    });
    tokio::time::timeout(Duration::from_secs(10), waits).await.expect("it is told")
}

/// Serves one request; the next one on the connection it reads, and ends without an answer.
async fn dies_on_the_second(mut peer: Peer) {
    peer.head().await;
    peer.say(HELLO).await;
    peer.head().await;
}

#[tokio::test]
async fn a_get_on_a_connection_that_dies_is_sent_once_more_on_a_fresh_one() {
    let shop = origin(dies_on_the_second).await;
    let pool = pool();
    assert_eq!(fetch(&pool, &shop.target(), &get()).await, ok(200, "hello", false));
    assert_eq!(fetch(&pool, &shop.target(), &get()).await, ok(200, "hello", false));
    assert_eq!((shop.connections(), shop.requests()), (2, 3));
}

#[tokio::test]
async fn a_post_on_a_connection_that_dies_is_not_sent_twice() {
    let shop = origin(dies_on_the_second).await;
    let pool = pool();
    fetch(&pool, &shop.target(), &get()).await.expect("first");
    let post = request(Method::POST, sized(10, 100));
    let fault = fetch(&pool, &shop.target(), &post).await.expect_err("died");
    assert_eq!((fault.kind, fault.sent), (FaultKind::Reset, Sent::Perhaps));
    assert_eq!((shop.connections(), shop.requests()), (1, 2));
}

#[tokio::test]
async fn a_post_takes_a_fresh_connection_when_the_pooled_one_was_idle_for_a_second() {
    tokio::time::pause();
    let shop = origin(|peer| async move {
        let mut peer = peer;
        while let Some(head) = peer.head().await {
            let body = if head.starts_with("POST") { 10 } else { 0 };
            peer.read(body).await;
            peer.say(HELLO).await;
        }
    })
    .await;
    let pool = pool();
    let post = || request(Method::POST, sized(10, 100));
    fetch(&pool, &shop.target(), &get()).await.expect("first");
    assert_eq!(fetch(&pool, &shop.target(), &post()).await, ok(200, "hello", true));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(fetch(&pool, &shop.target(), &post()).await, ok(200, "hello", false));
    assert_eq!(shop.connections(), 2);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(fetch(&pool, &shop.target(), &get()).await, ok(200, "hello", true));
}

#[tokio::test]
async fn surplus_bytes_never_become_the_next_answer() {
    let shop = origin(|peer| async move {
        let surplus = format!("{HELLO}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
        peer.always(&surplus).await;
    })
    .await;
    let pool = pool();
    for _ in 0..3 {
        assert_eq!(fetch(&pool, &shop.target(), &get()).await, ok(200, "hello", false));
    }
    assert_eq!(shop.connections(), 3);
}

#[tokio::test]
async fn late_surplus_bytes_never_become_the_next_answer() {
    let shop = origin(|peer| async move {
        let mut peer = peer;
        while peer.head().await.is_some() {
            peer.say(HELLO).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
            peer.say("HTTP/1.1 408 Request Timeout\r\nContent-Length: 4\r\n\r\nevil").await;
            peer.heads_push("said");
        }
    })
    .await;
    let pool = pool();
    for round in 1..4 {
        assert_eq!(fetch(&pool, &shop.target(), &get()).await, ok(200, "hello", false));
        while shop.requests() < 2 * round {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

#[tokio::test]
async fn an_answer_with_two_framings_is_read_as_chunked_and_ends_its_connection() {
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n\
                5\r\nhello\r\n0\r\n\r\n";
    let shop = origin(move |peer| peer.always(both)).await;
    let pool = pool();
    let exchanged = send(&pool, &shop.target(), &get()).await.expect("answer");
    assert!(!exchanged.response.headers().contains_key("content-length"));
    assert_eq!(super::world::text(exchanged.response).await.as_deref(), Ok("hello"));
    assert_eq!(fetch(&pool, &shop.target(), &get()).await, ok(200, "hello", false));
    assert_eq!(shop.connections(), 2);
}

#[tokio::test]
async fn a_body_that_is_dropped_closes_its_connection() {
    let shop = origin(|peer| async move {
        let mut peer = peer;
        peer.head().await;
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nbeginning").await;
        assert_eq!(peer.head().await, None);
        peer.heads_push("closed");
    })
    .await;
    let pool = pool();
    let exchanged = send(&pool, &shop.target(), &get()).await.expect("answer");
    assert_eq!(pool.counts(), Counts { idle: 0, busy: 1 });
    drop(exchanged);
    assert_eq!(pool.counts(), Counts { idle: 0, busy: 0 });
    while shop.requests() < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn what_is_idle_for_too_long_is_closed() {
    let shop = origin(|peer| peer.always(HELLO)).await;
    let pool = pool();
    fetch(&pool, &shop.target(), &get()).await.expect("first");
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(pool.counts().idle, 1);
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(pool.counts(), Counts { idle: 0, busy: 0 });
}

#[tokio::test]
async fn an_idle_connection_its_origin_closed_is_closed_by_the_sweep() {
    let shop = origin(one_then_close).await;
    let pool = pool();
    fetch(&pool, &shop.target(), &get()).await.expect("first");
    tokio::time::sleep(Duration::from_millis(10)).await;
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(pool.counts(), Counts { idle: 0, busy: 0 });
}

#[tokio::test]
async fn interim_answers_are_told_and_a_switch_nobody_asked_for_is_a_fault() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n";
    let shop = origin(move |peer| async move {
        let mut peer = peer;
        peer.head().await;
        peer.say("HTTP/1.1 100 Continue\r\n\r\n").await;
        peer.say(hints).await;
        peer.say(HELLO).await;
        peer.head().await;
        peer.say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: evil\r\n\r\n").await;
    })
    .await;
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut request = get();
    let teller = told.clone();
    request.informational = Some(std::sync::Arc::new(move |status, fields| {
        teller.lock().unwrap().push((status, fields["link"].clone()));
    }));
    let pool = pool();
    fetch(&pool, &shop.target(), &request).await.expect("answer");
    assert_eq!(*told.lock().unwrap(), [(StatusCode::EARLY_HINTS, "</a.css>".parse().unwrap())]);
    let fault = fetch(&pool, &shop.target(), &get()).await.expect_err("101");
    assert_eq!(fault.kind, FaultKind::UpgradeFailed);
}
