//! Where a request goes. Not: how it gets there, or whether it may.

use crate::pace::scope::Host;
use std::fmt;

/// One origin: what connections are pooled by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Whether TLS is spoken. The name in SNI and in the certificate is `host`.
    pub secure: bool,
    pub host: Host,
    pub port: u16,
}

impl Target {
    /// `host:port`, or `host` alone on the scheme's own port; IPv6 in brackets (RFC 3986 §3.2).
    pub fn authority(&self) -> String {
        let own_port = if self.secure { HTTPS } else { HTTP };
        match (self.host.as_str().contains(':'), self.port == own_port) {
            (true, true) => format!("[{}]", self.host),
            (true, false) => format!("[{}]:{}", self.host, self.port),
            (false, true) => self.host.to_string(),
            (false, false) => format!("{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.as_str().contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// RFC 9110 §4.2.1 and §4.2.2.
const HTTP: u16 = 80;
const HTTPS: u16 = 443;
