//! An origin that speaks HTTP/2 only and answers with what it heard.

use crate::world::authority::Authority;
use bytes::Bytes;
use std::fmt::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where it listens, and how many requests it has heard.
pub struct H2Origin {
    pub address: SocketAddr,
    heard: Arc<AtomicUsize>,
}

impl H2Origin {
    /// Whether anybody has spoken HTTP/2 with it.
    pub fn was_understood(&self) -> bool {
        self.heard.load(Ordering::SeqCst) > 0
    }
}

/// Starts it; it runs until the process ends.
pub fn start(authority: &Authority) -> H2Origin {
    let mut config = (*authority.certify(&["localhost"])).clone();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("a bound socket has an address");
    listener.set_nonblocking(true).expect("a listener takes options");
    let heard = Arc::new(AtomicUsize::new(0));
    let shared = heard.clone();
    std::thread::spawn(move || crate::world::streams::block_on(serve(acceptor, listener, shared)));
    H2Origin { address, heard }
}

async fn serve(
    acceptor: tokio_rustls::TlsAcceptor,
    listener: TcpListener,
    heard: Arc<AtomicUsize>,
) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    while let Ok((socket, _)) = listener.accept().await {
        let (acceptor, heard) = (acceptor.clone(), heard.clone());
        tokio::spawn(async move {
            let Ok(tls) = acceptor.accept(socket).await else { return };
            let Ok(mut connection) = h2::server::handshake(tls).await else { return };
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                heard.fetch_add(1, Ordering::SeqCst);
                let text = match request.uri().path() {
                    "/push" => push(&mut respond),
                    _ => echo(&request),
                };
                let answer = respond.send_response(http::Response::new(()), false);
                if let Ok(mut stream) = answer {
                    stream.send_data(Bytes::from(text), true).ok();
                }
            }
        });
    }
}

fn push(respond: &mut h2::server::SendResponse<Bytes>) -> String {
    let request = http::Request::get("https://localhost/pushed").body(()).expect("a request");
    match respond.push_request(request) {
        Ok(_) => "may push".to_owned(),
        Err(_) => "may not push".to_owned(),
    }
}

fn echo(request: &http::Request<h2::RecvStream>) -> String {
    let mut text = format!("{:?} {}\n", request.version(), request.uri());
    for (name, value) in request.headers() {
        writeln!(text, "{name}: {}", value.to_str().unwrap_or("?")).expect("a string takes all");
    }
    text
}
