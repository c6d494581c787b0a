//! The admin listener: a few small connections, each for one request.

use crate::admin::pages::{self, Door, Views};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

/// Serves the pages until `shutdown` is done; what is being answered then gets a second more.
pub async fn serve(listener: TcpListener, views: Views, shutdown: impl Future<Output = ()>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => {}
            (stream, caller, permit) = accepted(&listener, &room) => {
                let connection = converse(stream, caller, views.clone());
                connections.spawn(async move {
                    connection.await;
                    drop(permit);
                });
            }
        }
    }
    drop(listener);
    let rest = async { while connections.join_next().await.is_some() {} };
    // Those that take longer are cut off: the set ends its tasks when it is dropped.
    let _ = tokio::time::timeout(LAST, rest).await;
}

/// The next connection, once there is room for it.
async fn accepted(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> (TcpStream, IpAddr, OwnedSemaphorePermit) {
    let permit = room.clone().acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, address)) => return (stream, address.ip(), permit),
            // Out of descriptors, or gone before we looked: neither is a reason to stop.
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}

async fn converse(stream: TcpStream, caller: IpAddr, views: Views) {
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let response = pages::answer(&views, &request.into_parts().0, caller, Door::Port);
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        // Scrapes and probes are rare: a connection kept for the next one is one to race with.
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A caller that breaks off or reads too slowly loses its answer, and nobody else notices.
    let _ = tokio::time::timeout(WHOLE, connection).await;
}

/// At once; a scraper, two probes and a browser need few.
const CONNECTIONS: usize = 64;
/// For a request's head, and for a whole connection.
const HEAD: Duration = Duration::from_secs(5);
const WHOLE: Duration = Duration::from_secs(30);
const HEAD_BYTES: usize = 16 * 1024;
/// After a failed accept.
const AGAIN: Duration = Duration::from_millis(50);
/// For what is being answered when the listener ends.
const LAST: Duration = Duration::from_secs(1);
