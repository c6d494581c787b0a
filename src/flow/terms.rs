//! What a request goes by: the settings in force when its head was read. A new configuration makes new
//! terms; a request keeps those it began with to its end.
//!
//! This room must not know where settings come from, nor when they change.

use crate::flow::ending::{Case, Ending};
use crate::flow::settings::{
    Buffers, ControlHeaders, Intercept, Manners, Preset, ResponseHeaders, Retry, Robots, Tunnel,
    Via,
};
use crate::judge::amend::Amendments;
use crate::judge::classify::{Forbidden, Measure};
use crate::judge::hints::Manner;
use crate::judge::hints::profile::Profiles;
use crate::net::headers::request::HeadLimits;
use crate::net::pool::Pool;
use crate::net::target::Target;
use crate::pace::scope::Host;
use crate::pace::turn::Weight;
use crate::policy::access::{Admission, Destinations, Refusal};
use crate::policy::patience::Patience;
use crate::policy::rules::Rules;
use crate::policy::scoping::Scoping;
use arc_swap::ArcSwap;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// The settings of one configuration, as far as a request needs them.
pub struct Terms {
    /// The ways out. Configurations that differ in none of them share one.
    pub pool: Pool,
    pub retry: Retry,
    pub buffers: Buffers,
    pub heads: HeadLimits,
    /// Our name in Proxy-Status.
    pub name: Arc<str>,
    pub manners: Manners,
    pub tunnel: Tunnel,
    pub intercept: Intercept,
    pub preset: Preset,
    pub control_headers: ControlHeaders,
    pub response_headers: ResponseHeaders,
    pub via: Via,
    pub destinations: Destinations,
    /// Who may connect.
    pub admission: Admission,
    pub patience: Patience,
    pub warn_held: usize,
    /// What the configuration changes in the table of verdicts.
    pub verdicts: Amendments,
    /// How often it is a labelled client's turn, where not once a round.
    pub weights: Arc<HashMap<String, Weight>>,
    /// Which requests go by what.
    pub rules: Arc<Rules>,
    /// What shares a pace where nothing else is said.
    pub scoping: Scoping,
    /// `retry_after.profiles`.
    pub profiles: Profiles,
    pub robots: Robots,
}

impl Terms {
    /// What verdicts on a host go by, under no preset that reads a 403.
    pub fn measure(&self, host: &Host) -> Measure<'_> {
        let hints = Manner {
            most: self.retry.retry_after_max,
            preemptive: self.retry.preemptive,
            profile: self.profiles.of(host.as_str()),
        };
        Measure { hints, amendments: &self.verdicts, forbidden: Forbidden::Served }
    }

    /// Refuses a target that needs no look-up to be refused.
    pub fn check(&self, target: &Target) -> Result<(), Ending> {
        let Some(address) = target.host.ip() else { return Ok(()) };
        match self.destinations.check(SocketAddr::new(address, target.port)) {
            Ok(()) => Ok(()),
            Err(Refusal::OwnListener) => {
                Err(Ending::new(Case::Loop, format!("{target} is this proxy")))
            }
            Err(Refusal::NotPublic(special)) => {
                Err(Ending::new(Case::Prohibited, format!("{target}: {special}")))
            }
        }
    }
}

/// The terms in force. Clones are the same.
#[derive(Clone)]
pub struct Current {
    terms: Arc<ArcSwap<Terms>>,
}

impl Current {
    /// Terms to begin with.
    pub fn new(terms: Terms) -> Current {
        Current { terms: Arc::new(ArcSwap::from_pointee(terms)) }
    }

    /// Those in force now. No lock, no allocation; some 20 ns.
    pub fn read(&self) -> Arc<Terms> {
        self.terms.load_full()
    }

    /// Others are in force from now on.
    pub fn replace(&self, terms: Terms) {
        self.terms.store(Arc::new(terms));
    }
}
