//! A scene: a proxy, origins that it can reach, and what may be said to it.
//!
//! Names are `localhost` throughout, so that any proxy finds the origins without being told.

use crate::frames::Frames;
use crate::peer::Peer;
use crate::row::{Row, Stand};
use crate::world::answer::Answer;
use crate::world::arrival::Arrival;
use crate::world::authority::{Authority, trusting};
use crate::world::client::Client;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::response::Response;
use crate::world::streams::Streams;
use crate::world::until;
use rustls::ClientConfig;
use std::net::{SocketAddr, TcpListener};
use std::panic::panic_any;
use std::path::PathBuf;
use std::sync::Arc;

/// What our own proxy runs with: nobody waits for long.
pub const CONFIG: &str = "pace: {ladder: [0, 0.05]}\n\
    retry: {window: 5s, response_timeout: 3s, idle_timeout: 3s, max_attempts: 2}\n";

/// A probe that says this can't be played to the proxy at hand.
pub struct Cannot(pub &'static str);

/// One proxy between one client and two origins, `http://` and `https://`.
pub struct Play {
    pub plain: Origin,
    pub safe: Origin,
    authority: Authority,
    proxy: Proxy,
}

enum Proxy {
    Ours(Box<World>),
    Peer(Peer),
}

/// Plays all probes of one row to our own proxy.
pub fn hold(rows: &[Row], number: u16) {
    let row = rows.iter().find(|row| row.number == number).expect("the row of this test");
    let probes = match &row.stand {
        Stand::Met => row.probes,
        Stand::Deviates { instead, .. } => instead,
        Stand::NotBuilt(_) => &[],
    };
    let needs_probes = !matches!(row.stand, Stand::NotBuilt(_));
    assert!(!probes.is_empty() || !needs_probes, "row {number} has no probe");
    for probe in probes {
        probe(&Play::ours());
    }
}

impl Play {
    /// Our own binary.
    pub fn ours() -> Play {
        Play::ours_with("")
    }

    /// The same on a ladder whose first rung nobody waits for.
    pub fn ours_slow() -> Play {
        Play::start("pace: {ladder: [0, 30, 40]}\nretry: {window: 1000s}\n")
    }

    fn ours_with(more: &str) -> Play {
        Play::start(&(CONFIG.to_owned() + more))
    }

    fn start(config: &str) -> Play {
        let authority = Authority::new();
        let roots = format!("tls: {{roots: {}}}\n", authority.file().display());
        let world = World::start(&(config.to_owned() + &roots));
        Play::before(Proxy::Ours(Box::new(world)), authority)
    }

    /// Another proxy, which runs already.
    pub fn peer(peer: Peer) -> Play {
        let authority = peer.origins.authority();
        Play::before(Proxy::Peer(peer), authority)
    }

    fn before(proxy: Proxy, authority: Authority) -> Play {
        let safe = Origin::https(&authority, &["localhost", "127.0.0.1"]);
        Play { plain: Origin::http(), safe, authority, proxy }
    }

    /// Our proxy itself, for what can't be asked of others.
    pub fn world(&self) -> &World {
        match &self.proxy {
            Proxy::Ours(world) => world,
            Proxy::Peer(_) => panic_any(Cannot("it is about our own answers or settings")),
        }
    }

    /// The same scene with more lines of configuration; ours only.
    pub fn with(&self, more: &str) -> Play {
        self.world();
        Play::ours_with(more)
    }

    /// Whether it is our own proxy that is judged.
    pub fn is_ours(&self) -> bool {
        matches!(self.proxy, Proxy::Ours(_))
    }

    /// The authority of the plain origin.
    pub fn host(&self) -> String {
        format!("localhost:{}", self.plain.port())
    }

    /// The authority of the origin behind TLS.
    pub fn safe_host(&self) -> String {
        format!("localhost:{}", self.safe.port())
    }

    /// Signs for origins of a probe's own.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Where the proxy listens.
    pub fn address(&self) -> SocketAddr {
        match &self.proxy {
            Proxy::Ours(world) => world.proxy(),
            Proxy::Peer(peer) => peer.address,
        }
    }

    /// Trusts the proxy's CA and offers these protocols.
    pub fn trust(&self, protocols: &[&[u8]]) -> Arc<ClientConfig> {
        trusting(&self.ca(), protocols)
    }

    fn ca(&self) -> PathBuf {
        match &self.proxy {
            Proxy::Ours(world) => world.certs().join("ca.pem"),
            Proxy::Peer(peer) => peer.ca.clone(),
        }
    }

    /// A connection to the proxy.
    pub fn client(&self) -> Client {
        Client::connect(self.address())
    }

    /// A tunnel to the origin behind TLS with HTTP/1.1 in it.
    pub fn tunnel(&self) -> Client {
        self.tunnel_with(&[b"http/1.1"])
    }

    fn tunnel_with(&self, protocols: &[&[u8]]) -> Client {
        let mut client = self.client();
        let answer = client.connect_to(&self.safe_host());
        assert_eq!(answer.status, 200, "CONNECT: {}", answer.text());
        client.secure("localhost", self.trust(protocols)).expect("a handshake with the proxy")
    }

    /// An HTTP/2 connection through a tunnel, for requests that are well-formed.
    pub async fn streams(&self) -> Streams {
        let trust = self.trust(&[b"h2", b"http/1.1"]);
        let streams = Streams::through(self.address(), trust, &self.safe_host()).await;
        streams.unwrap_or_else(|| panic_any(Cannot(NO_HTTP2)))
    }

    /// The same for those that aren't: frame by frame.
    pub fn frames(&self) -> Frames {
        let client = self.tunnel_with(&[b"h2", b"http/1.1"]);
        match client.protocol().as_deref() {
            Some(b"h2") => Frames::open(client),
            _ => panic_any(Cannot(NO_HTTP2)),
        }
    }

    /// Sends these bytes on a connection of their own, `{host}` filled in. The answer is read as one
    /// to the method that they begin with.
    pub fn say(&self, bytes: impl AsRef<[u8]>) -> Said {
        let mut client = self.client();
        let bytes = self.fill(bytes);
        client.try_send(&bytes).ok(); // it may be answered and closed before all is sent
        let method = bytes.split(|byte| *byte == b' ').next().unwrap_or_default();
        let answer = client.response_to(&String::from_utf8_lossy(method));
        let shown = String::from_utf8_lossy(&bytes).chars().take(200).collect();
        Said { client, answer: answer.map_err(|error| error.to_string()), shown }
    }

    /// Sends these bytes and reads a whole answer.
    #[track_caller]
    pub fn ask(&self, bytes: impl AsRef<[u8]>) -> Response {
        self.say(bytes).answer()
    }

    /// Says that the plain origin answers everything below `/` so, and gets that page.
    #[track_caller]
    pub fn fetch(&self, answer: Answer) -> Response {
        self.plain.on("/", [answer]);
        self.ask("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n")
    }

    /// The last request that the plain origin got.
    #[track_caller]
    pub fn arrival(&self) -> Arrival {
        self.plain.arrivals().pop().expect("a request reached the origin")
    }

    /// The bytes are refused with one of these, and nothing has reached an origin.
    #[track_caller]
    pub fn refuses(&self, bytes: impl AsRef<[u8]>, statuses: &[u16]) -> Said {
        let before = self.plain.arrivals().len();
        let said = self.say(bytes);
        let status = said.answer().status;
        assert!(statuses.contains(&status), "{}: answered {status}", said.shown);
        assert_eq!(self.plain.arrivals().len(), before, "{}: reached the origin", said.shown);
        said
    }

    /// Sends a request to an origin that is nothing but a socket: both ends of it. `{host}` is there.
    /// Nothing: the proxy, which isn't ours, reads all of a request first, or refused it.
    pub fn raw(&self, request: impl AsRef<[u8]>) -> Option<Raw> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let host = format!("localhost:{}", address.port());
        let mut client = self.client();
        client.send(replaced(request.as_ref(), b"{host}", host.as_bytes()));
        listener.set_nonblocking(true).expect("a listener takes options");
        let caller = until(|| listener.accept().ok());
        assert!(caller.is_some() || !self.is_ours(), "the proxy comes");
        let (stream, _) = caller?;
        stream.set_nonblocking(false).expect("a socket takes options");
        Some(Raw { client, origin: Client::of(stream) })
    }

    /// `{host}` and `{safe}` in bytes.
    pub fn fill(&self, bytes: impl AsRef<[u8]>) -> Vec<u8> {
        let filled = replaced(bytes.as_ref(), b"{host}", self.host().as_bytes());
        replaced(&filled, b"{safe}", self.safe_host().as_bytes())
    }
}

const NO_HTTP2: &str = "it speaks no HTTP/2 with clients";

/// Both ends of one request.
pub struct Raw {
    pub client: Client,
    pub origin: Client,
}

/// What came of some bytes.
pub struct Said {
    pub client: Client,
    pub answer: Result<Response, String>,
    pub shown: String,
}

impl Said {
    /// The answer.
    #[track_caller]
    pub fn answer(&self) -> Response {
        match &self.answer {
            Ok(answer) => answer.clone(),
            Err(error) => panic!("{}: no answer: {error}", self.shown),
        }
    }

    /// Nothing more comes, and the connection ends.
    #[track_caller]
    pub fn closed(mut self) {
        match self.client.rest() {
            Ok(rest) => assert_eq!(rest, b"", "{}: more than one answer", self.shown),
            Err(error) => {
                let waits = error.kind() == std::io::ErrorKind::WouldBlock;
                assert!(!waits, "{}: the connection stays open", self.shown);
            }
        }
    }
}

fn replaced(bytes: &[u8], what: &[u8], with: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(place) = rest.windows(what.len()).position(|it| it == what) {
        out.extend_from_slice(&rest[..place]);
        out.extend_from_slice(with);
        rest = &rest[place + what.len()..];
    }
    out.extend_from_slice(rest);
    out
}
