//! Bytes copied both ways, unread.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional_with_sizes};
use tokio::time::sleep;

/// Copies until both sides have ended, or nothing has moved for `idle`; a half-close is passed on
/// as one.
pub async fn join<A, B>(client: A, mut origin: B, idle: Duration)
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let moved = Arc::new(AtomicBool::new(false));
    let mut client = Watched { inner: client, moved: moved.clone() };
    let copying = copy_bidirectional_with_sizes(&mut client, &mut origin, BUFFER, BUFFER);
    tokio::select! {
        copied = copying => {
            if let Err(error) = copied {
                tracing::debug!(%error, "tunnel ended");
            }
        }
        () = still(&moved, idle) => tracing::debug!("tunnel closed: nothing moved in it"),
    }
}

/// Waits until nothing has moved for `idle`, or up to a quarter more.
async fn still(moved: &AtomicBool, idle: Duration) {
    let mut looks = 0;
    while looks < LOOKS {
        sleep(idle / LOOKS).await;
        looks = if moved.swap(false, Relaxed) { 0 } else { looks + 1 };
    }
}

/// One side of a tunnel: all that moves goes through it.
struct Watched<T> {
    inner: T,
    moved: Arc<AtomicBool>,
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        self.moved.store(true, Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.inner).poll_write(cx, bytes))?;
        self.moved.store(true, Relaxed);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// Each way.
const BUFFER: usize = 16 * 1024;
/// How often it is looked at in the time it may be idle.
const LOOKS: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const IDLE: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn a_tunnel_ends_when_nothing_moves_and_not_while_either_side_speaks() {
        for from_client in [true, false] {
            let (mut client, ours) = tokio::io::duplex(64);
            let (theirs, mut origin) = tokio::io::duplex(64);
            let joined = tokio::spawn(join(ours, theirs, IDLE));
            let (speaks, listens) = match from_client {
                true => (&mut client, &mut origin),
                false => (&mut origin, &mut client),
            };
            for _ in 0..5 {
                sleep(IDLE - Duration::from_secs(1)).await;
                speaks.write_all(b"x").await.unwrap();
                assert_eq!(listens.read_u8().await.unwrap(), b'x');
            }
            let clock = crate::clock::Clock::runtime();
            let began = clock.now();
            let ended = listens.read_u8().await;
            assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
            joined.await.unwrap();
            let took = clock.now().since(began);
            assert!(took >= IDLE && took <= IDLE * 5 / 4, "{took:?}");
        }
    }
}
