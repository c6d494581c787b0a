//! What is counted for one host: its series, looked up once, and its holds.

use crate::clock::Tick;
use crate::judge::verdict::Class;
use crate::metrics::labels::{Direction, Reason, RequestOutcome, Waits};
use crate::metrics::table::Register;
use crate::metrics::total::Slowest;
use crate::pace::scope::Scope;
use prometheus::{CounterVec, GaugeVec, IntCounter, IntCounterVec, IntGaugeVec};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// What is counted for one value of the host label.
pub struct HostMeter {
    label: Arc<str>,
    requests: Vec<IntCounter>,
    attempts: [OnceLock<IntCounter>; Class::ALL.len()],
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many are held now, and what those before them waited.
    held: u64,
    waited: Waits,
    row: bool,
    /// Whose row that is, if not the host's own.
    scope: Option<Scope>,
    /// The highest rung, the climbs by cause, the longest hold that has ended.
    highest: u8,
    climbs: [u64; Class::ALL.len()],
    longest: Duration,
    /// The last look at its counters, and since when they have stood still.
    seen: u64,
    still_since: Option<Tick>,
}

impl HostMeter {
    pub fn new(label: Arc<str>, families: &HostFamilies) -> HostMeter {
        let request = |outcome: &RequestOutcome| {
            families.requests.with_label_values(&[&*label, outcome.word()])
        };
        HostMeter {
            requests: RequestOutcome::ALL.iter().map(request).collect(),
            attempts: std::array::from_fn(|_| OnceLock::new()),
            state: Mutex::default(),
            label,
        }
    }

    /// Whether this is the value that the hosts without one share.
    pub fn is_other(&self) -> bool {
        &*self.label == OTHER
    }

    /// The value of the label.
    pub fn label(&self) -> &str {
        &self.label
    }

    pub fn request(&self, outcome: RequestOutcome) {
        self.requests[outcome as usize].inc();
    }

    pub fn attempt(&self, class: Class, families: &HostFamilies) {
        let resolve = || families.attempts.with_label_values(&[&*self.label, class.word()]);
        self.attempts[class as usize].get_or_init(resolve).inc();
    }

    /// Remembers whether the host has a row.
    pub fn set_row(&self, row: bool) {
        self.state().row = row;
    }

    /// Whether the host had a row when that was last seen.
    pub fn has_row(&self) -> bool {
        self.state().row
    }

    /// From now on the rung shown is that of a scope.
    pub fn follow(&self, scope: &Scope) {
        self.state().scope = (scope.as_str() != &*self.label).then(|| scope.clone());
    }

    /// Finds a row by the name of the scope whose rung is shown.
    pub fn row_in<T: Copy>(&self, rows: &HashMap<&str, T>) -> Option<T> {
        let state = self.state();
        rows.get(state.scope.as_ref().map_or(&*self.label, Scope::as_str)).copied()
    }

    /// Shows a rung and its pace.
    pub fn show(&self, (rung, pace): (u8, Duration), families: &HostFamilies) {
        families.rung.with_label_values(&[&*self.label]).set(i64::from(rung));
        families.delay.with_label_values(&[&*self.label]).set(pace.as_secs_f64());
    }

    /// Remembers a climb.
    pub fn climbed(&self, rung: u8, class: Class) {
        let mut state = self.state();
        state.highest = state.highest.max(rung);
        state.climbs[class as usize] += 1;
    }

    /// All the waiting that is over, and what there is to say of it.
    pub fn waiting(&self, top: u8) -> (Duration, Slowest) {
        let state = self.state();
        let cause = Class::ALL.iter().max_by_key(|class| state.climbs[**class as usize]);
        let cause = cause.map(|class| (*class, state.climbs[*class as usize]));
        let slowest = Slowest {
            host: self.label.to_string(),
            rung: state.highest,
            top,
            cause: cause.filter(|(_, climbs)| *climbs > 0),
            longest_wait: state.longest,
        };
        (state.waited.iter().sum(), slowest)
    }

    fn began(&self) {
        self.state().held += 1;
    }

    fn ended(&self, waited: &Waits) {
        let mut state = self.state();
        state.held -= 1;
        state.longest = state.longest.max(waited.iter().sum());
        for (sum, wait) in state.waited.iter_mut().zip(waited) {
            *sum += *wait;
        }
    }

    /// How many are held, and the waiting that is over.
    pub fn holds(&self) -> (u64, Waits) {
        let state = self.state();
        (state.held, state.waited)
    }

    /// Brings the families that follow the holds up to date.
    pub fn export(&self, held: u64, total: &Waits, families: &HostFamilies) {
        let waited = Reason::ALL.iter().filter(|reason| !total[**reason as usize].is_zero());
        for reason in waited {
            let total = total[*reason as usize].as_secs_f64();
            let counter = families.waits.with_label_values(&[&*self.label, reason.word()]);
            counter.inc_by((total - counter.get()).max(0.0));
        }
        if held > 0 || total.iter().any(|wait| !wait.is_zero()) {
            families.held.with_label_values(&[&*self.label]).set(held as i64);
        }
    }

    /// Whether nothing has been counted here for [`IDLE`], as far as looks at it can tell.
    pub fn is_idle(&self, now: Tick) -> bool {
        let requests: u64 = self.requests.iter().map(IntCounter::get).sum();
        let attempts: u64 =
            self.attempts.iter().filter_map(OnceLock::get).map(IntCounter::get).sum();
        let counted = requests + attempts;
        let mut state = self.state();
        let busy = state.row || state.held > 0;
        if busy || counted != state.seen || state.still_since.is_none() {
            state.seen = counted;
            state.still_since = Some(now);
        }
        state.still_since.is_some_and(|since| now.since(since) >= IDLE)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A hold that is being counted: its host keeps its label. Dropped without a word, what it waited
/// is lost.
#[must_use]
pub struct HoldMark {
    host: Arc<HostMeter>,
    open: bool,
}

impl HoldMark {
    pub fn new(host: Arc<HostMeter>) -> HoldMark {
        host.began();
        HoldMark { host, open: true }
    }

    pub fn end(mut self, waited: &Waits) {
        self.open = false;
        self.host.ended(waited);
    }
}

impl Drop for HoldMark {
    fn drop(&mut self) {
        if self.open {
            self.host.ended(&Waits::default());
        }
    }
}

/// The families with a host label.
#[derive(Clone)]
pub struct HostFamilies {
    pub requests: IntCounterVec,
    pub attempts: IntCounterVec,
    pub retries: IntCounterVec,
    pub exhausted: IntCounterVec,
    pub waits: CounterVec,
    pub rung: IntGaugeVec,
    pub delay: GaugeVec,
    pub changes: IntCounterVec,
    pub held: IntGaugeVec,
}

impl HostFamilies {
    pub fn new(register: &Register) -> HostFamilies {
        HostFamilies {
            requests: register.counters("requests_total"),
            attempts: register.counters("attempts_total"),
            retries: register.counters("retries_total"),
            exhausted: register.counters("window_exhausted_total"),
            waits: register.seconds_counters("host_wait_seconds_total"),
            rung: register.gauges("host_rung"),
            delay: register.seconds_gauges("host_delay_seconds"),
            changes: register.counters("rung_changes_total"),
            held: register.gauges("host_held_requests"),
        }
    }

    /// Removes every series of a host. Most never existed: that is no error.
    pub fn forget(&self, host: &str) {
        for outcome in RequestOutcome::ALL {
            let _ = self.requests.remove_label_values(&[host, outcome.word()]);
        }
        for class in Class::ALL {
            let class = class.word();
            for family in [&self.attempts, &self.retries, &self.exhausted] {
                let _ = family.remove_label_values(&[host, class]);
            }
            for direction in Direction::ALL {
                let _ = self.changes.remove_label_values(&[host, direction.word(), class]);
            }
        }
        for reason in Reason::ALL {
            let _ = self.waits.remove_label_values(&[host, reason.word()]);
        }
        let _ = self.rung.remove_label_values(&[host]);
        let _ = self.delay.remove_label_values(&[host]);
        let _ = self.held.remove_label_values(&[host]);
    }
}

/// The label value that hosts without one of their own share.
pub const OTHER: &str = "_other";
/// After so long without anything counted a label is free again (operations 3.1).
const IDLE: Duration = Duration::from_secs(3600);
