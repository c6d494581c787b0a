//! Bytes that were read to decide what a connection speaks, put back in front of it.

use bytes::{Buf, Bytes};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// `inner`, with `prefix` read before it.
#[derive(Debug)]
pub struct Rewound<T> {
    prefix: Bytes,
    inner: T,
}

impl<T> Rewound<T> {
    /// Puts `prefix` in front of `inner`.
    pub fn new(prefix: Bytes, inner: T) -> Rewound<T> {
        Rewound { prefix, inner }
    }

    /// What lies in front.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Whether nothing lies in front.
    pub fn is_silent(&self) -> bool {
        self.prefix.is_empty()
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Rewound<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.prefix.is_empty() {
            return Pin::new(&mut self.inner).poll_read(cx, buffer);
        }
        let count = self.prefix.len().min(buffer.remaining());
        buffer.put_slice(&self.prefix[..count]);
        self.prefix.advance(count);
        if self.prefix.is_empty() {
            // Lets its memory go, which the connection would hold to its end.
            self.prefix = Bytes::new();
        }
        // Reading on at once keeps the reader's buffer from growing for a short first read.
        if self.prefix.is_empty() && buffer.remaining() > 0 {
            match Pin::new(&mut self.inner).poll_read(cx, buffer) {
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) | Poll::Pending => {}
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Rewound<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn the_prefix_comes_first_and_nothing_is_lost_however_small_the_reads() {
        for size in 1..8 {
            let mut rewound = Rewound::new(Bytes::from_static(b"GET / H"), &b"TTP/1.1"[..]);
            let mut all = Vec::new();
            let mut part = vec![0; size];
            loop {
                match rewound.read(&mut part).await.unwrap() {
                    0 => break,
                    count => all.extend_from_slice(&part[..count]),
                }
            }
            assert_eq!(all, b"GET / HTTP/1.1");
        }
    }
}
