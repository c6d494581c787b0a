//! Wires the rooms together, serves, and drains.
//!
//! This room must not decide anything about a request.

pub mod door;
pub mod lookout;
pub mod reload;
pub mod state_file;
mod state_line;

use crate::admin::explain::{Foreseen, Foresight};
use crate::admin::guard::Token;
use crate::admin::pages::{self, Door, Readiness, Views};
use crate::admin::serve as admin;
use crate::admin::settings::Public;
use crate::app::reload::Settings;
use crate::app::state_file::StateFile;
use crate::ca::files::{self, Kept, RootError};
use crate::ca::keyring::Keyring;
use crate::ca::root::day;
use crate::clock::{Clock, Tick};
use crate::config::settings::{Config, PublicPart};
use crate::flow::hold::waits;
use crate::flow::journal::Journal;
use crate::flow::planned;
use crate::flow::remembered::Remembered;
use crate::flow::robots::Known;
use crate::flow::terms::Current;
use crate::flow::works::{Flow, Local};
use crate::metrics::given::Spread;
use crate::metrics::meter::Meter;
use crate::metrics::text::{Evictions, Gauges, Reload};
use crate::metrics::total::Totals;
use crate::net::body::Budget;
use crate::net::headers::via::Pseudonym;
use crate::net::listen::listen;
use crate::net::pool::Pool;
use crate::net::room::Room;
use crate::pace::scope::Scope;
use crate::state::gate::Gate;
use crate::state::picture::{LATENESS, RowView};
use crate::state::timekeeper::Timekeeper;
use bytes::Bytes;
use http::Response;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// A running proxy.
pub struct App {
    pub flow: Arc<Flow>,
    pub ca: CaFacts,
    settings: Box<Settings>,
    proxy: Vec<SocketAddr>,
    admin: Option<SocketAddr>,
    readiness: watch::Sender<Readiness>,
    draining: watch::Sender<bool>,
    alive: mpsc::Receiver<()>,
    tasks: JoinSet<()>,
    timekeeper: Timekeeper,
    state_file: Option<Arc<StateFile>>,
}

/// What people are told of the CA.
#[derive(Clone, Debug)]
pub struct CaFacts {
    pub file: PathBuf,
    pub made_now: bool,
    pub fingerprint: String,
    pub valid_until: String,
}

/// Why it does not start.
#[derive(Debug)]
pub enum StartError {
    Listen { address: SocketAddr, why: io::Error },
    NoFolder,
    Ca(RootError),
    Other(String),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Listen { address, why } if why.kind() == io::ErrorKind::AddrInUse => {
                write!(
                    f,
                    "{address} is in use: another pacegate, or another program? \
                     `--listen 127.0.0.1:0 --admin 127.0.0.1:0` takes free ports"
                )
            }
            StartError::Listen { address, why } => write!(f, "can't listen on {address}: {why}"),
            StartError::NoFolder => write!(
                f,
                "there is no folder to keep the CA in: set `certs` (or PACEGATE_CERTS, or HOME)"
            ),
            StartError::Ca(why) => write!(f, "{why}"),
            StartError::Other(why) => f.write_str(why),
        }
    }
}

/// The folder of the CA, as the settings and the environment have it.
pub fn ca_folder(config: &Config) -> Result<PathBuf, StartError> {
    if let Some(folder) = &config.certs {
        return Ok(folder.clone());
    }
    let working = std::env::current_dir().unwrap_or_default();
    let data_home = std::env::var_os("XDG_DATA_HOME");
    let home = std::env::var_os("HOME");
    files::default_folder(&working, data_home.as_deref(), home.as_deref())
        .ok_or(StartError::NoFolder)
}

/// Starts a proxy: its sockets listen when this returns.
pub async fn start(config: Config) -> Result<App, StartError> {
    start_with(config, Clock::runtime(), None).await
}

/// The same with somebody else's clock, and a journal of what happens.
pub async fn start_with(
    config: Config,
    clock: Clock,
    journal: Option<Arc<Journal>>,
) -> Result<App, StartError> {
    let kept = files::open_or_create(&ca_folder(&config)?, &clock).map_err(StartError::Ca)?;
    let listeners = open(&config.listen)?;
    let admin_listener = open(config.admin.listen.as_slice())?.pop();
    let proxy = addresses(&listeners)?;
    let admin = addresses(admin_listener.as_slice())?.pop();
    let ca = CaFacts::of(&kept);
    let (draining, drain_watch) = watch::channel(false);
    let (readiness, ready_watch) = watch::channel(Readiness::Starting);
    let (alive_mark, alive) = mpsc::channel(1);
    let own: Vec<SocketAddr> = proxy.iter().copied().chain(admin).collect();
    let never = kept.root.der().clone();
    let reload = Arc::new(Mutex::new(Reload { successful: true, at: clock.wall() }));
    let signs = Signs { draining: drain_watch, alive: alive_mark, ready: ready_watch };
    let (flow, views) = assemble(&config, clock, kept, &own, signs, journal, &reload)?;
    let timekeeper = Timekeeper::start(&flow.gate)
        .map_err(|why| StartError::Other(format!("can't start the timer's thread: {why}")))?;
    let mut tasks = JoinSet::new();
    let state_file = config.state_file.as_deref();
    let state_file = state_file.map(|path| state_of(path, &flow, &config, &mut tasks));
    tasks.spawn(flow.gate.clone().keep_time());
    for listener in listeners {
        tasks.spawn(door::accept_all(flow.clone(), listener, draining.subscribe()));
    }
    if let Some(listener) = admin_listener {
        tasks.spawn(admin::serve(listener, views, std::future::pending()));
    }
    readiness.send_replace(Readiness::Ready);
    let settings = Box::new(Settings { config, own, never, reload });
    Ok(App {
        flow,
        ca,
        settings,
        proxy,
        admin,
        readiness,
        draining,
        alive,
        tasks,
        timekeeper,
        state_file,
    })
}

/// Loads what was kept, and keeps it from now on.
fn state_of(path: &Path, flow: &Flow, config: &Config, tasks: &mut JoinSet<()>) -> Arc<StateFile> {
    let file = Arc::new(StateFile::new(path, flow.gate.clone(), flow.clock.clone()));
    file.load(config.limits.scopes);
    tasks.spawn(file.clone().keep());
    file
}

fn open(wanted: &[SocketAddr]) -> Result<Vec<TcpListener>, StartError> {
    let one = |address: &SocketAddr| {
        listen(*address).map_err(|why| StartError::Listen { address: *address, why })
    };
    wanted.iter().map(one).collect()
}

fn addresses(listeners: &[TcpListener]) -> Result<Vec<SocketAddr>, StartError> {
    let one = |listener: &TcpListener| {
        listener.local_addr().map_err(|why| StartError::Other(why.to_string()))
    };
    listeners.iter().map(one).collect()
}

/// How the app tells its rooms what it is up to.
struct Signs {
    draining: watch::Receiver<bool>,
    alive: mpsc::Sender<()>,
    ready: watch::Receiver<Readiness>,
}

fn assemble(
    config: &Config,
    clock: Clock,
    kept: Kept,
    own: &[SocketAddr],
    signs: Signs,
    journal: Option<Arc<Journal>>,
    reload: &Arc<Mutex<Reload>>,
) -> Result<(Arc<Flow>, Views), StartError> {
    let other = |why: &dyn fmt::Display| StartError::Other(why.to_string());
    let pem = Bytes::from(kept.root.pem());
    let ca_file = kept.certificate_file.clone();
    let pool = reload::pool(config, own, kept.root.der(), &clock)?;
    let terms = Current::new(reload::terms(config, own, pool));
    let keyring = Keyring::new(kept.root, clock.clone()).map_err(|why| other(&why))?;
    let keyring = Arc::new(keyring);
    let gate = Gate::new(reload::rules(config), clock.clone());
    let meter = Meter::new(config.metrics_host_limit, &config.pace.ladder);
    let views = Views {
        metrics_text: metrics_text(&gate, &terms, &meter, &keyring, &clock, reload),
        ready: signs.ready,
        ca_pem: Some(pem),
        public: shown(&config.admin.public),
        gate: gate.clone(),
        foresight: foresight(terms.clone()),
        token: token(config.admin.token_file.as_deref())?,
    };
    let flow = Flow {
        gate,
        keyring,
        meter,
        clock,
        terms,
        room: Room::of(descriptors()),
        replays: Budget::new(config.buffers.replay_total),
        kept: Budget::new(config.buffers.kept_total),
        answers: Budget::new(config.buffers.response_total),
        draining: signs.draining,
        alive: signs.alive,
        local: local(views.clone()),
        // A hasher's keys are random: all that is needed to tell processes apart.
        pseudonym: Pseudonym::new("pacegate", RandomState::new().build_hasher().finish() as u32),
        line: Mutex::default(),
        crowded: Mutex::default(),
        robots: Known::default(),
        named: Mutex::default(),
        remembered: Remembered::default(),
        ca_file,
        no_wishes: Arc::default(),
        journal,
    };
    Ok((Arc::new(flow), views))
}

/// What the rules in force say of a request for a URL.
fn foresight(terms: Current) -> Foresight {
    Arc::new(move |url, host| {
        let (rules, claims) = planned::foreseen(&terms.read(), url, host);
        Foreseen { rules, claims }
    })
}

/// The token that opens the admin port's API to callers from anywhere.
fn token(file: Option<&Path>) -> Result<Option<Token>, StartError> {
    let Some(file) = file else { return Ok(None) };
    let text = std::fs::read_to_string(file)
        .map_err(|why| StartError::Other(format!("admin.token_file {}: {why}", file.display())))?;
    let short = || StartError::Other(format!("admin.token_file {}: {NO_TOKEN}", file.display()));
    Token::new(&text).map(Some).ok_or_else(short)
}

fn shown(parts: &[PublicPart]) -> Public {
    let has = |part| parts.contains(&part);
    Public { metrics: has(PublicPart::Metrics), health: has(PublicPart::Health) }
}

/// What a scrape shows, brought together from the rooms that have it.
fn metrics_text(
    gate: &Arc<Gate>,
    terms: &Current,
    meter: &Meter,
    keyring: &Arc<Keyring>,
    clock: &Clock,
    reload: &Arc<Mutex<Reload>>,
) -> Arc<dyn Fn() -> String + Send + Sync> {
    let (gate, terms, meter) = (gate.clone(), terms.clone(), meter.clone());
    let (keyring, clock, reload) = (keyring.clone(), clock.clone(), reload.clone());
    Arc::new(move || {
        let now = clock.now();
        let gauges = || {
            let reload = *reload.lock().unwrap_or_else(PoisonError::into_inner);
            gauges(&gate, &terms.read().pool, &keyring, reload, now)
        };
        meter.text(now, gauges)
    })
}

fn gauges(gate: &Gate, pool: &Pool, keyring: &Keyring, reload: Reload, now: Tick) -> Gauges {
    let (counters, picture, connections) = (gate.counters(), gate.picture(), pool.counts());
    let mut rows_by_rung = Vec::new();
    for row in &picture.rows {
        let rung = usize::from(row.rung);
        rows_by_rung.resize(rows_by_rung.len().max(rung + 1), 0);
        rows_by_rung[rung] += 1;
    }
    let oldest = picture.rows.iter().filter_map(|row| row.oldest).min();
    let held = picture.rows.iter().filter(|row| !row.waits.total().is_zero());
    Gauges {
        waiting: held.filter_map(|row| Some((row.scope.host()?, waits(&row.waits)))).collect(),
        grants: counters.grants,
        wakeups: counters.wakeups,
        rows: counters.rows as u64,
        rows_by_rung,
        paces: Some(picture.rows.iter().map(pace).collect()),
        held: counters.held as u64,
        oldest_held: oldest.map(|since| now.since(since)),
        lateness: Spread {
            bounds: LATENESS.to_vec(),
            counts: counters.lateness.to_vec(),
            sum: Duration::from_nanos(counters.lateness_sum_nanos),
        },
        evictions: Evictions {
            quiet: counters.evicted_quiet,
            idle: counters.evicted_idle,
            full: counters.evicted_full,
        },
        idle_connections: connections.idle as u64,
        busy_connections: connections.busy as u64,
        resent: pool.resent(),
        unverified: pool.unverified(),
        leaves: keyring.issued(),
        ca_expiry: Some(keyring.root().not_after()),
        reload,
    }
}

fn pace(row: &RowView) -> (Scope, u8, Duration) {
    (row.scope.clone(), row.rung, row.pace)
}

/// The pages under `http://pacegate.internal/`, as flow wants them.
fn local(views: Views) -> Local {
    Box::new(move |parts, peer| {
        let (head, body) = pages::answer(&views, parts, peer.ip(), Door::Proxy).into_parts();
        let bytes = body.into_inner().unwrap_or_default();
        Response::from_parts(head, bytes)
    })
}

/// How many descriptors we may have.
fn descriptors() -> u64 {
    rlimit::Resource::NOFILE.get_soft().unwrap_or(FEW_DESCRIPTORS)
}

impl CaFacts {
    fn of(kept: &Kept) -> CaFacts {
        CaFacts {
            file: kept.certificate_file.clone(),
            made_now: kept.made_now,
            fingerprint: kept.root.fingerprint(),
            valid_until: day(kept.root.not_after()),
        }
    }
}

impl App {
    /// Where clients connect.
    pub fn proxy(&self) -> &[SocketAddr] {
        &self.proxy
    }

    /// Where metrics and health are.
    pub fn admin(&self) -> Option<SocketAddr> {
        self.admin
    }

    /// What came of it so far, in plain numbers.
    pub fn totals(&self) -> Totals {
        self.flow.meter.totals()
    }

    /// Takes no more requests, answers held ones, lets attempts under way finish; at the latest
    /// when the grace is over it is all ended. Whether everything had finished by then.
    pub async fn stop(self) -> bool {
        let App { flow, settings, readiness, draining, state_file, .. } = self;
        let (mut alive, mut tasks, timekeeper) = (self.alive, self.tasks, self.timekeeper);
        let grace = settings.config.shutdown_grace;
        readiness.send_replace(Readiness::Draining);
        draining.send_replace(true);
        flow.room.close();
        flow.gate.drain();
        drop(flow);
        let finished = tokio::time::timeout(grace, async {
            // The accept loops end by themselves; the rest of the tasks serve until the end.
            while alive.recv().await.is_some() {}
        });
        let finished = finished.await.is_ok();
        tasks.shutdown().await;
        drop(timekeeper);
        if let Some(file) = state_file {
            let _ = tokio::task::spawn_blocking(move || file.save()).await;
        }
        finished
    }
}

const NO_TOKEN: &str = "its first line must be 16 visible characters or more";
/// What most systems give at least.
const FEW_DESCRIPTORS: u64 = 1024;
