//! A tunnel's first bytes: what they decide, however they come, and that none of them is lost.
//!
//! Input: how many bytes were read before, how many come with each read (two bytes), the bytes.

use bytes::Bytes;
use pacegate::net::opening::{Opening, open};
use pacegate::net::sniff::{ENOUGH, Speaks, sniff};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::runtime::{Builder, Runtime};

pub fn body(data: &[u8]) {
    let [before, first, second, bytes @ ..] = data else { return };
    let decided = monotonic(bytes);
    let (before, rest) = bytes.split_at(usize::from(*before).min(bytes.len()));
    let steps = [usize::from(*first) + 1, usize::from(*second) + 1];
    RUNTIME.with(|runtime| runtime.block_on(opened(before, rest, steps, decided)));
}

thread_local! {
    static RUNTIME: Runtime = {
        let runtime = Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime of this thread")
    };
}

/// What was decided stays so when more bytes come, and enough of them decide.
fn monotonic(bytes: &[u8]) -> Speaks {
    let mut decided = Speaks::More;
    for end in 0..=bytes.len().min(ENOUGH + 8) {
        let speaks = sniff(&bytes[..end]);
        assert!(decided == Speaks::More || decided == speaks, "{decided:?}, then {speaks:?}");
        decided = speaks;
    }
    assert!(decided != Speaks::More || bytes.len() < ENOUGH);
    assert_eq!(sniff(bytes), decided);
    match decided {
        Speaks::Tls => assert_eq!(bytes[..2], [0x16, 3]),
        Speaks::Http => assert!(bytes.iter().any(|byte| b" \t".contains(byte))),
        Speaks::Other | Speaks::More => {}
    }
    decided
}

async fn opened(before: &[u8], rest: &[u8], steps: [usize; 2], decided: Speaks) {
    let split = Split { rest: Bytes::copy_from_slice(rest), steps };
    let opening = open(Bytes::copy_from_slice(before), split, Duration::from_secs(3)).await;
    let (speaks, mut rewound) = match opening.expect("no read fails") {
        Opening::Tls(rewound) => (Speaks::Tls, rewound),
        Opening::Http(rewound) => (Speaks::Http, rewound),
        Opening::Other(rewound) => (Speaks::Other, rewound),
        Opening::Closed => return assert!(before.is_empty() && rest.is_empty()),
    };
    let want = if decided == Speaks::More { Speaks::Other } else { decided };
    assert_eq!(speaks, want);
    let mut all = Vec::new();
    rewound.read_to_end(&mut all).await.expect("no read fails");
    assert_eq!(all, [before, rest].concat());
}

/// Bytes that come in pieces.
struct Split {
    rest: Bytes,
    steps: [usize; 2],
}

impl AsyncRead for Split {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.steps.swap(0, 1);
        let count = self.steps[0].min(self.rest.len()).min(buffer.remaining());
        buffer.put_slice(&self.rest.split_to(count));
        Poll::Ready(Ok(()))
    }
}
