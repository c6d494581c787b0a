//! An HTTP/2 client that sends frames byte by byte as it is told, in the clear, through a tunnel.

use super::PATIENCE;
use super::proxy::World;
use super::until;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The client's end of a connection.
pub struct Frames {
    socket: TcpStream,
}

/// One frame (RFC 9113 §4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

/// ACK of a SETTINGS or a PING, END_STREAM of the rest.
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;

/// A SETTINGS_INITIAL_WINDOW_SIZE of nothing.
pub const NO_WINDOW: &[u8] = &[0, 4, 0, 0, 0, 0];

impl Frames {
    /// A tunnel to `authority`, and nothing said in it.
    pub fn silent(world: &World, authority: &str) -> Frames {
        let mut client = world.client();
        let answer = client.connect_to(authority);
        assert_eq!(answer.status, 200, "{}", answer.text());
        Frames { socket: client.into_socket() }
    }

    /// The same with the preface and these settings sent.
    pub fn open(world: &World, authority: &str, settings: &[u8]) -> Frames {
        let mut frames = Frames::silent(world, authority);
        frames.bytes(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("the proxy is there");
        frames.send(SETTINGS, 0, 0, settings);
        frames
    }

    /// Sends bytes that need not be a frame.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)
    }

    /// Sends a frame.
    pub fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.try_send(kind, flags, stream, payload).expect("the proxy takes the frame");
    }

    /// Sends a frame to a peer that may be gone.
    pub fn try_send(&mut self, kind: u8, flags: u8, id: u32, payload: &[u8]) -> io::Result<()> {
        self.socket.write_all(&frame(kind, flags, id, payload))
    }

    /// Asks for a page.
    pub fn get(&mut self, stream: u32, authority: &str, path: &str) {
        let flags = END_HEADERS | END_STREAM;
        self.send(HEADERS, flags, stream, &fields(b"\x82", authority, path));
    }

    /// Begins to POST.
    pub fn post(&mut self, stream: u32, authority: &str, path: &str) {
        self.send(HEADERS, END_HEADERS, stream, &fields(b"\x83", authority, path));
    }

    /// The next frame; `None` at the connection's end.
    pub fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.whole(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        self.whole(&mut payload)?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some(Frame { kind: head[3], flags: head[4], stream, payload })
    }

    /// The next frame of this kind on this stream; `None` if the connection ends without.
    pub fn find(&mut self, kind: u8, stream: u32) -> Option<Frame> {
        self.next_of(|it| it.kind == kind && it.stream == stream)
    }

    /// The next such frame; `None` if the connection ends without.
    pub fn next_of(&mut self, is: impl Fn(&Frame) -> bool) -> Option<Frame> {
        std::iter::from_fn(|| self.next()).find(|it| is(it))
    }

    /// The same connection, to read from it at the same time.
    pub fn reader(&self) -> Frames {
        Frames { socket: self.socket.try_clone().expect("descriptors are left") }
    }

    /// A write that takes longer fails.
    pub fn give_up_after(&self, span: Duration) {
        self.socket.set_write_timeout(Some(span)).expect("a connected socket takes options");
    }

    /// Reads until the end; the reasons of the GOAWAYs on the way.
    pub fn rest(&mut self) -> Vec<u32> {
        let frames = std::iter::from_fn(|| self.next());
        frames.filter(|it| it.kind == GOAWAY).map(|it| reason(&it.payload[4..])).collect()
    }

    /// Waits until the proxy has closed, reading nothing of HTTP.
    pub fn await_end(&mut self) {
        let mut block = [0; 65536];
        self.socket.set_read_timeout(Some(Duration::from_millis(50))).expect("a socket");
        let ended = until(|| match self.socket.read(&mut block) {
            Ok(0) => Some(()),
            Ok(_) => None,
            Err(error) if is_late(&error) => None,
            Err(_reset) => Some(()),
        });
        self.socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
        ended.expect("it ends");
    }

    fn whole(&mut self, bytes: &mut [u8]) -> Option<()> {
        match self.socket.read_exact(bytes) {
            Ok(()) => Some(()),
            Err(error) if is_late(&error) => panic!("nothing comes, and no end"),
            Err(_ended) => None,
        }
    }
}

/// A frame's bytes.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a payload fits").to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A request's fields (RFC 7541: indexed method and scheme, the rest literal).
pub fn fields(method: &[u8], authority: &str, path: &str) -> Vec<u8> {
    let mut block = [method, b"\x86"].concat();
    for (index, value) in [(1, authority), (4, path)] {
        block.extend_from_slice(&[index, u8::try_from(value.len()).expect("short")]);
        block.extend_from_slice(value.as_bytes());
    }
    block
}

/// The code in the first four bytes.
pub fn reason(payload: &[u8]) -> u32 {
    u32::from_be_bytes(payload[..4].try_into().expect("four bytes"))
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
