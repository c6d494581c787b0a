//! What every journey needs at hand: the gate, the ways out, the settings.

use crate::ca::keyring::Keyring;
use crate::clock::{Clock, Tick};
use crate::flow::attempt::Timing;
use crate::flow::journal::Journal;
use crate::flow::record::seconds;
use crate::flow::remembered::Remembered;
use crate::flow::robots::Known;
use crate::flow::session::Caller;
use crate::flow::terms::Current;
use crate::judge::ourselves::Ourselves;
use crate::judge::verdict::Class;
use crate::metrics::labels::{Phase, RequestOutcome, Source, TlsFailure};
use crate::metrics::meter::{Meter, RequestEnd};
use crate::net::body::Budget;
use crate::net::headers::via::Pseudonym;
use crate::net::room::Room;
use crate::pace::scope::{Client, Host};
use crate::pace::turn::Weight;
use crate::policy::wishes::Wishes;
use crate::state::gate::Gate;
use crate::state::permit::Permit;
use crate::state::visit::{Learned, Lesson};
use bytes::Bytes;
use http::{Response, request};
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, watch};

/// A service of our own under the magic host.
pub type Local = Box<dyn Fn(&request::Parts, SocketAddr) -> Response<Bytes> + Send + Sync>;

/// How our own way out is.
#[derive(Debug, Default)]
pub struct OwnLine {
    ourselves: Ourselves,
    /// When any origin was connected to last.
    reached: Option<Tick>,
}

/// What every journey needs at hand.
pub struct Flow {
    pub gate: Arc<Gate>,
    pub keyring: Arc<Keyring>,
    pub meter: Meter,
    pub clock: Clock,
    /// What requests whose head is read now go by.
    pub terms: Current,
    /// The places for clients.
    pub room: Room,
    pub replays: Budget,
    pub kept: Budget,
    /// For answers that were read and not taken by their clients yet.
    pub answers: Budget,
    pub draining: watch::Receiver<bool>,
    /// Held by whatever must end before the process does.
    pub alive: mpsc::Sender<()>,
    pub local: Local,
    /// Our name in Via.
    pub pseudonym: Pseudonym,
    pub line: Mutex<OwnLine>,
    /// Whether `warn.held` was crossed and has been said.
    pub crowded: Mutex<bool>,
    /// What hosts' robots.txt ask for.
    pub robots: Known,
    /// What has been said once and needn't be again.
    pub named: Mutex<HashSet<String>>,
    /// What is known of clients from their requests before.
    pub remembered: Remembered,
    pub ca_file: PathBuf,
    pub no_wishes: Arc<Wishes>,
    /// `None` in ordinary service.
    pub journal: Option<Arc<Journal>>,
}

impl Flow {
    /// Teaches the scopes of an attempt at `host`, counts what they learnt, and logs a change of the
    /// rung.
    pub fn learn(&self, host: &Host, permit: &mut Permit, lesson: Lesson, now: Tick) -> Learned {
        let learned = permit.learn(&self.gate, lesson, now);
        if learned.after != learned.before {
            let scope = permit.scope();
            self.meter.follow(host, scope);
            self.meter.rung(host, learned.before, learned.after, learned.pace, lesson.class);
            if learned.after == 0 {
                self.meter.row_gone(host);
            }
            tracing::info!(
                host = host.as_str(),
                scope = (scope.as_str() != host.as_str()).then(|| scope.as_str()),
                class = lesson.class.word(),
                from = learned.before,
                rung = learned.after,
                pace = learned.pace.as_secs_f64(),
                next_slot = seconds(learned.next_slot.since(now)),
                held = learned.held,
                "rung"
            );
        }
        if let Some(until) = learned.paused_until.filter(|_| lesson.pause.is_some()) {
            let host = host.as_str();
            tracing::info!(host, wait = seconds(until.since(now)), "pause: the site asked for it");
        }
        learned
    }

    /// Whether a connect time-out is our own trouble and not the site's.
    pub fn is_our_own_trouble(&self, class: Class, host: &Host, now: Tick) -> bool {
        class == Class::ConnectTimeout && {
            let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
            let reached = line.reached;
            line.ourselves.timed_out(host.hash(), now, reached)
        }
    }

    /// Counts the client of a held CONNECT that left.
    pub fn left_connect(&self, accepted: Tick) {
        let took = self.clock.now().since(accepted);
        self.meter.client_gone(Phase::Held, took);
        self.meter.request_ended(&RequestEnd {
            host: None,
            outcome: RequestOutcome::ClientGone,
            code: None,
            source: Source::Proxy,
            took,
            attempts: 0,
            waits: &[],
        });
    }

    /// A client that says nothing of itself.
    pub fn anonymous(&self, address: IpAddr) -> Caller {
        let wishes = self.no_wishes.clone();
        let client = Client::new(address, None);
        Caller { client, weight: Weight::default(), label: None, wishes }
    }

    /// Counts how long an attempt's connection and answer took.
    pub fn timed(&self, timing: &Timing) {
        if let Some(took) = timing.connect {
            self.meter.origin_connected(took);
            let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
            line.reached = Some(self.clock.now());
        }
        if let Some(took) = timing.first_byte {
            self.meter.origin_first_byte(took);
        }
    }

    /// Names, once, a client that does not take our certificate, with the remedy.
    pub fn distrust(&self, agent: &str, host: &Host, why: &str) {
        let failure = failure(why);
        self.meter.client_tls_failure(failure);
        let refused = match failure {
            TlsFailure::UnknownCa | TlsFailure::BadCertificate | TlsFailure::Closed => true,
            TlsFailure::Timeout | TlsFailure::Protocol | TlsFailure::Other => false,
        };
        if !refused {
            let host = host.as_str();
            return tracing::info!(client = agent, host, why, "TLS with a client failed");
        }
        if self.first_time(format!("distrust {agent} {host}")) {
            let ca = &self.ca_file;
            tracing::warn!(
                client = agent,
                host = host.as_str(),
                why,
                "the client refused our certificate: let it trust {}, or start it with `pacegate \
                 run -- …`, or list the host under tls.passthrough; said once per client and host",
                ca.display()
            );
        }
    }

    /// Says once per crossing that more requests are held than `warn.held`; it counts as over when
    /// fewer than half are left.
    pub fn notice_crowd(&self, limit: usize) {
        let held = self.gate.counters().held;
        let mut crowded = self.crowded.lock().unwrap_or_else(PoisonError::into_inner);
        if *crowded && held <= limit.max(2) / 2 {
            *crowded = false;
        } else if !*crowded && held > limit {
            *crowded = true;
            tracing::warn!(
                held,
                limit,
                "more requests wait than warn.held: more clients than the sites' pace allows?"
            );
        }
    }

    /// Whether `what` has not been named in the log yet; bounded, so that nobody can fill memory
    /// with names.
    pub fn first_time(&self, what: String) -> bool {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        named.len() < NAMED && named.insert(what)
    }
}

/// rustls tells alerts apart in text only by the time they reach us.
fn failure(why: &str) -> TlsFailure {
    let why = why.to_ascii_lowercase();
    let has = |word: &str| why.contains(word);
    if has("unknownca") {
        TlsFailure::UnknownCa
    } else if has("certificate") {
        TlsFailure::BadCertificate
    } else if has("closed") || has("eof") || has("reset") {
        TlsFailure::Closed
    } else if has("alert") || has("version") || has("cipher") || has("message") {
        TlsFailure::Protocol
    } else {
        TlsFailure::Other
    }
}

const NAMED: usize = 1000;
