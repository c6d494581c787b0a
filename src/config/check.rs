//! From what is written to what is meant: every key of every section into its place. Pure.

use crate::config::address;
use crate::config::mistake::Mistake;
use crate::config::node::Node;
use crate::config::pacing;
use crate::config::rules;
use crate::config::section::{Report, Section};
use crate::config::sense;
use crate::config::settings::{Config, LogFormat, LogLevel, PublicPart};
use crate::config::value::{self, Read, wrong};
use crate::config::verdicts;
use crate::config::waits;
use crate::config::weights::weights;
use crate::flow::settings::{
    ControlHeaders, Preset, ResponseHeaders, Retry, RobotsDelay, Share, Unsafe, Via, WindowClose,
};
use crate::net::settings::Roots;
use crate::pace::jitter::Jitter;
use crate::pace::rules::Law;
use crate::policy::patience::Patience;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Reads a whole configuration. Whatever is wrong keeps its default and is reported; the
/// configuration is good if no mistake is an error.
pub(in crate::config) fn check(root: Option<&Node>) -> (Config, Report) {
    let mut report = Report::default();
    let report_ref = &mut report;
    let mut config = Config::default();
    let top = Section::top(root, report_ref);
    doors(&top, &mut config, report_ref);
    preset(&top, &mut config, report_ref);
    pacing::read(&top, &mut config, report_ref);
    repeats(&top, &mut config, report_ref);
    bounds(&top, &mut config, report_ref);
    ways(&top, &mut config, report_ref);
    records(&top, &mut config, report_ref);
    sense::complete(&mut config, &mut report);
    (config, report)
}

/// Who gets in, and where.
fn doors(top: &Section<'_>, config: &mut Config, report: &mut Report) {
    top.read("listen", &mut config.listen, listeners, report);
    let admin = top.below("admin", report);
    let parse = |node: &Node| value::optional(node, address::listener);
    admin.read("listen", &mut config.admin.listen, parse, report);
    let parts = [("metrics", PublicPart::Metrics), ("health", PublicPart::Health)];
    let parse = |node: &Node| value::list(node, |node| value::word(node, &parts));
    admin.read("public", &mut config.admin.public, parse, report);
    let parse = |node: &Node| value::optional(node, value::path);
    admin.read("token_file", &mut config.admin.token_file, parse, report);
    top.read("certs", &mut config.certs, parse, report);
    top.read("state_file", &mut config.state_file, parse, report);
    let clients = top.below("clients", report);
    let parse = |node: &Node| value::optional(node, address::networks);
    clients.read("allow", &mut config.clients, parse, report);
    clients.read("idle", &mut config.manners.idle, value::some_duration, report);
    clients.read("unread", &mut config.manners.unread, value::some_duration, report);
    clients.read("weights", &mut config.weights, weights, report);
    clients.read("connections", &mut config.manners.connections, share, report);
    let whose = [
        ("loopback", ControlHeaders::Loopback),
        ("all", ControlHeaders::All),
        ("off", ControlHeaders::Off),
    ];
    let parse = |node: &Node| value::word(node, &whose);
    top.read("control_headers", &mut config.control_headers, parse, report);
    let words = [("learn", Patience::Learn), ("enforce", Patience::Enforce)];
    top.read("patience", &mut config.patience, |node| value::word(node, &words), report);
    let which = [
        ("minimal", ResponseHeaders::Minimal),
        ("full", ResponseHeaders::Full),
        ("off", ResponseHeaders::Off),
    ];
    let parse = |node: &Node| value::word(node, &which);
    top.read("response_headers", &mut config.response_headers, parse, report);
    top.read("via", &mut config.via, via, report);
    top.read("proxy_name", &mut config.proxy_name, name, report);
}

/// How many connections an address may have.
fn share(node: &Node) -> Read<Share> {
    match value::text(node) {
        Ok("auto") => Ok(Share::Auto),
        Ok(_) | Err(_) if value::is_none(node) => Ok(Share::All),
        Ok(_) | Err(_) => {
            let most = value::count(node, 1..=10_000_000).map(Share::Most);
            most.map_err(|mut wrongs| {
                let hint =
                    "`auto` keeps a quarter of all places from one address; `none` for no limit";
                wrongs.iter_mut().for_each(|wrong| hint.clone_into(&mut wrong.hint));
                wrongs
            })
        }
    }
}

/// Which messages are signed. Yes alone doesn't say which.
fn via(node: &Node) -> Read<Via> {
    let messages = [("off", Via::Off), ("responses", Via::Responses), ("both", Via::Both)];
    value::word(node, &messages).map_err(|mut wrongs| {
        if value::boolean(node).is_ok() {
            let hint = "`both` signs requests and responses, `responses` only what clients get";
            wrongs.iter_mut().for_each(|wrong| hint.clone_into(&mut wrong.hint));
        }
        wrongs
    })
}

/// A token of structured fields (RFC 9651 §3.3.4), as Proxy-Status names a proxy.
fn name(node: &Node) -> Read<Arc<str>> {
    let text = value::text(node)?;
    let starts = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '*');
    let of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte);
    match starts && text.len() <= 64 && text.bytes().all(of_token) {
        true => Ok(text.into()),
        false => wrong(node, "is no name for Proxy-Status", "write it like `crawl-proxy-1`"),
    }
}

fn listeners(node: &Node) -> Read<Vec<SocketAddr>> {
    let listeners = value::list(node, address::listener)?;
    if listeners.is_empty() {
        return wrong(node, "names no address", "write it like `127.0.0.1:3128`");
    }
    Ok(listeners)
}

/// What other settings begin with.
fn preset(top: &Section<'_>, config: &mut Config, report: &mut Report) {
    let presets = Preset::ALL.map(|preset| (preset.word(), preset));
    top.read("preset", &mut config.preset, |node| value::word(node, &presets), report);
    config.retry = preset_retry(config.preset);
    if config.preset == Preset::Scrapy {
        // Spec section 7, and the seed's own defaults.
        config.pace.law = Law::Backoff;
        config.pace.concurrency = Some(1);
        config.pace.delay = Duration::from_secs(1);
        config.pace.jitter = Jitter::new(-0.5, 0.5).expect("half is less than all");
        config.robots.delay = RobotsDelay::Passive;
    }
}

/// How long and how often requests are repeated.
fn repeats(top: &Section<'_>, config: &mut Config, report: &mut Report) {
    let to = &mut config.retry;
    let retry = top.below("retry", report);
    retry.read("window", &mut to.window, value::some_duration, report);
    retry.read("window_max", &mut to.window_max, value::some_duration, report);
    let closes = [("send", WindowClose::Send), ("answer", WindowClose::Answer)];
    retry.read("window_close", &mut to.window_close, |node| value::word(node, &closes), report);
    retry.read("response_timeout", &mut to.response_timeout, value::some_duration, report);
    retry.read("connect_timeout", &mut config.reach.connect_timeout, value::some_duration, report);
    retry.read("idle_timeout", &mut config.reach.idle_timeout, value::some_duration, report);
    retry.read("abandoned_after", &mut to.abandoned_after, value::duration, report);
    let parse = |node: &Node| value::optional(node, value::some_count);
    retry.read("page_faults", &mut to.page_faults, parse, report);
    retry.read("max_attempts", &mut to.max_attempts, parse, report);
    retry.read("min_attempt", &mut to.min_attempt, value::duration, report);
    let which = [("never", Unsafe::Never), ("always", Unsafe::Always)];
    retry.read("unsafe", &mut to.unsafe_methods, |node| value::word(node, &which), report);
    waits::read(top, config, report);
    config.verdicts = verdicts::read(top, report);
    config.rules = rules::read(top, report);
}

/// Spec section 7. What the configuration names itself comes after.
fn preset_retry(preset: Preset) -> Retry {
    let (window, response_timeout) = match preset {
        Preset::Transparent | Preset::Api | Preset::Scrapy | Preset::Strict | Preset::Off => {
            return Retry::default();
        }
        Preset::Interactive => (45, 15),
        Preset::Archive => (3600, 300),
    };
    Retry {
        window: Duration::from_secs(window),
        response_timeout: Duration::from_secs(response_timeout),
        ..Retry::default()
    }
}

/// How much of everything.
fn bounds(top: &Section<'_>, config: &mut Config, report: &mut Report) {
    let limits = top.below("limits", report);
    let many = |node: &Node| value::count(node, 1..=10_000_000);
    limits.read("held", &mut config.limits.held, many, report);
    limits.read("held_per_scope", &mut config.limits.held_per_scope, many, report);
    limits.read("held_per_client", &mut config.limits.held_per_client, many, report);
    let some = |node: &Node| value::optional(node, many);
    limits.read("attempts", &mut config.limits.attempts, some, report);
    limits.read("scopes", &mut config.limits.scopes, many, report);
    let buffers = &mut config.buffers;
    let one = |node: &Node| value::size(node, 0..=REPLAY_BODY);
    limits.read("replay_body", &mut buffers.replay_body, one, report);
    let all = |node: &Node| value::size(node, 0..=TOTAL);
    limits.read("replay_total", &mut buffers.replay_total, all, report);
    limits.read("kept_total", &mut buffers.kept_total, all, report);
    limits.read("response_total", &mut buffers.response_total, all, report);
    let one = |node: &Node| value::size(node, 0..=RESPONSE_BUFFER);
    limits.read("response_buffer", &mut buffers.response, one, report);
    let head = |node: &Node| value::size(node, HEAD_BYTES);
    limits.read("header_bytes", &mut config.heads.bytes, head, report);
    let fields = |node: &Node| value::count(node, 10..=10_000);
    limits.read("header_fields", &mut config.heads.fields, fields, report);
    let warn = top.below("warn", report);
    warn.read("held", &mut config.warn_held, many, report);
    let shutdown = top.below("shutdown", report);
    shutdown.read("grace", &mut config.shutdown_grace, value::duration, report);
}

/// How bytes travel.
fn ways(top: &Section<'_>, config: &mut Config, report: &mut Report) {
    let tunnel = top.below("tunnel", report);
    tunnel.read("hold", &mut config.tunnel.hold, value::duration, report);
    tunnel.read("idle", &mut config.tunnel.idle, value::some_duration, report);
    let ports = |node: &Node| value::list(node, value::port);
    tunnel.read("deny_ports", &mut config.tunnel.deny_ports, ports, report);
    let tls = top.below("tls", report);
    tls.read("intercept", &mut config.intercept.enabled, intercept, report);
    let names = |node: &Node| value::list(node, address::name_pattern);
    tls.read("passthrough", &mut config.intercept.passthrough, names, report);
    let roots = |node: &Node| match value::text(node)? {
        "auto" => Ok(Roots::Auto),
        _ => value::path(node).map(Roots::File),
    };
    tls.read("roots", &mut config.reach.roots, roots, report);
    let hosts = |node: &Node| value::list(node, address::host_of);
    tls.read("insecure", &mut config.reach.insecure, hosts, report);
    tls.read("key_log", &mut config.reach.key_log, value::boolean, report);
    let destinations = top.below("destinations", report);
    let deny = |node: &Node| match value::text(node)? {
        "auto" => Ok(None),
        _ => value::boolean(node).map(Some),
    };
    let mut denied = None;
    destinations.read("deny", &mut denied, deny, report);
    config.reach.destinations.deny_private =
        denied.unwrap_or_else(|| config.listen.iter().any(|listener| !is_loopback(listener)));
    let allowed = &mut config.reach.destinations.allow;
    destinations.read("allow", allowed, address::networks, report);
    for entry in top.named("resolve", report) {
        let host = address::host(&entry.key);
        match (host, address::place_to_go(&entry.node)) {
            (Ok(host), Ok(to)) => drop(config.reach.resolve.names.insert(host, to)),
            (Err(hint), _) => {
                let message = format!("`resolve` has no host in `{}`", value::short(&entry.key));
                report.mistakes.push(Mistake::error(message, &entry.key_place, hint));
            }
            (_, Err(wrongs)) => report.mistakes.extend(wrongs.into_iter().map(|wrong| {
                let message = format!("`resolve.{}` {}", entry.key, wrong.why);
                Mistake::error(message, &wrong.place, wrong.hint)
            })),
        }
    }
}

fn intercept(node: &Node) -> Read<bool> {
    match value::text(node)? {
        "auto" => wrong(node, "`auto` is not built yet in this version", "write `true` or `false`"),
        _ => value::boolean(node),
    }
}

/// What is counted and written down.
fn records(top: &Section<'_>, config: &mut Config, report: &mut Report) {
    let metrics = top.below("metrics", report);
    let hosts = |node: &Node| value::count(node, 1..=10_000);
    metrics.read("host_limit", &mut config.metrics_host_limit, hosts, report);
    let log = top.below("log", report);
    let levels = [
        ("off", LogLevel::Off),
        ("error", LogLevel::Error),
        ("warn", LogLevel::Warn),
        ("info", LogLevel::Info),
        ("debug", LogLevel::Debug),
        ("trace", LogLevel::Trace),
    ];
    log.read("level", &mut config.log.level, |node| value::word(node, &levels), report);
    let formats = [("auto", LogFormat::Auto), ("text", LogFormat::Text), ("json", LogFormat::Json)];
    log.read("format", &mut config.log.format, |node| value::word(node, &formats), report);
}

/// Whether only this machine gets to a listener.
pub(in crate::config) fn is_loopback(listener: &SocketAddr) -> bool {
    listener.ip().to_canonical().is_loopback()
}

/// Spec 2.3: up to 1 MiB.
const REPLAY_BODY: usize = 1 << 20;
const RESPONSE_BUFFER: usize = 64 << 20;
const TOTAL: usize = 64 << 30;
/// Less than 8 KiB is refused by too many honest browsers; more than 1 MiB is an attack.
const HEAD_BYTES: std::ops::RangeInclusive<usize> = 8192..=1 << 20;
