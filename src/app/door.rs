//! Who comes in: every connection gets a place, or a sentence why not.
//!
//! This file must not read a request.

use crate::flow::ending::Case;
use crate::flow::serve;
use crate::flow::works::Flow;
use crate::net::listen::accept;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Takes connections until the process drains.
pub(in crate::app) async fn accept_all(
    flow: Arc<Flow>,
    listener: TcpListener,
    mut draining: watch::Receiver<bool>,
) {
    loop {
        let accepted = async {
            let place = flow.room.place().await;
            (place, accept(&listener).await)
        };
        let (place, (socket, peer)) = tokio::select! {
            accepted = accepted => accepted,
            _ = draining.changed() => return,
        };
        let terms = flow.terms.read();
        if !terms.admission.admits(peer.ip()) {
            not_admitted(&flow, &socket, peer);
            continue;
        }
        let place = match flow.room.give(place, peer.ip(), terms.manners.connections) {
            Ok(place) => place,
            Err(count) => {
                too_many(&flow, &socket, peer, count);
                continue;
            }
        };
        drop(terms);
        let flow = flow.clone();
        let alive = flow.alive.clone();
        tokio::spawn(async move {
            serve::connection(flow, socket, peer, place).await;
            drop(alive);
        });
    }
}

fn not_admitted(flow: &Flow, socket: &TcpStream, peer: SocketAddr) {
    turn_away(socket, NOT_ADMITTED);
    if flow.first_time(format!("admit {}", peer.ip())) {
        tracing::warn!(peer = %peer.ip(), "turned away: not in `clients.allow`; said once");
    }
}

fn too_many(flow: &Flow, socket: &TcpStream, peer: SocketAddr, connections: usize) {
    turn_away(socket, TOO_MANY);
    flow.meter.early_answer(Case::LineFull.row().kind);
    if flow.first_time(format!("crowd {}", peer.ip())) {
        tracing::warn!(
            peer = %peer.ip(),
            connections,
            "turned away: as many connections as one address may have (`clients.connections`); said once"
        );
    }
}

/// Says why, for the socket's buffer has room for a sentence, and hangs up: with what the client has
/// said by now taken, so that the sentence isn't lost to a reset.
fn turn_away(socket: &TcpStream, why: &[u8]) {
    let _ = socket.try_write(why);
    let _ = socket.try_read(&mut [0; 4096]);
}

const NOT_ADMITTED: &[u8] = b"HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\n\
    proxy-status: pacegate; error=http_request_denied\r\nconnection: close\r\n\r\n\
    pacegate: this address may not use the proxy; `clients.allow` lists those that may\n";
const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\n\
    retry-after: 5\r\nproxy-status: pacegate; error=connection_limit_reached\r\n\
    cache-control: no-store\r\nconnection: close\r\n\r\n\
    pacegate: this address has as many connections as one may have (line_full)\n\
    Close some, or raise `clients.connections`.\n";
