//! `pacegate demo`: the story, told with real proxies on loopback.

use crate::app::{self, App};
use crate::clock::Clock;
use crate::config::settings::Config;
use crate::demo::draw::{Canvas, board, rewind};
use crate::demo::record::Run;
use crate::demo::scene::{Allowed, Proxy, ProxySetup, Scene};
use crate::demo::story::tell;
use crate::demo::table;
use crate::flow::journal::Journal;
use crate::pace::scope::{Host, Scope};
use std::io::{self, IsTerminal, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// Tells the story; the code is 0 if it turned out as it says.
pub async fn demo(plain: bool) -> u8 {
    let folder = match CaFolder::new() {
        Ok(folder) => folder,
        Err(why) => return failed(&why),
    };
    let scene = Scene::default();
    let terminal = io::stdout().is_terminal();
    let colour = terminal && !plain && std::env::var_os("NO_COLOR").is_none();
    let canvas = Canvas { width: CANVAS, colour };
    print(&table::opening(&scene));
    print("\n");
    let mut shown = String::new();
    let watch = |runs: &[Run; 4]| {
        if terminal {
            let frame = board(runs, canvas);
            print(&format!("{}{frame}", rewind(&shown)));
            shown = frame;
        }
    };
    let clock = Clock::runtime();
    let told = tell(scene, &clock, |setup| Demonstrated::start(setup, &folder), watch).await;
    match told {
        Ok(story) => {
            print(&format!("{}{}", if terminal { rewind(&shown) } else { String::new() }, {
                table::whole(&story, canvas)
            }));
            u8::from(!story.told())
        }
        Err(why) => failed(&why),
    }
}

fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn failed(why: &io::Error) -> u8 {
    let _ = writeln!(io::stderr(), "pacegate: the demo can't run: {why}");
    1
}

/// A folder for the demo's CA, gone with it: nothing of a demo stays behind.
pub struct CaFolder {
    path: std::path::PathBuf,
}

impl CaFolder {
    /// A new one, in the temporary folder.
    pub fn new() -> io::Result<CaFolder> {
        let since = Clock::runtime().wall().duration_since(std::time::UNIX_EPOCH);
        let nanos = since.map_or(0, |since| since.as_nanos());
        let name = format!("pacegate-demo-{}-{nanos:x}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path)?;
        Ok(CaFolder { path })
    }
}

impl Drop for CaFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// A proxy of the product's own making, as the story wants it.
pub struct Demonstrated {
    app: App,
    address: SocketAddr,
    journal: Arc<Journal>,
}

impl Demonstrated {
    /// Starts one.
    pub async fn start(setup: ProxySetup, folder: &CaFolder) -> io::Result<Demonstrated> {
        let config = Config {
            listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))],
            admin: crate::config::settings::AdminSettings {
                listen: None,
                public: Vec::new(),
                token_file: None,
            },
            certs: Some(folder.path.clone()),
            preset: setup.preset,
            pace: setup.pace,
            retry: setup.retry,
            ..Config::default()
        };
        let journal = Arc::new(Journal::default());
        let started = app::start_with(config, setup.clock, Some(journal.clone())).await;
        let app = started.map_err(|why| io::Error::other(why.to_string()))?;
        let address = app.proxy()[0];
        Ok(Demonstrated { app, address, journal })
    }
}

impl Proxy for Demonstrated {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn rung(&self, host: &str) -> Option<u8> {
        let host = Host::parse(host).ok()?;
        self.app.flow.gate.row(&Scope::of(&host)).map(|row| row.rung)
    }

    fn allowed(&self) -> Vec<Allowed> {
        let starts = self.journal.starts();
        starts.into_iter().map(|start| Allowed { at: start.due, rung: start.rung }).collect()
    }

    fn client_gone(&self) -> u64 {
        self.journal.departures()
    }

    fn advice(&self) -> Vec<String> {
        self.journal.advice()
    }

    async fn stop(self) {
        self.app.stop().await;
    }
}

/// Fits every terminal.
const CANVAS: usize = 80;
