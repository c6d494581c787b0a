//! The scene: who asks whom, how often and how patiently, and what the story needs of a proxy.
//!
//! Must not know how a proxy is made, nor what the story comes to.

use crate::clock::{Clock, Tick};
use crate::demo::shop::Trade;
use crate::flow::settings::{Preset, Retry};
use crate::pace::rules::{Ladder, PaceRules};
use std::net::SocketAddr;
use std::time::Duration;

/// Everything the story can be told with.
#[derive(Clone, Debug)]
pub struct Scene {
    pub trade: Trade,
    /// Pages each crawler wants, and how many of them at once.
    pub pages: usize,
    pub at_once: usize,
    /// The time-out of a client that hurries.
    pub hurry: Duration,
    /// The time-out of a client that waits: the proxy's window.
    pub patience: Duration,
    pub ladder: Ladder,
    /// The proxy's limit on one attempt.
    pub response_timeout: Duration,
    /// When a client that leaves an attempt counts against the shop.
    pub abandoned_after: Duration,
    /// The story ends here, told or not.
    pub limit: Duration,
}

impl Default for Scene {
    /// Everything at a twentieth of its size (ladder, window, `abandoned_after`), but for the
    /// attempt's limit: it is a little over the hurried client's second, so that it is always the
    /// client that gives up first.
    fn default() -> Scene {
        let paces = [0, 100, 250, 750, 1500, 3000].map(Duration::from_millis);
        Scene {
            trade: Trade::default(),
            pages: 90,
            at_once: 30,
            hurry: Duration::from_secs(1),
            patience: Duration::from_secs(30),
            ladder: Ladder::new(paces.to_vec()).expect("it begins with nothing and rises"),
            response_timeout: Duration::from_millis(1200),
            abandoned_after: Duration::from_millis(250),
            limit: Duration::from_secs(50),
        }
    }
}

/// The four crawls of the story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Straight to the shop, hurried.
    Direct,
    /// Through the proxy, with a client that waits.
    Paced,
    /// The same with pacing switched off.
    Unpaced,
    /// Through the proxy, hurried.
    Hasty,
}

impl Kind {
    /// In the order they are told in.
    pub const ALL: [Kind; 4] = [Kind::Direct, Kind::Paced, Kind::Unpaced, Kind::Hasty];

    /// Two short lines that name the crawl.
    pub const fn title(self) -> [&'static str; 2] {
        match self {
            Kind::Direct => ["straight to", "the shop"],
            Kind::Paced => ["pacegate,", "client waits"],
            Kind::Unpaced => ["pacing off,", "client waits"],
            Kind::Hasty => ["pacegate,", "client hurries"],
        }
    }
}

impl Scene {
    /// The name the shops are asked by; it resolves to loopback (RFC 6761 §6.3).
    pub const HOST: &'static str = "shop.localhost";

    /// The time-out of a crawl's client.
    pub fn time_out(&self, kind: Kind) -> Duration {
        match kind {
            Kind::Direct | Kind::Hasty => self.hurry,
            Kind::Paced | Kind::Unpaced => self.patience,
        }
    }

    /// The proxy a crawl goes through, if it does.
    pub fn setup(&self, kind: Kind, clock: &Clock) -> Option<ProxySetup> {
        let preset = match kind {
            Kind::Direct => return None,
            Kind::Paced | Kind::Hasty => Preset::Transparent,
            Kind::Unpaced => Preset::Off,
        };
        let pace = PaceRules { ladder: self.ladder.clone(), ..PaceRules::default() };
        let retry = Retry {
            window: self.patience,
            response_timeout: self.response_timeout,
            abandoned_after: self.abandoned_after,
            ..Retry::default()
        };
        Some(ProxySetup { clock: clock.clone(), preset, pace, retry })
    }
}

/// How the story wants a proxy: everything else is as the product's defaults have it. It must
/// listen on a free port of loopback, and reach `*.localhost` on loopback.
#[derive(Clone, Debug)]
pub struct ProxySetup {
    /// The story's own clock: moments of shop and proxy are compared.
    pub clock: Clock,
    pub preset: Preset,
    pub pace: PaceRules,
    pub retry: Retry,
}

/// A running proxy with rows of its own, as far as the story looks at it.
pub trait Proxy {
    /// Where clients reach it.
    fn address(&self) -> SocketAddr;

    /// The rung of a host; `None` if it has no row.
    fn rung(&self, host: &str) -> Option<u8>;

    /// Every attempt started so far, and when it was allowed. In any order; permits that were
    /// given back unused don't belong here. Empty if nobody noted them.
    fn allowed(&self) -> Vec<Allowed>;

    /// Requests whose client left before their answer.
    fn client_gone(&self) -> u64;

    /// What the log advised because of it, a line each.
    fn advice(&self) -> Vec<String>;

    /// Ends it: listener, connections, tasks.
    fn stop(self) -> impl Future<Output = ()> + Send;
}

/// A start the gate allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Allowed {
    /// The earliest moment it could start at: anchor + pace.
    pub at: Tick,
    /// The rung it started from.
    pub rung: u8,
}
