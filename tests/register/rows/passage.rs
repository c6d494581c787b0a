//! Rows 61 to 74: interim answers, upgrades, and what a proxy must leave alone.

use crate::play::Play;
use crate::world::answer::{Answer, Then};
use crate::world::now;
use crate::world::streams::{block_on, empty};
use pacegate::clock::Clock;
use std::time::Duration;

rows! {
    row_061 "RFC 9110 §15.2" "interim answers are forwarded, but never to HTTP/1.0 clients"
        deviates(Interim, [interim_answers_come_through, none_come_to_http2])
        [interim_answers_come_through];
    row_062 "RFC 9110 §10.1.1" "`Expect: 100-continue`: one 100, ours or the origin's"
        met [an_expected_100_comes_once];
    row_063 "RFC 9110 §10.1.1" "an unknown expectation: 417"
        met [an_unknown_expectation_is_a_417];
    row_064 "RFC 9110 §10.1.1" "refusals come before any 100"
        met [refusals_come_before_a_100];
    row_065 "RFC 9110 §7.8" "Upgrade goes on only for a websocket; h2c is stripped"
        met [only_websockets_are_upgraded];
    row_066 "RFC 9110 §7.8" "no byte behind an upgrade request goes out before its 101"
        met [nothing_overtakes_a_101];
    row_067 "RFC 9110 §7.8" "a 101 nobody asked for: 502; a 200 to an upgrade is plain HTTP"
        met [an_unasked_101_is_a_502];
    row_068 "RFC 9110 §11.6" "Authorization, WWW-Authenticate, Allow, Content-… are untouched"
        met [end_to_end_fields_are_untouched];
    row_069 "RFC 9110 §13.2.1" "conditions and ranges are forwarded, not evaluated"
        met [conditions_are_the_origins];
    row_070 "RFC 9110 §7.7" "content is never transformed"
        met [content_is_untouched];
    row_071 "RFC 9110 §9.2.2" "what isn't idempotent is not repeated once a byte was sent"
        deviates(Keys, [a_post_goes_once, a_key_makes_it_repeatable]) [a_post_goes_once];
    row_072 "RFC 9110 §10.2.3" "Retry-After in all its forms is read, clamped, or ignored"
        met [retry_after_is_read];
    row_073 "RFC 9110 §10.1.3" "Referer, User-Agent, Cookie are not altered"
        met [a_clients_words_are_its_own];
    row_074 "RFC 7239 §5" "Forwarded and X-Forwarded-For are added only if configured"
        met [nobody_is_announced];
}

const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n";

fn interim_answers_come_through(play: &Play) {
    let answer = play.fetch(Answer::page("page").interim(HINTS));
    assert_eq!((answer.status, answer.interim), (200, vec![103]));
    let answer = play.ask("GET http://{host}/ HTTP/1.0\r\nHost: {host}\r\n\r\n");
    assert_eq!((answer.status, answer.interim), (200, vec![]));
}

fn none_come_to_http2(play: &Play) {
    play.safe.on("/", [Answer::page("page").interim(HINTS)]);
    block_on(async {
        let mut streams = play.streams().await;
        let request = http::Request::get(format!("https://{}/", play.safe_host()));
        let answer = streams.send(request.body(empty()).expect("a request")).await;
        assert_eq!(answer.expect("an answer").body().as_ref(), b"page");
    });
}

fn an_expected_100_comes_once(play: &Play) {
    for expectation in ["100-continue", "100-Continue"] {
        let mut client = play.client();
        client.send(play.fill(format!(
            "POST http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\nExpect: {expectation}\r\nContent-Length: 4\r\n\r\n"
        )));
        let interim = client.head();
        assert!(interim.starts_with(b"HTTP/1.1 100"), "{}", String::from_utf8_lossy(&interim));
        client.send("body");
        let answer = client.response();
        assert_eq!((answer.status, answer.interim.len()), (200, 0), "a second 100");
        assert_eq!(play.arrival().body, b"body");
    }
}

fn an_unknown_expectation_is_a_417(play: &Play) {
    for expectation in ["200-ok", "100-continue, x"] {
        play.refuses(
            format!(
                "POST http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\nExpect: {expectation}\r\nContent-Length: 4\r\n\r\nbody"
            ),
            &[417],
        );
    }
}

fn refusals_come_before_a_100(play: &Play) {
    let said = play.refuses(
        "POST ftp://{host}/ HTTP/1.1\r\nHost: {host}\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n",
        &[400, 403, 501],
    );
    assert_eq!(said.answer().interim.len(), 0, "a body was asked for");
    if play.is_ours() {
        let denied = play.with("destinations: {deny: true}\n");
        let said = denied.refuses(
            "POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n",
            &[403],
        );
        assert_eq!(said.answer().interim.len(), 0, "a body was asked for");
    }
}

/// The answer to the key of RFC 6455 §1.3.
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

fn upgrade(path: &str, protocol: &str) -> String {
    format!(
        "GET http://{{host}}{path} HTTP/1.1\r\nHost: {{host}}\r\nUpgrade: {protocol}\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
}

fn only_websockets_are_upgraded(play: &Play) {
    let switch = [SWITCH.as_bytes(), b"\x81\x05hello"].concat();
    play.plain.on("/chat", [Answer::raw(&switch).then(Then::Echo)]);
    let mut said = play.say(upgrade("/chat", "websocket"));
    // One that knows no websockets may leave the field out.
    let goes_on = play.plain.arrivals().iter().any(|it| it.header("upgrade").is_some());
    if play.is_ours() || goes_on {
        assert_eq!(said.answer().status, 101);
        assert_eq!(said.client.exactly(7), b"\x81\x05hello");
    }
    assert_eq!(play.ask(upgrade("/h2c", "h2c")).status, 200);
    assert_eq!(play.arrival().header("upgrade"), None, "h2c went on");
}

fn nothing_overtakes_a_101(play: &Play) {
    let request = upgrade("/chat", "websocket") + "early bytes";
    let Some(mut both) = play.raw(request) else { return };
    both.origin.until_text("\r\n\r\n");
    assert!(both.origin.is_quiet_for(Duration::from_millis(300)), "bytes went out before the 101");
}

fn an_unasked_101_is_a_502(play: &Play) {
    play.plain.on("/unasked", [Answer::raw(SWITCH).then(Then::Echo)]);
    let answer = play.ask("GET http://{host}/unasked HTTP/1.1\r\nHost: {host}\r\n\r\n");
    assert_eq!(answer.status, 502);
    let other = SWITCH.replace("websocket", "other");
    play.plain.on("/other", [Answer::raw(&other).then(Then::Echo)]);
    assert_eq!(play.ask(upgrade("/other", "websocket")).status, 502);
    play.plain.on("/page", [Answer::page("no sockets here")]);
    let mut said = play.say(upgrade("/page", "websocket"));
    assert_eq!(said.answer().text(), "no sockets here");
    said.client.send(play.fill("GET http://{host}/next HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert_eq!(said.client.response().text(), "unscripted");
}

/// These lines arrive as they are, there (`request`) and here (`answer`).
fn untouched(play: &Play, request: &[(&str, &str)], answer: &[(&str, &str)]) {
    let scripted =
        answer.iter().fold(Answer::page("page"), |a, (name, value)| a.header(name, value));
    play.plain.on("/", [scripted]);
    let lines: String =
        request.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let got = play.ask(format!("GET http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\n{lines}\r\n"));
    for (name, value) in request {
        assert_eq!(play.arrival().headers(name), [*value], "{name} at the origin");
    }
    for (name, value) in answer {
        assert_eq!(got.headers(name), [*value], "{name} at the client");
    }
}

fn end_to_end_fields_are_untouched(play: &Play) {
    untouched(
        play,
        &[
            ("Authorization", "Digest a=\"b\",  c"),
            ("Content-Type", "x/y"),
            ("Accept-Encoding", "br"),
        ],
        &[
            ("WWW-Authenticate", "Digest a=\"b\",  c"),
            ("Allow", "GET, BREW"),
            ("Content-Location", "/x"),
            ("Content-Language", "de"),
        ],
    );
}

fn conditions_are_the_origins(play: &Play) {
    untouched(
        play,
        &[
            ("If-None-Match", "\"a\""),
            ("If-Modified-Since", "Thu, 01 Jan 1970 00:00:01 GMT"),
            ("Range", "bytes=0-1"),
            ("If-Range", "\"a\""),
        ],
        &[("ETag", "\"a\""), ("Last-Modified", "Thu, 01 Jan 1970 00:00:01 GMT")],
    );
    let answer = play.fetch(Answer::page("whole").header("ETag", "\"a\""));
    assert_eq!((answer.status, answer.text().as_str()), (200, "whole"));
}

fn content_is_untouched(play: &Play) {
    let body = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let answer = Answer::page(body)
        .header("Content-Encoding", "gzip")
        .header("Cache-Control", "no-transform");
    let answer = play.fetch(answer);
    assert_eq!(answer.body, body);
    assert_eq!(answer.headers("content-encoding"), ["gzip"]);
}

fn a_post_goes_once(play: &Play) {
    for answer in [Answer::nothing(Then::Reset), Answer::nothing(Then::Close), Answer::status(503)]
    {
        let shown = format!("{answer:?}");
        let before = play.plain.arrivals().len();
        play.plain.on("/", [answer]);
        let post = "POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\n\r\nbody";
        play.say(post).answer.ok();
        assert_eq!(play.plain.arrivals().len(), before + 1, "{shown}");
    }
}

fn a_key_makes_it_repeatable(play: &Play) {
    play.plain.on("/", [Answer::status(503), Answer::page("done")]);
    let answer = play.ask(
        "POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\nIdempotency-Key: k\r\nContent-Length: 4\r\n\r\nbody",
    );
    assert_eq!((answer.text().as_str(), play.plain.arrivals().len()), ("done", 2));
}

/// Stands for a date in three seconds, from when it is said.
const SOON: &str = "in three seconds";

fn retry_after_is_read(play: &Play) {
    play.world();
    let busy = |value: &str| {
        let play = play.with("");
        let soon = || Clock::runtime().wall() + Duration::from_secs(3);
        let value = if value == SOON { httpdate::fmt_http_date(soon()) } else { value.to_owned() };
        let busy = Answer::status(503).header("Retry-After", &value);
        play.plain.on("/", [busy, Answer::page("page")]);
        let began = now();
        let answer = play.ask("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n");
        (answer, now().since(began))
    };
    // A wait that fits is kept to: seconds, and the three forms of a date.
    for value in ["1", SOON] {
        let (answer, took) = busy(value);
        assert_eq!(answer.text(), "page", "{value}");
        assert!(took >= Duration::from_millis(900), "{value}: too early");
    }
    // One that doesn't is handed on at once.
    let far = [
        "9999999999",
        "Thu, 01 Jan 2099 00:00:00 GMT",
        "Thursday, 01-Jan-70 00:00:01 GMT",
        "Thu Jan  1 00:00:01 2099",
    ];
    for value in far {
        let (answer, _) = busy(value);
        let past = value.contains("-70 ");
        assert_eq!(answer.status, if past { 200 } else { 503 }, "{value}");
        assert!(past || answer.headers("retry-after") == [value], "{value}");
    }
    // What is no wait is none.
    for value in ["-1", "soon", "1, 2", ""] {
        assert_eq!(busy(value).0.text(), "page", "{value}");
    }
}

fn a_clients_words_are_its_own(play: &Play) {
    untouched(
        play,
        &[
            ("Referer", "http://a.test/x?y#z"),
            ("User-Agent", "me/1 (a;  b)"),
            ("Cookie", "a=1;b=2; c=\"3\""),
        ],
        &[("Set-Cookie", "a=1; Path=/;HttpOnly"), ("Server", "x/1 (y)")],
    );
}

fn nobody_is_announced(play: &Play) {
    assert_eq!(play.ask("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n").status, 200);
    let arrival = play.arrival();
    for name in ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "client-ip"] {
        assert_eq!(arrival.header(name), None, "{name}");
    }
}
