//! Rows 43 to 50: ends of messages, and what follows them on a connection.

use crate::play::Play;
use crate::world::answer::{Answer, Then};
use crate::world::streams::{block_on, bytes, empty};
use crate::world::until;

rows! {
    row_043 "RFC 9112 §8" "an answer that breaks off never looks complete"
        met [a_broken_answer_shows, a_broken_answer_shows_over_http2];
    row_044 "RFC 9112 §6.3" "a request that breaks off ends its connection to the origin"
        met [a_broken_request_ends_its_connection];
    row_045 "RFC 9112 §9.2" "bytes after an answer are never the next answer"
        met [surplus_is_nobodys];
    row_046 "RFC 9112 §9.3" "a body left unread is drained or its connection closed"
        met [an_unread_body_is_no_request];
    row_047 "RFC 9112 §9.3.2" "pipelined requests are answered in order"
        met [pipelined_requests_keep_their_order];
    row_048 "RFC 9112 §9.6" "after `Connection: close` no request is processed"
        met [nothing_after_close];
    row_049 "RFC 9110 §9.3.1" "GET, HEAD, DELETE with content: forwarded whole or refused"
        met [bodies_travel_with_every_method, bodies_travel_over_http2];
    row_050 "RFC 9110 §6.4.1" "HEAD, 204 and 304 carry no content, whatever the origin sends"
        met [bodiless_answers_have_no_body];
}

/// Bodies of 600 kB of which half comes.
fn broken() -> [Answer; 2] {
    let big = "x".repeat(600 * 1024);
    [
        Answer::page(&big).cut(300 * 1024, Then::Close),
        Answer::page("").chunked(&big, 64 * 1024).cut(300 * 1024, Then::Close),
    ]
}

fn a_broken_answer_shows(play: &Play) {
    for answer in broken() {
        let answer = play.fetch(answer);
        assert!(answer.status >= 500 || !answer.whole, "half of it looked like the whole");
    }
}

fn a_broken_answer_shows_over_http2(play: &Play) {
    block_on(async {
        let mut streams = play.streams().await;
        for answer in broken() {
            play.safe.on("/", [answer]);
            let request = http::Request::get(format!("https://{}/", play.safe_host()));
            let answer = streams.send(request.body(empty()).expect("a request")).await;
            let shows = answer.map_or(true, |answer| answer.status().is_server_error());
            assert!(shows, "half of it looked like the whole");
        }
    });
}

fn a_broken_request_ends_its_connection(play: &Play) {
    for body in
        ["Content-Length: 1000\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"]
    {
        let post = format!("POST http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\n{body}");
        let Some(mut both) = play.raw(post) else { continue };
        both.client.finish();
        let seen = both.origin.rest().unwrap_or_default();
        assert!(!seen.ends_with(b"0\r\n\r\n"), "it looked complete to the origin");
    }
}

fn surplus_is_nobodys(play: &Play) {
    let forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";
    for (method, head) in [
        ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage"),
        ("GET", "HTTP/1.1 204 No Content\r\n\r\n"),
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"),
    ] {
        play.plain.on("/", [Answer::raw(&format!("{head}{forged}"))]);
        let mut client = play.client();
        for path in ["/", "/next"] {
            let method = if path == "/" { method } else { "GET" };
            client.send(play.fill(format!(
                "{method} http://{{host}}{path} HTTP/1.1\r\nHost: {{host}}\r\n\r\n"
            )));
            let answer = client.response_to(method).expect("an answer");
            assert_ne!(answer.text(), "forged", "{method}");
            assert!(path == "/" || answer.text() == "unscripted", "{}", answer.text());
        }
    }
}

fn an_unread_body_is_no_request(play: &Play) {
    play.plain.on("/", [Answer::status(413).early().then(Then::Close)]);
    let smuggled = play.fill("GET http://{host}/smuggled HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let body = smuggled.repeat(2000);
    for url in ["http://{host}/", "ftp://{host}/"] {
        let mut client = play.client();
        let length = body.len();
        let head =
            format!("POST {url} HTTP/1.1\r\nHost: {{host}}\r\nContent-Length: {length}\r\n\r\n");
        client.send(play.fill(head));
        client.try_send(&body).ok();
        if client.response_to("POST").is_ok() {
            // The same connection goes on behind the body, or not at all.
            client
                .try_send(play.fill("GET http://{host}/next HTTP/1.1\r\nHost: {host}\r\n\r\n"))
                .ok();
            client.response_to("GET").ok();
        }
        assert!(
            play.plain.arrivals_for("/smuggled").is_empty(),
            "{url}: a body was read as requests"
        );
    }
}

fn pipelined_requests_keep_their_order(play: &Play) {
    play.plain
        .decide("/slow", |_| Answer::page("slow").after(std::time::Duration::from_millis(100)));
    play.plain.decide("/fast", |_| Answer::page("fast"));
    let get = |path: &str| {
        play.fill(format!("GET http://{{host}}{path} HTTP/1.1\r\nHost: {{host}}\r\n\r\n"))
    };
    let mut client = play.client();
    client.send([get("/slow"), get("/fast"), get("/slow"), get("/x")].concat());
    let texts: Vec<String> = (0..4).map(|_| client.response().text()).collect();
    assert_eq!(texts, ["slow", "fast", "slow", "unscripted"]);
}

fn nothing_after_close(play: &Play) {
    let said = play.say(
        "GET http://{host}/one HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n\
         GET http://{host}/two HTTP/1.1\r\nHost: {host}\r\n\r\n",
    );
    assert_eq!(said.answer().status, 200);
    said.closed();
    assert!(play.plain.arrivals_for("/two").is_empty());
}

fn bodies_travel_with_every_method(play: &Play) {
    play.plain.decide("/", |arrival| Answer::page(&arrival.body));
    for method in ["GET", "DELETE", "HEAD"] {
        for framed in [
            "Content-Length: 4\r\n\r\nbody",
            "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        ] {
            let head = format!("{method} http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\n{framed}");
            match play.ask(head).status {
                200 => assert_eq!(play.arrival().body, b"body", "{method} {framed}"),
                status => assert!(status >= 400, "{method}: answered {status}"),
            }
        }
    }
}

fn bodies_travel_over_http2(play: &Play) {
    block_on(async {
        let mut streams = play.streams().await;
        for method in ["GET", "DELETE"] {
            let request = http::Request::builder().method(method);
            let request = request.uri(format!("https://{}/", play.safe_host()));
            let body = bytes(&["bo", "dy"]);
            let answer = streams.send(request.body(body).expect("a request")).await;
            if answer.is_ok_and(|answer| answer.status() == 200) {
                let arrival = play.safe.arrivals().pop().expect("it was forwarded");
                assert_eq!(arrival.body, b"body", "{method}");
            }
        }
    });
}

fn bodiless_answers_have_no_body(play: &Play) {
    for (method, head) in [
        ("GET", "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\npage"),
        ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\npage"),
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage"),
        ("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n"),
    ] {
        play.plain.on("/", [Answer::raw(head).then(Then::Close)]);
        let mut client = play.client();
        client.send(play.fill(format!(
            "{method} http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\nConnection: close\r\n\r\n"
        )));
        let bytes = String::from_utf8_lossy(&client.rest().unwrap_or_default()).into_owned();
        assert!(bytes.starts_with("HTTP/1.1 "), "{head}: {bytes}");
        assert!(!bytes.contains("page"), "{method} {head}: content went on");
    }
    until(|| (play.plain.arrivals().len() >= 4).then_some(())).expect("all four came");
}
