//! Client connections become jobs.
//!
//! This room drives the HTTP library's server side and hands each request on; it answers none.

use crate::clock::Tick;
use crate::flow::admit;
use crate::flow::deliver::{Gone, Reply};
use crate::flow::presence::Presence;
use crate::flow::session::{Recent, Session};
use crate::flow::settings::Manners;
use crate::flow::streams::{Given, Leave, Streams};
use crate::flow::works::Flow;
use crate::net::headers::request::HeadLimits;
use crate::net::room::{Place, full};
use crate::net::speak::{Aside, Heard, Speaker};
use crate::net::wire::Wire;
use http::header::{CONNECTION, HeaderValue};
use http::{Method, Request, Response, StatusCode, Version};
use hyper::body::{Body, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::sleep;

/// Serves a connection that a listener accepted, to its end.
pub async fn connection(flow: Arc<Flow>, socket: TcpStream, peer: SocketAddr, place: Place) {
    let Ok((wire, local)) = Wire::new(socket, place).and_then(|wire| {
        let local = wire.local()?;
        Ok((wire, local))
    }) else {
        return;
    };
    let speaker = Speaker::new(wire, flow.clock.clone(), flow.terms.read().manners.unread);
    let presence = Presence::Watched { watch: speaker.inner().watch(), aside: speaker.aside() };
    let session = Session { peer, local, presence, inside: None, recent: Recent::default() };
    http1(flow, session, speaker).await;
}

/// Serves HTTP/1 on a connection, to its end.
///
/// (Not an `async fn`: those keep their arguments' places to the end, and this connection may be
/// one of thousands that wait.)
pub fn http1<T>(
    flow: Arc<Flow>,
    session: Session,
    speaker: Speaker<T>,
) -> impl Future<Output = ()> + Send + use<T>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (peer, draining, room) = (session.peer, flow.draining.clone(), flow.room.watch());
    let terms = flow.terms.read();
    let (heads, manners) = (terms.heads, terms.manners);
    let mut builder = http1::Builder::new();
    builder
        .half_close(true)
        .preserve_header_case(true)
        .auto_date_header(false)
        .max_headers(heads.fields)
        .max_buf_size(heads.bytes + heads.target_bytes + LINES)
        .timer(TokioTimer::new())
        .header_read_timeout(manners.idle);
    let session = Arc::new(session);
    let aside = speaker.aside();
    aside.awaits_head();
    let told = aside.clone();
    let service =
        service_fn(move |request| handle(flow.clone(), session.clone(), aside.clone(), request));
    let connection =
        Box::pin(builder.serve_connection(TokioIo::new(speaker), service).with_upgrades());
    let (served, heard) = (told.clone(), told);
    // Whoever was accepted is served once, if it comes to that.
    let may_end = move || served.has_served() || *draining.borrow();
    let silent = move || heard.heard() == Heard::Nothing;
    to_its_end(connection, |it| it.graceful_shutdown(), Manner { room, may_end, silent }, peer)
}

/// Serves HTTP/2 on a connection, to its end.
pub fn http2<T>(
    flow: Arc<Flow>,
    session: Session,
    io: T,
) -> impl Future<Output = ()> + Send + use<T>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (peer, signs) = (session.peer, (flow.draining.clone(), flow.room.watch()));
    let terms = flow.terms.read();
    let (heads, manners) = (terms.heads, terms.manners);
    let streams = Streams::new(flow.clock.clone(), manners.unread);
    let mut builder = http2::Builder::new(streams.clone());
    builder
        .timer(TokioTimer::new())
        .auto_date_header(false)
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(list_bytes(&heads))
        .max_send_buf_size(SEND_BUFFER);
    let session = Arc::new(Session { presence: Presence::Dropped, ..session });
    let service = service_fn(move |request| {
        let (flow, session) = (flow.clone(), session.clone());
        async move { admit::answer(&flow, &session, request).await.map(|it| it.map(Given::new)) }
    });
    let connection = Box::pin(builder.serve_connection(TokioIo::new(io), service));
    while_used(connection, |it| it.graceful_shutdown(), signs, peer, (streams, manners))
}

/// A little over our own limits, whose refusals say more. HTTP/2 counts 32 bytes more a field (RFC
/// 9113 §6.5.2).
fn list_bytes(heads: &HeadLimits) -> u32 {
    let bytes = heads.bytes + heads.target_bytes + heads.fields * 32 + LINES;
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// What a connection goes by while others wait for its place.
struct Manner<E, S> {
    room: watch::Receiver<bool>,
    /// Whether it owes its client nothing more than what it is at.
    may_end: E,
    /// Whether its client has said nothing yet.
    silent: S,
}

/// Drives a connection to its end; when the process drains, or others wait for its place, `finish`
/// lets it end with what it has. A client that then says nothing makes room for one that does.
async fn to_its_end<C, E, S>(
    mut connection: Pin<Box<C>>,
    finish: impl FnOnce(Pin<&mut C>),
    manner: Manner<E, S>,
    peer: SocketAddr,
) where
    C: Future<Output = hyper::Result<()>>,
    E: Fn() -> bool,
    S: Fn() -> bool,
{
    let Manner { mut room, may_end, silent } = manner;
    let news = room.clone();
    let mut full = pin!(full(&mut room, &may_end));
    // A connection is polled with every read and write. The wait is registered once, and after that
    // a look at a number tells whether it may be over.
    let (mut waits, mut crowded, mut patience) = (false, false, None);
    let first = poll_fn(|context| {
        if let Poll::Ready(ended) = connection.as_mut().poll(context) {
            return Poll::Ready(Over::Ended(ended));
        }
        let again = !waits || news.has_changed().unwrap_or(true);
        (waits, crowded) = (true, if again { *news.borrow() } else { crowded });
        let ends = crowded && may_end();
        if ends || (again && full.as_mut().poll(context).is_ready()) {
            return Poll::Ready(Over::Finishing);
        }
        if !crowded || !silent() {
            return Poll::Pending;
        }
        let patience = patience.get_or_insert_with(|| Box::pin(sleep(FIRST_BYTE)));
        patience.as_mut().poll(context).map(|()| Over::Silent)
    });
    let ended = match first.await {
        Over::Ended(ended) => ended,
        Over::Finishing => {
            finish(connection.as_mut());
            connection.await
        }
        Over::Silent => return tracing::debug!(%peer, "client connection closed: it says nothing"),
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, %error, "client connection ended");
    }
}

/// How the first part of a connection's life is over.
enum Over {
    Ended(hyper::Result<()>),
    Finishing,
    Silent,
}

/// The same for a connection with streams: it ends too when none was open for too long. What its
/// client has not taken of its last answers only the library knows, so it gets time to.
async fn while_used<C>(
    mut connection: Pin<Box<C>>,
    finish: impl Fn(Pin<&mut C>),
    (mut draining, mut room): (watch::Receiver<bool>, watch::Receiver<bool>),
    peer: SocketAddr,
    (streams, manners): (Streams, Manners),
) where
    C: Future<Output = hyper::Result<()>>,
{
    let (mut finishing, mut from, mut idle) = (false, Tick::ZERO, manners.idle);
    loop {
        tokio::select! {
            biased;
            ended = &mut connection => {
                if let Err(error) = ended {
                    tracing::debug!(%peer, %error, "client connection ended");
                }
                return;
            }
            leave = streams.over(from, idle) => match leave {
                Leave::Flooded => {
                    return tracing::info!(%peer, "client connection closed: a flood of resets");
                }
                Leave::Idle if finishing => return,
                Leave::Idle => {}
            },
            () = drained(&mut draining), if !finishing => {}
            () = full(&mut room, &|| true), if !finishing && idle > SHORT_IDLE => {
                idle = SHORT_IDLE;
                continue;
            }
        }
        finish(connection.as_mut());
        (finishing, from, idle) = (true, streams.now(), manners.unread);
    }
}

/// Waits until the process is to end.
pub async fn drained(draining: &mut watch::Receiver<bool>) {
    if draining.wait_for(|draining| *draining).await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn handle(
    flow: Arc<Flow>,
    session: Arc<Session>,
    aside: Aside,
    request: Request<Incoming>,
) -> Result<Response<Reply>, Gone> {
    aside.begins(!request.body().is_end_stream());
    let tunnel = request.method() == Method::CONNECT;
    if !tunnel {
        aside.serves();
    }
    let old = request.version() == Version::HTTP_10;
    let mut response = admit::answer(&flow, &session, request).await?;
    let status = response.status();
    if status == StatusCode::SWITCHING_PROTOCOLS || (tunnel && status.is_success()) {
        aside.hand_over();
    } else if old {
        // RFC 9112 §9.3: a proxy keeps no connection with an HTTP/1.0 client, whatever that says. (To
        // an answer of 1.1 the library would add that it does.)
        *response.version_mut() = Version::HTTP_10;
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}

/// What lines have around names and values: the library's limit is on all of a head.
const LINES: usize = 8 * 1024;
/// From when others wait for a connection's place to its client's first byte.
const FIRST_BYTE: Duration = Duration::from_secs(3);
/// Of a connection whose place others wait for.
const SHORT_IDLE: Duration = Duration::from_millis(500);
/// Per connection (http.md row 99).
const STREAMS: u32 = 100;
/// Of answers not yet taken by a slow client, per stream; the library's default is 400 KiB.
const SEND_BUFFER: usize = 64 * 1024;
