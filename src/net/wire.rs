//! A client's TCP connection: its bytes, and a watch on whether the client is still there.
//!
//! This room must not know about HTTP. The watch sees a hang-up without reading: below TLS, with
//! unread bytes, and while the HTTP library isn't looking.

use crate::net::room::Place;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// The connection's bytes.
#[derive(Debug)]
pub struct Wire {
    /// Reads into memory nobody has to clear first, and knows after a short read that there is no
    /// more: reading through a shared reference does neither.
    read: OwnedReadHalf,
    write: Arc<OwnedWriteHalf>,
    /// Among those that descriptors are for.
    _place: Place,
}

/// Tells when the client at the other end hangs up.
#[derive(Clone, Debug)]
pub struct Watch {
    socket: Arc<OwnedWriteHalf>,
}

/// How a client hung up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HangUp {
    /// It sends no more. It may still be listening (a half-close) or not (a close): only an answer
    /// written to it can tell.
    Finished,
    /// The connection is reset: nobody is listening.
    Reset,
}

impl Wire {
    /// Takes an accepted connection. Small answers leave at once: without TCP_NODELAY a first
    /// answer over TLS is 40 ms late.
    pub fn new(socket: TcpStream, place: Place) -> io::Result<Wire> {
        socket.set_nodelay(true)?;
        let (read, write) = socket.into_split();
        Ok(Wire { read, write: Arc::new(write), _place: place })
    }

    /// A watch on the other end.
    pub fn watch(&self) -> Watch {
        Watch { socket: self.write.clone() }
    }

    /// Our own end's address.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.read.local_addr()
    }
}

impl Watch {
    /// Waits until the client sends no more, or is gone.
    pub async fn hang_up(&self) -> HangUp {
        self.wait(Interest::PRIORITY | Interest::ERROR).await
    }

    /// Waits until the client is gone; that it sends no more is known already.
    pub async fn reset(&self) {
        self.wait(Interest::ERROR).await;
    }

    async fn wait(&self, interest: Interest) -> HangUp {
        match self.socket.ready(interest).await {
            Ok(ready) if !ready.is_error() => HangUp::Finished,
            Ok(_) | Err(_) => HangUp::Reset,
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.read).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.write.try_write_vectored(slices) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.read.as_ref().poll_write_ready(cx))?;
                }
                result => return Poll::Ready(result),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = socket2::SockRef::from(self.read.as_ref()).shutdown(std::net::Shutdown::Write);
        match result {
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Poll::Ready(Ok(())),
            result => Poll::Ready(result),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::room::Room;
    use std::time::Duration;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    async fn pair() -> (TcpStream, Wire) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        (client, Wire::new(accepted, Room::of(0).place().await).unwrap())
    }

    #[tokio::test]
    async fn a_finish_is_seen_with_bytes_unread_and_is_not_a_reset() {
        let (mut client, wire) = pair().await;
        client.write_all(b"never read").await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(wire.watch().hang_up().await, HangUp::Finished);
        let waits = tokio::time::timeout(Duration::from_millis(20), wire.watch().reset()).await;
        assert!(waits.is_err(), "a half-closed client is still there");
    }

    #[tokio::test]
    async fn a_reset_is_seen_as_one() {
        let (client, wire) = pair().await;
        socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
        drop(client);
        assert_eq!(wire.watch().hang_up().await, HangUp::Reset);
    }
}
