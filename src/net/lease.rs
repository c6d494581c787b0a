//! What is out of the pool, and finds its way back by itself: connections, streams, dials.

use crate::net::dial::Protocol;
use crate::net::http1::Http1;
use crate::net::http2::Http2;
use crate::net::pool::Inner;
use crate::net::target::Target;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Where a connection belongs.
#[derive(Clone, Debug)]
pub(super) struct Home {
    pub(super) inner: Arc<Inner>,
    pub(super) target: Target,
}

impl Home {
    /// Keeps the connection if it can serve again, else closes it.
    pub(super) fn give_back(self, mut connection: Box<Http1>) {
        if connection.settles() {
            self.inner.park(self.target, connection);
        }
    }
}

/// One stream's share of an HTTP/2 connection; given back when dropped.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) connection: Http2,
    pub(super) serial: u64,
    pub(super) home: Home,
}

impl Stream {
    /// No new streams on this connection: it did not answer in time, or is being closed.
    pub(super) fn retire(&self) {
        let mut places = self.home.inner.lock();
        if let Some(place) = places.by_target.get_mut(&self.home.target) {
            place.shared.retain(|one| one.serial != self.serial);
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let now = self.home.inner.clock.now();
        let mut places = self.home.inner.lock();
        let place = places.by_target.get_mut(&self.home.target);
        let shared = place.into_iter().flat_map(|place| &mut place.shared);
        for one in shared.filter(|one| one.serial == self.serial) {
            one.streams -= 1;
            one.since = now;
        }
    }
}

/// A dial under way. Its end is told to those who wait for what it brings; there are none unless
/// HTTP/2 is expected, and whoever dials meanwhile must not be disturbed.
#[derive(Debug)]
pub(super) struct Dialling {
    pub(super) home: Home,
}

impl Drop for Dialling {
    fn drop(&mut self) {
        let mut places = self.home.inner.lock();
        if let Some(place) = places.by_target.get_mut(&self.home.target) {
            place.dialling = place.dialling.saturating_sub(1);
            if place.speaks == Some(Protocol::Http2) {
                place.arrivals.notify_waiters();
            }
        }
    }
}

/// Counts one open connection for as long as it lives.
#[derive(Debug)]
pub struct Open(Arc<AtomicUsize>);

impl Open {
    pub(super) fn new(open: &Arc<AtomicUsize>) -> Open {
        open.fetch_add(1, Relaxed);
        Open(open.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
