//! Everything that can be asked for, as types that can't be wrong. The defaults are those of
//! `config/example.yaml`; a test holds the two together.

use crate::flow::settings::{
    Buffers, ControlHeaders, Intercept, Manners, Preset, ResponseHeaders, Retry, Robots, Tunnel,
    Via,
};
use crate::judge::amend::Amendments;
use crate::judge::hints::profile::Profiles;
use crate::net::settings::{Destinations, Reach, Resolve, Roots};
use crate::pace::rules::PaceRules;
use crate::pace::scope::Scope;
use crate::pace::turn::Weight;
use crate::policy::patience::Patience;
use crate::policy::rules::Rules;
use crate::policy::scoping::Scoping;
use crate::state::limits::Limits;
use ipnet::IpNet;
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// One whole configuration, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where clients connect; at least one.
    pub listen: Vec<SocketAddr>,
    pub admin: AdminSettings,
    /// The CA's folder. `None`: [`crate::ca::files::default_folder`].
    pub certs: Option<PathBuf>,
    /// Where rungs, pauses and quotas are kept over a restart.
    pub state_file: Option<PathBuf>,
    /// The preset of requests that name none. Its window and time-outs are in `retry` already,
    /// unless the configuration names others.
    pub preset: Preset,
    /// Networks that may use a listener that isn't on loopback. `None`: nobody else does.
    pub clients: Option<Vec<IpNet>>,
    pub manners: Manners,
    pub control_headers: ControlHeaders,
    pub response_headers: ResponseHeaders,
    pub via: Via,
    /// Our name in Proxy-Status: of the deployment, if there are several.
    pub proxy_name: Arc<str>,
    pub reach: Reach,
    pub pace: PaceRules,
    /// What shares a pace where nothing else is said.
    pub scoping: Scoping,
    /// Scopes with a pace of their own, each whole.
    pub scopes: HashMap<Scope, PaceRules>,
    pub retry: Retry,
    pub tunnel: Tunnel,
    pub intercept: Intercept,
    pub limits: Limits,
    pub buffers: Buffers,
    pub heads: HeadLimits,
    /// What is changed in the table of verdicts.
    pub verdicts: Amendments,
    /// `clients.weights`.
    pub weights: Arc<HashMap<String, Weight>>,
    /// Which requests go by what.
    pub rules: Arc<Rules>,
    /// `retry_after.profiles`.
    pub profiles: Profiles,
    pub robots: Robots,
    /// What is done with how long a client waits.
    pub patience: Patience,
    /// One line in the log when more requests than this are held.
    pub warn_held: usize,
    /// How long attempts under way may go on after the order to stop.
    pub shutdown_grace: Duration,
    /// Most values of the label `host`.
    pub metrics_host_limit: usize,
    pub log: LogSettings,
}

/// `admin`: the port for people and Prometheus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminSettings {
    /// `None`: no admin port.
    pub listen: Option<SocketAddr>,
    /// What may be reached from other machines.
    pub public: Vec<PublicPart>,
    /// The file whose first line lets callers from anywhere read and change what the API shows.
    pub token_file: Option<PathBuf>,
}

/// A part of the admin port that may be reached from other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicPart {
    Metrics,
    Health,
}

/// How large the head of a request or an answer may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    pub bytes: usize,
    pub fields: usize,
}

/// `log`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSettings {
    pub level: LogLevel,
    pub format: LogFormat,
}

/// From which weight on lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// What a line of the log looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    Text,
    Json,
}

impl Default for Config {
    fn default() -> Config {
        let proxy = SocketAddr::from((Ipv4Addr::LOCALHOST, 3128));
        let admin = SocketAddr::from((Ipv4Addr::LOCALHOST, 3129));
        Config {
            listen: vec![proxy],
            admin: AdminSettings { listen: Some(admin), public: Vec::new(), token_file: None },
            certs: None,
            state_file: None,
            preset: Preset::Transparent,
            clients: None,
            manners: Manners::default(),
            control_headers: ControlHeaders::Loopback,
            response_headers: ResponseHeaders::Minimal,
            via: Via::Off,
            proxy_name: "pacegate".into(),
            reach: Reach {
                resolve: Resolve::default(),
                destinations: Destinations {
                    deny_private: false,
                    allow: Vec::new(),
                    own: vec![proxy, admin],
                },
                roots: Roots::Auto,
                insecure: Vec::new(),
                key_log: false,
                connect_timeout: Duration::from_secs(10),
                idle_timeout: Duration::from_secs(60),
            },
            pace: PaceRules::default(),
            scoping: Scoping::default(),
            scopes: HashMap::new(),
            retry: Retry::default(),
            // Port 25: an open way to send mail is what proxies are abused for first.
            tunnel: Tunnel {
                hold: Duration::from_secs(10),
                idle: Duration::from_secs(3600),
                deny_ports: vec![25],
            },
            intercept: Intercept { enabled: true, passthrough: Vec::new() },
            limits: Limits::default(),
            buffers: Buffers::default(),
            heads: HeadLimits { bytes: 64 * 1024, fields: 200 },
            verdicts: Amendments::default(),
            weights: Arc::default(),
            rules: Arc::default(),
            profiles: Profiles::default(),
            robots: Robots::default(),
            patience: Patience::Learn,
            warn_held: 500,
            shutdown_grace: Duration::from_secs(25),
            metrics_host_limit: 200,
            log: LogSettings { level: LogLevel::Info, format: LogFormat::Auto },
        }
    }
}
