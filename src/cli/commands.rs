//! The commands, each from its arguments to its exit code.

use crate::app::{self, App, CaFacts, StartError};
use crate::ca::files;
use crate::cli::arguments::{Arguments, Ca, CheckFormat, Command, Env, Run, Settings};
use crate::cli::env::{Files, Part, Place, environment, without};
use crate::cli::shell::Shell;
use crate::cli::stop::Stop;
use crate::cli::summary::summary;
use crate::cli::{check, files as side_files, health, hints, init, log, run, truststore};
use crate::clock::Clock;
use crate::config::load::{Loaded, Sources, find, load};
use crate::config::settings::{Config, LogFormat, LogLevel};
use clap::Parser;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use tracing::level_filters::LevelFilter;

/// Does what was asked on the command line.
pub fn main() -> ExitCode {
    let Arguments { command, settings } = Arguments::parse();
    let code = match command.unwrap_or(Command::Serve) {
        Command::Serve => on_a_runtime(serve(&settings)),
        Command::Run(run) => on_a_runtime(run_command(&settings, run)),
        Command::Env(env) => on_a_runtime(print_environment(&settings, env)),
        Command::Ca { what } => ca(&settings, what),
        Command::Check { file, format } => check_file(settings, file, format),
        Command::Init { file, force } => said(init::init(&file, force)),
        Command::Health { ready } => on_a_runtime(ask_health(&settings, ready)),
        Command::Demo { plain } => on_a_runtime(super::demo::demo(plain)),
    };
    log::flush();
    ExitCode::from(code)
}

fn on_a_runtime(command: impl Future<Output = u8>) -> u8 {
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => {
            let code = runtime.block_on(command);
            runtime.shutdown_background();
            code
        }
        Err(error) => fail(&format!("can't start the runtime: {error}")),
    }
}

/// Text and code of a command that prints and ends.
fn said((text, code): (String, u8)) -> u8 {
    print(&text);
    code
}

/// Nobody is left to tell that stdout is gone.
fn print(text: &str) {
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

fn note(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn fail(text: &str) -> u8 {
    note(&format!("pacegate: {text}\n"));
    FAILURE
}

fn sources(settings: &Settings) -> Result<Sources, String> {
    let env = |name: &str| std::env::var_os(name);
    let working = std::env::current_dir().unwrap_or_default();
    let found = || find(&working, env("XDG_CONFIG_HOME").as_deref(), env("HOME").as_deref());
    let mut flags = Vec::new();
    let mut flag = |path: &str, value: String| flags.push((path.to_owned(), value));
    if !settings.listen.is_empty() {
        let all: Vec<String> = settings.listen.iter().map(|it| format!("\"{it}\"")).collect();
        flag("listen", format!("[{}]", all.join(", ")));
    }
    if let Some(admin) = settings.admin {
        flag("admin.listen", admin.to_string());
    }
    if let Some(certs) = &settings.certs {
        flag("certs", certs.display().to_string());
    }
    let words = [
        ("preset", &settings.preset),
        ("log.level", &settings.log_level),
        ("log.format", &settings.log_format),
    ];
    for (path, value) in words {
        if let Some(value) = value {
            flag(path, value.clone());
        }
    }
    for pair in &settings.set {
        let (path, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("--set {pair}: expected key=value, like retry.window=5m"))?;
        flag(path, value.to_owned());
    }
    let env = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    Ok(Sources { file: settings.config.clone().or_else(found), env, flags })
}

fn config(settings: &Settings) -> Result<Loaded, u8> {
    let sources = sources(settings).map_err(|why| fail(&why))?;
    let loaded = load(sources).map_err(|mistakes| {
        note(&mistakes.to_string());
        MISTAKEN
    })?;
    note(&loaded.warnings.to_string());
    Ok(loaded)
}

fn start_log(config: &Config) {
    let level = match config.log.level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let format = match config.log.format {
        LogFormat::Auto => log::Format::Auto,
        LogFormat::Text => log::Format::Text,
        LogFormat::Json => log::Format::Json,
    };
    let no_color = std::env::var_os("NO_COLOR").is_some();
    log::start(level, format, no_color, Clock::runtime());
}

async fn start(config: Config) -> Result<App, u8> {
    raise_descriptors();
    app::start(config).await.map_err(|why: StartError| fail(&why.to_string()))
}

/// A crowd of holds needs two descriptors each: as many as we may have.
fn raise_descriptors() {
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}

async fn serve(settings: &Settings) -> u8 {
    let loaded = match config(settings) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    start_log(&loaded.config);
    let mut stop = match Stop::listen() {
        Ok(stop) => stop,
        Err(error) => return fail(&format!("can't catch signals: {error}")),
    };
    let ladder = ladder(&loaded.config);
    let app = match start(loaded.config).await {
        Ok(app) => app,
        Err(code) => return code,
    };
    note(&banner(&app, &ladder, loaded.file.as_deref()));
    let proxy = app.proxy().iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(",");
    let admin = app.admin().map_or_else(|| "none".to_owned(), |admin| admin.to_string());
    note(&format!("ready proxy={proxy} admin={admin}\n"));
    outlive_hang_ups();
    stop.ordered().await;
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

/// A hang-up (a terminal that closes, an operator who expects a reload) is no order to stop: it
/// would take everything that is held with it.
fn outlive_hang_ups() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut hang_up) = signal(SignalKind::hangup()) else { return };
        tokio::spawn(async move {
            while hang_up.recv().await.is_some() {
                tracing::warn!(
                    "SIGHUP: settings are read at the start only; restart to change them"
                );
            }
        });
    }
}

fn ladder(config: &Config) -> String {
    let paces: Vec<String> =
        config.pace.ladder.paces().iter().map(|pace| pace.as_secs_f64().to_string()).collect();
    let window = config.retry.window.as_secs_f64();
    format!("{} s   retry window {} min", paces.join(" "), window / 60.0)
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

async fn run_command(settings: &Settings, asked: Run) -> u8 {
    let Run { quiet, no_java, command } = asked;
    let mut loaded = match config(settings) {
        Ok(loaded) => loaded,
        Err(_) => return run::OUR_FAILURE,
    };
    let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    if settings.listen.is_empty() {
        loaded.config.listen = vec![free];
    }
    if settings.admin.is_none() {
        loaded.config.admin.listen = Some(free);
    }
    if settings.log_level.is_none() && loaded.config.log.level == LogLevel::Info {
        loaded.config.log.level = LogLevel::Warn;
    }
    start_log(&loaded.config);
    let app = match start(loaded.config).await {
        Ok(app) => app,
        Err(_) => return run::OUR_FAILURE,
    };
    let place = match place(&app, no_java).await {
        Ok(place) => place,
        Err(why) => {
            fail(&why);
            return run::OUR_FAILURE;
        }
    };
    if !quiet {
        note(&format!("pacegate: {} for this command\n", place.proxy_url));
        let name = command.first().map(|name| name.to_string_lossy());
        if let Some(hint) = name.and_then(|name| hints::hint(&name)) {
            note(&format!("pacegate: {hint}\n"));
        }
    }
    let variables = environment(&place, Part::All, &user);
    let ended = run::run(&command, &variables).await;
    if let Some(why) = &ended.said {
        fail(why);
    }
    if !quiet {
        note(&summary(&app.totals()));
    }
    let _ = tokio::time::timeout(RUN_GRACE, app.stop()).await;
    ended.code
}

fn user(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

async fn place(app: &App, no_java: bool) -> Result<Place, String> {
    let written = side_files::write(&app.ca.file, &user).map_err(|why| why.to_string())?;
    for why in &written.notes {
        tracing::debug!(why, "trust");
    }
    let mut files = written.files;
    if !no_java {
        let search = user("PATH").unwrap_or_default();
        files.truststore = truststore::make(&files, &search).await;
    }
    let proxy = app.proxy().first().ok_or("there is no listener")?;
    Ok(Place { proxy_url: format!("http://{proxy}"), admin: app.admin(), files })
}

async fn print_environment(settings: &Settings, asked: Env) -> u8 {
    let loaded = match config(settings) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    let place = match described(&loaded.config, &asked).await {
        Ok(place) => place,
        Err(why) => return fail(&why),
    };
    let shell = match asked.shell.as_deref() {
        Some(name) => match Shell::named(name) {
            Some(shell) => shell,
            None => {
                let known: Vec<_> = Shell::ALL.iter().map(|(name, _)| *name).collect();
                return fail(&format!("--shell {name}: expected one of {}", known.join(", ")));
            }
        },
        None => Shell::of_program(&user("SHELL").unwrap_or_default()),
    };
    let part = match (asked.ca_only, asked.proxy_only) {
        (true, _) => Part::CaOnly,
        (_, true) => Part::ProxyOnly,
        (false, false) => Part::All,
    };
    let variables = match asked.unset {
        true => without(&place, part, &user),
        false => environment(&place, part, &user),
    };
    print(&shell.render(&variables));
    0
}

/// Where clients find a proxy that runs, or will, with this configuration.
async fn described(config: &Config, asked: &Env) -> Result<Place, String> {
    let listen = config.listen.first().ok_or("there is no listener")?;
    let host = match &asked.host {
        Some(host) => format!("{host}:{}", listen.port()),
        None if listen.ip().is_unspecified() => format!("127.0.0.1:{}", listen.port()),
        None => listen.to_string(),
    };
    let files = match &asked.ca {
        Some(folder) => Files::beside(&folder.join(files::CERTIFICATE_FILE)),
        None => {
            let folder = app::ca_folder(config).map_err(|why| why.to_string())?;
            let kept =
                files::open_or_create(&folder, &Clock::runtime()).map_err(|why| why.to_string())?;
            let written =
                side_files::write(&kept.certificate_file, &user).map_err(|why| why.to_string())?;
            let mut files = written.files;
            files.truststore = truststore::make(&files, &user("PATH").unwrap_or_default()).await;
            files
        }
    };
    Ok(Place { proxy_url: format!("http://{host}"), admin: config.admin.listen, files })
}

fn ca(settings: &Settings, what: Ca) -> u8 {
    let loaded = match config(settings) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    let kept = app::ca_folder(&loaded.config).and_then(|folder| {
        files::open_or_create(&folder, &Clock::runtime()).map_err(StartError::Ca)
    });
    match kept {
        Ok(kept) => {
            print(&match what {
                Ca::Path => format!("{}\n", kept.certificate_file.display()),
                Ca::Print => kept.root.pem(),
                Ca::Spki => format!("{}\n", kept.root.spki_sha256()),
            });
            0
        }
        Err(why) => fail(&why.to_string()),
    }
}

fn check_file(mut settings: Settings, file: Option<std::path::PathBuf>, format: CheckFormat) -> u8 {
    if file.is_some() {
        settings.config = file;
    }
    let sources = match sources(&settings) {
        Ok(sources) => sources,
        Err(why) => return fail(&why),
    };
    let format = match format {
        CheckFormat::Human => check::Format::Human,
        CheckFormat::Json => check::Format::Json,
    };
    said(check::check(sources, format, false, &mut io::stdin().lock()))
}

async fn ask_health(settings: &Settings, ready: bool) -> u8 {
    let loaded = match config(settings) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    let Some(admin) = loaded.config.admin.listen else {
        return fail("there is no admin port (admin.listen)");
    };
    let question = if ready { health::Question::Ready } else { health::Question::Alive };
    match health::check(admin, question).await {
        Ok(()) => 0,
        Err(why) => fail(&why),
    }
}

const FAILURE: u8 = 1;
/// The configuration is wrong.
const MISTAKEN: u8 = 2;
/// After its command has ended, `run` waits so long for what it left.
const RUN_GRACE: std::time::Duration = std::time::Duration::from_secs(2);
const NEXT: &str = "\n  see it     pacegate demo\n  try it     pacegate run -- curl -sS https://example.com\n  \
    a shell    eval \"$(pacegate env)\"\n  clients    http://pacegate.internal/ca.pem through the proxy is the CA\n";
