//! Client connections become jobs.
//!
//! This room drives the HTTP library's server side and hands each request on; it answers none.

use crate::flow::admit;
use crate::flow::deliver::{Gone, Reply};
use crate::flow::presence::Presence;
use crate::flow::session::Session;
use crate::flow::works::Flow;
use crate::net::speak::Speaker;
use crate::net::wire::Wire;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Serves a connection that a listener accepted, to its end.
pub async fn connection(flow: Arc<Flow>, socket: TcpStream, peer: SocketAddr) {
    let Ok((wire, local)) = Wire::new(socket).and_then(|wire| {
        let local = wire.local()?;
        Ok((wire, local))
    }) else {
        return;
    };
    let speaker = Speaker::new(wire);
    let presence = Presence::Watched { watch: speaker.inner().watch(), aside: speaker.aside() };
    let session = Session { peer, local, presence, inside: None };
    http1(flow, session, speaker).await;
}

/// Serves HTTP/1 on a connection, to its end.
pub async fn http1<T>(flow: Arc<Flow>, session: Session, speaker: Speaker<T>)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut draining = flow.draining.clone();
    let mut builder = http1::Builder::new();
    builder
        .half_close(true)
        .preserve_header_case(true)
        .auto_date_header(false)
        .max_headers(flow.heads.fields)
        .max_buf_size(flow.heads.bytes + flow.heads.target_bytes + LINES)
        .header_read_timeout(None);
    let session = Arc::new(session);
    let service = service_fn(|request| handle(flow.clone(), session.clone(), request));
    let mut connection =
        std::pin::pin!(builder.serve_connection(TokioIo::new(speaker), service).with_upgrades());
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = drained(&mut draining) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(peer = %session.peer, %error, "client connection ended");
    }
}

/// Serves HTTP/2 on a connection, to its end.
pub async fn http2<T>(flow: Arc<Flow>, session: Session, io: T)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut draining = flow.draining.clone();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .auto_date_header(false)
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(flow.heads.bytes as u32)
        .max_send_buf_size(SEND_BUFFER);
    let session = Arc::new(Session { presence: Presence::Dropped, ..session });
    let service = service_fn(|request| handle(flow.clone(), session.clone(), request));
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(io), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = drained(&mut draining) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(peer = %session.peer, %error, "client connection ended");
    }
}

async fn drained(draining: &mut watch::Receiver<bool>) {
    if draining.wait_for(|draining| *draining).await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn handle(
    flow: Arc<Flow>,
    session: Arc<Session>,
    request: Request<Incoming>,
) -> Result<Response<Reply>, Gone> {
    admit::answer(&flow, &session, request).await
}

/// What lines have around names and values: the library's limit is on all of a head.
const LINES: usize = 8 * 1024;
/// Per connection (http.md row 99).
const STREAMS: u32 = 100;
/// Of answers not yet taken by a slow client, per stream; the library's default is 400 KiB.
const SEND_BUFFER: usize = 64 * 1024;
