//! Rows 36 to 42: what is no HTTP, versions, chunks and trailers.

use crate::play::Play;
use crate::world::answer::{Answer, Then};

rows! {
    row_036 "RFC 9112 §2.2" "what is no HTTP: 400 and a close, within 20 s"
        met [garbage_is_a_400, half_a_request_is_not_waited_for];
    row_037 "RFC 9112 §2.3" "every message goes out with the proxy's own version"
        met [the_version_is_the_proxys];
    row_038 "RFC 9112 §9.3" "no connection is kept open with an HTTP/1.0 client"
        met [an_old_client_is_closed];
    row_039 "RFC 9112 §7.1" "a chunk's size is hex and nothing else, or it is refused"
        met [chunk_sizes_are_hex];
    row_040 "RFC 9112 §7.1.1" "chunk extensions are dropped and bounded"
        met [chunk_extensions_end_here, extensions_of_an_answer_end_here, extensions_are_bounded];
    row_041 "RFC 9112 §7.1" "chunk lines end in CRLF: else refused"
        met [chunks_end_in_both];
    row_042 "RFC 9110 §6.5.1" "trailers stay trailers or are dropped; framing and credentials in them are"
        met [trailers_of_a_request_stay_trailers, trailers_of_an_answer_stay_trailers];
}

fn garbage_is_a_400(play: &Play) {
    for bytes in
        ["\0\u{1}\u{2}\r\n\r\n", "hello\r\n\r\n", "GET\r\n\r\n", "SSH-2.0-x\r\n\r\n", "{}\r\n\r\n"]
    {
        play.refuses(bytes, &[400]).closed();
    }
}

fn half_a_request_is_not_waited_for(play: &Play) {
    let mut client = play.client();
    client.send(play.fill("GET http://{host}/\r\n"));
    // The world's patience is the bound.
    match client.rest() {
        Ok(bytes) => assert!(!bytes.starts_with(b"HTTP/1.1 200"), "HTTP/0.9 was served"),
        Err(error) => {
            let waits = error.kind() == std::io::ErrorKind::WouldBlock;
            assert!(!waits, "the connection stays open");
        }
    }
}

fn the_version_is_the_proxys(play: &Play) {
    let old = Answer::raw("HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\npage");
    let answer = play.fetch(old.then(Then::Close));
    assert!(answer.head.starts_with(b"HTTP/1.1 200"), "the answer went on as HTTP/1.0");
    assert_eq!(play.ask("GET http://{host}/x HTTP/1.0\r\nHost: {host}\r\n\r\n").status, 200);
    assert!(play.arrival().head.starts_with(b"GET /x HTTP/1.1\r\n"), "it went on as HTTP/1.0");
}

fn an_old_client_is_closed(play: &Play) {
    let said = play.say(
        "GET http://{host}/ HTTP/1.0\r\nHost: {host}\r\nConnection: keep-alive\r\nProxy-Connection: keep-alive\r\n\r\n",
    );
    assert_eq!(said.answer().status, 200);
    said.closed();
}

/// A chunked POST; `{host}` is there.
fn chunked(text: &str) -> String {
    format!(
        "POST http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\nTransfer-Encoding: chunked\r\n\r\n\
         {text}GET http://{{host}}/smuggled HTTP/1.1\r\nHost: {{host}}\r\n\r\n"
    )
}

fn refuses_chunks(play: &Play, texts: &[&str]) {
    for text in texts {
        let said = play.say(chunked(text));
        let status = said.answer.as_ref().map_or(0, |answer| answer.status);
        // Others may blame the origin, or refuse by a reset alone.
        let refused = status == 400 || (!play.is_ours() && (status == 0 || status > 400));
        assert!(refused, "{text:?}: answered {status}");
        said.closed();
        assert_eq!(play.plain.arrivals().len(), 0, "{text:?} was forwarded");
    }
}

fn chunk_sizes_are_hex(play: &Play) {
    refuses_chunks(
        play,
        &[
            "zz\r\nbody\r\n0\r\n\r\n",
            "0x4\r\nbody\r\n0\r\n\r\n",
            "-4\r\nbody\r\n0\r\n\r\n",
            "+4\r\nbody\r\n0\r\n\r\n",
            " 4\r\nbody\r\n0\r\n\r\n",
            "1_0\r\nbody\r\n0\r\n\r\n",
            "ffffffffffffffffff\r\nbody\r\n0\r\n\r\n",
            "10000000000000004\r\nbody\r\n0\r\n\r\n",
        ],
    );
}

fn chunk_extensions_end_here(play: &Play) {
    let body = "4;name=\"value\"\r\nbody\r\n0;last\r\n\r\n";
    let post = chunked(body);
    let post = post.split("GET http").next().expect("the POST");
    let Some(mut both) = play.raw(post) else { return };
    let seen = both.origin.until_text("body");
    assert!(!seen.contains("name=") && !seen.contains("value"), "{seen}");
}

fn extensions_of_an_answer_end_here(play: &Play) {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;name=x\r\npage\r\n0\r\n\r\n";
    play.plain.on("/", [Answer::raw(head)]);
    let mut client = play.client();
    client.send(
        play.fill("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"),
    );
    let seen = String::from_utf8_lossy(&client.rest().expect("an orderly end")).into_owned();
    assert!(seen.contains("page") && !seen.contains("name="), "{seen}");
}

fn extensions_are_bounded(play: &Play) {
    let long = format!("4;x={}\r\nbody\r\n0\r\n\r\n", "x".repeat(1024 * 1024));
    let said = play.say(chunked(&long));
    let refused = said.answer.is_err() || said.answer().status >= 400;
    assert!(refused, "1 MiB of extension was taken");
}

fn chunks_end_in_both(play: &Play) {
    refuses_chunks(
        play,
        &[
            "4\nbody\r\n0\r\n\r\n",
            "4;a\nb\r\nbody\r\n0\r\n\r\n",
            "4\r\nbodyX\r\n0\r\n\r\n",
            "4\r\nbody0\r\n\r\n",
        ],
    );
}

fn trailers_of_a_request_stay_trailers(play: &Play) {
    let body = "4\r\nbody\r\n0\r\nX-Sum: 1\r\nHost: evil.test\r\nContent-Length: 9\r\nAuthorization: evil\r\n\r\n";
    let post = format!(
        "POST http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n{body}"
    );
    let Some(mut both) = play.raw(post) else { return };
    let head = both.origin.until_text("\r\n\r\n").to_lowercase();
    assert!(!head.contains("x-sum: 1") && !head.contains("evil"), "merged: {head}");
    // A proxy that reads the body first may have given it a length.
    let body = if head.contains("transfer-encoding") {
        both.origin.until_text("0\r\n") + &both.origin.until_text("\r\n")
    } else {
        both.origin.until_text("body")
    };
    let trailers = body.to_lowercase();
    assert!(!trailers.contains("evil") && !trailers.contains("content-length"), "{trailers}");
}

fn trailers_of_an_answer_stay_trailers(play: &Play) {
    let head = "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n";
    let end = "4\r\npage\r\n0\r\nX-Sum: 1\r\nContent-Length: 9\r\n\r\n";
    let answer = play.fetch(Answer::raw(&format!("{head}{end}")));
    assert_eq!((answer.header("x-sum"), answer.header("content-length")), (None, None));
    assert_eq!(answer.text(), "page");
}
