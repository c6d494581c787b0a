//! The story that the demo tells, with what metrics say of it: the origin's own log, and what its
//! clients waited, come to the same numbers.

use crate::world::client::Client;
use crate::world::folder::Folder;
use crate::world::metrics::Metrics;
use pacegate::app::{self, App};
use pacegate::clock::{Clock, Tick};
use pacegate::config::settings::{AdminSettings, Config};
use pacegate::demo::draw::Canvas;
use pacegate::demo::record::{Run, Story};
use pacegate::demo::scene::{Allowed, Kind, Proxy, ProxySetup, Scene};
use pacegate::demo::story::tell;
use pacegate::demo::table;
use pacegate::demo::visits::Visit;
use pacegate::flow::journal::Journal;
use pacegate::flow::settings::Preset;
use pacegate::pace::scope::{Host, Scope};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What metrics said when each proxy was stopped, by its preset, in no order.
type Scrapes = Arc<Mutex<Vec<(Preset, Metrics)>>>;

/// A proxy in this process that is scraped before it ends.
struct Scraped {
    app: App,
    address: SocketAddr,
    preset: Preset,
    journal: Arc<Journal>,
    scrapes: Scrapes,
}

impl Scraped {
    async fn start(setup: ProxySetup, certs: &Path, scrapes: Scrapes) -> io::Result<Scraped> {
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let config = Config {
            listen: vec![free],
            admin: AdminSettings { listen: Some(free), public: Vec::new(), token_file: None },
            certs: Some(certs.to_owned()),
            preset: setup.preset,
            pace: setup.pace,
            retry: setup.retry,
            ..Config::default()
        };
        let journal = Arc::new(Journal::default());
        let started = app::start_with(config, setup.clock, Some(journal.clone())).await;
        let app = started.map_err(|why| io::Error::other(why.to_string()))?;
        let address = app.proxy()[0];
        Ok(Scraped { app, address, preset: setup.preset, journal, scrapes })
    }
}

impl Proxy for Scraped {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn rung(&self, host: &str) -> Option<u8> {
        let host = Host::parse(host).expect("a host");
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
        let admin = self.app.admin().expect("it has an admin port");
        let text = tokio::task::spawn_blocking(move || scrape(admin)).await.expect("a scrape");
        let scrape = (self.preset, Metrics::new(text));
        self.scrapes.lock().unwrap_or_else(PoisonError::into_inner).push(scrape);
        self.app.stop().await;
    }
}

fn scrape(admin: SocketAddr) -> String {
    let mut client = Client::connect(admin);
    client.send(format!("GET /metrics HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n"));
    client.response().text()
}

#[test]
fn the_story_is_told_and_metrics_tell_the_same() {
    let (certs, scrapes) = (Folder::new(), Scrapes::default());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let story = runtime.expect("a runtime").block_on(async {
        let start = |setup| Scraped::start(setup, certs.path(), scrapes.clone());
        tell(Scene::default(), &Clock::runtime(), start, |_| {}).await.expect("loopback has ports")
    });
    let canvas = Canvas { width: 80, colour: false };
    assert!(story.told(), "{}", table::whole(&story, canvas));
    let scrapes = scrapes.lock().unwrap_or_else(PoisonError::into_inner);
    // In the order of the story: paced, unpaced, hasty.
    let [(Preset::Transparent, paced), (Preset::Off, unpaced), (Preset::Transparent, hasty)] =
        &scrapes[..]
    else {
        panic!("three proxies: {}", scrapes.len())
    };
    for (kind, metrics) in [(Kind::Paced, paced), (Kind::Unpaced, unpaced), (Kind::Hasty, hasty)] {
        check_attempts(story.run(kind), metrics);
    }
    check_waits(&story, paced);
    let gone = hasty.count("pacegate_client_gone_total", &[]);
    assert_eq!(gone, story.run(Kind::Hasty).client_gone as f64);
    for metrics in [paced, unpaced] {
        assert_eq!(metrics.count("pacegate_held_requests", &[]), 0.0);
        assert_eq!(metrics.count("pacegate_requests_in_flight", &[]), 0.0);
    }
    let host = [("host", Scene::HOST)];
    assert_eq!(paced.sum("pacegate_host_rung", &host), Some(0.0));
    let up = [("direction", "up")];
    let top = f64::from(story.scene.ladder.top());
    assert!(paced.count("pacegate_rung_changes_total", &up) >= top, "it climbed to the top");
    let down = paced.count("pacegate_rung_changes_total", &[("direction", "down")]);
    assert_eq!(paced.count("pacegate_rung_changes_total", &up), down, "and all the way back");
}

/// Every attempt is counted once, and the origin counts the same.
fn check_attempts(run: &Run, metrics: &Metrics) {
    let attempts = metrics.count("pacegate_attempts_total", &[("host", Scene::HOST)]);
    assert_eq!(attempts, run.visits.len() as f64, "{:?}", run.kind);
    let requests = metrics.count("pacegate_requests_total", &[]);
    assert_eq!(requests, run.pages.len() as f64, "{:?}", run.kind);
}

/// What was waited, measured outside: a page's time without that of its attempts.
fn check_waits(story: &Story, metrics: &Metrics) {
    let run = story.run(Kind::Paced);
    let took: Duration = run.pages.iter().map(|page| page.ended.since(page.began)).sum();
    let end = |visit: &Visit| -> Tick { visit.left.or(visit.ended).unwrap_or(visit.arrived) };
    let worked: Duration = run.visits.iter().map(|visit| end(visit).since(visit.arrived)).sum();
    let waited = (took - worked).as_secs_f64();
    let counted = metrics.count("pacegate_host_wait_seconds_total", &[("host", Scene::HOST)]);
    // Measured outside there is also what an attempt takes on its way to the shop and back, some
    // 15 ms each in a debug build. What each request waited is held to 1 % in `waited`.
    let slack = waited * 0.2;
    assert!(counted <= waited && waited - counted <= slack, "{counted} s of {waited} s");
}
