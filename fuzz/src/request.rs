//! What a client sends over HTTP/1: bytes → the HTTP library → the sanitiser → the library → bytes.
//!
//! Input: how many bytes come with a read, then the bytes of a connection.

use super::memory::{Moves, connect, drive};
use super::sent::{Sent, send, shown};
use super::strict::{Kind, Message, Reading, read};
use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use pacegate::net::headers::refusal::Refusal;
use pacegate::net::headers::request::{HeadLimits, Shape, forward, measure};
use pacegate::net::headers::target::{RequestTarget, Scheme, Tunnel};
use pacegate::policy::wishes::Wishes;
use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

/// What became of a request, in the order they came.
enum Met {
    Refused(Refusal),
    Sent(Box<Sent>),
    Tunnel,
}

type Diary = Rc<RefCell<Vec<Met>>>;

pub fn body(data: &[u8]) {
    let Some((step, bytes)) = data.split_first() else { return };
    let moves = Moves::default();
    let says = Bytes::copy_from_slice(bytes);
    let (io, client) = connect(says, usize::from(*step) + 1, true, &moves);
    let diary = Diary::default();
    let writes = diary.clone();
    let noted = moves.clone();
    let service = service_fn(move |request| meet(request, writes.clone(), noted.clone()));
    let mut builder = http1::Builder::new();
    builder
        .half_close(true)
        .preserve_header_case(true)
        .auto_date_header(false)
        .max_headers(LIMITS.fields)
        .max_buf_size(LIMITS.bytes + LIMITS.target_bytes);
    drive(builder.serve_connection(io, service), &moves);
    answers(&client.heard());
    compare(bytes, &diary.borrow());
}

async fn meet(
    request: Request<Incoming>,
    diary: Diary,
    moves: Moves,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (mut parts, body) = request.into_parts();
    let (status, met) = match prepare(&mut parts, shape(&body)) {
        Ok(None) => (StatusCode::BAD_GATEWAY, Met::Tunnel),
        Ok(Some(target)) => {
            let sent = send(parts, target, body, &moves).await;
            (StatusCode::OK, Met::Sent(Box::new(sent)))
        }
        Err(refusal) => (refusal.status, Met::Refused(refusal)),
    };
    diary.borrow_mut().push(met);
    let mut response = Response::new(Full::new(Bytes::from_static(b"x")));
    *response.status_mut() = status;
    Ok(response)
}

/// As `flow::admit` does it: `None` for a CONNECT.
fn prepare(parts: &mut Parts, shape: Shape) -> Result<Option<RequestTarget>, Refusal> {
    let (method, uri, headers) = (&parts.method, &parts.uri, &parts.headers);
    if *method == Method::CONNECT {
        return Tunnel::of(uri, headers, Scheme::Https).map(|_| None);
    }
    measure(parts, &LIMITS)?;
    let target = RequestTarget::of(method, uri, parts.version, headers, None, None)?;
    if let Err(why) = Wishes::of_headers(headers) {
        return Err(Refusal::bad(why.to_string()));
    }
    forward(parts, &target, shape)?;
    Ok(Some(target))
}

fn shape(body: &Incoming) -> Shape {
    match body.size_hint().exact() {
        Some(0) => Shape::Empty,
        Some(size) => Shape::Exact(size),
        None => Shape::Unknown,
    }
}

/// What the client gets back is HTTP, one answer after the other.
fn answers(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // To a HEAD there is no body: which request it was the bytes alone don't say.
        let reads = [false, true].map(|bodiless| read(bytes, Kind::Response { bodiless }));
        let used = reads.iter().find_map(|reading| match reading {
            Reading::Whole(_, used) if ends_well(&bytes[*used..]) => Some(*used),
            Reading::Whole(..) | Reading::Partial | Reading::Wrong(_) => None,
        });
        let used = used.unwrap_or_else(|| panic!("{reads:?}: {}", shown(bytes)));
        bytes = &bytes[used..];
    }
}

fn ends_well(rest: &[u8]) -> bool {
    rest.is_empty() || rest.starts_with(b"HTTP/1.")
}

/// Whoever reads the client's bytes strictly finds the same requests with the same bodies in them.
fn compare(mut bytes: &[u8], met: &[Met]) {
    let mut met = met.iter();
    loop {
        let strict = match read(bytes, Kind::Request) {
            Reading::Whole(message, used) => {
                bytes = &bytes[used..];
                Some(message)
            }
            Reading::Partial | Reading::Wrong(_) => None,
        };
        match (met.next(), strict) {
            (None, _) => return,
            (Some(Met::Sent(sent)), strict) => {
                let sent = sent.check();
                let Some(strict) = strict else { break };
                if let Some(sent) = sent {
                    same(&strict, &sent);
                }
            }
            (Some(Met::Refused(refusal)), strict) => {
                refused(refusal);
                if strict.is_none() {
                    break;
                }
            }
            // What follows is another protocol's.
            (Some(Met::Tunnel), _) => break,
        }
    }
    for met in met {
        match met {
            Met::Sent(sent) => drop(sent.check()),
            Met::Refused(refusal) => refused(refusal),
            Met::Tunnel => {}
        }
    }
}

fn same(strict: &Message, sent: &Message) {
    assert_eq!(strict.first[0], sent.first[0], "another method");
    assert_eq!(strict.body, sent.body, "another body");
    // A field of no connection's and not about framing arrives as it was.
    let of = |message: &Message| message.all("cookie").map(<[u8]>::to_vec).collect::<Vec<_>>();
    assert_eq!(of(strict), of(sent));
}

/// A refusal is a client's error with a sentence that can be shown.
pub fn refused(refusal: &Refusal) {
    assert!(refusal.status.is_client_error() || refusal.status == StatusCode::NOT_IMPLEMENTED);
    assert!(!refusal.detail.is_empty() && refusal.detail.len() < 1000);
    assert!(!refusal.detail.contains(char::is_control), "{:?}", refusal.detail);
}

const LIMITS: HeadLimits = HeadLimits { bytes: 64 * 1024, fields: 200, target_bytes: 8000 };
