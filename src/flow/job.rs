//! A request, read and checked once, and what became of it so far.

use crate::clock::Tick;
use crate::flow::interim::Interim;
use crate::flow::presence::{Fin, Presence};
use crate::flow::record::Trip;
use crate::flow::settings::{Preset, Retry, times};
use crate::flow::terms::Terms;
use crate::judge::classify::{Forbidden, Measure};
use crate::judge::outcome::Sent;
use crate::judge::page::Others;
use crate::judge::replay::{Unsafe, repeatable};
use crate::judge::verdict::Class;
use crate::net::body::Budget;
use crate::net::outbound::Outbound;
use crate::net::target::Target;
use crate::pace::claims::Claims;
use crate::pace::scope::Client;
use crate::pace::turn::Turn;
use crate::policy::plan::Plan;
use crate::policy::wishes::Wishes;
use crate::state::mark::Mark;
use crate::state::ticket::Ticket;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Version, response};
use http_body_util::BodyExt;
use hyper::upgrade::OnUpgrade;
use std::sync::Arc;
use std::time::Duration;

/// A request under way.
pub struct Job {
    /// The settings it goes by.
    pub terms: Arc<Terms>,
    pub target: Target,
    /// What goes to the origin, cleaned, as often as it goes.
    pub outbound: Outbound,
    /// The client's version.
    pub version: Version,
    /// What the client accepts, for answers of ours.
    pub accept: Option<HeaderValue>,
    /// What its origin says before its answer, if the client may hear it.
    pub interim: Option<Interim>,
    /// The client's side of an upgrade it asked for.
    pub upgrade: Option<OnUpgrade>,
    pub presence: Presence,
    pub client: Client,
    /// How often it is its turn.
    pub turn: Turn,
    /// What shares its pace.
    pub claims: Claims,
    /// What rules say of it; `None`: nothing.
    pub plan: Option<Box<Plan>>,
    pub wishes: Wishes,
    pub preset: Preset,
    pub limits: Limits,
    pub tries: Tries,
    pub trip: Trip,
}

/// When a request must be over, and how long an attempt of it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub accepted: Tick,
    pub window_end: Tick,
    /// The delay its client asked for ends.
    pub not_before: Option<Tick>,
    /// The client's stated end.
    pub deadline: Option<Tick>,
    pub response_timeout: Duration,
}

/// What a request's attempts came to so far.
#[derive(Default)]
pub struct Tries {
    pub attempts: u32,
    /// Failures that were the page's own.
    pub own_faults: u32,
    /// When it failed last, and how.
    pub failed: Option<Tick>,
    pub failure: Option<Class>,
    pub class: Option<Class>,
    pub not_before: Option<Tick>,
    /// What its last failure taught, and how others fared since its first.
    pub mark: Option<Mark>,
    pub others: Others,
    pub last: Option<LastAnswer>,
    /// How long its client waits, if that is known and enforced.
    pub patience: Option<Duration>,
}

/// The origin's last answer, kept in case there is no better one.
pub struct LastAnswer {
    pub parts: response::Parts,
    pub body: Bytes,
    pub trailers: Option<HeaderMap>,
    pub share: Share,
}

/// A share of `limits.kept_total`, or `limits.response_total`, given back when dropped.
pub struct Share {
    budget: Budget,
    bytes: usize,
}

impl Share {
    /// A share of so many bytes, if they are left.
    pub fn take(budget: &Budget, bytes: usize) -> Option<Share> {
        budget.take(bytes).then(|| Share { budget: budget.clone(), bytes })
    }

    /// Has so many bytes in all from now on, if they are left.
    pub fn grow_to(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let grown = self.budget.take(more);
        self.bytes += if grown { more } else { 0 };
        grown
    }

    /// The body it is for, which gives it back once nobody has it any more.
    pub fn with(self, body: Bytes) -> Bytes {
        Bytes::from_owner(Owned { body, _share: self })
    }
}

struct Owned {
    body: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.give(self.bytes);
    }
}

impl Limits {
    /// From the settings, narrowed by what the client wishes.
    pub fn new(
        accepted: Tick,
        (preset, configured): (Preset, Preset),
        retry: &Retry,
        wishes: &Wishes,
    ) -> Limits {
        let (window, response_timeout) = times(preset, configured, retry);
        let window = wishes.window.unwrap_or(window).min(retry.window_max);
        let delay = wishes.delay.filter(|delay| !delay.is_zero());
        Limits {
            accepted,
            not_before: delay.map(|delay| accepted + delay),
            // What was asked for doesn't use the window up.
            window_end: accepted + delay.unwrap_or_default() + window,
            deadline: wishes.deadline.map(|span| accepted + span),
            response_timeout: wishes.timeout.unwrap_or(response_timeout),
        }
    }
}

impl Job {
    /// Its place in the line.
    pub fn ticket(&self) -> Ticket {
        Ticket {
            claims: self.claims.clone(),
            client: self.client,
            turn: self.turn,
            accepted: self.trip.facts.seat,
            repeat: self.tries.attempts > 0,
            not_before: self.tries.not_before,
            window_end: match self.preset.answers_pauses() {
                true => Tick::ZERO,
                false => self.limits.window_end,
            },
            deadline: self.limits.deadline,
        }
    }

    /// Whether what comes back teaches the pace, as far as its permit allows it.
    pub fn is_tracked(&self) -> bool {
        self.wishes.track.unwrap_or_else(|| self.plan.as_ref().is_none_or(|plan| plan.track))
    }

    /// Whether its next attempt goes past the pace: its first, if its client may ask for that.
    /// Repeats wait like any other's.
    pub fn bypasses(&self) -> bool {
        self.preset == Preset::Off || (self.wishes.bypass == Some(true) && self.tries.attempts == 0)
    }

    /// What verdicts on its attempts go by; `text` is an answer's body, as far as it is there.
    pub fn measure<'a>(&'a self, text: &'a [u8]) -> Measure<'a> {
        let forbidden = match self.preset {
            Preset::Api => Forbidden::MayBeLimit { text },
            Preset::Transparent
            | Preset::Interactive
            | Preset::Archive
            | Preset::Scrapy
            | Preset::Strict
            | Preset::Off => Forbidden::Served,
        };
        Measure { forbidden, ..self.terms.measure(&self.target.host) }
    }

    /// Whether it may be sent again after an attempt of which so much was sent.
    pub fn is_repeatable(&self, sent: Sent, rule: Unsafe) -> bool {
        let (head, kept) = (&self.outbound.head, self.outbound.body.repeatable());
        repeatable(&head.method, &head.headers, sent, rule, kept)
    }

    /// What a FIN of its client means while it is held. Whether the body is whole is seen by
    /// reading it: after a FIN that is what the sockets have, and only what may be kept is read.
    pub async fn fin_while_held(&self) -> Fin {
        let known = self.version == Version::HTTP_11 && self.outbound.body.repeatable();
        if known && self.is_whole().await { Fin::Probe } else { Fin::Departure }
    }

    /// What a FIN of its client means while an attempt is under way, which itself fails if the body
    /// is not whole.
    pub fn fin_in_flight(&self) -> Fin {
        if self.version == Version::HTTP_11 { Fin::Probe } else { Fin::Departure }
    }

    async fn is_whole(&self) -> bool {
        let body = &self.outbound.body;
        let mut reading = body.outgoing();
        while let Some(frame) = reading.frame().await {
            if frame.is_err() || !body.repeatable() {
                return false;
            }
        }
        body.repeatable()
    }
}
