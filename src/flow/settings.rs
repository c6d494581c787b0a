//! What the configuration says about how one request travels.

use crate::pace::floor::Floor;
use crate::pace::scope::{Host, Scope};
use std::collections::HashMap;
use std::time::Duration;

/// Which requests that may change something are repeated: the rule lives where it is applied.
pub use crate::judge::replay::Unsafe;
/// How many connections an address may have.
pub use crate::net::crowd::Share;
/// The preset a request runs under; clients name it too.
pub use crate::policy::preset::Preset;

/// What happens at the window's end to a request that was never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowClose {
    /// One last attempt that skips the ladder only.
    Send,
    /// 503 at once.
    Answer,
}

/// `retry`: how long, how often, what counts as too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    pub window: Duration,
    pub window_max: Duration,
    pub window_close: WindowClose,
    pub response_timeout: Duration,
    pub abandoned_after: Duration,
    /// So many failures of its own, and a page gets its last answer. `None`: no page faults.
    pub page_faults: Option<u32>,
    pub max_attempts: Option<u32>,
    /// With less than this left until a stated deadline no attempt starts.
    pub min_attempt: Duration,
    pub unsafe_methods: Unsafe,
    /// `retry_after.max`.
    pub retry_after_max: Duration,
    /// `retry_after.preemptive`: little left of a quota spaces the requests to come.
    pub preemptive: bool,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry {
            window: Duration::from_secs(600),
            window_max: Duration::from_secs(3600),
            window_close: WindowClose::Send,
            response_timeout: Duration::from_secs(60),
            abandoned_after: Duration::from_secs(5),
            page_faults: Some(3),
            max_attempts: None,
            min_attempt: Duration::from_millis(500),
            unsafe_methods: Unsafe::Never,
            retry_after_max: Duration::from_secs(3600),
            preemptive: false,
        }
    }
}

/// Sizes of what is kept of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Of one request body, for its repeat.
    pub replay_body: usize,
    /// Of all request bodies together.
    pub replay_total: usize,
    /// Of one last answer.
    pub kept_answer: usize,
    /// Of all last answers together.
    pub kept_total: usize,
    /// Of an answer, before its head goes out.
    pub response: usize,
    /// Of all such answers together, until their clients have taken them.
    pub response_total: usize,
}

impl Default for Buffers {
    fn default() -> Buffers {
        const KIB: usize = 1024;
        Buffers {
            replay_body: 64 * KIB,
            replay_total: 64 * KIB * KIB,
            kept_answer: 64 * KIB,
            kept_total: 64 * KIB * KIB,
            response: 256 * KIB,
            response_total: 64 * KIB * KIB,
        }
    }
}

/// `robots`: what a site asks of crawlers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Robots {
    pub delay: RobotsDelay,
    /// Longer delays are cut to it.
    pub max_delay: Duration,
    /// Scopes that the configuration says something of.
    pub scopes: HashMap<Scope, Own>,
}

/// Where the delays of robots.txt come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RobotsDelay {
    /// From nowhere: they don't count.
    Off,
    /// From those that clients fetch.
    Passive,
    /// The same, and they are fetched for hosts whose one nobody has seen.
    Fetch,
}

/// What the configuration says of a scope itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    pub delay: Option<Duration>,
    pub concurrency: Option<u32>,
    /// `ignore_robots`.
    pub ignores: bool,
}

impl Robots {
    /// The floor that a delay asks for in a scope, and whether the configuration overrules it with
    /// something faster.
    pub fn floor(&self, scope: &Scope, delay: Duration) -> (Floor, bool) {
        let own = self.scopes.get(scope).copied().unwrap_or_default();
        if delay.is_zero() || own.ignores {
            return (Floor::default(), false);
        }
        let faster = own.delay.is_some_and(|own| own < delay);
        let wider = own.concurrency.is_some_and(|own| own > 1);
        let floor = Floor {
            delay: if faster { Duration::ZERO } else { delay },
            concurrency: if wider || faster { None } else { Some(1) },
        };
        (floor, faster || wider)
    }
}

impl Default for Robots {
    fn default() -> Robots {
        let max_delay = Duration::from_secs(60);
        Robots { delay: RobotsDelay::Off, max_delay, scopes: HashMap::new() }
    }
}

/// Which of our own fields a client is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseHeaders {
    /// `Pace-Status` when something was waited for or repeated, or asked for.
    Minimal,
    /// Always.
    Full,
    Off,
}

/// Which messages say that they passed us (RFC 9110 §7.6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    Off,
    Responses,
    Both,
}

/// Whose `Pace-…` request fields are obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlHeaders {
    /// Those of clients on this machine; others may only make things politer.
    Loopback,
    All,
    Off,
}

/// How long a preset's window is, and an attempt of it. `retry` has those of the `configured` one.
pub fn times(preset: Preset, configured: Preset, retry: &Retry) -> (Duration, Duration) {
    match preset {
        preset if preset == configured => (retry.window, retry.response_timeout),
        Preset::Transparent | Preset::Api | Preset::Scrapy | Preset::Strict | Preset::Off => {
            let standard = Retry::default();
            (standard.window, standard.response_timeout)
        }
        Preset::Interactive => (INTERACTIVE.0, INTERACTIVE.1),
        Preset::Archive => (ARCHIVE.0, ARCHIVE.1),
    }
}

/// Most attempts of a request: the configured, and for APIs no more than three.
pub fn most_attempts(preset: Preset, retry: &Retry) -> Option<u32> {
    match preset {
        Preset::Api => Some(retry.max_attempts.map_or(API_ATTEMPTS, |most| most.min(API_ATTEMPTS))),
        Preset::Transparent
        | Preset::Interactive
        | Preset::Archive
        | Preset::Scrapy
        | Preset::Strict
        | Preset::Off => retry.max_attempts,
    }
}

/// Spec section 7: two repeats.
const API_ATTEMPTS: u32 = 3;
/// Spec section 7.
const INTERACTIVE: (Duration, Duration) = (Duration::from_secs(45), Duration::from_secs(15));
/// Spec section 7.
const ARCHIVE: (Duration, Duration) = (Duration::from_secs(3600), Duration::from_secs(300));

/// `clients`: what is expected of those who connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manners {
    /// A connection without a request is closed after so long.
    pub idle: Duration,
    /// An answer of which next to nothing was taken for so long is given up.
    pub unread: Duration,
    /// How many connections one address may have.
    pub connections: Share,
}

impl Default for Manners {
    fn default() -> Manners {
        // Longer than clients keep an idle connection, and than a program thinks between two reads.
        Manners {
            idle: Duration::from_secs(75),
            unread: Duration::from_secs(300),
            connections: Share::Auto,
        }
    }
}

/// `tunnel`: CONNECTs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// How long a CONNECT that is decided on itself may be held.
    pub hold: Duration,
    /// What is passed through, an upgraded connection too, is closed when nothing moved for so long.
    pub idle: Duration,
    pub deny_ports: Vec<u16>,
}

/// `tls`: which names are intercepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intercept {
    pub enabled: bool,
    /// Names passed through unread: exact, or `*.example` for all below.
    pub passthrough: Vec<String>,
}

impl Intercept {
    /// Whether requests to `host` are read.
    pub fn covers(&self, host: &Host) -> bool {
        self.enabled && !self.passthrough.iter().any(|pattern| matches(pattern, host.as_str()))
    }
}

fn matches(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix("*.") {
        Some(above) => host.strip_suffix(above).is_some_and(|label| label.ends_with('.')),
        None => pattern == host,
    }
}
