//! An HTTP/2 client through the proxy.

use super::proxy::World;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::{Body, Frame};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ClientConfig;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request's body.
pub type Sent = BoxBody<Bytes, Infallible>;

/// A connection inside a tunnel. Clones are the same connection.
#[derive(Clone)]
pub struct Streams {
    sender: SendRequest<Sent>,
}

impl Streams {
    /// A CONNECT to `authority`, TLS that trusts the proxy's CA, and HTTP/2 in it.
    pub async fn open(world: &World, authority: &str) -> Streams {
        let trust = world.trust_with(&[b"h2", b"http/1.1"]);
        Streams::through(world.proxy(), trust, authority).await.expect("it speaks HTTP/2")
    }

    /// The same through any proxy; `None` if it doesn't choose HTTP/2.
    pub async fn through(
        proxy: SocketAddr,
        trust: Arc<ClientConfig>,
        authority: &str,
    ) -> Option<Streams> {
        let socket = tunnel(proxy, authority).await;
        let name = authority.rsplit_once(':').map_or(authority, |(name, _)| name).to_owned();
        let connector = tokio_rustls::TlsConnector::from(trust);
        let name = name.try_into().expect("a name");
        let tls = connector.connect(name, socket).await.expect("the proxy's certificate is good");
        match tls.get_ref().1.alpn_protocol() {
            Some(b"h2") => Some(Streams::over(tls).await),
            Some(_) | None => None,
        }
    }

    /// The same in the clear, with prior knowledge.
    pub async fn open_clear(world: &World, authority: &str) -> Streams {
        Streams::over(tunnel(world.proxy(), authority).await).await
    }

    async fn over<T>(io: T) -> Streams
    where
        T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let builder = http2::Builder::new(TokioExecutor::new());
        let (sender, connection) = builder.handshake(TokioIo::new(io)).await.expect("HTTP/2");
        tokio::spawn(connection);
        Streams { sender }
    }

    /// Sends a request and reads the whole answer.
    pub async fn send(&mut self, request: Request<Sent>) -> hyper::Result<Response<Bytes>> {
        self.send_for_trailers(request).await.map(|(response, _)| response)
    }

    /// The same as a task of its own; dropped, it resets its stream.
    pub fn begin(
        &self,
        request: Request<Sent>,
    ) -> impl Future<Output = hyper::Result<Response<Bytes>>> + Send + use<> {
        let mut streams = self.clone();
        async move { streams.send(request).await }
    }

    /// Sends a request and reads the whole answer and its trailers.
    pub async fn send_for_trailers(
        &mut self,
        request: Request<Sent>,
    ) -> hyper::Result<(Response<Bytes>, Option<HeaderMap>)> {
        self.sender.ready().await?;
        let (parts, body) = self.sender.send_request(request).await?.into_parts();
        let whole = body.collect().await?;
        let trailers = whole.trailers().cloned();
        Ok((Response::from_parts(parts, whole.to_bytes()), trailers))
    }

    /// Waits until the connection takes no more requests.
    pub async fn closed(&mut self) {
        while !self.sender.is_closed() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

/// Runs a story on a runtime of its own, which ends with it.
pub fn block_on<T>(story: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let told = runtime.block_on(story);
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    told
}

/// No body.
pub fn empty() -> Sent {
    Full::new(Bytes::new()).boxed()
}

/// A body of unknown length in these pieces.
pub fn bytes(pieces: &[&'static str]) -> Sent {
    let pieces = pieces.iter().map(|piece| Bytes::from_static(piece.as_bytes()));
    Pieces(pieces.collect()).boxed()
}

struct Pieces(std::collections::VecDeque<Bytes>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }
}

async fn tunnel(proxy: SocketAddr, authority: &str) -> TcpStream {
    let mut socket = TcpStream::connect(proxy).await.expect("the proxy listens");
    socket.set_nodelay(true).expect("a connected socket takes options");
    let ask = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
    socket.write_all(ask.as_bytes()).await.expect("the proxy is there");
    let head = head(&mut socket).await.expect("an answer");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    socket
}

async fn head(socket: &mut TcpStream) -> io::Result<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        head.push(char::from(socket.read_u8().await?));
    }
    Ok(head)
}
