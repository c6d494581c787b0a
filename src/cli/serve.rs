//! `pacegate serve`: says where it is, and serves until it is told to stop.

use crate::app::lookout::Lookout;
use crate::app::{App, CaFacts};
use crate::cli::arguments::Settings;
use crate::cli::commands::{FAILURE, fail, note, read, read_again, start, start_log};
use crate::cli::log::{self, Style};
use crate::cli::stop::Stop;
use crate::config::mistake::Mistakes;
use crate::config::settings::Config;
use crate::pace::rules::Law;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

pub async fn serve(settings: &Settings) -> u8 {
    let loaded = match read(settings) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    let style = start_log(&loaded.config);
    warn(style, &loaded.warnings);
    let mut stop = match Stop::listen() {
        Ok(stop) => stop,
        Err(error) => return fail(&format!("can't catch signals: {error}")),
    };
    let ladder = ladder(&loaded.config);
    let mut orders = Orders::new(loaded.file.as_deref());
    let mut app = match start(loaded.config).await {
        Ok(app) => app,
        Err(code) => return code,
    };
    outlive_signals();
    greet(style, &app, &ladder, loaded.file.as_deref());
    loop {
        tokio::select! {
            () = stop.ordered() => break,
            why = orders.reload() => reload(&mut app, settings, why),
        }
    }
    tracing::info!("stopping: no new requests, attempts under way may finish");
    tokio::select! {
        finished = app.stop() => {
            if !finished {
                tracing::warn!("the grace is over with requests still under way");
            }
            0
        }
        () = stop.ordered() => FAILURE,
    }
}

/// What makes us read the configuration again: SIGHUP, and a change of its file.
struct Orders {
    #[cfg(unix)]
    hang_up: Option<tokio::signal::unix::Signal>,
    file: Option<Lookout>,
}

impl Orders {
    fn new(file: Option<&Path>) -> Orders {
        Orders {
            #[cfg(unix)]
            hang_up: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok(),
            file: file.map(Lookout::new),
        }
    }

    /// Waits for the next, and names it.
    async fn reload(&mut self) -> &'static str {
        let Orders { file, .. } = self;
        #[cfg(unix)]
        let hang_up = async {
            match &mut self.hang_up {
                Some(hang_up) => hang_up.recv().await.map_or("", |()| "SIGHUP"),
                None => std::future::pending().await,
            }
        };
        #[cfg(not(unix))]
        let hang_up = std::future::pending();
        let changed = async {
            match file.as_mut() {
                Some(file) => file.changed().await,
                None => std::future::pending().await,
            }
        };
        let why = tokio::select! {
            why = hang_up => why,
            () = changed => return "the file changed",
        };
        if let Some(file) = file {
            file.note().await;
        }
        why
    }
}

/// Takes the configuration as it is by now, all of it or nothing.
fn reload(app: &mut App, settings: &Settings, why: &str) {
    let loaded = match read_again(settings) {
        Ok(loaded) => loaded,
        Err(mistakes) => {
            app.reload_failed();
            mistakes.iter().for_each(|line| tracing::error!("{line}"));
            let count = mistakes.len();
            tracing::error!(
                why,
                mistakes = count,
                "configuration not taken: the old one stays in force"
            );
            return;
        }
    };
    loaded.warnings.lines().for_each(|line| tracing::warn!("{line}"));
    match app.reload(loaded.config) {
        Ok(fixed) => {
            if !fixed.is_empty() {
                let keys = fixed.join(", ");
                tracing::warn!(
                    keys,
                    "these take effect when it is started anew: until then the old ones stay"
                );
            }
            tracing::info!(why, "configuration taken");
        }
        Err(error) => {
            tracing::error!(why, %error, "configuration not taken: the old one stays in force")
        }
    }
}

/// Signals that would end it unasked, with everything that is held, and that other servers have a use
/// for.
fn outlive_signals() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::SignalKind;
        outlive(SignalKind::user_defined1(), USELESS);
        outlive(SignalKind::user_defined2(), USELESS);
    }
}

#[cfg(unix)]
fn outlive(kind: tokio::signal::unix::SignalKind, said: &'static str) {
    let Ok(mut signals) = tokio::signal::unix::signal(kind) else { return };
    tokio::spawn(async move {
        while signals.recv().await.is_some() {
            tracing::warn!("{said}");
        }
    });
}

/// What doesn't keep the configuration from being used.
fn warn(style: Style, warnings: &Mistakes) {
    match style {
        Style::Text => note(&warnings.to_string()),
        Style::Json => warnings.lines().for_each(|line| tracing::warn!("{line}")),
    }
}

/// Where it is: for people, or for whoever reads the log line by line.
fn greet(style: Style, app: &App, ladder: &str, file: Option<&Path>) {
    let proxy = app.proxy().iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(",");
    let admin = app.admin().map_or_else(|| "none".to_owned(), |admin| admin.to_string());
    match style {
        Style::Text => {
            note(&banner(app, ladder, file));
            note(&format!("ready proxy={proxy} admin={admin}\n"));
        }
        Style::Json => {
            let ca = &app.ca;
            let file = file.map_or_else(|| "none".to_owned(), |file| file.display().to_string());
            let started = [
                ("version", env!("CARGO_PKG_VERSION").to_owned()),
                ("ladder", ladder.to_owned()),
                ("config", file),
                ("ca", ca.file.display().to_string()),
                ("ca_is_new", ca.made_now.to_string()),
                ("ca_sha256", ca.fingerprint.clone()),
                ("ca_valid_until", ca.valid_until.clone()),
            ];
            log::line("started", started.into());
            log::line("ready", [("proxy", proxy), ("admin", admin)].into());
        }
    }
}

fn ladder(config: &Config) -> String {
    let paces: Vec<String> =
        config.pace.ladder.paces().iter().map(|pace| pace.as_secs_f64().to_string()).collect();
    let window = config.retry.window.as_secs_f64();
    let law = match config.pace.law {
        Law::Ladder => "",
        Law::Backoff => "   (of single requests; law backoff)",
        Law::Fixed => "   (of single requests; law fixed)",
    };
    format!("{} s{law}   retry window {} min", paces.join(" "), window / 60.0)
}

fn banner(app: &App, ladder: &str, file: Option<&Path>) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!("pacegate {version}  pacing forward proxy\n");
    for proxy in app.proxy() {
        let _ = writeln!(text, "  proxy    http://{proxy}   (HTTP and HTTPS, intercepting)");
    }
    if let Some(admin) = app.admin() {
        let _ = writeln!(text, "  admin    http://{admin}   /metrics /livez /readyz");
    }
    let _ = writeln!(text, "  ladder   {ladder}");
    let _ = match file {
        Some(file) => writeln!(text, "  config   {}", file.display()),
        None => {
            writeln!(text, "  config   none found, defaults in use   (pacegate init writes one)")
        }
    };
    let CaFacts { file, made_now, fingerprint, valid_until } = &app.ca;
    let age = if *made_now { "new, made just now" } else { "kept" };
    let _ = writeln!(text, "  CA       {age}   {}", file.display());
    let _ = writeln!(text, "           SHA-256 {fingerprint}   valid until {valid_until}");
    text.push_str(NEXT);
    text
}

const NEXT: &str = "\n  see it     pacegate demo\n  try it     pacegate run -- curl -sS https://example.com\n  \
    a shell    eval \"$(pacegate env)\"\n  clients    http://pacegate.internal/ca.pem through the proxy is the CA\n";
const USELESS: &str = "SIGUSR1 and SIGUSR2 do nothing here; SIGTERM stops, and the admin port's /metrics \
    says how it is";
