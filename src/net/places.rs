//! What the pool holds, as plain data under its lock: no waiting, no closing of sockets here.

use crate::clock::Tick;
use crate::net::dial::Protocol;
use crate::net::http1::Http1;
use crate::net::http2::Http2;
use crate::net::target::Target;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use tokio::sync::Notify;

#[derive(Default)]
pub(super) struct Places {
    pub(super) by_target: HashMap<Target, Place, BuildHasherDefault<Folded>>,
    pub(super) idle: usize,
    pub(super) sweeping: bool,
    pub(super) serial: u64,
}

/// A host brings its own hash; port and scheme are folded in.
#[derive(Default)]
pub(super) struct Folded(u64);

impl Hasher for Folded {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, part: u64) {
        self.0 = (self.0.rotate_left(5) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[derive(Default)]
pub(super) struct Place {
    /// The latest used last.
    pub(super) idle: Vec<Idle>,
    pub(super) shared: Vec<Shared>,
    pub(super) speaks: Option<Protocol>,
    /// Dials under way that may bring HTTP/2.
    pub(super) dialling: usize,
    pub(super) arrivals: Arc<Notify>,
}

pub(super) struct Idle {
    pub(super) since: Tick,
    pub(super) looked: Tick,
    pub(super) connection: Box<Http1>,
}

pub(super) struct Shared {
    pub(super) serial: u64,
    pub(super) connection: Http2,
    pub(super) streams: usize,
    pub(super) since: Tick,
}

impl Places {
    pub(super) fn place(&mut self, target: Target) -> &mut Place {
        if self.by_target.len() >= MOST_TARGETS && !self.by_target.contains_key(&target) {
            self.by_target.retain(|_, place| !place.is_empty());
        }
        self.by_target.entry(target).or_default()
    }

    /// Adds an idle connection; what had to go for it comes back.
    pub(super) fn park(&mut self, target: Target, idle: Idle) -> Option<Idle> {
        let place = self.place(target);
        place.speaks.get_or_insert(Protocol::Http1);
        place.idle.push(idle);
        if place.idle.len() > MOST_IDLE_PER_TARGET {
            return Some(place.idle.remove(0));
        }
        self.idle += 1;
        None
    }

    /// Takes out the older half of what is idle: rarely, so that each parking costs little.
    pub(super) fn thin_out(&mut self) -> Vec<Idle> {
        let mut ages: Vec<Tick> =
            self.by_target.values().flat_map(|place| &place.idle).map(|idle| idle.since).collect();
        let middle = ages.len() / 2;
        let median = *ages.select_nth_unstable(middle).1;
        let mut gone = Vec::new();
        for place in self.by_target.values_mut() {
            gone.extend(place.idle.extract_if(.., |idle| idle.since <= median));
        }
        self.idle -= gone.len();
        gone
    }
}

impl Place {
    pub(super) fn is_empty(&self) -> bool {
        self.idle.is_empty() && self.shared.is_empty() && self.dialling == 0
    }
}

pub(super) const MOST_IDLE: usize = 2048;
const MOST_IDLE_PER_TARGET: usize = 128;
/// Targets whose protocol is remembered without a connection.
const MOST_TARGETS: usize = 10_000;
