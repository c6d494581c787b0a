//! The commands, each from its arguments to its exit code.

use crate::app::{self, App, StartError};
use crate::ca::files;
use crate::cli::arguments::{
    Arguments, Ca, CheckFormat, Command, Env, Run, Settings, not_a_command,
};
use crate::cli::env::{Files, Part, Place, environment, without};
use crate::cli::shell::Shell;
use crate::cli::summary::summary;
use crate::cli::{
    check, files as side_files, health, hints, init, log, operator, run, scrapy, serve, truststore,
    witness,
};
use crate::clock::Clock;
use crate::config::load::{Loaded, Sources, find, load};
use crate::config::settings::{Config, LogFormat, LogLevel};
use clap::Parser;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use tracing::level_filters::LevelFilter;

/// Does what was asked on the command line.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let Arguments { command, settings } = match Arguments::try_parse_from(&words) {
        Ok(arguments) => arguments,
        Err(error) => match not_a_command(&error, &words) {
            Some(said) => {
                fail(&said);
                return ExitCode::from(MISTAKEN);
            }
            None => error.exit(),
        },
    };
    let code = match command.unwrap_or(Command::Serve) {
        Command::Serve => on_a_runtime(serve::serve(&settings)),
        Command::Run(run) => on_a_runtime(run_command(&settings, run)),
        Command::Env(env) => on_a_runtime(print_environment(&settings, env)),
        Command::Ca { what } => ca(&settings, what),
        Command::Check { file, format } => check_file(settings, file, format),
        Command::Init { file, force } => said(init::init(&file, force)),
        Command::Health { ready } => on_a_runtime(ask_health(&settings, ready)),
        Command::Hosts { json } => on_a_runtime(operator::hosts(&settings, json)),
        Command::Host(asked) => on_a_runtime(operator::host(&settings, asked)),
        Command::Explain { url } => on_a_runtime(operator::explain(&settings, &url)),
        Command::ImportScrapy { file } => imported(scrapy::import(&file)),
        Command::Witness => {
            witness::stand_by();
            0
        }
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

/// The same of one whose failure is not for the output that goes into a file.
fn imported((text, code): (String, u8)) -> u8 {
    if code == 0 {
        print(&text)
    } else {
        note(&text)
    }
    code
}

/// Nobody is left to tell that stdout is gone.
pub(in crate::cli) fn print(text: &str) {
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

pub(in crate::cli) fn note(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

pub(in crate::cli) fn fail(text: &str) -> u8 {
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
        let all = serde_json::Value::from(settings.listen.clone());
        flag("listen", all.to_string());
    }
    if let Some(admin) = &settings.admin {
        flag("admin.listen", admin.clone());
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

pub(in crate::cli) fn config(settings: &Settings) -> Result<Loaded, u8> {
    let loaded = read(settings)?;
    note(&loaded.warnings.to_string());
    Ok(loaded)
}

/// The configuration as it is by now; what is wrong, a line each.
pub(in crate::cli) fn read_again(settings: &Settings) -> Result<Loaded, Vec<String>> {
    let sources = sources(settings).map_err(|why| vec![why])?;
    load(sources).map_err(|mistakes| mistakes.lines().collect())
}

/// The configuration, whose warnings are still to be said.
pub(in crate::cli) fn read(settings: &Settings) -> Result<Loaded, u8> {
    let sources = sources(settings).map_err(|why| fail(&why))?;
    load(sources).map_err(|mistakes| {
        note(&mistakes.to_string());
        MISTAKEN
    })
}

pub(in crate::cli) fn start_log(config: &Config) -> log::Style {
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
    log::start(level, format, no_color, Clock::runtime())
}

pub(in crate::cli) async fn start(config: Config) -> Result<App, u8> {
    raise_descriptors();
    app::start(config).await.map_err(|why: StartError| fail(&why.to_string()))
}

/// A crowd of holds needs two descriptors each: as many as we may have.
fn raise_descriptors() {
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
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
    let ended = run::run(&command, &variables, witness_program()).await;
    if let Some(why) = &ended.said {
        fail(why);
    }
    if !quiet {
        note(&summary(&app.totals()));
    }
    let _ = tokio::time::timeout(RUN_GRACE, app.stop()).await;
    ended.code
}

fn witness_program() -> tokio::process::Command {
    let ourselves = std::env::current_exe().unwrap_or_else(|_| "pacegate".into());
    let mut program = tokio::process::Command::new(ourselves);
    program.arg("witness");
    program
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
    let proxy_url = format!("http://{}", health::reachable(*proxy));
    Ok(Place { proxy_url, admin: app.admin(), files })
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
    if let (Some(admin), None, false) = (loaded.config.admin.listen, &asked.ca, asked.unset) {
        note(&other_ca(admin, &place.files.ca).await);
    }
    print(&shell.render(&variables));
    0
}

/// A warning if the proxy that runs at this admin address has another CA than the one of the folder.
async fn other_ca(admin: SocketAddr, ours: &Path) -> String {
    let (Ok(pem), Ok(ours)) = (health::page(admin, "/ca.pem").await, std::fs::read_to_string(ours))
    else {
        return String::new();
    };
    let body = |text: &str| text.split_whitespace().collect::<String>();
    if !pem.contains("BEGIN CERTIFICATE") || body(&pem) == body(&ours) {
        return String::new();
    }
    format!(
        "pacegate: the proxy that runs at {admin} has another CA than this folder: clients would \
         refuse its certificates. Give this command the same --certs (or PACEGATE_CERTS, or \
         --config) as the proxy\n"
    )
}

/// Where clients find a proxy that runs, or will, with this configuration.
async fn described(config: &Config, asked: &Env) -> Result<Place, String> {
    let listen = config.listen.first().ok_or("there is no listener")?;
    let host = match &asked.host {
        Some(host) => format!("{host}:{}", listen.port()),
        None => health::reachable(*listen).to_string(),
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

pub(in crate::cli) const FAILURE: u8 = 1;
/// The configuration is wrong.
const MISTAKEN: u8 = 2;
/// After its command has ended, `run` waits so long for what it left.
const RUN_GRACE: std::time::Duration = std::time::Duration::from_secs(2);
