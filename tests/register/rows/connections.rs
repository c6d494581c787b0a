//! Rows 97 to 101: HTTP/2 connections, with origins and as a whole.

use crate::frames::{Fate, Frames, block};
use crate::play::{Cannot, Play};
use crate::rows::streams::get;
use crate::world::answer::{Answer, Then};
use crate::world::frames::{CONTINUATION, END_HEADERS, END_STREAM, HEADERS};
use crate::world::streams::{block_on, empty};
use std::panic::panic_any;

rows! {
    row_097 "RFC 9113 §8.3.1" "towards HTTP/2: Host becomes `:authority`, connection fields go"
        met [origins_hear_http2];
    row_098 "RFC 9113 §8.4" "nothing is pushed to clients, and nothing taken from origins"
        met [nothing_is_pushed];
    row_099 "RFC 9113 §5.1.2" "concurrent streams are limited, and the limit kept"
        met [streams_are_limited];
    row_100 "RFC 9113 §6.8" "the end is told by GOAWAY, and what runs is answered"
        met [the_end_is_told];
    row_101 "RFC 9113 §10.5" "floods of headers, resets and empty frames end the connection"
        met [floods_end];
}

/// A page of an origin that speaks HTTP/2 only, asked for over HTTP/1.1.
fn from_http2(play: &Play, path: &str, fields: &str) -> (String, String) {
    let origin = crate::h2_origin::start(play.authority());
    let host = format!("localhost:{}", origin.address.port());
    let mut client = play.client();
    let asked = client.connect_to(&host);
    let answer = (asked.status == 200)
        .then(|| client.secure("localhost", play.trust(&[b"http/1.1"])).ok())
        .flatten()
        .and_then(|mut client| {
            client.send(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n"));
            client.response_to("GET").ok()
        });
    if !origin.was_understood() && !play.is_ours() {
        panic_any(Cannot("it speaks no HTTP/2 with origins here"));
    }
    let answer = answer.expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.text());
    (host, answer.text())
}

fn origins_hear_http2(play: &Play) {
    let fields = "Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nX-Odd-Case: 1\r\n";
    // The origin's page is what it heard.
    let (host, heard) = from_http2(play, "/p?q", fields);
    assert!(heard.starts_with(&format!("HTTP/2.0 https://{host}/p?q\n")), "{heard}");
    assert!(heard.contains("x-odd-case: 1\n"), "{heard}");
    for name in ["host:", "connection:", "x-hop:", "keep-alive:"] {
        assert!(!heard.contains(&format!("\n{name}")), "{heard}");
    }
}

fn nothing_is_pushed(play: &Play) {
    // An origin that may push says so on its page.
    assert_eq!(from_http2(play, "/push", "").1, "may not push");
}

fn streams_are_limited(play: &Play) {
    const MAX_CONCURRENT_STREAMS: u16 = 3;
    let mut frames = play.frames();
    let limit = frames.settings.iter().find(|(name, _)| *name == MAX_CONCURRENT_STREAMS);
    let (_, limit) = *limit.expect("the limit is announced");
    assert!(limit <= 1000, "{limit} streams");
    play.safe.on("/", [Answer::nothing(Then::Hang)]);
    let host = play.safe_host();
    for number in 0..=limit {
        frames.head(number * 2 + 1, &get(&host), true);
    }
    let fate = frames.fate(limit * 2 + 1);
    assert!(matches!(fate, Fate::Reset(7) | Fate::GoneAway(_)), "one too many: {fate:?}");
}

fn the_end_is_told(play: &Play) {
    play.world();
    play.safe.on("/slow", [Answer::page("slow").after(std::time::Duration::from_millis(400))]);
    block_on(async {
        let mut streams = play.streams().await;
        let request = http::Request::get(format!("https://{}/slow", play.safe_host()));
        let slow = tokio::spawn(streams.begin(request.body(empty()).expect("a request")));
        play.safe.await_arrivals(1);
        play.world().signal("TERM");
        let answer = slow.await.expect("no panic").expect("an answer");
        assert_eq!(answer.body().as_ref(), b"slow");
        let closed = tokio::time::timeout(crate::world::PATIENCE, streams.closed());
        closed.await.expect("a GOAWAY");
    });
}

/// Whether the peer ends the connection while it is flooded.
fn gives_up(frames: &mut Frames, mut flood: impl FnMut(&mut Frames, u32) -> bool) -> bool {
    (0..20_000).any(|number| !flood(frames, number)) || frames.ends()
}

fn floods_end(play: &Play) {
    let host = play.safe_host();
    let head = block(&get(&host));
    // A header block without end.
    let mut frames = play.frames();
    frames.send(HEADERS, END_STREAM, 1, &head);
    let piece = block(&[("x-piece", &"x".repeat(8000))]);
    let ended = gives_up(&mut frames, |frames, _| frames.try_send(CONTINUATION, 0, 1, &piece));
    assert!(ended, "CONTINUATION without end");
    // Streams that are opened and reset.
    let mut frames = play.frames();
    let ended = gives_up(&mut frames, |frames, number| {
        let stream = number * 2 + 1;
        frames.try_send(HEADERS, END_HEADERS | END_STREAM, stream, &head)
            && frames.try_send(crate::world::frames::RST_STREAM, 0, stream, &8_u32.to_be_bytes())
    });
    assert!(ended, "20,000 resets");
    // Others live on.
    assert_eq!(play.tunnel().get_path(&host, "/").status, 200);
}
