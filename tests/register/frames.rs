//! HTTP/2 frame by frame, for requests that a library would refuse to send.

use crate::world::client::Client;
use crate::world::frames::{
    END_HEADERS, END_STREAM, Frame, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS,
};

/// How a stream ended, from what the peer sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// An answer: its status if it is one of HPACK's static ones, else 0.
    Answered(u16),
    /// The stream alone was reset, with this code.
    Reset(u32),
    /// The connection was given up, with this code.
    GoneAway(u32),
    /// The connection just ended.
    Closed,
}

/// One connection. The peer's settings have been read.
pub struct Frames {
    client: Client,
    /// What the peer announced, in order.
    pub settings: Vec<(u16, u32)>,
}

impl Frames {
    /// Says the preface on a connection that carries HTTP/2.
    pub fn open(mut client: Client) -> Frames {
        client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        let mut frames = Frames { client, settings: Vec::new() };
        frames.send(SETTINGS, 0, 0, &[]);
        let first = frames.next().expect("a first frame");
        assert_eq!(first.kind, SETTINGS, "the first frame is the settings'");
        for six in first.payload.chunks_exact(6) {
            let value = u32::from_be_bytes([six[2], six[3], six[4], six[5]]);
            frames.settings.push((u16::from_be_bytes([six[0], six[1]]), value));
        }
        frames.send(SETTINGS, 1, 0, &[]);
        frames
    }

    /// Sends a frame; the peer may be gone.
    pub fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.try_send(kind, flags, stream, payload);
    }

    /// Sends a frame; whether it was taken.
    pub fn try_send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
        let length = (payload.len() as u32).to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind, flags];
        frame.extend_from_slice(&stream.to_be_bytes());
        frame.extend_from_slice(payload);
        self.client.try_send(frame).is_ok()
    }

    /// Sends a head of these fields, each a literal that is never indexed.
    pub fn head(&mut self, stream: u32, fields: &[(&str, &str)], ends: bool) {
        let flags = END_HEADERS | if ends { END_STREAM } else { 0 };
        self.send(HEADERS, flags, stream, &block(fields));
    }

    /// The next frame; `None` at the connection's end.
    pub fn next(&mut self) -> Option<Frame> {
        let head = self.client.try_exactly(9).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7fff_ffff;
        let payload = self.client.try_exactly(length).ok()?;
        Some(Frame { kind: head[3], flags: head[4], stream, payload })
    }

    /// Whether the peer gives the connection up, having sent what it likes before.
    pub fn ends(&mut self) -> bool {
        loop {
            match self.client.try_exactly(1) {
                Ok(_) => {}
                Err(error) => return error.kind() != std::io::ErrorKind::WouldBlock,
            }
        }
    }

    /// What becomes of a stream.
    pub fn fate(&mut self, stream: u32) -> Fate {
        while let Some(frame) = self.next() {
            let code = |at: usize| {
                let four = frame.payload.get(at..at + 4).map(|it| [it[0], it[1], it[2], it[3]]);
                u32::from_be_bytes(four.expect("a code"))
            };
            match frame.kind {
                HEADERS if frame.stream == stream => return Fate::Answered(status(&frame.payload)),
                RST_STREAM if frame.stream == stream => return Fate::Reset(code(0)),
                GOAWAY => return Fate::GoneAway(code(4)),
                PING if frame.flags == 0 => self.send(PING, 1, 0, &frame.payload),
                _ => {}
            }
        }
        Fate::Closed
    }
}

/// A header block of literals without indexing and without Huffman's code (RFC 7541 §6.2.2).
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            // Each character is one byte.
            let bytes: Vec<u8> = text.chars().map(|c| c as u8).collect();
            length(&mut block, bytes.len());
            block.extend_from_slice(&bytes);
        }
    }
    block
}

/// An integer with a 7-bit prefix (RFC 7541 §5.1).
fn length(block: &mut Vec<u8>, mut value: usize) {
    if value < 127 {
        return block.push(value as u8);
    }
    block.push(127);
    value -= 127;
    while value >= 128 {
        block.push((value % 128) as u8 | 128);
        value /= 128;
    }
    block.push(value as u8);
}

/// RFC 7541, appendix A: the statuses that are one byte.
fn status(block: &[u8]) -> u16 {
    // A table size update may come first.
    let first = block.iter().find(|byte| **byte & 0xe0 != 0x20).copied().unwrap_or_default();
    match first {
        0x88 => 200,
        0x89 => 204,
        0x8a => 206,
        0x8b => 304,
        0x8c => 400,
        0x8d => 404,
        0x8e => 500,
        _ => 0,
    }
}
