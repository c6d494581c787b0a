//! Variables that can hold the user's value and ours: how they are joined and taken apart.

use crate::cli::env::{Place, User};
use crate::cli::health::reachable;
use http::Uri;
use std::net::SocketAddr;

/// Variables that can hold the user's value and ours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Merged {
    NoProxy,
    NoProxyLower,
    PhpScan,
    Java,
}

impl Merged {
    /// Every one.
    pub const ALL: [Merged; 4] =
        [Merged::NoProxy, Merged::NoProxyLower, Merged::PhpScan, Merged::Java];

    /// The variable's name.
    pub const fn name(self) -> &'static str {
        match self {
            Merged::NoProxy => "NO_PROXY",
            Merged::NoProxyLower => "no_proxy",
            Merged::PhpScan => "PHP_INI_SCAN_DIR",
            Merged::Java => "JAVA_TOOL_OPTIONS",
        }
    }

    const fn separator(self) -> char {
        match self {
            Merged::NoProxy | Merged::NoProxyLower => ',',
            Merged::PhpScan if cfg!(windows) => ';',
            Merged::PhpScan => ':',
            Merged::Java => ' ',
        }
    }

    fn ours(self, place: &Place) -> Vec<String> {
        match self {
            Merged::NoProxy | Merged::NoProxyLower => own_entry(place.admin).into_iter().collect(),
            Merged::PhpScan => vec![place.files.php.to_string_lossy().into_owned()],
            Merged::Java => java(place),
        }
    }

    /// The user's value and ours.
    pub fn with(self, place: &Place, user: User<'_>) -> String {
        let mut parts = self.theirs(place, user);
        // An empty first part keeps PHP's own directory.
        if self == Merged::PhpScan && parts.is_empty() {
            parts.push(String::new());
        }
        parts.extend(self.ours(place));
        parts.join(&self.separator().to_string())
    }

    /// The user's value alone; `None` if there is nothing else.
    pub fn without(self, place: &Place, user: User<'_>) -> Option<String> {
        let parts = self.theirs(place, user).join(&self.separator().to_string());
        (!parts.is_empty()).then_some(parts)
    }

    /// The user's parts. Both spellings of NO_PROXY count, for clients read one or the other.
    fn theirs(self, place: &Place, user: User<'_>) -> Vec<String> {
        let names: &[&str] = match self {
            Merged::NoProxy | Merged::NoProxyLower => &["NO_PROXY", "no_proxy"],
            Merged::PhpScan | Merged::Java => &[self.name()],
        };
        let ours = self.ours(place);
        let mut parts: Vec<String> = Vec::new();
        for value in names.iter().filter_map(|name| user(name)) {
            for part in value.split(self.separator()).map(str::trim) {
                // Other programs' options may repeat on purpose.
                let twice = self != Merged::Java && parts.iter().any(|known| known == part);
                if !twice && !ours.iter().any(|own| own == part) {
                    parts.push(part.to_owned());
                }
            }
        }
        if parts.iter().all(String::is_empty) { Vec::new() } else { parts }
    }
}

/// Our admin address, with its port, so that other programs on loopback stay paced. None where it
/// is an IPv6 address: httpx refuses to start when NO_PROXY has one in brackets.
fn own_entry(admin: Option<SocketAddr>) -> Option<String> {
    let admin = reachable(admin?);
    admin.is_ipv4().then(|| admin.to_string())
}

/// Java has no variable for a proxy but the one for its options. An empty list of hosts that go
/// direct, for its own has loopback in it.
fn java(place: &Place) -> Vec<String> {
    let mut options = Vec::new();
    if let Ok(url) = place.proxy_url.parse::<Uri>() {
        let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
        let port = url.port_u16().unwrap_or(80);
        for scheme in ["http", "https"] {
            options.push(format!("-D{scheme}.proxyHost={host}"));
            options.push(format!("-D{scheme}.proxyPort={port}"));
        }
        options.push("-Dhttp.nonProxyHosts=".to_owned());
    }
    if let Some(store) = &place.files.truststore {
        options.push(format!("-Djavax.net.ssl.trustStore={}", quoted(&store.to_string_lossy())));
        options.push("-Djavax.net.ssl.trustStorePassword=changeit".to_owned());
    }
    options
}

/// The launcher splits at spaces outside quotes.
fn quoted(path: &str) -> String {
    if path.contains(' ') { format!("\"{path}\"") } else { path.to_owned() }
}
