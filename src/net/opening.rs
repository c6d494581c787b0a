//! The first bytes of a tunnel: read until they decide what it speaks.

use crate::net::rewind::Rewound;
use crate::net::sniff::{ENOUGH, Speaks, sniff};
use bytes::BytesMut;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

/// What a tunnel turned out to speak.
#[derive(Debug)]
pub enum Opening<T> {
    Tls(Rewound<T>),
    Http(Rewound<T>),
    /// Something else, or a client that waits for the other side to speak first.
    Other(Rewound<T>),
    /// The client closed before anything could be told.
    Closed,
}

/// Reads what is needed to decide. `before` was read already; a client that says nothing for
/// `silence` waits for the other side.
pub async fn open<T: AsyncRead + Unpin>(
    before: bytes::Bytes,
    mut inner: T,
    silence: Duration,
) -> io::Result<Opening<T>> {
    let mut seen = BytesMut::from(&before[..]);
    loop {
        let speaks = sniff(&seen);
        if speaks == Speaks::More && seen.len() < ENOUGH {
            match timeout(silence, inner.read_buf(&mut seen)).await {
                Ok(Ok(0)) if seen.is_empty() => return Ok(Opening::Closed),
                Ok(Ok(0)) | Err(_) => {}
                Ok(Ok(_)) => continue,
                Ok(Err(error)) => return Err(error),
            }
        }
        let rewound = Rewound::new(seen.freeze(), inner);
        return Ok(match speaks {
            Speaks::Tls => Opening::Tls(rewound),
            Speaks::Http => Opening::Http(rewound),
            Speaks::Other | Speaks::More => Opening::Other(rewound),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use tokio::io::AsyncWriteExt;

    #[tokio::test(start_paused = true)]
    async fn one_byte_at_a_time_is_the_same_as_all_at_once() {
        let (mut client, server) = tokio::io::duplex(64);
        let opening = tokio::spawn(open(Bytes::new(), server, Duration::from_secs(3)));
        for byte in b"GET / HTTP/1.1\r\n" {
            client.write_all(&[*byte]).await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let Opening::Http(mut rewound) = opening.await.unwrap().unwrap() else {
            panic!("not HTTP")
        };
        let mut head = [0; 16];
        rewound.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"GET / HTTP/1.1\r\n");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_means_that_the_other_side_speaks_first() {
        let (_client, server) = tokio::io::duplex(64);
        let opening = open(Bytes::new(), server, Duration::from_secs(3)).await.unwrap();
        assert!(matches!(opening, Opening::Other(_)));
    }
}
