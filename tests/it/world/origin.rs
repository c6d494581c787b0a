//! A scripted HTTP/1.1 server on raw sockets. It records who came when, with which bytes, and does
//! to each request what its playbook says.

use super::answer::Answer;
use super::arrival::{Arrival, Departure};
use super::authority::Authority;
use super::stage::{Scene, Stage};
use super::until;
use rustls::ServerConfig;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

/// The server. Stops on drop.
pub struct Origin {
    address: SocketAddr,
    stage: Arc<Stage>,
}

impl Origin {
    /// An origin that speaks plain HTTP on a free port of 127.0.0.1.
    pub fn http() -> Origin {
        Origin::start(None)
    }

    /// An origin that speaks TLS with a certificate for `names`.
    pub fn https(authority: &Authority, names: &[&str]) -> Origin {
        Origin::start(Some(authority.certify(names)))
    }

    /// Answers requests for `path` (or `host/path`, which goes first) with these, in order; the last
    /// one stays. What nothing was said about gets a 200 with `unscripted`.
    pub fn on(&self, path: &str, answers: impl IntoIterator<Item = Answer>) {
        let answers: Vec<Answer> = answers.into_iter().collect();
        assert!(!answers.is_empty(), "a scene has at least one answer");
        self.stage.script(path, Scene::Played { answers, next: 0 });
    }

    /// Answers requests for `path` with what `decide` makes of each.
    pub fn decide(&self, path: &str, decide: impl Fn(&Arrival) -> Answer + Send + Sync + 'static) {
        self.stage.script(path, Scene::Decided(Arc::new(decide)));
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Every request so far, in order of arrival.
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.stage.arrivals()
    }

    /// The requests for one target so far.
    pub fn arrivals_for(&self, target: &str) -> Vec<Arrival> {
        let mut found = self.arrivals();
        found.retain(|arrival| arrival.target == target);
        found
    }

    /// Waits until `count` requests have arrived; panics if they don't.
    pub fn await_arrivals(&self, count: usize) -> Vec<Arrival> {
        let there = || Some(self.arrivals()).filter(|found| found.len() >= count);
        until(there).unwrap_or_else(|| {
            panic!("{} of {count} requests arrived: {:#?}", self.arrivals().len(), self.arrivals())
        })
    }

    /// Waits until the peer has left the origin alone with `count` connections; panics if not.
    pub fn await_departures(&self, count: usize) -> Vec<Departure> {
        let gone = || Some(self.stage.departures()).filter(|g| g.len() >= count);
        until(gone).unwrap_or_else(|| panic!("fewer than {count} peers left"))
    }

    /// How many connections were opened so far, used or not.
    pub fn connections(&self) -> usize {
        self.stage.connections()
    }

    fn start(tls: Option<Arc<ServerConfig>>) -> Origin {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        Origin::behind(listener, tls)
    }

    /// An origin that takes its callers from this listener.
    pub fn behind(listener: TcpListener, tls: Option<Arc<ServerConfig>>) -> Origin {
        let address = listener.local_addr().expect("a bound socket has an address");
        let stage = Arc::new(Stage::new(tls));
        let shared = stage.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.is_over() {
                    return;
                }
                let (stage, number) = (shared.clone(), shared.next_connection());
                std::thread::spawn(move || stage.attend(stream, number));
            }
        });
        Origin { address, stage }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.stage.finish();
        TcpStream::connect(self.address).ok(); // wakes the listener, which then goes
    }
}
