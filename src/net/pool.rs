//! The connections we have to origins: idle HTTP/1.1 ones by target, HTTP/2 ones with their
//! streams counted, and what each target was found to speak.
//!
//! It must not know about requests: who takes a connection says how fresh it must be.

use crate::clock::Clock;
use crate::judge::outcome::{Fault, Sent};
use crate::net::dial::{Dialler, Protocol};
use crate::net::http1::Http1;
use crate::net::http2::Http2;
use crate::net::lease::{Dialling, Home, Open, Stream};
use crate::net::places::{Idle, MOST_IDLE, Place, Places, Shared};
use crate::net::settings::Reach;
use crate::net::target::Target;
use crate::net::tls::{ClientTls, Lenience, RootsError};
use crate::state::permit::Permit;
use rustls::pki_types::CertificateDer;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Notify;

/// Upstream connections. Clones are the same pool.
#[derive(Clone, Debug)]
pub struct Pool {
    pub(super) inner: Arc<Inner>,
}

/// How many connections there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Waiting for a request.
    pub idle: usize,
    /// Carrying at least one.
    pub busy: usize,
}

pub(super) struct Inner {
    pub(super) dialler: Dialler,
    pub(super) clock: Clock,
    pub(super) idle_timeout: Duration,
    open: Arc<AtomicUsize>,
    places: Mutex<Places>,
    unverified: Arc<AtomicU64>,
    resent: AtomicU64,
}

/// How fresh a pooled connection must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Whatever looks clean: the request can be sent again.
    Any,
    /// It was in use a moment ago: the request must not be sent twice.
    Recent,
}

/// What was taken from the pool.
#[derive(Debug)]
pub(super) enum Taken {
    Http1(Box<Http1>),
    Http2(Stream),
}

impl Pool {
    /// A pool that dials by `reach`, and never trusts a certificate with a key of `never`: our CA.
    ///
    /// # Errors
    ///
    /// The roots can't be read.
    pub fn new(
        reach: &Reach,
        never: &[CertificateDer<'static>],
        clock: Clock,
    ) -> Result<Pool, RootsError> {
        let lenience = Lenience {
            insecure: reach.insecure.clone(),
            key_log: reach.key_log,
            ..Lenience::default()
        };
        let tls = ClientTls::with(&reach.roots, never, &lenience)?;
        let inner = Arc::new_cyclic(|inner: &Weak<Inner>| {
            let pool = inner.clone();
            let make_room = move || pool.upgrade().iter().for_each(|pool| pool.close_idle());
            Inner {
                dialler: Dialler::new(reach, tls, clock.clone(), make_room),
                clock,
                idle_timeout: reach.idle_timeout,
                open: Arc::default(),
                places: Mutex::default(),
                unverified: lenience.accepted,
                resent: AtomicU64::new(0),
            }
        });
        Ok(Pool { inner })
    }

    /// A connected socket with nothing said on it: for a blind tunnel.
    ///
    /// # Errors
    ///
    /// Whatever kept it from coming about; nothing was sent.
    pub async fn dial(&self, permit: &mut Permit, to: &Target) -> Result<TcpStream, Fault> {
        permit.mark_used();
        self.inner.dialler.tcp(to).await
    }

    /// Where a target is, for who counts by address: the lowest of its addresses, however the
    /// resolver sorts them today. `None`: that can't be said within `retry.connect_timeout`.
    pub async fn place(&self, target: &Target) -> Option<IpAddr> {
        self.inner.dialler.place(target).await
    }

    /// How many connections there are now.
    pub fn counts(&self) -> Counts {
        let places = self.inner.lock();
        let unused = |place: &Place| place.shared.iter().filter(|one| one.streams == 0).count();
        let idle = places.idle + places.by_target.values().map(unused).sum::<usize>();
        let busy = self.inner.open.load(Relaxed).saturating_sub(idle);
        Counts { idle, busy }
    }

    /// How many certificates did not hold and were accepted so far (`tls.insecure`).
    pub fn unverified(&self) -> u64 {
        self.inner.unverified.load(Relaxed)
    }

    /// How many requests were sent a second time within their attempt, after a first sending that
    /// may have arrived.
    pub fn resent(&self) -> u64 {
        self.inner.resent.load(Relaxed)
    }

    /// Goes on counting where the pool before it is.
    pub fn carry_on(&self, before: &Pool) {
        self.inner.resent.fetch_max(before.resent(), Relaxed);
        self.inner.unverified.fetch_max(before.unverified(), Relaxed);
    }
}

impl Inner {
    pub(super) fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a sending that follows one that failed so. What was never sent can't arrive twice.
    pub(super) fn resends(&self, failed: &Fault) {
        if failed.sent != Sent::Nothing {
            self.resent.fetch_add(1, Relaxed);
        }
    }

    /// Closes what carries no request.
    pub(super) fn close_idle(&self) {
        let mut places = self.lock();
        let mut closed = Vec::new();
        for place in places.by_target.values_mut() {
            closed.append(&mut place.idle);
            place.shared.retain(|one| one.streams > 0);
        }
        places.idle = 0;
        drop(places);
        drop(closed);
    }

    /// A pooled connection to `target`, if there is a good one.
    pub(super) fn take(self: &Arc<Inner>, target: &Target, fresh: Freshness) -> Option<Taken> {
        if let Some(stream) = self.take_stream(target) {
            return Some(Taken::Http2(stream));
        }
        let most = match fresh {
            Freshness::Any => IDLE_AGE,
            Freshness::Recent => RECENT,
        };
        loop {
            let idle = self.pop(target)?;
            let mut connection = idle.connection;
            let age = self.clock.now().since(idle.since);
            if age < most && connection.is_clean() {
                return Some(Taken::Http1(connection));
            }
            // What is under it is older still, but may serve a request that can be repeated.
            if age >= most && fresh == Freshness::Recent {
                self.put_back(target, Idle { connection, ..idle });
                return None;
            }
        }
    }

    fn pop(&self, target: &Target) -> Option<Idle> {
        let mut places = self.lock();
        let idle = places.by_target.get_mut(target)?.idle.pop()?;
        places.idle -= 1;
        Some(idle)
    }

    fn put_back(&self, target: &Target, idle: Idle) {
        let evicted = self.lock().park(target.clone(), idle);
        drop(evicted);
    }

    /// A stream on an HTTP/2 connection that has room for one.
    pub(super) fn take_stream(self: &Arc<Inner>, target: &Target) -> Option<Stream> {
        if !target.secure {
            return None;
        }
        let mut places = self.lock();
        let place = places.by_target.get_mut(target)?;
        place.shared.retain(|one| !one.connection.is_closed());
        let one =
            place.shared.iter_mut().find(|one| one.streams < one.connection.most_streams())?;
        one.streams += 1;
        let (serial, connection) = (one.serial, one.connection.clone());
        let home = Home { inner: self.clone(), target: target.clone() };
        Some(Stream { connection, serial, home })
    }

    /// Keeps a connection that has just served.
    pub(super) fn park(self: &Arc<Inner>, target: Target, connection: Box<Http1>) {
        let now = self.clock.now();
        let mut places = self.lock();
        let thinned = if places.idle >= MOST_IDLE { places.thin_out() } else { Vec::new() };
        let evicted = places.park(target, Idle { since: now, looked: now, connection });
        self.start_sweeping(&mut places);
        drop(places);
        // Closing sockets is work: not under the lock.
        drop((thinned, evicted));
    }

    /// Shares a new HTTP/2 connection, and takes its first stream.
    pub(super) fn share(self: &Arc<Inner>, target: &Target, connection: Http2) -> Stream {
        let mut places = self.lock();
        places.serial += 1;
        let serial = places.serial;
        let since = self.clock.now();
        let place = places.place(target.clone());
        place.speaks = Some(Protocol::Http2);
        place.shared.push(Shared { serial, connection: connection.clone(), streams: 1, since });
        place.arrivals.notify_waiters();
        self.start_sweeping(&mut places);
        drop(places);
        let home = Home { inner: self.clone(), target: target.clone() };
        Stream { connection, serial, home }
    }

    /// Remembers what `target` speaks.
    pub(super) fn learn(&self, target: &Target, protocol: Protocol) {
        self.lock().place(target.clone()).speaks = Some(protocol);
    }

    /// Tells when a connection to share arrives, or a dial ends without one.
    pub(super) fn arrivals(&self, target: &Target) -> Arc<Notify> {
        self.lock().place(target.clone()).arrivals.clone()
    }

    /// Announces a dial that may bring HTTP/2. `None`: one is under way that will, and is enough
    /// for all.
    pub(super) fn announce(self: &Arc<Inner>, target: &Target) -> Option<Dialling> {
        let mut places = self.lock();
        let place = places.place(target.clone());
        if place.speaks == Some(Protocol::Http2) && place.dialling > 0 {
            return None;
        }
        place.dialling += 1;
        drop(places);
        Some(Dialling { home: Home { inner: self.clone(), target: target.clone() } })
    }

    /// One more open connection.
    pub(super) fn open(&self) -> Open {
        Open::new(&self.open)
    }

    fn start_sweeping(self: &Arc<Inner>, places: &mut Places) {
        if !places.sweeping {
            places.sweeping = true;
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }

    /// Closes what is too old or was closed by its origin; false when nothing is left to watch.
    fn sweep(&self) -> bool {
        let now = self.clock.now();
        let mut suspects = Vec::new();
        let mut places = self.lock();
        let mut taken = 0;
        for (target, place) in &mut places.by_target {
            let due = place.idle.partition_point(|idle| now.since(idle.looked) >= SWEEP);
            taken += due;
            suspects.extend(place.idle.drain(..due).map(|idle| (target.clone(), idle)));
            place.shared.retain(|one| {
                one.streams > 0 || (now.since(one.since) < IDLE_AGE && !one.connection.is_closed())
            });
        }
        places.idle -= taken;
        drop(places);
        suspects.retain_mut(|(_, idle)| {
            idle.looked = now;
            now.since(idle.since) < IDLE_AGE && idle.connection.is_clean()
        });
        let mut places = self.lock();
        places.idle += suspects.len();
        for (target, idle) in suspects.into_iter().rev() {
            places.place(target).idle.insert(0, idle);
        }
        let shared = places.by_target.values().any(|place| !place.shared.is_empty());
        places.sweeping = places.idle > 0 || shared;
        places.sweeping
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pool")
    }
}

async fn sweep(pool: Weak<Inner>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        match pool.upgrade() {
            Some(pool) if pool.sweep() => {}
            Some(_) | None => return,
        }
    }
}

/// Most servers close an idle connection after 5 to 75 s; what they have closed is found by a look.
const IDLE_AGE: Duration = Duration::from_secs(90);
/// A connection used so recently is not being closed for idleness by any server (hyper.md 0).
const RECENT: Duration = Duration::from_secs(1);
const SWEEP: Duration = Duration::from_secs(5);
