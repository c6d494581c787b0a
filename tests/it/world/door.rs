//! Doors that nobody opens, or not at first: targets whose connections don't come about.

use super::origin::Origin;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// An address of loopback where nobody listens.
pub fn closed_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener.local_addr().expect("a bound socket has an address")
}

/// An address where connections never come about: its line of callers is full.
pub struct Deaf {
    listener: socket2::Socket,
    _filler: TcpStream,
}

impl Deaf {
    pub fn new() -> Deaf {
        let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
        let listener = listener.expect("sockets can be made");
        let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        listener.bind(&any.into()).expect("loopback has a free port");
        listener.listen(0).expect("a bound socket listens");
        let deaf = |address| TcpStream::connect(address).expect("one caller fits the line");
        let _filler = deaf(address(&listener));
        Deaf { listener, _filler }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        address(&self.listener).port()
    }

    /// From now on it is an origin like any other.
    pub fn listen(self) -> Origin {
        self.listener.listen(128).expect("a listener may listen more");
        Origin::behind(self.listener.into(), None)
    }
}

/// A door that is slammed on the first callers and leads the later ones to `to`. It stays open until
/// the process ends.
pub fn slamming(to: SocketAddr, callers: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("a bound socket has an address");
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            if number < callers {
                let now = Some(Duration::ZERO);
                socket2::SockRef::from(&stream).set_linger(now).expect("a TCP socket lingers");
            } else if let Ok(other) = TcpStream::connect(to) {
                lead(&stream, &other);
                lead(&other, &stream);
            }
        }
    });
    address
}

/// A door behind which something says `text` to each caller at once and then listens.
pub fn greeting(text: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("a bound socket has an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            io::Write::write_all(&mut stream, text.as_bytes()).ok();
            std::thread::spawn(move || io::copy(&mut stream, &mut io::sink()));
        }
    });
    address
}

/// A door behind which `bytes` are said once the caller has spoken, and then the connection is
/// closed; and what the callers said.
pub fn saying(bytes: &'static [u8]) -> (SocketAddr, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("a bound socket has an address");
    let heard: Arc<Mutex<Vec<u8>>> = Arc::default();
    let notes = heard.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut buffer = [0; 4096];
            let note = |bytes: &[u8]| {
                notes.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            };
            let count = io::Read::read(&mut stream, &mut buffer).unwrap_or(0);
            note(&buffer[..count]);
            io::Write::write_all(&mut stream, bytes).ok();
            stream.shutdown(Shutdown::Write).ok();
            while let Ok(count @ 1..) = io::Read::read(&mut stream, &mut buffer) {
                note(&buffer[..count]);
            }
        }
    });
    (address, heard)
}

fn lead(from: &TcpStream, to: &TcpStream) {
    let socket = |stream: &TcpStream| stream.try_clone().expect("descriptors are left");
    let (mut from, mut to) = (socket(from), socket(to));
    std::thread::spawn(move || {
        io::copy(&mut from, &mut to).ok();
        to.shutdown(Shutdown::Write).ok();
    });
}

fn address(listener: &socket2::Socket) -> SocketAddr {
    let address = listener.local_addr().expect("a bound socket has an address");
    address.as_socket().expect("an IPv4 address")
}
