//! What sites ask of crawlers in their robots.txt: heard as clients fetch it, or fetched; never faster than
//! our own pace, and never obeyed where the configuration says otherwise.

use crate::world::answer::Answer;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use std::io::Read;
use std::thread;
use std::time::Duration;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// An origin with this robots.txt, and a proxy with this configuration.
struct Stage {
    origin: Origin,
    world: World,
}

impl Stage {
    fn new(robots: Answer, config: &str) -> Stage {
        let stage = Stage { origin: Origin::http(), world: World::start(config) };
        stage.origin.on("/robots.txt", [robots]);
        stage
    }

    fn get(&self, path: &str, agent: &str) -> u16 {
        self.get_from("shop", path, agent)
    }

    fn get_from(&self, host: &str, path: &str, agent: &str) -> u16 {
        let agent = format!("User-Agent: {agent}\r\n");
        self.world.get_with(&self.origin.url(host, path), &agent).status
    }

    /// Gets pages one after another; the gaps between their arrivals.
    fn gaps(&self, paths: &[&str], agent: &str) -> Vec<Duration> {
        paths.iter().for_each(|path| assert_eq!(self.get(path, agent), 200, "{path}"));
        let at: Vec<_> = paths.iter().map(|path| self.origin.arrivals_for(path)[0].at).collect();
        at.windows(2).map(|pair| pair[1].since(pair[0])).collect()
    }

    #[track_caller]
    fn spaced(&self, paths: &[&str], agent: &str, least: u64) {
        for gap in self.gaps(paths, agent) {
            assert!(gap + LATE >= millis(least), "{gap:?} for {agent} is less than {least} ms");
        }
    }

    fn delays(&self) -> f64 {
        let labels = [("host", "shop.localhost"), ("reason", "delay")];
        self.world.metrics().count("pacegate_host_wait_seconds_total", &labels)
    }
}

fn text(robots: &str) -> Answer {
    Answer::page(robots)
}

/// An arrival is noted late where its connection is new, and then the next seems early.
const LATE: Duration = millis(50);
const SLOWER: &str = "User-agent: *\nCrawl-delay: 0.3\n\nUser-agent: slow-bot\nCrawl-delay: 0.9\n";
const PASSIVE: &str = "robots: {delay: passive}\n";
const FETCH: &str = "robots: {delay: fetch}\n";

#[test]
fn the_delay_that_a_client_reads_counts_from_then_on() {
    let stage = Stage::new(text(SLOWER), PASSIVE);
    assert_eq!(stage.get("/before", "bot/1"), 200);
    assert_eq!(stage.get("/robots.txt", "bot/1"), 200);
    stage.spaced(&["/a", "/b"], "bot/1", 300);
    // Another agent's group asks for more; and what was asked for once goes on to count.
    stage.get("/first", "Mozilla/5.0 (compatible; Slow-Bot/2.1)");
    stage.spaced(&["/c", "/d"], "Mozilla/5.0 (compatible; Slow-Bot/2.1)", 900);
    assert!(stage.delays() > 0.0);
    // Another host is none of its business.
    let gaps = stage.gaps(&["/x"], "bot/1");
    assert!(gaps.is_empty());
    assert_eq!(stage.get_from("other", "/y", "bot/1"), 200);
    assert_eq!(stage.get_from("other", "/z", "bot/1"), 200);
    let labels = [("host", "other.localhost"), ("reason", "delay")];
    assert!(stage.world.metrics().count("pacegate_host_wait_seconds_total", &labels) == 0.0);
}

#[test]
fn one_attempt_at_once_goes_to_a_host_that_asks_for_a_delay() {
    let stage = Stage::new(text("User-agent: *\nCrawl-delay: 0.05\n"), PASSIVE);
    assert_eq!(stage.get("/robots.txt", "bot"), 200);
    let slow = millis(250);
    for path in ["/a", "/b", "/c"] {
        stage.origin.on(path, [Answer::page("p").after(slow)]);
    }
    thread::scope(|scope| {
        for path in ["/a", "/b", "/c"] {
            let stage = &stage;
            scope.spawn(move || assert_eq!(stage.get(path, "bot"), 200));
        }
    });
    let mut arrivals = stage.origin.arrivals();
    arrivals.sort_by_key(|arrival| arrival.at);
    for pair in arrivals[1..].windows(2) {
        assert!(pair[1].at.since(pair[0].at) + LATE >= slow, "two at once");
    }
}

#[test]
fn a_robots_txt_that_travels_compressed_is_read_and_passed_on_as_it_is() {
    let mut packed = Vec::new();
    let coder = flate2::read::GzEncoder::new(SLOWER.as_bytes(), flate2::Compression::default());
    { coder }.read_to_end(&mut packed).expect("it packs");
    let stage = Stage::new(Answer::page(&packed).header("Content-Encoding", "gzip"), PASSIVE);
    let got = stage.world.get(&stage.origin.url("shop", "/robots.txt"));
    assert_eq!((got.status, got.body), (200, packed));
    stage.spaced(&["/a", "/b"], "bot", 300);
}

#[test]
fn where_it_is_fetched_the_first_page_waits_for_it_and_it_is_fetched_once() {
    let stage = Stage::new(text(SLOWER), FETCH);
    thread::scope(|scope| {
        for path in ["/a", "/b", "/c"] {
            let stage = &stage;
            scope.spawn(move || assert_eq!(stage.get(path, "bot/7"), 200));
        }
    });
    let mut arrivals = stage.origin.arrivals();
    arrivals.sort_by_key(|arrival| arrival.at);
    let targets: Vec<_> = arrivals.iter().map(|arrival| arrival.target.as_str()).collect();
    assert_eq!(targets[0], "/robots.txt", "{targets:?}");
    assert_eq!(targets.iter().filter(|target| **target == "/robots.txt").count(), 1);
    assert_eq!(arrivals[0].header("user-agent").as_deref(), Some("bot/7"));
    for pair in arrivals[1..].windows(2) {
        let gap = pair[1].at.since(pair[0].at);
        assert!(gap + LATE >= millis(300), "{gap:?}");
    }
    // An attempt like any other.
    let labels = [("host", "shop.localhost"), ("class", "served")];
    assert_eq!(stage.world.metrics().count("pacegate_attempts_total", &labels), 4.0);
}

// apache/nutch#724: a robots.txt that answers 5xx held its host for ever.
#[test]
fn a_robots_txt_that_can_not_be_had_holds_nobody_up_and_is_not_asked_for_again_and_again() {
    for answer in [Answer::status(500), Answer::status(404), Answer::status(429)] {
        let stage = Stage::new(answer, &format!("{FETCH}pace: {{ladder: [0, 0.05]}}\n"));
        for path in ["/a", "/b", "/c"] {
            assert_eq!(stage.get(path, "bot"), 200);
        }
        assert_eq!(stage.origin.arrivals_for("/robots.txt").len(), 1);
    }
    // What is elsewhere on the same host is followed, not to another.
    let moved = Answer::status(301).header("Location", "/other.txt");
    let stage = Stage::new(moved, FETCH);
    stage.origin.on("/other.txt", [text(SLOWER)]);
    stage.spaced(&["/a", "/b"], "bot", 300);
    let away = Answer::status(301).header("Location", "http://elsewhere.localhost:1/robots.txt");
    let stage = Stage::new(away, FETCH);
    assert_eq!(stage.get("/a", "bot"), 200);
}

// apache/stormcrawler#549: a delay of a site's undercut the crawler's own.
#[test]
fn a_site_makes_nobody_faster_and_long_delays_are_cut() {
    let own = format!("{PASSIVE}pace: {{delay: 500ms}}\n");
    let stage = Stage::new(text("User-agent: *\nCrawl-delay: 0.1\n"), &own);
    stage.spaced(&["/robots.txt", "/a", "/b"], "bot", 500);
    for delay in ["99999999", "1000"] {
        let robots = format!("User-agent: *\nCrawl-delay: {delay}\n");
        let stage = Stage::new(text(&robots), "robots: {delay: passive, max_delay: 300ms}\n");
        assert_eq!(stage.get("/robots.txt", "bot"), 200);
        stage.spaced(&["/a", "/b"], "bot", 300);
    }
    for delay in ["inf", "nan", "1e400", "-1", "soon"] {
        let stage = Stage::new(text(&format!("User-agent: *\nCrawl-delay: {delay}\n")), PASSIVE);
        stage.gaps(&["/robots.txt", "/a", "/b"], "bot");
        assert!(stage.delays() == 0.0, "{delay}");
    }
}

#[test]
fn what_scopes_say_counts_more_with_one_warning_that_can_be_silenced() {
    let robots = || text("User-agent: *\nCrawl-delay: 30\n");
    let config = |own: &str| format!("{PASSIVE}scopes: {{shop.localhost: {{{own}}}}}\n");
    let warnings = |stage: &Stage| {
        let log = stage.world.log();
        log.iter().filter(|line| line.contains("than its robots.txt asks for")).count()
    };
    let stage = Stage::new(robots(), &config("delay: 200ms"));
    stage.spaced(&["/robots.txt", "/a", "/b"], "bot", 200);
    assert_eq!(stage.get("/c", "another"), 200);
    stage.world.await_log(&["shop.localhost", "ignore_robots"]);
    assert_eq!(warnings(&stage), 1);
    let stage = Stage::new(robots(), &config("delay: 200ms, ignore_robots: true"));
    stage.spaced(&["/robots.txt", "/a", "/b"], "bot", 200);
    assert_eq!(warnings(&stage), 0);
}

#[test]
fn by_default_nothing_is_read_and_a_reload_takes_floors_away() {
    let stage = Stage::new(text("User-agent: *\nCrawl-delay: 30\n"), "");
    stage.gaps(&["/robots.txt", "/a", "/b"], "bot");
    assert!(stage.delays() == 0.0);
    let stage = Stage::new(text("User-agent: *\nCrawl-delay: 30\n"), PASSIVE);
    assert_eq!(stage.get("/robots.txt", "bot"), 200);
    stage.world.reload("robots: {delay: false}\n");
    stage.world.await_log(&["\"configuration taken\""]);
    assert_eq!(stage.get("/a", "bot"), 200);
    assert_eq!(stage.get("/b", "bot"), 200);
}
