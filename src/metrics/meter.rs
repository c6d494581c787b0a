//! The meter: one method for each event. Cheap on the path of a healthy request.

use crate::clock::Tick;
use crate::judge::verdict::Class;
use crate::metrics::host::{HoldMark, HostFamilies};
use crate::metrics::hosts::{Hosts, Need};
use crate::metrics::labels::{
    Direction, Final, Flow, KINDS, Phase, Reason, RequestOutcome, Source, TlsFailure, TunnelMode,
    Waits,
};
use crate::metrics::series::{
    ATTEMPTS, LONG, Responses, SHORT, hints, resolved, started, wait_buckets, words,
};
use crate::metrics::table::{FAMILIES, Kind, PREFIX, Register};
use crate::metrics::text::Scrape;
use crate::pace::rules::Ladder;
use crate::pace::scope::{Host, Scope};
use http::StatusCode;
use prometheus::{Histogram, IntCounter, IntCounterVec, IntGauge};
use std::sync::Arc;
use std::time::Duration;

/// Counts what happens. Cloning is cheap; clones count together.
#[derive(Clone)]
pub struct Meter {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) hosts: Hosts,
    pub(crate) scrape: Scrape,
    /// Repeats at all hosts: those of a host go with its label.
    pub(crate) repeats: IntCounter,
    /// The ladder's highest rung.
    pub(crate) top: u8,
    in_flight: IntGauge,
    responses: Responses,
    durations: Vec<Histogram>,
    attempts: Histogram,
    waits: Vec<Histogram>,
    early: IntCounterVec,
    gone: IntCounterVec,
    patience: Histogram,
    hints: IntCounterVec,
    tunnels: IntCounterVec,
    tls_failures: IntCounterVec,
    connects: Histogram,
    first_bytes: Histogram,
    /// Sent discarded, sent final, received discarded, received final.
    bytes: [IntCounter; 4],
    rule_failures: IntCounter,
    overflow: IntCounter,
}

/// How a request ended.
#[derive(Clone, Copy, Debug)]
pub struct RequestEnd<'a> {
    /// `None`: it ended before a host was known.
    pub host: Option<&'a Host>,
    pub outcome: RequestOutcome,
    /// `None`: no answer was sent.
    pub code: Option<StatusCode>,
    pub source: Source,
    /// Head read to last byte, waits included.
    pub took: Duration,
    pub attempts: u32,
    /// All its waiting, one entry a reason.
    pub waits: &'a [(Reason, Duration)],
}

/// A request that has begun and not ended: counted in flight until dropped.
#[must_use]
pub struct InFlight(IntGauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Inner {
    /// Requests that came to this, whatever their host.
    pub(crate) fn ended(&self, outcome: RequestOutcome) -> u64 {
        self.durations[outcome as usize].get_sample_count()
    }

    /// Tunnels that were copied unread.
    pub(crate) fn unread(&self) -> u64 {
        let modes = [TunnelMode::Passthrough, TunnelMode::Opaque];
        modes.iter().map(|mode| self.tunnels.with_label_values(&[mode.word()]).get()).sum()
    }

    /// What requests that have ended waited for this.
    pub(crate) fn waited(&self, reason: Reason) -> Duration {
        let seconds = self.waits[reason as usize].get_sample_sum();
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    }
}

impl Meter {
    /// A meter with at most `host_limit` host labels; waits fall into buckets at the paces of
    /// `ladder`.
    pub fn new(host_limit: usize, ladder: &Ladder) -> Meter {
        let register = Register::default();
        let durations = register.histograms("request_duration_seconds", &LONG);
        let waits = register.histograms("wait_seconds", &wait_buckets(ladder));
        let bytes = register.counters("transferred_bytes_total");
        let byte = |flow: Flow, last: Final| bytes.with_label_values(&[flow.word(), last.word()]);
        let inner = Inner {
            hosts: Hosts::new(HostFamilies::new(&register), host_limit),
            repeats: register.unshown_counter(),
            top: ladder.top(),
            in_flight: register.gauge("requests_in_flight"),
            responses: Responses::new(register.counters("responses_total")),
            durations: resolved(&durations, RequestOutcome::ALL, RequestOutcome::word),
            attempts: register.histogram("attempts_per_request", &ATTEMPTS),
            waits: resolved(&waits, Reason::ALL, Reason::word),
            early: started(register.counters("early_answers_total"), KINDS),
            gone: started(register.counters("client_gone_total"), words(Phase::ALL, Phase::word)),
            patience: register.histogram("client_patience_seconds", &LONG),
            hints: hints(register.counters("hints_total")),
            tunnels: started(
                register.counters("client_tunnels_total"),
                words(TunnelMode::ALL, TunnelMode::word),
            ),
            tls_failures: started(
                register.counters("client_tls_failures_total"),
                words(TlsFailure::ALL, TlsFailure::word),
            ),
            connects: register.histogram("origin_connect_seconds", &SHORT),
            first_bytes: register.histogram("origin_first_byte_seconds", &LONG),
            bytes: [
                byte(Flow::Sent, Final::No),
                byte(Flow::Sent, Final::Yes),
                byte(Flow::Received, Final::No),
                byte(Flow::Received, Final::Yes),
            ],
            rule_failures: register.counter("rule_failures_total"),
            overflow: register.counter("host_label_overflow_total"),
            scrape: Scrape::new(register, ladder),
        };
        Meter { inner: Arc::new(inner) }
    }

    /// Every family: name with prefix, type, labels, help. What documents are held to.
    pub fn table() -> Vec<(String, &'static str, &'static [&'static str], &'static str)> {
        let row =
            |name, kind: Kind, labels, help| (format!("{PREFIX}{name}"), kind.word(), labels, help);
        FAMILIES.iter().map(|it| row(it.name, it.kind, it.labels, it.help)).collect()
    }

    /// A request's head has been read. Keep the mark until its last byte.
    pub fn request_began(&self) -> InFlight {
        self.inner.in_flight.inc();
        InFlight(self.inner.in_flight.clone())
    }

    /// A request has ended, one way or another.
    pub fn request_ended(&self, end: &RequestEnd<'_>) {
        let inner = &*self.inner;
        match end.host {
            Some(host) => inner.hosts.with(host, Need::Traffic, |meter| {
                meter.request(end.outcome);
                if meter.is_other() {
                    inner.overflow.inc();
                }
            }),
            None => inner.hosts.nowhere().request(end.outcome),
        }
        if let Some(code) = end.code {
            inner.responses.count(code, end.source);
        }
        inner.durations[end.outcome as usize].observe(end.took.as_secs_f64());
        inner.attempts.observe(f64::from(end.attempts));
        for (reason, wait) in end.waits.iter().filter(|(_, wait)| !wait.is_zero()) {
            inner.waits[*reason as usize].observe(wait.as_secs_f64());
        }
    }

    /// An attempt has ended.
    pub fn attempt(&self, host: &Host, class: Class) {
        let hosts = &self.inner.hosts;
        hosts.with(host, Need::Traffic, |meter| meter.attempt(class, &hosts.families));
    }

    /// A request goes round again, because its attempt was classed so.
    pub fn retry(&self, host: &Host, class: Class) {
        self.inner.repeats.inc();
        let hosts = &self.inner.hosts;
        hosts.with(host, Need::Traffic, |meter| {
            hosts.families.retries.with_label_values(&[meter.label(), class.word()]).inc();
        });
    }

    /// A request's window ended; `class` is what its last attempt was.
    pub fn window_exhausted(&self, host: &Host, class: Class) {
        let hosts = &self.inner.hosts;
        hosts.with(host, Need::Traffic, |meter| {
            hosts.families.exhausted.with_label_values(&[meter.label(), class.word()]).inc();
        });
    }

    /// A request begins to wait. Until the mark is ended, what it waits comes with each scrape
    /// ([`Gauges::waiting`](crate::metrics::text::Gauges)).
    pub fn hold_began(&self, host: &Host) -> HoldMark {
        HoldMark::new(self.inner.hosts.meter(host, Need::Row))
    }

    /// It waits no more, and has waited so much.
    pub fn hold_ended(&self, mark: HoldMark, waited: &Waits) {
        mark.end(waited);
    }

    /// A host's rung is now `after`, with `pace` between starts, because of `class`.
    pub fn rung(&self, host: &Host, before: u8, after: u8, pace: Duration, class: Class) {
        let Hosts { families, .. } = &self.inner.hosts;
        let meter = self.inner.hosts.meter(host, Need::Row);
        let direction = match after.cmp(&before) {
            std::cmp::Ordering::Greater => Some(Direction::Up),
            std::cmp::Ordering::Less => Some(Direction::Down),
            std::cmp::Ordering::Equal => None,
        };
        if let Some(direction) = direction {
            let labels = [meter.label(), direction.word(), class.word()];
            families.changes.with_label_values(&labels).inc();
        }
        if direction == Some(Direction::Up) {
            meter.climbed(after, class);
        }
        // Many hosts share `_other`: a rung of it would mean nothing.
        if !meter.is_other() {
            meter.set_row(true);
            meter.show((after, pace), families);
        }
    }

    /// From now on a host shows the rung of a scope that it shares with others.
    pub fn follow(&self, host: &Host, scope: &Scope) {
        let meter = self.inner.hosts.meter(host, Need::Row);
        if !meter.is_other() {
            meter.follow(scope);
        }
    }

    /// A host's row has gone: it shows rung 0 until its label is freed.
    pub fn row_gone(&self, host: &Host) {
        let Hosts { families, .. } = &self.inner.hosts;
        if let Some(meter) = self.inner.hosts.known(host) {
            meter.set_row(false);
            meter.show((0, Duration::ZERO), families);
        }
    }

    /// An answer of our own, instead of the origin's; `kind` as in spec section 9.
    pub fn early_answer(&self, kind: &'static str) {
        self.inner.early.with_label_values(&[kind]).inc();
    }

    /// A client left, `patience` after its request was read.
    pub fn client_gone(&self, phase: Phase, patience: Duration) {
        self.inner.gone.with_label_values(&[phase.word()]).inc();
        self.inner.patience.observe(patience.as_secs_f64());
    }

    /// A server named a wait in `header`; `result` is what reading it came to (`signals.md`).
    pub fn hint(&self, header: &'static str, result: &'static str) {
        self.inner.hints.with_label_values(&[header, result]).inc();
    }

    /// A rule did not apply, for an expression of it came to nothing.
    pub fn rule_failed(&self) {
        self.inner.rule_failures.inc();
    }

    /// A CONNECT has been decided.
    pub fn tunnel(&self, mode: TunnelMode) {
        self.inner.tunnels.with_label_values(&[mode.word()]).inc();
    }

    /// A client's TLS with us failed.
    pub fn client_tls_failure(&self, reason: TlsFailure) {
        self.inner.tls_failures.with_label_values(&[reason.word()]).inc();
    }

    /// A connection to an origin was set up, TLS included.
    pub fn origin_connected(&self, took: Duration) {
        self.inner.connects.observe(took.as_secs_f64());
    }

    /// An answer's head arrived, so long after the attempt's start.
    pub fn origin_first_byte(&self, took: Duration) {
        self.inner.first_bytes.observe(took.as_secs_f64());
    }

    /// Bytes of bodies went to or came from an origin.
    pub fn transferred(&self, flow: Flow, last: Final, bytes: u64) {
        let row = match flow {
            Flow::Sent => 0,
            Flow::Received => 2,
        };
        let column = match last {
            Final::No => 0,
            Final::Yes => 1,
        };
        self.inner.bytes[row + column].inc_by(bytes);
    }

    /// Frees the labels of idle hosts. A scrape does it too; without scrapes call it once a minute.
    pub fn sweep(&self, now: Tick) {
        self.inner.hosts.sweep(now);
    }
}
