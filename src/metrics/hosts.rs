//! Which hosts have a label of their own.
//!
//! First come, first served, and never a top list: counters that come and go break `rate()`. At
//! most `limit` values, a quarter of them kept for hosts with a row; a host idle for an hour frees
//! its value and takes its series along; the rest is `_other` (operations 3.1).

use crate::clock::Tick;
use crate::metrics::host::{HostFamilies, HostMeter, OTHER};
use crate::metrics::labels::Waits;
use crate::metrics::total::Slowest;
use crate::pace::scope::{Host, Scope};
use dashmap::DashMap;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Every value of the host label.
pub struct Hosts {
    labelled: DashMap<Host, Arc<HostMeter>, BuildHasherDefault<Prehashed>>,
    /// How many of them there are: guards coming and going.
    used: Mutex<usize>,
    other: Arc<HostMeter>,
    nowhere: Arc<HostMeter>,
    limit: usize,
    pub families: HostFamilies,
}

impl Hosts {
    pub fn new(families: HostFamilies, limit: usize) -> Hosts {
        let meter = |label: &str| HostMeter::new(label.into(), &families);
        Hosts {
            labelled: DashMap::default(),
            used: Mutex::new(0),
            other: Arc::new(meter(OTHER)),
            nowhere: Arc::new(meter(NOWHERE)),
            limit,
            families,
        }
    }

    /// Counts something for a host, under its own label if it has one or gets one.
    pub fn with<T>(&self, host: &Host, need: Need, count: impl FnOnce(&HostMeter) -> T) -> T {
        if let Some(meter) = self.labelled.get(host) {
            return count(&meter);
        }
        count(&self.admitted(host, need))
    }

    /// The same, to be kept for a while: it keeps its label for as long.
    pub fn meter(&self, host: &Host, need: Need) -> Arc<HostMeter> {
        self.known(host).unwrap_or_else(|| self.admitted(host, need))
    }

    /// A host that has a label already.
    pub fn known(&self, host: &Host) -> Option<Arc<HostMeter>> {
        self.labelled.get(host).map(|meter| meter.clone())
    }

    /// For what happened before a host was known.
    pub fn nowhere(&self) -> &HostMeter {
        &self.nowhere
    }

    fn admitted(&self, host: &Host, need: Need) -> Arc<HostMeter> {
        // These read as host names: a request for one must not take over the shared series.
        if [OTHER, NOWHERE].contains(&host.as_str()) {
            return self.other.clone();
        }
        let room = match need {
            Need::Row => self.limit,
            Need::Traffic => self.limit - self.limit / KEPT_FOR_ROWS,
        };
        let mut used = self.used();
        if *used >= room {
            return self.other.clone();
        }
        // Somebody else may have been quicker.
        let fresh = || {
            *used += 1;
            Arc::new(HostMeter::new(host.as_str().into(), &self.families))
        };
        self.labelled.entry(host.clone()).or_insert_with(fresh).clone()
    }

    /// Frees the labels of hosts that have been idle for an hour.
    pub fn sweep(&self, now: Tick) {
        let mut used = self.used();
        self.labelled.retain(|_, meter| {
            let stays = Arc::strong_count(meter) > 1 || !meter.is_idle(now);
            if !stays {
                self.families.forget(meter.label());
                *used -= 1;
            }
            stays
        });
    }

    /// The host that was waited for longest, if any was; `_other` is none.
    pub fn slowest(&self, top: u8) -> Option<Slowest> {
        let waiting = self.labelled.iter().map(|entry| entry.value().waiting(top));
        let longest = waiting.max_by_key(|(waited, _)| *waited);
        longest.filter(|(waited, _)| !waited.is_zero()).map(|(_, slowest)| slowest)
    }

    /// What is held, and the waiting that is over: of every label, the one that others share last.
    pub fn holds(&self) -> Vec<(Arc<HostMeter>, u64, Waits)> {
        let labelled = self.labelled.iter().map(|entry| entry.value().clone());
        let every = labelled.chain([self.other.clone()]);
        every.map(|meter| (meter.clone(), meter.holds())).map(|(m, (n, w))| (m, n, w)).collect()
    }

    /// Brings the families that follow the holds up to date: those that were over, and those that
    /// were still on a moment later. (The other way round one might be counted twice.)
    pub fn export(&self, over: Vec<(Arc<HostMeter>, u64, Waits)>, on: &[(Host, Waits)]) {
        let mut open: HashMap<String, Waits> = HashMap::new();
        for (host, waits) in on {
            let label = self.known(host).map_or(OTHER.to_owned(), |meter| meter.label().to_owned());
            let sums = open.entry(label).or_default();
            sums.iter_mut().zip(waits).for_each(|(sum, wait)| *sum += *wait);
        }
        for (meter, held, mut total) in over {
            if let Some(waits) = open.get(meter.label()) {
                total.iter_mut().zip(waits).for_each(|(sum, wait)| *sum += *wait);
            }
            meter.export(held, &total, &self.families);
        }
    }

    /// Brings rungs and paces up to date: no lesson is learnt when time takes a step back.
    pub fn follow(&self, paces: &[(Scope, u8, Duration)]) {
        let rows: HashMap<&str, (u8, Duration)> =
            paces.iter().map(|(scope, rung, pace)| (scope.as_str(), (*rung, *pace))).collect();
        let meters = self.labelled.iter().map(|entry| entry.value().clone());
        for meter in meters.filter(|meter| meter.has_row()) {
            let row = meter.row_in(&rows);
            meter.set_row(row.is_some());
            meter.show(row.unwrap_or_default(), &self.families);
        }
    }

    fn used(&self) -> MutexGuard<'_, usize> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a host wants a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Requests go there.
    Traffic,
    /// It has a row.
    Row,
}

/// A [`Host`] knows its hash.
#[derive(Default)]
pub struct Prehashed(u64);

impl Hasher for Prehashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// What happened before a host was known.
const NOWHERE: &str = "_none";
/// One label of so many is kept for hosts with a row (operations 3.1).
const KEPT_FOR_ROWS: usize = 4;
