//! Rows 19 to 35: where a message begins and ends, and what may stand in its head.

use crate::play::Play;
use crate::world::answer::{Answer, Then};
use crate::world::response::Response;
use crate::world::streams::{block_on, bytes};

rows! {
    row_019 "RFC 9112 §6.3" "Content-Length and Transfer-Encoding in a request: 400, or one and a close"
        met [length_and_chunks_are_refused];
    row_020 "RFC 9112 §6.3" "both in an answer: one goes out, or 502"
        met [an_answers_two_framings_become_one];
    row_021 "RFC 9112 §6.3" "a final coding that isn't chunked: 400 and a close"
        met [a_final_coding_is_chunked];
    row_022 "RFC 9112 §6.1" "codings other than one `chunked` in a request: 501 or 400"
        met [codings_are_one_chunked];
    row_023 "RFC 9112 §6.1" "HTTP/1.0 with Transfer-Encoding: faulty, and a close"
        met [an_old_request_has_no_chunks];
    row_024 "RFC 9112 §6.1" "no Transfer-Encoding to an HTTP/1.0 client"
        met [an_old_client_gets_no_chunks];
    row_025 "RFC 9112 §6.3" "a Content-Length that is no number: 400 and a close"
        met [odd_lengths_are_refused];
    row_026 "RFC 9110 §8.6" "equal lengths become one or 400, differing ones 400; over HTTP/2 too"
        met [lengths_agree, lengths_agree_over_http2];
    row_027 "RFC 9112 §5.1" "space before a colon in a request: 400"
        met [space_before_a_colon_is_refused];
    row_028 "RFC 9112 §5.1" "space before a colon in an answer: removed, or 502"
        met [space_before_a_colon_is_removed];
    row_029 "RFC 9112 §5.2" "a folded line in a request: 400, or one line"
        met [a_folded_request_is_refused];
    row_030 "RFC 9112 §5.2" "a folded line in an answer: one line, or 502"
        met [a_folded_answer_is_unfolded];
    row_031 "RFC 9112 §2.2" "space before the first field: refused, or the line dropped"
        met [no_space_before_the_first_field];
    row_032 "RFC 9112 §2.2" "a bare CR: refused, or a space, both ways"
        met [a_bare_return_is_not_forwarded];
    row_033 "RFC 9110 §5.5" "NUL, CR, LF in values: refused, or a space, both ways"
        met [no_nul_is_forwarded];
    row_034 "RFC 9112 §2.2" "lines that end in LF alone never leave as such"
        met [bare_line_feeds_are_not_forwarded];
    row_035 "RFC 9112 §2.2" "an empty line before a request is ignored"
        met [an_empty_line_before_a_request];
}

const SMUGGLED: &str = "GET http://{host}/smuggled HTTP/1.1\r\nHost: {host}\r\n\r\n";

/// A POST with these fields and this body, and another request right behind it.
fn post(fields: &str, body: &str) -> String {
    format!("POST http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\n{fields}\r\n\r\n{body}{SMUGGLED}")
}

/// It is refused, nothing behind it is read as a request, and the connection ends.
fn refused(play: &Play, fields: &str, body: &str, statuses: &[u16]) {
    play.refuses(post(fields, body), statuses).closed();
    assert_eq!(play.plain.arrivals().len(), 0, "{fields}: something was forwarded");
}

fn length_and_chunks_are_refused(play: &Play) {
    for fields in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
    ] {
        let said = play.say(post(fields, "0\r\n\r\n"));
        let status = said.answer().status;
        if status == 200 {
            let arrival = play.arrival();
            assert_eq!(arrival.headers("content-length").len(), 0, "{fields}: both went out");
        } else {
            assert!(matches!(status, 400 | 501), "{fields}: answered {status}");
        }
        said.closed();
        assert!(play.plain.arrivals_for("/smuggled").is_empty(), "{fields}: smuggled");
    }
}

fn an_answers_two_framings_become_one(play: &Play) {
    for lines in [
        "Transfer-Encoding: chunked\r\nContent-Length: 9",
        "Content-Length: 9\r\nTransfer-Encoding: chunked",
    ] {
        let head = format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n4\r\npage\r\n0\r\n\r\n");
        let answer = play.fetch(Answer::raw(&head).then(Then::Close));
        delivered_or_502(&answer, lines);
        let framings =
            answer.headers("content-length").len() + answer.headers("transfer-encoding").len();
        assert!(framings <= 1, "{lines}: both went on: {:?}", answer.fields());
    }
}

/// Either the page, whole, or a plain refusal.
#[track_caller]
fn delivered_or_502(answer: &Response, what: &str) {
    match answer.status {
        502 | 500 => {}
        200 => assert_eq!((answer.text().as_str(), answer.whole), ("page", true), "{what}"),
        other => panic!("{what}: answered {other}"),
    }
}

fn a_final_coding_is_chunked(play: &Play) {
    refused(play, "Transfer-Encoding: gzip", "", &[400, 501]);
    refused(play, "Transfer-Encoding: chunked, gzip", "0\r\n\r\n", &[400, 501]);
    refused(play, "Transfer-Encoding: xchunked", "0\r\n\r\n", &[400, 501]);
}

fn codings_are_one_chunked(play: &Play) {
    for coding in [
        "gzip, chunked",
        "identity, chunked",
        "chunked, chunked",
        "chunked\r\nTransfer-Encoding: chunked",
        "identity\r\nTransfer-Encoding: chunked",
        ",chunked",
        "chunked;q=1",
        "\"chunked\"",
        "\u{b}chunked",
    ] {
        let fields = format!("Transfer-Encoding: {coding}");
        let said = play.refuses(post(&fields, "0\r\n\r\n").replace(SMUGGLED, ""), &[400, 501]);
        // Not asked for where the codings end in chunked; what ends there is sure nonetheless.
        if play.is_ours() {
            said.closed();
        }
    }
}

fn an_old_request_has_no_chunks(play: &Play) {
    let said = play.say(format!(
        "POST http://{{host}}/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n\
         0\r\n\r\n{SMUGGLED}"
    ));
    said.closed();
    assert!(play.plain.arrivals_for("/smuggled").is_empty(), "smuggled");
}

fn an_old_client_gets_no_chunks(play: &Play) {
    play.plain.on("/", [Answer::page("").chunked("0123456789", 3)]);
    let answer = play.ask("GET http://{host}/ HTTP/1.0\r\nHost: {host}\r\n\r\n");
    assert_eq!(answer.header("transfer-encoding"), None);
    assert_eq!(answer.text(), "0123456789");
}

fn odd_lengths_are_refused(play: &Play) {
    for length in ["+2", "-2", "0x2", "1_0", "", "2 2", "2a", "99999999999999999999", "1e0", "२"]
    {
        refused(play, &format!("Content-Length: {length}"), "xx", &[400, 411]);
    }
}

fn lengths_agree(play: &Play) {
    for fields in ["Content-Length: 2\r\nContent-Length: 3", "Content-Length: 2, 3"] {
        refused(play, fields, "xx", &[400, 411]);
    }
    for fields in ["Content-Length: 2\r\nContent-Length: 2", "Content-Length: 2, 2"] {
        let said = play.say(post(fields, "xx").replace(SMUGGLED, ""));
        match said.answer().status {
            200 => assert_eq!(play.arrival().headers("content-length"), ["2"], "{fields}"),
            status => assert_eq!(status, 400, "{fields}"),
        }
    }
}

fn lengths_agree_over_http2(play: &Play) {
    block_on(async {
        let mut streams = play.streams().await;
        for lengths in [["2", "2"], ["2", "3"]] {
            let mut request = http::Request::post(format!("https://{}/", play.safe_host()));
            for length in lengths {
                request = request.header("content-length", length);
            }
            let answer = streams.send(request.body(bytes(&["xx"])).expect("a request")).await;
            let served = answer.is_ok_and(|answer| answer.status() == 200);
            if lengths[0] == lengths[1] && served {
                let arrival = play.safe.arrivals().pop().expect("it was forwarded");
                assert_eq!(arrival.headers("content-length"), ["2"]);
            } else {
                assert!(!served, "{lengths:?} was served");
            }
            streams = play.streams().await;
        }
    });
}

fn space_before_a_colon_is_refused(play: &Play) {
    refused(play, "Content-Length : 2", "xx", &[400]);
    refused(play, "X-Space\t: v", "", &[400]);
}

fn space_before_a_colon_is_removed(play: &Play) {
    let head = "HTTP/1.1 200 OK\r\nX-Space : v\r\nContent-Length : 4\r\n\r\npage";
    let answer = play.fetch(Answer::raw(head).then(Then::Close));
    delivered_or_502(&answer, "a space before the colon");
    let text = String::from_utf8_lossy(&answer.head).into_owned();
    assert!(!text.contains(" :"), "{text}");
}

fn a_folded_request_is_refused(play: &Play) {
    let said = play.say("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nX: a\r\n b: c\r\n\r\n");
    match said.answer().status {
        200 => assert_eq!(play.arrival().headers("x"), ["a b: c"]),
        status => assert_eq!(status, 400),
    }
}

fn a_folded_answer_is_unfolded(play: &Play) {
    let head = "HTTP/1.1 200 OK\r\nX-Fold: a\r\n\tb\r\nContent-Length: 4\r\n\r\npage";
    let answer = play.fetch(Answer::raw(head).then(Then::Close));
    delivered_or_502(&answer, "a folded line");
    let text = String::from_utf8_lossy(&answer.head).into_owned();
    assert!(!text.contains("\r\n\t") && !text.contains("\r\n "), "{text}");
}

fn no_space_before_the_first_field(play: &Play) {
    for line in [" X: y\r\n", " \r\n", "\tHost: evil.test\r\n"] {
        let said =
            play.say(format!("GET http://{{host}}/ HTTP/1.1\r\n{line}Host: {{host}}\r\n\r\n"));
        let status = said.answer().status;
        assert!(matches!(status, 200 | 400), "answered {status}");
        for arrival in play.plain.arrivals() {
            let head = String::from_utf8_lossy(&arrival.head).into_owned();
            assert!(!head.contains("\r\n ") && !head.contains("\r\n\t"), "{head}");
            assert!(!head.contains("evil") && arrival.header("x").is_none(), "{head}");
        }
    }
}

/// Neither a request nor an answer with this value goes on as it is.
fn washed(play: &Play, value: &str, dirt: char) {
    let get = format!("GET http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\nX-Dirt: {value}\r\n\r\n");
    // No answer at all is a refusal, too.
    let said = play.say(get);
    let status = said.answer.as_ref().map_or(400, |answer| answer.status);
    assert!(matches!(status, 200 | 400), "answered {status}");
    let clean = |head: &[u8]| {
        let fields = crate::world::message::fields(head);
        let text: String = fields.into_iter().map(|(name, value)| name + ":" + &value).collect();
        assert!(!text.contains(dirt) && !text.contains("injected:"), "{text:?} went on");
    };
    play.plain.arrivals().iter().for_each(|arrival| clean(&arrival.head));
    let head = format!("HTTP/1.1 200 OK\r\nX-Dirt: {value}\r\nContent-Length: 4\r\n\r\npage");
    let answer = play.fetch(Answer::raw(&head).then(Then::Close));
    delivered_or_502(&answer, "an answer with dirt");
    clean(&answer.head);
}

fn a_bare_return_is_not_forwarded(play: &Play) {
    washed(play, "a\rb", '\r');
    washed(play, "a\rInjected: b", '\r');
}

fn no_nul_is_forwarded(play: &Play) {
    washed(play, "a\0b", '\0');
    washed(play, "\0", '\0');
}

fn bare_line_feeds_are_not_forwarded(play: &Play) {
    let said = play.say("GET http://{host}/ HTTP/1.1\nHost: {host}\nX: y\n\n");
    let status = said.answer().status;
    assert!(matches!(status, 200 | 400), "answered {status}");
    for arrival in play.plain.arrivals() {
        let text = String::from_utf8_lossy(&arrival.head).replace("\r\n", "");
        assert!(!text.contains('\n'), "{text:?}");
    }
    let head = "HTTP/1.1 200 OK\nX-Bare: y\nContent-Length: 4\n\npage";
    let answer = play.fetch(Answer::raw(head).then(Then::Close));
    delivered_or_502(&answer, "an answer of bare line feeds");
    assert!(!String::from_utf8_lossy(&answer.head).replace("\r\n", "").contains('\n'));
}

fn an_empty_line_before_a_request(play: &Play) {
    let answer = play.ask("\r\nGET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n");
    assert_eq!(answer.status, 200);
}
