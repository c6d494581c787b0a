//! A client that sends exactly the bytes it is told and reads what comes back.

use super::response::Response;
use super::wire::Wire;
use super::{PATIENCE, message, now};
use rustls::{ClientConfig, ClientConnection};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// One connection, to the proxy or through it.
pub struct Client {
    wire: Wire,
    unread: Vec<u8>,
}

impl Client {
    /// Connects.
    pub fn connect(to: SocketAddr) -> Client {
        let stream = TcpStream::connect_timeout(&to, PATIENCE)
            .unwrap_or_else(|error| panic!("{to} can't be reached: {error}"));
        Client { wire: Wire::plain(stream), unread: Vec::new() }
    }

    /// The other end of a connection that somebody made to us.
    pub fn of(stream: TcpStream) -> Client {
        Client { wire: Wire::plain(stream), unread: Vec::new() }
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).expect("the peer takes the bytes");
    }

    /// Sends bytes to a peer that may be gone.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.wire.write_all(bytes.as_ref())?;
        self.wire.flush()
    }

    /// Sends a GET in absolute form and reads the answer.
    pub fn get(&mut self, url: &str) -> Response {
        let rest = url.strip_prefix("http://").expect("an http URL: tunnels take a path");
        let host = rest.split('/').next().unwrap_or_default();
        self.send(format!("GET {url} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        self.response()
    }

    /// Sends a GET in origin form, as inside a tunnel, and reads the answer.
    pub fn get_path(&mut self, host: &str, path: &str) -> Response {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        self.response()
    }

    /// Reads one response to anything but a HEAD or a CONNECT.
    pub fn response(&mut self) -> Response {
        self.response_to("GET").expect("a response")
    }

    /// Reads one response to a request of this method; an error if there is no whole head.
    pub fn response_to(&mut self, method: &str) -> io::Result<Response> {
        let mut interim = Vec::new();
        loop {
            let head = message::read_head(&mut self.wire, &mut self.unread)?
                .ok_or(io::ErrorKind::UnexpectedEof)?;
            let head_at = now();
            let status = status_of(&head)?;
            if (100..200).contains(&status) && status != 101 {
                interim.push(status);
                continue;
            }
            let (body, whole) = self.body(method, status, &head);
            return Ok(Response { status, head, body, whole, interim, head_at, end_at: now() });
        }
    }

    /// Reads one head, interim or final.
    pub fn head(&mut self) -> Vec<u8> {
        let head = message::read_head(&mut self.wire, &mut self.unread).expect("a head");
        head.expect("a head before the end")
    }

    /// Reads so many bytes and keeps none.
    pub fn skip(&mut self, count: u64) {
        let mut left = count - self.unread.len().min(count as usize) as u64;
        self.unread.drain(..(count - left) as usize);
        let mut block = vec![0; 64 * 1024];
        while left > 0 {
            let most = block.len().min(left as usize);
            let got = self.wire.read(&mut block[..most]).expect("more bytes");
            assert!(got > 0, "it ends {left} bytes too soon");
            left -= got as u64;
        }
    }

    /// How long one write may take.
    pub fn write_patience(&self, span: Duration) {
        let socket = self.wire.socket();
        socket.set_write_timeout(Some(span)).expect("a connected socket takes options");
    }

    /// Reads up to and with this text.
    pub fn until_text(&mut self, text: &str) -> String {
        loop {
            let found = self.unread.windows(text.len()).position(|it| it == text.as_bytes());
            let more = if found.is_some() { 0 } else { self.unread.len() + 1 };
            if let Some(place) = found {
                return message::latin1(&self.exactly(place + text.len()));
            }
            let all = self.exactly(more);
            self.unread.splice(0..0, all);
        }
    }

    /// Asks for a tunnel; the answer has no body if it is a 200.
    pub fn connect_to(&mut self, authority: &str) -> Response {
        self.send(format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n"));
        self.response_to("CONNECT").expect("an answer to CONNECT")
    }

    /// Speaks TLS from here on, as a client of `name`. The handshake happens at once.
    pub fn secure(self, name: &str, config: Arc<ClientConfig>) -> io::Result<Client> {
        let Wire::Plain(stream) = self.wire else { panic!("TLS inside TLS is not played here") };
        let server = name.to_owned().try_into().map_err(io::Error::other)?;
        let session = ClientConnection::new(config, server).map_err(io::Error::other)?;
        let mut wire = Wire::client(session, stream);
        if let Wire::Client(stream) = &mut wire {
            while stream.conn.is_handshaking() {
                stream.conn.complete_io(&mut stream.sock)?;
            }
        }
        Ok(Client { wire, unread: self.unread })
    }

    /// The same with every byte of the handshake sent by itself.
    pub fn secure_in_drops(self, name: &str, config: Arc<ClientConfig>) -> io::Result<Client> {
        let Wire::Plain(mut stream) = self.wire else {
            panic!("TLS inside TLS is not played here")
        };
        let server = name.to_owned().try_into().map_err(io::Error::other)?;
        let mut session = ClientConnection::new(config, server).map_err(io::Error::other)?;
        while session.is_handshaking() {
            let mut bytes = Vec::new();
            while session.wants_write() {
                session.write_tls(&mut bytes)?;
            }
            for (place, byte) in bytes.into_iter().enumerate() {
                stream.write_all(&[byte])?;
                if place < 6 {
                    // The peer sees the first ones by themselves, and doesn't find them together.
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
            if session.is_handshaking() && session.wants_read() {
                if session.read_tls(&mut stream)? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                session.process_new_packets().map_err(io::Error::other)?;
            }
        }
        Ok(Client { wire: Wire::client(session, stream), unread: self.unread })
    }

    /// What TLS settled on to speak (ALPN), if it did.
    pub fn protocol(&self) -> Option<Vec<u8>> {
        match &self.wire {
            Wire::Client(stream) => stream.conn.alpn_protocol().map(<[u8]>::to_vec),
            Wire::Plain(_) | Wire::Server(_) => None,
        }
    }

    /// Reads so many bytes of a peer that may be gone.
    pub fn try_exactly(&mut self, count: usize) -> io::Result<Vec<u8>> {
        message::read_exactly(&mut self.wire, &mut self.unread, count)
    }

    /// Reads so many bytes.
    pub fn exactly(&mut self, count: usize) -> Vec<u8> {
        message::read_exactly(&mut self.wire, &mut self.unread, count).expect("so many bytes")
    }

    /// The names of the certificate the peer showed, as DER, leaf first. Nothing without TLS.
    pub fn certificates(&self) -> Vec<Vec<u8>> {
        match &self.wire {
            Wire::Client(stream) => stream
                .conn
                .peer_certificates()
                .unwrap_or_default()
                .iter()
                .map(|certificate| certificate.to_vec())
                .collect(),
            Wire::Plain(_) | Wire::Server(_) => Vec::new(),
        }
    }

    /// Everything until the peer's end; an error if that was a reset.
    pub fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = std::mem::take(&mut self.unread);
        self.wire.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Whether nothing comes for so long (and the peer stays).
    pub fn is_quiet_for(&mut self, span: Duration) -> bool {
        if !self.unread.is_empty() {
            return false;
        }
        self.wire.patience(Some(span));
        let mut buffer = [0; 1024];
        let result = self.wire.read(&mut buffer);
        self.wire.patience(Some(PATIENCE));
        match result {
            Ok(count) => {
                self.unread.extend_from_slice(&buffer[..count]);
                false
            }
            Err(error) => {
                matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
            }
        }
    }

    /// Says that nothing more will be sent (a FIN) and stays to read.
    pub fn finish(&mut self) {
        self.wire.finish().expect("the peer is there");
    }

    /// The socket, for what is not HTTP/1.
    pub fn into_socket(self) -> TcpStream {
        match self.wire {
            Wire::Plain(stream) if self.unread.is_empty() => stream,
            Wire::Plain(_) | Wire::Client(_) | Wire::Server(_) => panic!("something is on it"),
        }
    }

    /// Leaves with a reset.
    pub fn reset(self) {
        self.wire.reset();
    }

    fn body(&mut self, method: &str, status: u16, head: &[u8]) -> (Vec<u8>, bool) {
        let tunnel = method == "CONNECT" && (200..300).contains(&status);
        if method == "HEAD" || tunnel || matches!(status, 101 | 204 | 304) {
            return (Vec::new(), true);
        }
        let fields = message::fields(head);
        let framed = fields.iter().any(|(name, _)| {
            ["content-length", "transfer-encoding"].iter().any(|n| name.eq_ignore_ascii_case(n))
        });
        let result = if framed {
            message::read_body(&mut self.wire, &mut self.unread, head)
        } else {
            self.rest()
        };
        match result {
            Ok(body) => (body, true),
            Err(_) => (std::mem::take(&mut self.unread), false),
        }
    }
}

fn status_of(head: &[u8]) -> io::Result<u16> {
    let line = message::latin1(head.split(|byte| *byte == b'\r').next().unwrap_or_default());
    let code = line.split(' ').nth(1).and_then(|word| word.parse().ok());
    code.ok_or_else(|| io::Error::other(format!("not a status line: {line:?}")))
}
