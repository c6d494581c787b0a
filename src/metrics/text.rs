//! The look at the meter: what others keep is brought in, and all of it is written in Prometheus's
//! text format.

use crate::clock::Tick;
use crate::metrics::given::{GivenHistogram, Spread};
use crate::metrics::labels::Waits;
use crate::metrics::meter::Meter;
use crate::metrics::table::Register;
use crate::pace::rules::Ladder;
use crate::pace::scope::{Host, Scope};
use prometheus::{
    Encoder, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry, TextEncoder,
};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// What other rooms count themselves, as it is at a scrape. Counters are totals since the start.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    pub grants: u64,
    pub wakeups: u64,
    /// Scopes with a row.
    pub rows: u64,
    /// The same, by rung from 0.
    pub rows_by_rung: Vec<u64>,
    /// The rung and pace of every row, which time alone may change. `None`: not known.
    pub paces: Option<Vec<(Scope, u8, Duration)>>,
    pub held: u64,
    /// How long after the moment they were due held requests started.
    pub lateness: Spread,
    /// What the requests held now have waited so far, by host.
    pub waiting: Vec<(Host, Waits)>,
    /// How long the longest-held request has waited.
    pub oldest_held: Option<Duration>,
    pub evictions: Evictions,
    pub idle_connections: u64,
    pub busy_connections: u64,
    /// Requests sent a second time within an attempt.
    pub resent: u64,
    /// Certificates accepted that did not hold.
    pub unverified: u64,
    /// Leaf certificates minted.
    pub leaves: u64,
    /// `None`: there is no CA.
    pub ca_expiry: Option<SystemTime>,
    pub reload: Reload,
}

/// How reading the configuration went last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reload {
    pub successful: bool,
    /// When it was read successfully last.
    pub at: SystemTime,
}

impl Default for Reload {
    fn default() -> Reload {
        Reload { successful: true, at: SystemTime::UNIX_EPOCH }
    }
}

/// Rows that went, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evictions {
    /// On rung 0, with nobody waiting.
    pub quiet: u64,
    /// Nobody had asked for them for long.
    pub idle: u64,
    /// They kept nobody any more, and their place was wanted.
    pub full: u64,
}

/// The content type of [`Meter::text`].
pub const CONTENT_TYPE: &str = prometheus::TEXT_FORMAT;

impl Meter {
    /// Everything, in Prometheus's text format. The `gauges` are looked at in its course.
    pub fn text(&self, now: Tick, gauges: impl FnOnce() -> Gauges) -> String {
        let scrape = &self.inner.scrape;
        // One at a time: totals are brought up by differences.
        let turn = scrape.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.inner.hosts.sweep(now);
        let over = self.inner.hosts.holds();
        let gauges = gauges();
        self.inner.hosts.export(over, &gauges.waiting);
        if let Some(paces) = &gauges.paces {
            self.inner.hosts.follow(paces);
        }
        scrape.bring_in(&gauges);
        let families = scrape.registry.gather();
        drop(turn);
        let mut text = Vec::with_capacity(TEXT_BYTES);
        let written = TextEncoder::new().encode(&families, &mut text);
        written.expect("writing families of the table to memory does not fail");
        String::from_utf8(text).expect("the text format is UTF-8")
    }
}

/// The families that follow [`Gauges`].
pub(crate) struct Scrape {
    registry: Registry,
    turn: Mutex<()>,
    grants: IntCounter,
    wakeups: IntCounter,
    scopes: IntGauge,
    hosts: IntGaugeVec,
    held: IntGauge,
    oldest_held: prometheus::GaugeVec,
    quiet: IntCounter,
    idle: IntCounter,
    full: IntCounter,
    lateness: GivenHistogram,
    connections: IntGaugeVec,
    resent: IntCounter,
    unverified: IntCounter,
    leaves: IntCounter,
    ca_expiry: IntGaugeVec,
    reload_successful: IntGauge,
    reload_at: IntGauge,
}

impl Scrape {
    pub(crate) fn new(register: Register, ladder: &Ladder) -> Scrape {
        let evictions: IntCounterVec = register.counters("evictions_total");
        let hosts = register.gauges("hosts");
        for rung in 0..=ladder.top() {
            hosts.with_label_values(&[rung.to_string()]);
        }
        register.gauges("build_info").with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        #[cfg(target_os = "linux")]
        register
            .registry
            .register(Box::new(prometheus::process_collector::ProcessCollector::for_self()))
            .expect("the process families have names of their own");
        Scrape {
            grants: register.counter("grants_total"),
            wakeups: register.counter("wakeups_total"),
            scopes: register.gauge("scopes"),
            held: register.gauge("held_requests"),
            oldest_held: register.seconds_gauges("oldest_held_seconds"),
            idle: evictions.with_label_values(&["idle"]),
            quiet: evictions.with_label_values(&["quiet"]),
            full: evictions.with_label_values(&["full"]),
            lateness: register.keep(GivenHistogram::new("start_error_seconds")),
            connections: register.gauges("origin_connections"),
            resent: register.counter("origin_resends_total"),
            unverified: register.counter("origin_unverified_total"),
            leaves: register.counter("leaf_certificates_issued_total"),
            ca_expiry: register.gauges("ca_expiry_timestamp_seconds"),
            reload_successful: register.gauge("config_last_reload_successful"),
            reload_at: register.gauge("config_last_reload_success_timestamp_seconds"),
            registry: register.registry,
            turn: Mutex::new(()),
            hosts,
        }
    }

    fn bring_in(&self, gauges: &Gauges) {
        advance(&self.grants, gauges.grants);
        advance(&self.wakeups, gauges.wakeups);
        advance(&self.idle, gauges.evictions.idle);
        advance(&self.quiet, gauges.evictions.quiet);
        advance(&self.full, gauges.evictions.full);
        self.lateness.set(gauges.lateness.clone());
        advance(&self.leaves, gauges.leaves);
        advance(&self.resent, gauges.resent);
        advance(&self.unverified, gauges.unverified);
        self.scopes.set(gauges.rows as i64);
        self.held.set(gauges.held as i64);
        let oldest = gauges.oldest_held.unwrap_or_default().as_secs_f64();
        self.oldest_held.with_label_values(NO_LABELS).set(oldest);
        self.connections.with_label_values(&["idle"]).set(gauges.idle_connections as i64);
        self.connections.with_label_values(&["busy"]).set(gauges.busy_connections as i64);
        for (rung, rows) in gauges.rows_by_rung.iter().enumerate() {
            self.hosts.with_label_values(&[rung.to_string()]).set(*rows as i64);
        }
        let epoch = |moment: SystemTime| moment.duration_since(SystemTime::UNIX_EPOCH).ok();
        if let Some(expiry) = gauges.ca_expiry.and_then(epoch) {
            self.ca_expiry.with_label_values(NO_LABELS).set(expiry.as_secs() as i64);
        }
        self.reload_successful.set(i64::from(gauges.reload.successful));
        self.reload_at.set(epoch(gauges.reload.at).map_or(0, |at| at.as_secs() as i64));
    }
}

/// A total only grows: one that fell (its room was replaced) is kept where it was.
fn advance(counter: &IntCounter, total: u64) {
    counter.inc_by(total.saturating_sub(counter.get()));
}

const NO_LABELS: &[&str] = &[];

/// Room for a few hosts.
const TEXT_BYTES: usize = 32 * 1024;
