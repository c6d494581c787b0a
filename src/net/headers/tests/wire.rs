//! The same through hyper's two codecs: what an origin and a client get, byte for byte.

use crate::net::headers::request::{self, Shape};
use crate::net::headers::response;
use crate::net::headers::target::RequestTarget;
use http::{Request, Response};
use http_body_util::Empty;
use hyper::body::{Body, Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::time::SystemTime;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

/// Sends `asked` through a proxy of two codecs and the sanitiser to an origin that says `answer`:
/// what the origin got, and what the client got.
async fn through(asked: &str, answer: &str) -> (String, String) {
    let (mut client, inner) = duplex(64 * 1024);
    let (outer, mut origin) = duplex(64 * 1024);
    let outer = std::cell::RefCell::new(Some(outer));
    let service = service_fn(move |request| {
        let outer = outer.take().expect("one request a test");
        async move { Ok::<_, Infallible>(relay(request, outer).await) }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.preserve_header_case(true).half_close(true).auto_date_header(false);
    let serving = server.serve_connection(TokioIo::new(inner), service);
    let at_origin = async {
        let got = head(&mut origin).await;
        origin.write_all(answer.as_bytes()).await.expect("the proxy reads");
        origin.shutdown().await.expect("the proxy reads");
        got
    };
    let at_client = async {
        client.write_all(asked.as_bytes()).await.expect("the proxy reads");
        client.shutdown().await.expect("the proxy reads");
        let mut got = Vec::new();
        client.read_to_end(&mut got).await.expect("an answer");
        String::from_utf8(got).expect("ASCII")
    };
    let (_, got, received) = tokio::join!(serving, at_origin, at_client);
    (got, received)
}

async fn relay(request: Request<Incoming>, outer: DuplexStream) -> Response<Incoming> {
    let (mut parts, body) = request.into_parts();
    let read =
        RequestTarget::of(&parts.method, &parts.uri, parts.version, &parts.headers, None, None);
    let target = read.expect("a target");
    let shape = if body.is_end_stream() { Shape::Empty } else { Shape::Unknown };
    request::forward(&mut parts, &target, shape).expect("a clean request");
    let mut builder = hyper::client::conn::http1::Builder::new();
    builder.preserve_header_case(true);
    let handshake = builder.handshake::<_, Empty<Bytes>>(TokioIo::new(outer)).await;
    let (mut sender, connection) = handshake.expect("a connection");
    tokio::spawn(connection);
    let answer = sender.send_request(Request::from_parts(parts, Empty::new())).await;
    let (mut parts, body) = answer.expect("an answer").into_parts();
    response::forward(&mut parts, false, || SystemTime::UNIX_EPOCH).expect("a clean answer");
    Response::from_parts(parts, body)
}

async fn head(io: &mut DuplexStream) -> String {
    let mut got = Vec::new();
    while !got.ends_with(b"\r\n\r\n") {
        got.push(io.read_u8().await.expect("a whole head"));
    }
    String::from_utf8(got).expect("ASCII")
}

#[track_caller]
fn check(asked: &str, at_origin: &str, answer: &str, at_client: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let (got, received) = runtime.block_on(through(asked, answer));
    assert_eq!((got.as_str(), received.as_str()), (at_origin, at_client));
}

#[test]
fn order_case_and_duplicates_survive_what_is_taken_out_between_them() {
    check(
        "GET http://a.test/x HTTP/1.1\r\nPROXY-Authorization: Basic x\r\nhOsT: evil.test\r\n\
         Connection: X-One\r\nX-Dup: 1\r\nx-one: gone\r\nX-DUP: 2\r\nProxy-Connection: a\r\n\
         Accept: */*\r\nPace-Window: 3\r\nx-LAST: z\r\n\r\n",
        "GET /x HTTP/1.1\r\nhOsT: a.test\r\nX-Dup: 1\r\nX-DUP: 2\r\nAccept: */*\r\n\
         x-LAST: z\r\n\r\n",
        "HTTP/1.1 200 Fine By Me\r\nConnection: X-One\r\nSet-Cookie: a\r\nX-One: gone\r\n\
         DATE: x\r\nSET-COOKIE: b\r\nPace-Status: forged\r\nContent-Length: 002\r\n\
         X-Z: z\r\n\r\nhi",
        "HTTP/1.1 200 Fine By Me\r\nSet-Cookie: a\r\nSET-COOKIE: b\r\nDATE: x\r\n\
         Content-Length: 2\r\nX-Z: z\r\n\r\nhi",
    );
}

#[test]
fn an_answer_with_two_framings_arrives_and_an_old_one_becomes_new() {
    let asked = "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n";
    let at_origin = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
    let both = "HTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 9\r\n\
         Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    // Where it names the field again hyper takes the spelling it saw.
    let chunked = "HTTP/1.1 200 OK\r\nDate: x\r\nTransfer-Encoding: chunked\r\n\r\n\
         2\r\nhi\r\n0\r\n\r\n";
    check(asked, at_origin, both, chunked);
    let old = "HTTP/1.0 200 OK\r\nDate: x\r\n\r\nhi";
    let new =
        "HTTP/1.1 200 OK\r\nDate: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    check(asked, at_origin, old, new);
}
