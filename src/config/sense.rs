//! What no value shows alone: settings that contradict each other, or that leave a door open.

use crate::config::check::is_loopback;
use crate::config::mistake::Mistake;
use crate::config::section::Report;
use crate::config::settings::Config;
use crate::config::value::bytes;
use crate::pace::rules::PaceRules;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::Duration;

/// Completes what follows from several settings, and reports what doesn't go together.
pub(in crate::config) fn complete(config: &mut Config, report: &mut Report) {
    let own = config.listen.iter().copied().chain(config.admin.listen);
    config.reach.destinations.own = own.collect();
    open_doors(config, report);
    taken_twice(&config.reach.destinations.own, report);
    times(config, report);
    sizes(config, report);
}

fn open_doors(config: &Config, report: &mut Report) {
    let open = config.listen.iter().find(|listener| !is_loopback(listener));
    let nobody = config.clients.as_ref().is_none_or(Vec::is_empty);
    if let (Some(open), true) = (open, nobody) {
        let message = format!(
            "`listen` is open to other machines ({open}), and `clients.allow` doesn't say to which"
        );
        let hint = "add `clients: {allow: private}`, name networks, or listen on 127.0.0.1";
        report.mistakes.push(Mistake::error(message, &report.place("listen"), hint));
    }
    let admin = config.admin.listen.filter(|listener| !is_loopback(listener));
    let nothing = config.admin.public.is_empty() && config.admin.token_file.is_none();
    if let (Some(admin), true) = (admin, nothing) {
        let message = format!(
            "`admin.listen` is open to other machines ({admin}), and `admin.public` shows them nothing"
        );
        let hint = "add `public: [metrics, health]`, or listen on 127.0.0.1";
        report.mistakes.push(Mistake::warning(message, &report.place("admin.listen"), hint));
    }
}

fn taken_twice(own: &[SocketAddr], report: &mut Report) {
    let mut taken = HashSet::new();
    for listener in own.iter().filter(|listener| listener.port() != 0) {
        if !taken.insert(listener) {
            let given = ["admin.listen", "listen"].into_iter().find_map(|key| report.given(key));
            let place = given.cloned().unwrap_or_else(|| report.place("listen"));
            let message = format!("{listener} is listened on twice");
            report.mistakes.push(Mistake::error(message, &place, "give each its own port"));
        }
    }
}

fn times(config: &Config, report: &mut Report) {
    let retry = &config.retry;
    let top = top_pace(&config.pace);
    let mut warn = |key: &str, message: String, hint: &str| {
        report.mistakes.push(Mistake::warning(message, &report.place(key), hint));
    };
    let window = span(retry.window);
    if retry.window < top {
        let message = format!(
            "`retry.window` ({window}) is shorter than the top of `pace.ladder` ({})",
            span(top)
        );
        warn("retry.window", message, "a request on the top rung gets one attempt or none");
    }
    if retry.response_timeout > retry.window {
        let timeout = span(retry.response_timeout);
        let message = format!(
            "`retry.response_timeout` ({timeout}) is longer than `retry.window` ({window})"
        );
        warn("retry.response_timeout", message, "an attempt that times out is never repeated");
    }
    if retry.window > retry.window_max {
        let most = span(retry.window_max);
        let message =
            format!("`retry.window` ({window}) is longer than `retry.window_max` ({most})");
        warn("retry.window", message, "requests can't ask for as much as they get without asking");
    }
    for (host, rules) in &config.scopes {
        let top = top_pace(rules);
        let key = format!("scopes.{host}.ladder");
        if retry.window < top && report.given(&key).is_some() {
            let message = format!(
                "`retry.window` ({window}) is shorter than the top of `{key}` ({})",
                span(top)
            );
            let hint = "a request on the top rung gets one attempt or none";
            report.mistakes.push(Mistake::warning(message, &report.place(&key), hint));
        }
    }
}

fn sizes(config: &Config, report: &mut Report) {
    let buffers = &config.buffers;
    if buffers.replay_body > buffers.replay_total {
        let (one, all) = (bytes(buffers.replay_body), bytes(buffers.replay_total));
        let message =
            format!("`limits.replay_body` ({one}) is more than `limits.replay_total` ({all})");
        let place = report.place("limits.replay_body");
        report.mistakes.push(Mistake::warning(message, &place, "no body of that size is kept"));
    }
    for key in ["held_per_scope", "held_per_client"] {
        let path = format!("limits.{key}");
        let part = if key == "held_per_scope" {
            config.limits.held_per_scope
        } else {
            config.limits.held_per_client
        };
        if part > config.limits.held && report.given(&path).is_some() {
            let message =
                format!("`{path}` ({part}) is more than `limits.held` ({})", config.limits.held);
            report.mistakes.push(Mistake::warning(
                message,
                &report.place(&path),
                "it never counts",
            ));
        }
    }
}

fn top_pace(rules: &PaceRules) -> Duration {
    rules.ladder.pace(rules.ladder.top())
}

/// A span as people write it.
fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    match span.subsec_millis() {
        0 if seconds > 0 && seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        0 if seconds > 60 && seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        0 => format!("{seconds}s"),
        _ => format!("{}ms", span.as_millis()),
    }
}
