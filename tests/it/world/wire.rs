//! The socket under a client or an origin's connection, plain or TLS, with the two ways to end it.

use super::PATIENCE;
use rustls::{ClientConnection, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// A connection in either dress.
pub enum Wire {
    Plain(TcpStream),
    Client(Box<StreamOwned<ClientConnection, TcpStream>>),
    Server(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Wire {
    /// Takes a fresh TCP connection: no Nagle, no read that never ends.
    pub fn plain(stream: TcpStream) -> Wire {
        Wire::Plain(prepared(stream))
    }

    /// The client's side of TLS on it.
    pub fn client(session: ClientConnection, stream: TcpStream) -> Wire {
        Wire::Client(Box::new(StreamOwned::new(session, prepared(stream))))
    }

    /// The server's side of TLS on it.
    pub fn server(session: ServerConnection, stream: TcpStream) -> Wire {
        Wire::Server(Box::new(StreamOwned::new(session, prepared(stream))))
    }

    /// The TCP socket at the bottom.
    pub fn socket(&self) -> &TcpStream {
        match self {
            Wire::Plain(stream) => stream,
            Wire::Client(stream) => &stream.sock,
            Wire::Server(stream) => &stream.sock,
        }
    }

    /// How long one read may take; `None`: for ever.
    pub fn patience(&self, span: Option<Duration>) {
        self.socket().set_read_timeout(span).expect("a connected socket takes options");
    }

    /// Ends the connection with a reset instead of a FIN.
    pub fn reset(self) {
        socket2::SockRef::from(self.socket())
            .set_linger(Some(Duration::ZERO))
            .expect("a TCP socket lingers");
    }

    /// Says that nothing more will be written: TLS's close_notify, then a FIN.
    pub fn finish(&mut self) -> io::Result<()> {
        match self {
            Wire::Plain(_) => {}
            Wire::Client(stream) => {
                stream.conn.send_close_notify();
                stream.flush()?;
            }
            Wire::Server(stream) => {
                stream.conn.send_close_notify();
                stream.flush()?;
            }
        }
        self.socket().shutdown(Shutdown::Write)
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let result = match self {
                Wire::Plain(stream) => stream.read(buffer),
                Wire::Client(stream) => stream.read(buffer),
                Wire::Server(stream) => stream.read(buffer),
            };
            // Signals of the tests' own runtimes and children are none of a story's business.
            if !matches!(&result, Err(error) if error.kind() == io::ErrorKind::Interrupted) {
                return result;
            }
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(stream) => stream.write(bytes),
            Wire::Client(stream) => stream.write(bytes),
            Wire::Server(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Wire::Plain(stream) => stream.flush(),
            Wire::Client(stream) => stream.flush(),
            Wire::Server(stream) => stream.flush(),
        }
    }
}

fn prepared(stream: TcpStream) -> TcpStream {
    stream.set_nodelay(true).expect("a connected socket takes options");
    stream.set_read_timeout(Some(PATIENCE)).expect("a connected socket takes options");
    stream.set_write_timeout(Some(PATIENCE)).expect("a connected socket takes options");
    stream
}
