//! A new configuration for a proxy that runs: all of it or nothing. What is held stays held, with its
//! place and its rung; requests under way keep what they began with.

use crate::app::{App, StartError};
use crate::clock::Clock;
use crate::config::settings::Config;
use crate::flow::terms::Terms;
use crate::metrics::text::Reload;
use crate::net::headers::request::HeadLimits;
use crate::net::pool::Pool;
use crate::net::settings::{Destinations, Reach, Roots};
use crate::policy::access::Admission;
use crate::state::gate::GateRules;
use crate::state::limits::Limits;
use rustls::pki_types::CertificateDer;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// What is needed to take another configuration.
pub(in crate::app) struct Settings {
    /// The one in force.
    pub config: Config,
    /// Where we listen.
    pub own: Vec<SocketAddr>,
    /// Our CA, which is never trusted upstream.
    pub never: CertificateDer<'static>,
    pub reload: Arc<Mutex<Reload>>,
}

impl App {
    /// Goes by another configuration from now on. The keys that it would change and that can't change
    /// while it runs: they stay as they were.
    ///
    /// # Errors
    ///
    /// The ways out can't be made; then nothing has changed.
    pub fn reload(&mut self, wanted: Config) -> Result<Vec<&'static str>, StartError> {
        let old = &self.settings.config;
        let fixed = FIXED.iter().filter(|(_, differs)| differs(old, &wanted));
        let fixed = fixed.map(|(key, _)| *key).collect();
        let config = merged(old, wanted);
        let clock = &self.flow.clock;
        let Settings { own, never, reload, .. } = &*self.settings;
        let same = old.reach == config.reach && config.reach.roots == Roots::Auto;
        let pool = match same {
            true => self.flow.terms.read().pool.clone(),
            // A file of roots may have others in it by now.
            false => pool(&config, own, never, clock).inspect_err(|_| self.reload_failed())?,
        };
        pool.carry_on(&self.flow.terms.read().pool);
        let paced =
            old.pace != config.pace || old.scopes != config.scopes || old.limits != config.limits;
        let other_robots = old.robots != config.robots;
        self.flow.terms.replace(terms(&config, own, pool));
        if other_robots {
            self.flow.robots.forget(&self.flow);
        }
        if paced {
            self.flow.gate.reload(rules(&config));
        }
        let done = Reload { successful: true, at: clock.wall() };
        *reload.lock().unwrap_or_else(PoisonError::into_inner) = done;
        self.settings.config = config;
        Ok(fixed)
    }

    /// Notes that a configuration could not be taken: the one in force stays.
    pub fn reload_failed(&self) {
        let mut reload = self.settings.reload.lock().unwrap_or_else(PoisonError::into_inner);
        reload.successful = false;
    }
}

/// Keys that can't change while it runs, each with whether two configurations differ in it.
type Differs = fn(&Config, &Config) -> bool;
const FIXED: [(&str, Differs); 11] = [
    ("listen", |old, new| old.listen != new.listen),
    ("admin", |old, new| old.admin != new.admin),
    ("certs", |old, new| old.certs != new.certs),
    ("state_file", |old, new| old.state_file != new.state_file),
    ("limits.scopes", |old, new| old.limits.scopes != new.limits.scopes),
    ("limits.replay_total", |old, new| old.buffers.replay_total != new.buffers.replay_total),
    ("limits.kept_total", |old, new| old.buffers.kept_total != new.buffers.kept_total),
    ("limits.response_total", |old, new| old.buffers.response_total != new.buffers.response_total),
    ("metrics.host_limit", |old, new| old.metrics_host_limit != new.metrics_host_limit),
    ("log.level", |old, new| old.log.level != new.log.level),
    ("log.format", |old, new| old.log.format != new.log.format),
];

/// The wanted configuration, with the fixed keys of the old one.
fn merged(old: &Config, wanted: Config) -> Config {
    let mut config = wanted;
    if config.listen != old.listen {
        // `deny: auto` was decided for listeners that are not to be.
        let deny = &mut config.reach.destinations.deny_private;
        *deny |= old.reach.destinations.deny_private;
    }
    config.listen.clone_from(&old.listen);
    config.admin.clone_from(&old.admin);
    config.certs.clone_from(&old.certs);
    config.state_file.clone_from(&old.state_file);
    config.reach.destinations.own.clone_from(&old.reach.destinations.own);
    config.limits = Limits { scopes: old.limits.scopes, ..config.limits };
    config.buffers.replay_total = old.buffers.replay_total;
    config.buffers.kept_total = old.buffers.kept_total;
    config.buffers.response_total = old.buffers.response_total;
    config.metrics_host_limit = old.metrics_host_limit;
    config.log = old.log;
    config
}

/// What requests go by under a configuration.
pub(in crate::app) fn terms(config: &Config, own: &[SocketAddr], pool: Pool) -> Terms {
    let heads = config.heads;
    Terms {
        pool,
        retry: config.retry,
        buffers: config.buffers,
        heads: HeadLimits { bytes: heads.bytes, fields: heads.fields, target_bytes: TARGET_BYTES },
        name: config.proxy_name.clone(),
        manners: config.manners,
        tunnel: config.tunnel.clone(),
        intercept: config.intercept.clone(),
        preset: config.preset,
        control_headers: config.control_headers,
        response_headers: config.response_headers,
        via: config.via,
        destinations: destinations(config, own),
        admission: Admission::new(config.clients.clone().unwrap_or_default()),
        patience: config.patience,
        warn_held: config.warn_held,
        verdicts: config.verdicts.clone(),
        weights: config.weights.clone(),
        rules: config.rules.clone(),
        scoping: config.scoping,
        profiles: config.profiles.clone(),
        robots: config.robots.clone(),
    }
}

/// The ways out under a configuration.
pub(in crate::app) fn pool(
    config: &Config,
    own: &[SocketAddr],
    never: &CertificateDer<'static>,
    clock: &Clock,
) -> Result<Pool, StartError> {
    let reach = Reach { destinations: destinations(config, own), ..config.reach.clone() };
    warn_of_lenience(&reach);
    let pool = Pool::new(&reach, std::slice::from_ref(never), clock.clone());
    pool.map_err(|why| StartError::Other(why.to_string()))
}

/// What makes TLS with origins weaker is said whenever it begins.
fn warn_of_lenience(reach: &Reach) {
    for host in &reach.insecure {
        let host = host.as_str();
        tracing::warn!(host, "`tls.insecure`: the certificate of this host need not hold");
    }
    if reach.key_log {
        let file = std::env::var("SSLKEYLOGFILE").unwrap_or_else(|_| "nowhere: unset".to_owned());
        tracing::warn!(file, "`tls.key_log`: TLS secrets are written to the file SSLKEYLOGFILE");
    }
}

fn destinations(config: &Config, own: &[SocketAddr]) -> Destinations {
    Destinations { own: own.to_vec(), ..config.reach.destinations.clone() }
}

/// How hosts are paced under a configuration.
pub(in crate::app) fn rules(config: &Config) -> GateRules {
    GateRules { default: config.pace.clone(), scopes: config.scopes.clone(), limits: config.limits }
}

/// The most the HTTP library reads.
const TARGET_BYTES: usize = 65_534;
