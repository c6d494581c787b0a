//! What the configuration says about how bytes travel.

use crate::pace::scope::Host;
use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Which addresses may be reached: the rule lives where it is applied.
pub use crate::policy::access::Destinations;

/// How origins are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// `resolve`: names (and, if given, their port) that go elsewhere, like curl's `--resolve`.
    pub resolve: Resolve,
    pub destinations: Destinations,
    pub roots: Roots,
    /// Hosts whose certificates need not hold.
    pub insecure: Vec<Host>,
    /// TLS secrets go to the file that `SSLKEYLOGFILE` names.
    pub key_log: bool,
    /// TCP and TLS set-up together.
    pub connect_timeout: Duration,
    /// A body, or a tunnel, that stands still for so long has broken off.
    pub idle_timeout: Duration,
}

/// Name overrides: name to address, or name to address and port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolve {
    pub names: HashMap<Host, Override>,
}

/// Where an overridden name goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Override {
    pub address: IpAddr,
    /// `None`: the port the client asked for.
    pub port: Option<u16>,
}

/// Which certificates upstream are trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Roots {
    /// The system's, or the built-in ones where there are none.
    Auto,
    /// Those of a PEM file, and no other.
    File(PathBuf),
}
