//! An HTTP/2 origin inside TLS that says exactly the frames it is told: what a library would not.

use super::authority::Authority;
use super::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, frame,
};
use super::wire::Wire;
use rustls::ServerConnection;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What is done about a request that has arrived whole.
#[derive(Clone, Debug)]
pub enum Act {
    /// A 200 with this body.
    Page(&'static str),
    /// RST_STREAM with this code.
    Reset(u32),
    /// A 200 that announces ten bytes; these; then RST_STREAM with INTERNAL_ERROR.
    Break(&'static str),
    /// GOAWAY that says no stream was looked at, and the end of the connection.
    GoAway,
    /// GOAWAY with ENHANCE_YOUR_CALM, and the end of the connection.
    Calm,
    /// An answer with this as its head: a header block, not checked.
    Head(Vec<u8>),
}

pub const REFUSED_STREAM: u32 = 0x7;
pub const ENHANCE_YOUR_CALM: u32 = 0xb;
const INTERNAL_ERROR: u32 = 0x2;

/// The origin. It ends with the process.
pub struct Framed {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    acts: Vec<Act>,
    requests: AtomicUsize,
    bodies: Mutex<Vec<Vec<u8>>>,
}

impl Framed {
    /// Plays the acts to the requests in order of arrival; the last one again and again.
    pub fn https(authority: &Authority, names: &[&str], acts: &[Act]) -> Framed {
        let mut config = (*authority.certify(names)).clone();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared =
            Shared { acts: acts.to_vec(), requests: AtomicUsize::new(0), bodies: Mutex::default() };
        let (shared, playing) = {
            let shared = Arc::new(shared);
            (shared.clone(), shared)
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, config) = (playing.clone(), config.clone());
                std::thread::spawn(move || {
                    let session = ServerConnection::new(config).expect("a valid configuration");
                    shared.attend(Wire::server(session, stream)).ok();
                });
            }
        });
        Framed { address, shared }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many requests have arrived whole.
    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// Their bodies.
    pub fn bodies(&self) -> Vec<Vec<u8>> {
        self.shared.bodies.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Shared {
    fn attend(&self, mut wire: Wire) -> io::Result<()> {
        let mut preface = [0; 24];
        wire.read_exact(&mut preface)?;
        say(&mut wire, &frame(SETTINGS, 0, 0, &[]))?;
        let mut bodies = std::collections::HashMap::<u32, Vec<u8>>::new();
        loop {
            let mut head = [0; 9];
            wire.read_exact(&mut head)?;
            let size = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7fff_ffff;
            let mut payload = vec![0; size];
            wire.read_exact(&mut payload)?;
            match head[3] {
                SETTINGS if head[4] & ACK == 0 => say(&mut wire, &frame(SETTINGS, ACK, 0, &[]))?,
                PING if head[4] & ACK == 0 => say(&mut wire, &frame(PING, ACK, 0, &payload))?,
                DATA => bodies.entry(stream).or_default().extend_from_slice(&payload),
                _ => {}
            }
            if matches!(head[3], DATA | HEADERS) && head[4] & END_STREAM != 0 {
                let body = bodies.remove(&stream).unwrap_or_default();
                self.bodies.lock().unwrap_or_else(PoisonError::into_inner).push(body);
                let number = self.requests.fetch_add(1, Ordering::SeqCst);
                let act = &self.acts[number.min(self.acts.len() - 1)];
                say(&mut wire, &act.frames(stream))?;
                if matches!(act, Act::GoAway | Act::Calm) {
                    wire.finish()?;
                    return io::copy(&mut wire, &mut io::sink()).map(drop);
                }
            }
        }
    }
}

impl Act {
    fn frames(&self, stream: u32) -> Vec<u8> {
        let reset = |code: u32| frame(RST_STREAM, 0, stream, &code.to_be_bytes());
        let away = |code: u32| frame(GOAWAY, 0, 0, &[[0; 4], code.to_be_bytes()].concat());
        match self {
            Act::Page(body) => [
                frame(HEADERS, END_HEADERS, stream, &[STATUS_200]),
                frame(DATA, END_STREAM, stream, body.as_bytes()),
            ]
            .concat(),
            Act::Reset(code) => reset(*code),
            Act::Break(body) => [
                frame(HEADERS, END_HEADERS, stream, &block(&[("content-length", "10")])),
                frame(DATA, 0, stream, body.as_bytes()),
                reset(INTERNAL_ERROR),
            ]
            .concat(),
            Act::GoAway => away(0),
            Act::Calm => away(ENHANCE_YOUR_CALM),
            Act::Head(block) => headers(stream, block),
        }
    }
}

/// A header block of a 200 with these fields, as literals (RFC 7541 §6.2.2); texts below 127 bytes.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = vec![STATUS_200];
    fields.iter().for_each(|(name, value)| literal(&mut block, name, value));
    block
}

/// A header block with this for a status.
pub fn status(text: &str) -> Vec<u8> {
    let mut block = Vec::new();
    literal(&mut block, ":status", text);
    block
}

fn literal(block: &mut Vec<u8>, name: &str, value: &str) {
    block.push(0);
    for text in [name, value] {
        assert!(text.len() < 127, "a length of one byte");
        block.push(text.len() as u8);
        block.extend_from_slice(text.as_bytes());
    }
}

/// A block in as many frames as it takes, and the end of the stream.
fn headers(stream: u32, block: &[u8]) -> Vec<u8> {
    let mut pieces = block.chunks(16_000).peekable();
    let (mut kind, mut flags, mut frames) = (HEADERS, END_STREAM, Vec::new());
    while let Some(piece) = pieces.next() {
        flags |= if pieces.peek().is_none() { END_HEADERS } else { 0 };
        frames.extend(frame(kind, flags, stream, piece));
        (kind, flags) = (CONTINUATION, 0);
    }
    frames
}

fn say(wire: &mut Wire, bytes: &[u8]) -> io::Result<()> {
    wire.write_all(bytes)?;
    wire.flush()
}

const ACK: u8 = END_STREAM;
/// RFC 7541, appendix A, entry 8.
const STATUS_200: u8 = 0x88;
