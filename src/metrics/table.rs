//! The one table of metric families. What is not here does not exist; tests hold the README to it.

use prometheus::core::Collector;
use prometheus::{
    CounterVec, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec,
    IntGauge, IntGaugeVec, Opts, Registry,
};

/// One family, without the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    pub name: &'static str,
    pub kind: Kind,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

/// A family's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    /// The word Prometheus has for it.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// Before every family's name.
pub const PREFIX: &str = "pacegate_";

const fn counter(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Family {
    Family { name, kind: Kind::Counter, labels, help }
}

const fn gauge(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Family {
    Family { name, kind: Kind::Gauge, labels, help }
}

const fn histogram(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Family {
    Family { name, kind: Kind::Histogram, labels, help }
}

/// Every family.
pub const FAMILIES: [Family; 41] = [
    counter("requests_total", &["host", "outcome"], "Requests answered or left, by outcome."),
    counter("responses_total", &["code", "source"], "Answers to clients, by status and origin."),
    histogram("request_duration_seconds", &["outcome"], "Head read to last byte, waits included."),
    gauge("requests_in_flight", &[], "Requests accepted and not yet ended, held ones included."),
    counter("attempts_total", &["host", "class"], "Attempts at origins, by what they came to."),
    histogram("attempts_per_request", &[], "Attempts that a request took."),
    counter("retries_total", &["host", "class"], "Repeats, by the class that caused them."),
    counter("window_exhausted_total", &["host", "class"], "Requests whose window ended first."),
    histogram("wait_seconds", &["reason"], "Time a request waited in all; once per reason."),
    counter(
        "host_wait_seconds_total",
        &["host", "reason"],
        "Waiting, growing while requests wait.",
    ),
    gauge("host_rung", &["host"], "The host's rung; 0 is no delay."),
    gauge("host_delay_seconds", &["host"], "The spacing of starts at the host's rung."),
    counter("rung_changes_total", &["host", "direction", "class"], "Climbs and steps, by cause."),
    gauge("hosts", &["rung"], "Scopes with a row, by rung."),
    gauge("held_requests", &[], "Requests waiting for their claim."),
    gauge("host_held_requests", &["host"], "Requests waiting for their claim, by host."),
    gauge("oldest_held_seconds", &[], "How long the longest-held request has waited so far."),
    counter("early_answers_total", &["kind"], "Answers of our own instead of an origin's."),
    counter("client_gone_total", &["phase"], "Clients that left before their answer ended."),
    histogram("client_patience_seconds", &[], "How long clients that left had waited."),
    counter("hints_total", &["header", "result"], "Waits named by servers, by what was read."),
    counter("rule_failures_total", &[], "Rules that did not apply: an expression came to nothing."),
    histogram("start_error_seconds", &[], "How long after its slot a held request started."),
    counter("grants_total", &[], "Claims granted from a line."),
    counter("wakeups_total", &[], "Held requests woken."),
    counter("client_tunnels_total", &["mode"], "CONNECTs, by what became of them."),
    counter("client_tls_failures_total", &["reason"], "Clients' TLS handshakes that failed."),
    gauge("origin_connections", &["state"], "Connections to origins."),
    counter(
        "origin_resends_total",
        &[],
        "Second sendings within an attempt: a kept connection died.",
    ),
    counter("origin_unverified_total", &[], "Bad certificates accepted: tls.insecure."),
    histogram("origin_connect_seconds", &[], "Set-up of a connection: TCP and TLS."),
    histogram("origin_first_byte_seconds", &[], "Start of an attempt to the answer's head."),
    counter(
        "transferred_bytes_total",
        &["direction", "final"],
        "Bytes of bodies to and from origins, by whether they reached the client.",
    ),
    counter("leaf_certificates_issued_total", &[], "Certificates minted for intercepted names."),
    gauge("ca_expiry_timestamp_seconds", &[], "When our CA's certificate ends."),
    gauge(
        "config_last_reload_successful",
        &[],
        "Whether the configuration was taken when last read.",
    ),
    gauge(
        "config_last_reload_success_timestamp_seconds",
        &[],
        "When a configuration was taken last.",
    ),
    counter("host_label_overflow_total", &[], "Requests counted as host _other."),
    gauge("scopes", &[], "Scopes with a row."),
    counter(
        "evictions_total",
        &["reason"],
        "Rows that went: quiet on rung 0, not asked for, or for others.",
    ),
    gauge("build_info", &["version"], "Always 1; which build this is."),
];

/// Makes the families of the table and registers them. A family that is asked for and is not in the
/// table, or is there with another type, is our bug and ends the process at its start.
#[derive(Default)]
pub struct Register {
    pub registry: Registry,
}

impl Register {
    pub fn counter(&self, name: &str) -> IntCounter {
        self.keep(IntCounter::with_opts(options(name, Kind::Counter).0))
    }

    /// A count that is no family, for a sum over labels that come and go.
    pub fn unshown_counter(&self) -> IntCounter {
        IntCounter::new("unshown", "-").expect("the name is valid")
    }

    pub fn counters(&self, name: &str) -> IntCounterVec {
        let (options, labels) = options(name, Kind::Counter);
        self.keep(IntCounterVec::new(options, labels))
    }

    pub fn seconds_counters(&self, name: &str) -> CounterVec {
        let (options, labels) = options(name, Kind::Counter);
        self.keep(CounterVec::new(options, labels))
    }

    pub fn gauge(&self, name: &str) -> IntGauge {
        self.keep(IntGauge::with_opts(options(name, Kind::Gauge).0))
    }

    pub fn gauges(&self, name: &str) -> IntGaugeVec {
        let (options, labels) = options(name, Kind::Gauge);
        self.keep(IntGaugeVec::new(options, labels))
    }

    pub fn seconds_gauges(&self, name: &str) -> GaugeVec {
        let (options, labels) = options(name, Kind::Gauge);
        self.keep(GaugeVec::new(options, labels))
    }

    pub fn histogram(&self, name: &str, buckets: &[f64]) -> Histogram {
        let options = HistogramOpts::from(options(name, Kind::Histogram).0);
        self.keep(Histogram::with_opts(options.buckets(buckets.to_vec())))
    }

    pub fn histograms(&self, name: &str, buckets: &[f64]) -> HistogramVec {
        let (options, labels) = options(name, Kind::Histogram);
        let options = HistogramOpts::from(options).buckets(buckets.to_vec());
        self.keep(HistogramVec::new(options, labels))
    }

    /// Registers a family that was just made.
    pub fn keep<C: Collector + Clone + 'static>(&self, made: prometheus::Result<C>) -> C {
        let family = made.expect("the table has valid names and labels");
        let added = self.registry.register(Box::new(family.clone()));
        added.expect("each family of the table is made once");
        family
    }
}

/// A family's name and help as the library wants them, and its labels.
pub fn options(name: &str, kind: Kind) -> (Opts, &'static [&'static str]) {
    let family = FAMILIES.iter().find(|family| family.name == name && family.kind == kind);
    let family = family.expect("every family is in the table");
    (Opts::new(format!("{PREFIX}{name}"), family.help), family.labels)
}
