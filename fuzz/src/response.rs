//! What an origin sends over HTTP/1: bytes → the HTTP library → the sanitiser → the library → bytes.
//!
//! Input: how many bytes come with a read; a byte of flags (what was asked for); the bytes.

use super::fields::is_forged;
use super::memory::{End, Io, Moves, Seen, Watched, connect, drive};
use super::sent::shown;
use super::strict::{Framing, Kind, Message, Reading, read};
use bytes::Bytes;
use http::{Request, Response, StatusCode, Version};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http1::Connection;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use pacegate::net::headers::response::{forward, forward_trailers};
use pacegate::net::headers::status::disown;
use pacegate::net::headers::via::Pseudonym;
use pacegate::net::http1::builder;
use std::cell::RefCell;
use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::UNIX_EPOCH;

/// What was asked for, and how.
#[derive(Clone, Copy)]
struct Asked {
    head: bool,
    upgrade: bool,
    old: bool,
}

/// What became of the origin's bytes: `None` where they were no answer that can be passed on.
type Passed = Rc<RefCell<Option<Seen>>>;

pub fn body(data: &[u8]) {
    let [step, flags, bytes @ ..] = data else { return };
    let asked = Asked { head: flags & 1 == 1, upgrade: flags & 2 == 2, old: flags & 4 == 4 };
    let moves = Moves::default();
    let (inner, client) = connect(asked.bytes(), 4096, false, &moves);
    let passed = Passed::default();
    let (notes, noted) = (passed.clone(), moves.clone());
    let (says, step) = (Bytes::copy_from_slice(bytes), usize::from(*step) + 1);
    let service = service_fn(move |_: Request<Incoming>| {
        relay(asked, says.clone(), step, notes.clone(), noted.clone())
    });
    let mut server = http1::Builder::new();
    server.half_close(true).preserve_header_case(true).auto_date_header(false);
    drive(server.serve_connection(inner, service), &moves);
    let seen = passed.borrow().clone();
    check(asked, &client.heard(), seen);
}

impl Asked {
    fn bytes(self) -> Bytes {
        let method = if self.head { "HEAD" } else { "GET" };
        let version = if self.old { "1.0" } else { "1.1" };
        format!("{method} http://a.test/ HTTP/{version}\r\nHost: a.test\r\n\r\n").into()
    }
}

/// As `flow::attempt` does it.
async fn relay(
    asked: Asked,
    says: Bytes,
    step: usize,
    passed: Passed,
    moves: Moves,
) -> Result<Response<Relay>, Infallible> {
    let (io, _) = connect(says, step, true, &moves);
    let handshake = builder().handshake::<_, Empty<Bytes>>(io.that_answers()).await;
    let (mut sender, connection) = handshake.expect("nothing is sent or read yet");
    let mut connection = Box::pin(connection);
    let mut request = Request::new(Empty::new());
    if asked.head {
        *request.method_mut() = http::Method::HEAD;
    }
    let mut sending = pin!(sender.send_request(request));
    let mut still = 0;
    let answer = poll_fn(|context| {
        still += 1;
        let ended = connection.as_mut().poll(context).is_ready();
        match sending.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(answer.ok()),
            Poll::Pending if ended || still > PATIENCE => Poll::Ready(None),
            Poll::Pending => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    });
    let Some(answer) = answer.await else { return Ok(none()) };
    let (mut parts, body) = answer.into_parts();
    let version = parts.version;
    if forward(&mut parts, asked.upgrade, || UNIX_EPOCH).is_err() {
        return Ok(none());
    }
    disown(&mut parts.headers, NAME);
    Pseudonym::new(NAME, 7).sign(&mut parts.headers, version);
    assert_eq!(parts.version, Version::HTTP_11);
    let (body, seen) = Watched::new(body);
    *passed.borrow_mut() = Some(seen);
    Ok(Response::from_parts(parts, Relay { body: Some(body), connection: Some(connection) }))
}

fn none() -> Response<Relay> {
    let mut response = Response::new(Relay { body: None, connection: None });
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response.headers_mut().insert("date", http::HeaderValue::from_static("x"));
    response
}

type ToOrigin = Connection<Io, Empty<Bytes>>;

/// A body and the connection it comes over.
struct Relay {
    body: Option<Watched<Incoming>>,
    connection: Option<Pin<Box<ToOrigin>>>,
}

impl Body for Relay {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let relay = &mut *self;
        if let Some(connection) = &mut relay.connection
            && connection.as_mut().poll(context).is_ready()
        {
            relay.connection = None;
        }
        let Some(body) = &mut relay.body else { return Poll::Ready(None) };
        Pin::new(body).poll_frame(context).map(|frame| {
            let frame = frame?.map_err(Into::into);
            Some(frame.map(|frame| match frame.into_trailers() {
                Ok(mut trailers) => {
                    forward_trailers(&mut trailers);
                    Frame::trailers(trailers)
                }
                Err(frame) => frame,
            }))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

/// The client gets one answer that every reader reads alike; one that broke off doesn't look whole.
fn check(asked: Asked, bytes: &[u8], seen: Option<Seen>) {
    let (body, end) = seen.map_or((Vec::new(), End::Whole), |seen| seen.notes());
    match read(bytes, Kind::Response { bodiless: asked.head }) {
        Reading::Whole(message, used) => {
            assert_eq!(used, bytes.len(), "more than one answer: {}", shown(bytes));
            check_head(asked, &message);
            let framed = message.framing != Framing::Close;
            if end == End::Whole && message.framing != Framing::Nothing {
                assert_eq!(message.body, body, "another body: {}", shown(bytes));
            }
            if end != End::Whole && framed && message.framing != Framing::Nothing {
                panic!("{end:?} and whole: {}", shown(bytes));
            }
        }
        Reading::Partial => assert_ne!(end, End::Whole, "not whole: {}", shown(bytes)),
        Reading::Wrong(why) => panic!("{why}: {}", shown(bytes)),
    }
}

fn check_head(asked: Asked, message: &Message) {
    // A server answers in its own version, but hyper says 1.0 to a client of 1.0.
    assert!(message.first[0] == "HTTP/1.1" || asked.old);
    assert!(message.first[1] != "101" || asked.upgrade, "an upgrade nobody asked for");
    assert!(message.has("date"), "no Date");
    if asked.old {
        assert!(!message.has("transfer-encoding"), "chunks for HTTP/1.0");
    }
    for (name, value) in &message.fields {
        let value = String::from_utf8_lossy(value);
        let good = match name.as_str() {
            "connection" => ["close", "keep-alive", "Upgrade"].contains(&&*value),
            "upgrade" => value == "websocket" && message.first[1] == "101",
            "keep-alive" | "proxy-connection" | "proxy-authenticate" => false,
            "proxy-authorization" | "proxy-authentication-info" => false,
            "proxy-status" => !is_forged(value.as_bytes(), NAME),
            name => !name.starts_with("pace-"),
        };
        assert!(good, "passed on: {name}: {value}");
    }
    for (name, _) in &message.trailers {
        let never = ["content-length", "set-cookie", "host", "transfer-encoding", "trailer"];
        assert!(!never.contains(&name.as_str()), "a trailer {name}");
    }
}

const NAME: &str = "pacegate";
/// Polls until an answer's head must be there.
const PATIENCE: u32 = 20_000;
