//! One request's record: a log line, and its counters, whichever way it ends.

use crate::clock::Tick;
use crate::flow::works::Flow;
use crate::judge::outcome::Fault;
use crate::metrics::labels::{Phase, Reason, RequestOutcome, Source, Waits};
use crate::metrics::meter::{InFlight, RequestEnd};
use crate::pace::scope::{Client, Host};
use http::uri::PathAndQuery;
use http::{HeaderValue, Method, StatusCode};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// A request from its head to its last byte. Dropped without an end, its client has left.
pub struct Trip {
    flow: Arc<Flow>,
    pub facts: Facts,
    _in_flight: InFlight,
    attempts: u32,
    /// One place a reason.
    waits: Waits,
    held_since: Option<(Tick, Reason)>,
    phase: Phase,
    pub rung: u8,
    pub fault: Option<Fault>,
    ended: bool,
}

/// What is known of a request from its head.
#[derive(Clone, Debug)]
pub struct Facts {
    pub host: Host,
    pub method: Method,
    pub path: Option<PathAndQuery>,
    pub peer: SocketAddr,
    pub client: Client,
    /// Its program, as that calls itself.
    pub agent: Option<HeaderValue>,
    pub label: Option<Arc<str>>,
    pub tag: Option<Arc<str>>,
    pub accepted: Tick,
    /// Its place among its client's requests: its acceptance, or that of the request it is again.
    pub seat: Tick,
}

impl Trip {
    /// What the journey has at hand.
    pub fn flow(&self) -> &Arc<Flow> {
        &self.flow
    }

    /// A request's head has been read.
    pub fn begin(flow: Arc<Flow>, facts: Facts) -> Trip {
        let in_flight = flow.meter.request_began();
        Trip {
            flow,
            facts,
            _in_flight: in_flight,
            attempts: 0,
            waits: Default::default(),
            held_since: None,
            phase: Phase::Held,
            rung: 0,
            fault: None,
            ended: false,
        }
    }

    /// It waits from now on.
    pub fn hold_began(&mut self, now: Tick, reason: Reason) {
        self.held_since = Some((now, reason));
        self.phase = Phase::Held;
    }

    /// It waits no more, and has waited so much.
    pub fn hold_ended(&mut self, waited: &Waits) {
        self.held_since = None;
        self.waits.iter_mut().zip(waited).for_each(|(sum, wait)| *sum += *wait);
    }

    /// An attempt starts.
    pub fn attempt_began(&mut self) {
        self.attempts += 1;
        self.phase = Phase::Attempt;
    }

    /// Bytes of an answer go out from now on.
    pub fn answer_began(&mut self) {
        self.phase = Phase::Answer;
        if !self.waited().is_zero() {
            let age = self.flow.clock.now().since(self.facts.accepted);
            self.flow.remembered.stayed(&self.facts, age);
        }
    }

    /// All it has waited.
    pub fn waited(&self) -> Duration {
        self.waits.iter().sum()
    }

    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// It has been answered.
    pub fn end(mut self, outcome: RequestOutcome, code: StatusCode, source: Source) {
        self.close(outcome, Some(code), source);
    }

    fn close(&mut self, outcome: RequestOutcome, code: Option<StatusCode>, source: Source) {
        self.ended = true;
        let now = self.flow.clock.now();
        // Dropped while it was held: its wait goes whole to what it began with.
        if let Some((since, reason)) = self.held_since.take() {
            self.waits[reason as usize] += now.since(since);
        }
        let took = now.since(self.facts.accepted);
        let waits: [(Reason, Duration); Reason::ALL.len()] =
            std::array::from_fn(|place| (Reason::ALL[place], self.waits[place]));
        self.flow.meter.request_ended(&RequestEnd {
            host: Some(&self.facts.host),
            outcome,
            code,
            source,
            took,
            attempts: self.attempts,
            waits: &waits,
        });
        if tracing::enabled!(tracing::Level::INFO) {
            self.log(outcome, code, took);
        }
    }

    fn log(&self, outcome: RequestOutcome, code: Option<StatusCode>, took: Duration) {
        let path = self.facts.path.as_ref().map_or("", |path| path.path());
        tracing::info!(
            host = self.facts.host.as_str(),
            method = self.facts.method.as_str(),
            path = bounded(path),
            status = code.map_or(0, |code| code.as_u16()),
            outcome = outcome.word(),
            attempts = self.attempts,
            wait = seconds(self.waited()),
            took = seconds(took),
            rung = self.rung,
            label = self.facts.label.as_deref(),
            tag = self.facts.tag.as_deref(),
            fault = self.fault.as_ref().map(|fault| fault.detail.as_str()),
            "request"
        );
    }

    fn left(&mut self) {
        let now = self.flow.clock.now();
        let patience = now.since(self.facts.accepted);
        self.flow.meter.client_gone(self.phase, patience);
        if let Some(journal) = &self.flow.journal {
            journal.left();
        }
        if self.phase != Phase::Answer {
            self.flow.remembered.keep_seat(&self.facts, AGAIN, now);
            let learnt = self.flow.remembered.left(&self.facts, patience, now);
            learnt.into_iter().for_each(|learnt| self.impatient(learnt));
        }
        self.close(RequestOutcome::ClientGone, None, Source::Proxy);
        if self.phase != Phase::Answer && self.flow.first_time(self.departure()) {
            let advice = format!(
                "a client left after {} s, before its answer: give it a time-out as long as the \
                 window ({} s), or lower retry.window; said once per client and host",
                seconds(patience),
                self.flow.terms.read().retry.window.as_secs()
            );
            if let Some(journal) = &self.flow.journal {
                journal.advise(advice.clone());
            }
            tracing::warn!(
                host = self.facts.host.as_str(),
                label = self.facts.label.as_deref(),
                peer = %self.facts.peer.ip(),
                phase = self.phase.word(),
                "{advice}"
            );
        }
    }

    /// Says how long its client waits, now that it is known.
    fn impatient(&self, patience: Duration) {
        let agent = self.facts.agent.as_ref().map(|it| String::from_utf8_lossy(it.as_bytes()));
        let agent = agent.as_deref().map_or("", bounded);
        if self.flow.first_time(format!("patience of {agent} {}", self.departure())) {
            tracing::info!(
                host = self.facts.host.as_str(),
                label = self.facts.label.as_deref(),
                peer = %self.facts.peer.ip(),
                agent,
                patience = seconds(patience),
                "a client leaves after the same time again: its time-out. With `patience: enforce` \
                 what can't start before that is answered at once; said once per client, program and host"
            );
        }
    }

    fn departure(&self) -> String {
        let label = self.facts.label.as_deref().unwrap_or("");
        format!("left {} {label} {}", self.facts.peer.ip(), self.facts.host)
    }
}

impl Drop for Trip {
    fn drop(&mut self) {
        if !self.ended {
            self.left();
        }
    }
}

fn bounded(text: &str) -> &str {
    let end = text.char_indices().nth(PATH_CHARACTERS).map_or(text.len(), |(end, _)| end);
    &text[..end]
}

/// Rounded to a thousandth, for people.
pub fn seconds(span: Duration) -> f64 {
    (span.as_secs_f64() * 1000.0).round() / 1000.0
}

const PATH_CHARACTERS: usize = 200;
/// A client that left comes back within about so long, or not for this.
const AGAIN: Duration = Duration::from_secs(60);
