//! Header fields on their way through: what stays byte for byte, what ends here, what is mended.

use crate::world::answer::{Answer, Then};
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::resolve;
use crate::world::response::Response;

fn shop() -> (Origin, World) {
    let origin = Origin::http();
    let retry = "retry: {max_attempts: 1}\n";
    let world = World::start(&(resolve(&[("shop.test", origin.address())]) + retry));
    (origin, world)
}

/// The field lines of a head without those of this name.
fn lines(head: &[u8], without: &[&str]) -> Vec<String> {
    let text = crate::world::message::latin1(head);
    let named = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default();
        !without.iter().any(|out| name.eq_ignore_ascii_case(out))
    };
    text.split("\r\n")
        .skip(1)
        .filter(|line| !line.is_empty())
        .filter(named)
        .map(Into::into)
        .collect()
}

#[test]
fn fields_of_a_request_arrive_as_they_were_sent() {
    let (origin, world) = shop();
    let sent = "hOST: shop.test\r\nX-ODD-case: 1\r\naccept-Encoding: gzip, br\r\nX-dup: a\r\nX-Dup: b\r\n\
                Cookie: a=1; b=2\r\nUser-Agent: me/1 (x;  y)\r\nEmpty: \r\nAuthorization: Bearer t\r\n\
                Prefer: wait=30\r\nRange: bytes=0-\r\nIf-None-Match: \"x\"\r\nVia: 1.0 other\r\nX-Latin: \u{e9}\r\n";
    let mut client = world.client();
    let head: Vec<u8> =
        format!("GET http://shop.test/ HTTP/1.1\r\n{sent}\r\n").chars().map(|c| c as u8).collect();
    client.send(head);
    assert_eq!(client.response().status, 200);
    let arrival = origin.await_arrivals(1).remove(0);
    // Space around a value is no part of it.
    let want: Vec<&str> =
        sent.split("\r\n").filter(|line| !line.is_empty()).map(str::trim).collect();
    assert_eq!(lines(&arrival.head, &[]), want);
}

#[test]
fn fields_of_an_answer_arrive_as_they_were_sent() {
    let (origin, world) = shop();
    let sent = "sERVER: odd\r\nX-ODD-case: 1\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nDATE: Mon, 01 Jan 2024 00:00:00 GMT\r\n\
                Content-Encoding: gzip\r\nWWW-Authenticate: Basic realm=\"x\"\r\nEmpty: \r\nVia: 1.1 cdn\r\nX-Latin: \u{e9}\r\n";
    let body = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let head: Vec<u8> =
        format!("HTTP/1.1 200 Fine By Me\r\n{sent}").chars().map(|c| c as u8).collect();
    origin.on("/", [Answer::raw(&head).body(body)]);
    let answer = world.client().get("http://shop.test/");
    let want: Vec<String> =
        sent.split("\r\n").filter(|line| !line.is_empty()).map(Into::into).collect();
    assert_eq!(lines(&answer.head, &["content-length"]), want);
    assert!(answer.head.starts_with(b"HTTP/1.1 200 Fine By Me\r\n"));
    assert_eq!(answer.body, body);
}

#[test]
fn what_belongs_to_a_connection_ends_with_it() {
    let (origin, world) = shop();
    origin.on("/", [Answer::raw(
        "HTTP/1.1 200 OK\r\nConnection: X-Mine, keep-alive, Content-Type\r\nX-Mine: 1\r\nKeep-Alive: timeout=5\r\n\
         Proxy-Authenticate: Basic\r\nUpgrade: h2c\r\nContent-Type: text/html\r\nPace-Status: forged\r\nX-Kept: 1\r\n",
    ).body("x")]);
    let mut client = world.client();
    client.send(
        "GET http://shop.test/ HTTP/1.1\r\nHost: shop.test\r\nConnection: X-Mine, Keep-Alive, Host, Cookie\r\nX-Mine: 1\r\n\
         Keep-Alive: 300\r\nProxy-Connection: keep-alive\r\nTE: gzip\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\
         Proxy-Authorization: Basic c2NyYXBlcjp4\r\nProxy-Foo: 1\r\nPace-Tag: t\r\nCookie: a\r\nX-Kept: 1\r\n\r\n",
    );
    let answer = client.response();
    assert_eq!(
        lines(&answer.head, &["date", "content-length"]),
        ["Content-Type: text/html", "X-Kept: 1"]
    );
    let arrival = origin.await_arrivals(1).remove(0);
    assert_eq!(lines(&arrival.head, &[]), ["Host: shop.test", "Cookie: a", "X-Kept: 1"]);
}

#[test]
fn a_date_is_added_where_there_is_none() {
    let (origin, world) = shop();
    origin.on("/", [Answer::page("x")]);
    let answer = world.client().get("http://shop.test/");
    assert_eq!(answer.headers("date").len(), 1);
}

/// One answer, asked for with this method.
fn ask(method: &str, answer: Answer) -> (Origin, World, std::io::Result<Response>) {
    let (origin, world) = shop();
    origin.on("/", [answer]);
    let mut client = world.client();
    client.send(format!("{method} http://shop.test/ HTTP/1.1\r\nHost: shop.test\r\n\r\n"));
    let response = client.response_to(method);
    if let Ok(response) = &response {
        // The connection is good for another request, and nothing lies in front of its answer.
        assert_eq!(client.get("http://shop.test/other").text(), "unscripted", "{response:?}");
    }
    (origin, world, response)
}

#[test]
fn harmless_dirt_is_washed_off() {
    let cases: [(&[u8], u16, &str, &str); 22] = [
        (b"HTTP/1.1 200 OK\r\nX-Space : v\r\nContent-Length: 4\r\n\r\npage", 200, "x-space", "v"),
        (b"HTTP/1.1 200 OK\r\nContent-Length : 4\r\n\r\npage", 200, "content-length", "4"),
        (b"HTTP/1.1 200 OK\r\nX-Fold: a\r\n b\r\nContent-Length: 4\r\n\r\npage", 200, "x-fold", "a b"),
        (b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\x01c\r\nX-Rest: y\r\nContent-Length: 4\r\n\r\npage", 200, "x-rest", "y"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\nX-Rest: y\r\nContent-Length: 4\r\n\r\npage", 200, "x-rest", "y"),
        (b"HTTP/1.1 401 Non-Autoris\xe9\r\nX-Rest: y\r\nContent-Length: 4\r\n\r\npage", 401, "x-rest", "y"),
        (b"HTTP/1.1 200\r\nX-Rest: y\r\nContent-Length: 4\r\n\r\npage", 200, "x-rest", "y"),
        (b"HTTP/1.1 200 \r\nX-Rest: y\r\nContent-Length: 4\r\n\r\npage", 200, "x-rest", "y"),
        (b"HTTP/1.1 999 x\r\nX-Rest: y\r\nContent-Length: 4\r\n\r\npage", 999, "x-rest", "y"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0000004\r\n\r\npage", 200, "content-length", "4"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\npage", 200, "content-length", "4"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4, 4\r\n\r\npage", 200, "content-length", "4"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n", 200, "transfer-encoding", ""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n", 200, "transfer-encoding", ""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n", 200, "transfer-encoding", ""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4  \r\npage\r\n0\r\n\r\n", 200, "transfer-encoding", ""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;ext=\"x\"\r\npage\r\n0\r\n\r\n", 200, "transfer-encoding", ""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n4\r\npage\r\n0\r\n\r\n", 200, "transfer-encoding", ""),
        (b"HTTP/1.1 200 OK\nX-Bare: y\nContent-Length: 4\n\npage", 200, "x-bare", "y"),
        (b"\r\nHTTP/1.1 200 OK\r\nX-Rest: y\r\nContent-Length: 4\r\n\r\npage", 200, "x-rest", "y"),
        (b"HTTP/1.1 200 O\tK\r\nX-Rest: y\r\nContent-Length: 4\r\n\r\npage", 200, "x-rest", "y"),
        (b"HTTP/1.0 404 Not Found\r\nX-Rest: y\r\nContent-Length: 4\r\n\r\npage", 404, "x-rest", "y"),
    ];
    for (bytes, status, name, value) in cases {
        let shown = String::from_utf8_lossy(bytes).into_owned();
        let (_, _, answer) = ask("GET", Answer::raw(bytes));
        let answer = answer.unwrap_or_else(|error| panic!("{shown}: {error}"));
        assert_eq!((answer.status, answer.text().as_str()), (status, "page"), "{shown}");
        assert!(answer.header("proxy-status").is_none(), "{shown}");
        let framed =
            answer.headers("content-length").len() + answer.headers("transfer-encoding").len();
        assert_eq!(framed, 1, "{shown}: {:?}", answer.fields());
        if name == "transfer-encoding" {
            let coded = answer.header(name).is_none_or(|value| value == "chunked");
            assert!(coded, "{shown}: {:?}", answer.fields());
        } else {
            assert_eq!(answer.header(name).as_deref(), Some(value), "{shown}");
        }
    }
}

#[test]
fn many_fields_are_delivered() {
    let many: String = (0..150).map(|number| format!("X-{number}: y\r\n")).collect();
    let (_, _, answer) =
        ask("GET", Answer::raw(&format!("HTTP/1.1 200 OK\r\n{many}")).body("page"));
    let answer = answer.expect("an answer");
    assert_eq!((answer.status, answer.fields().len()), (200, 152));
}

#[test]
fn what_is_no_http_is_a_502_with_the_reason() {
    let cases: [&[u8]; 12] = [
        b"HTTP/1.1 200 OK\r\nX-Nul: a\0b\r\nContent-Length: 4\r\n\r\npage",
        b"HTTP/1.1 200 OK\r\nX-Cr: a\rb\r\nContent-Length: 4\r\n\r\npage",
        b"HTTP/1.1 099 Odd\r\nContent-Length: 4\r\n\r\npage",
        b"HTTP/1.1 20 Odd\r\nContent-Length: 4\r\n\r\npage",
        b"HTTP/1.1 1000 Odd\r\nContent-Length: 4\r\n\r\npage",
        b"HTTP/1.2 200 OK\r\nContent-Length: 4\r\n\r\npage",
        b"ICY 200 OK\r\nContent-Length: 4\r\n\r\npage",
        b"http/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\npage!",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\npage",
        b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\npage",
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    ];
    for bytes in cases {
        let shown = String::from_utf8_lossy(bytes).into_owned();
        let (_, _, answer) = ask("GET", Answer::raw(bytes).then(Then::Close));
        let answer = answer.unwrap_or_else(|error| panic!("{shown}: {error}"));
        assert_eq!(answer.status, 502, "{shown}: {}", answer.text());
        let line = answer.header("proxy-status").expect("ours");
        assert!(line.contains("http_protocol_error"), "{shown}: {line}");
    }
}

#[test]
fn answers_without_a_body_have_none_and_keep_the_connection() {
    let cases: [(&str, &[u8]); 9] = [
        ("GET", b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 628\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n"),
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 628\r\n\r\n"),
        ("HEAD", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        ("HEAD", b"HTTP/1.1 200 OK\r\n\r\n"),
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 628\r\nContent-Length: 628\r\n\r\n"),
    ];
    for (method, bytes) in cases {
        let shown = String::from_utf8_lossy(bytes).into_owned();
        let (origin, _world, answer) = ask(method, Answer::raw(bytes));
        let answer = answer.unwrap_or_else(|error| panic!("{method} {shown}: {error}"));
        assert!(matches!(answer.status, 200 | 204 | 304), "{method} {shown}: {answer:?}");
        assert_eq!(origin.connections(), 1, "{method} {shown}: the origin's connection was kept");
        // The library leaves the length out of a 304 (RFC 9110 §8.6: it may).
        if method == "HEAD" && shown.contains("628") {
            assert_eq!(answer.headers("content-length"), ["628"], "{method} {shown}");
        }
        if answer.status == 204 {
            assert!(answer.header("transfer-encoding").is_none(), "{shown}");
            assert!(answer.header("content-length").is_none(), "{shown}");
        }
    }
}

#[test]
fn surplus_bytes_are_nobodys_answer() {
    let cases: [(&str, &[u8]); 3] = [
        ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npageHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"),
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"),
    ];
    for (method, bytes) in cases {
        let (origin, _, answer) = ask(method, Answer::raw(bytes));
        assert!(answer.expect("an answer").status < 300, "{method}");
        assert_eq!(origin.connections(), 2, "that connection is not used again");
    }
}

#[test]
fn an_origins_407_becomes_a_502() {
    let refusal = Answer::raw("HTTP/1.1 407 Auth\r\nProxy-Authenticate: Basic\r\n").body("who?");
    let (_, _, answer) = ask("GET", refusal);
    let answer = answer.expect("an answer");
    assert_eq!(answer.status, 502);
    assert!(answer.header("proxy-status").expect("ours").contains("received-status=407"));
    assert!(answer.header("proxy-authenticate").is_none());
}

#[test]
fn who_speaks_for_us_in_proxy_status_is_not_passed_on_and_others_are() {
    let origin = Origin::http();
    let forged = "pacegate; error=connection_timeout; details=\"not us\"";
    let lines = Answer::page("x")
        .header("Proxy-Status", &format!("cdn; received-status=200, {forged}"))
        .header("Proxy-Status", "\"pacegate\"")
        .header("Proxy-Status", "edge;  details=\"pacegate, or so\"");
    origin.on("/", [lines]);
    let world = World::start("");
    let answer = world.get(&origin.url("shop", "/"));
    assert_eq!((answer.status, answer.text().as_str()), (200, "x"));
    let left = ["cdn; received-status=200", "edge;  details=\"pacegate, or so\""];
    assert_eq!(answer.headers("proxy-status"), left);
}
