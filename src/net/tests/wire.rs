//! The bends in a wire that only luck would show from further away.

use crate::net::connect_io::Wire;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

async fn pair() -> (Wire, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let address = listener.local_addr().expect("address");
    let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
    (Wire::new(ours.expect("connected")), theirs.expect("accepted").0)
}

#[tokio::test]
async fn a_muted_wire_is_read_once_it_was_written_to() {
    let (mut wire, mut peer) = pair().await;
    wire.meter().mute();
    peer.write_all(b"early").await.expect("written");
    let mut read = [0; 5];
    let early = timeout(Duration::from_millis(20), wire.read_exact(&mut read)).await;
    assert!(early.is_err(), "read before anything was written");
    assert_eq!(wire.meter().sent(), 0);
    wire.write_all(b"request").await.expect("written");
    wire.read_exact(&mut read).await.expect("read");
    assert_eq!((&read, wire.meter().sent()), (b"early", 7));
}

#[tokio::test]
async fn a_look_sees_what_the_reactor_has_not() {
    let (mut wire, peer) = pair().await;
    let mut read = [0; 5];
    let nothing = timeout(Duration::from_millis(5), wire.read(&mut read)).await;
    assert!(nothing.is_err(), "nothing to read yet");
    drop(peer);
    wire.meter().look();
    let look = std::pin::pin!(wire.read(&mut read));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(matches!(look.poll(&mut context), std::task::Poll::Ready(Ok(0))));
}

#[tokio::test]
async fn parked_writes_leave_what_was_received_to_be_read() {
    let (mut wire, mut peer) = pair().await;
    wire.meter().park_writes();
    wire.write_all(b"unread").await.expect("written");
    peer.write_all(b"answer").await.expect("written");
    // Closed with bytes unread: an RST.
    drop(peer);
    let writing = async { while wire.write_all(&[0; 4096]).await.is_ok() {} };
    assert!(timeout(Duration::from_millis(20), writing).await.is_err(), "an error came through");
    assert!(wire.meter().is_broken());
    let mut read = [0; 6];
    wire.read_exact(&mut read).await.expect("read");
    assert_eq!(&read, b"answer");
}
