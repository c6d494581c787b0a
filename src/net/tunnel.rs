//! Bytes copied both ways, unread.

use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional_with_sizes};

/// Copies until both sides have ended; a half-close is passed on as one.
pub async fn join<A, B>(mut client: A, mut origin: B)
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let copied = copy_bidirectional_with_sizes(&mut client, &mut origin, BUFFER, BUFFER).await;
    if let Err(error) = copied {
        tracing::debug!(%error, "tunnel ended");
    }
}

/// Each way.
const BUFFER: usize = 16 * 1024;
