//! The wall clock jumps, at the start and while it runs (http.md A11, G25): who waits doesn't notice, and
//! certificates are good for clients whose clock is right. Needs libfaketime (Debian: faketime).

use crate::world::answer::Answer;
use crate::world::authority::Authority;
use crate::world::client::Client;
use crate::world::folder::Folder;
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::{resolve, unchecked};
use pacegate::clock::Clock;
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const HOUR: i64 = 3600;
const YEAR: i64 = 365 * 24 * HOUR;

/// A clock that can be turned while a process looks at it.
struct Faked {
    library: PathBuf,
    folder: Folder,
}

impl Faked {
    /// `None` where the library isn't installed, which is said.
    fn new(offset: i64) -> Option<Faked> {
        let faked = Faked::installed(offset);
        if faked.is_none() {
            unchecked("there is no libfaketime (Debian: faketime)");
        }
        faked
    }

    fn installed(offset: i64) -> Option<Faked> {
        let places = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"];
        let files = places.map(|place| Path::new(place).join("faketime/libfaketimeMT.so.1"));
        let library = files.into_iter().find(|file| file.exists())?;
        let faked = Faked { library, folder: Folder::new() };
        faked.turn(offset);
        Some(faked)
    }

    /// From now on the clock is so many seconds off.
    fn turn(&self, offset: i64) {
        // Whole, or not at all: it is read all the time.
        let draft = self.folder.write("draft", &format!("{offset:+}\n"));
        std::fs::rename(draft, self.file()).expect("the folder is ours");
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("offset")
    }

    fn start(&self, config: &str) -> World {
        // Real clocks that jump leave the monotonic one alone.
        let yes = Path::new("1");
        let variables = [
            ("LD_PRELOAD", self.library.as_path()),
            ("FAKETIME_TIMESTAMP_FILE", &self.file()),
            ("FAKETIME_NO_CACHE", yes),
            ("FAKETIME_DONT_FAKE_MONOTONIC", yes),
            ("DONT_FAKE_MONOTONIC", yes),
        ];
        World::start_with_variables(config, &variables)
    }
}

/// A client's clock, so many seconds off.
#[derive(Debug)]
struct Off(i64);

impl TimeProvider for Off {
    fn current_time(&self) -> Option<UnixTime> {
        let since = Clock::runtime().wall().duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(
            since.as_secs().checked_add_signed(self.0)?,
        )))
    }
}

/// A tunnel to a host as a client sees it whose clock is so far off.
fn tunnel(world: &World, host: &str, offset: i64) -> std::io::Result<Client> {
    let mut client = world.client();
    assert_eq!(client.connect_to(&format!("{host}:443")).status, 200);
    let mut trust = (*world.trust()).clone();
    trust.time_provider = Arc::new(Off(offset));
    client.secure(host, Arc::new(trust))
}

fn panics(world: &World) -> Vec<String> {
    world.log().into_iter().filter(|line| line.contains("panic")).collect()
}

/// How far the proxy's own answers say the clock is off, in seconds.
fn shown(world: &World) -> i64 {
    let answer = world.get("http://shop.test:0/");
    let date = answer.header("date").expect("ours have one");
    let date = httpdate::parse_http_date(&date).expect("a date");
    match date.duration_since(Clock::runtime().wall()) {
        Ok(ahead) => ahead.as_secs() as i64,
        Err(behind) => -(behind.duration().as_secs() as i64),
    }
}

#[track_caller]
fn is_off(world: &World, offset: i64) {
    let shown = shown(world);
    assert!((shown - offset).abs() < 60, "{shown} s and not {offset}: is the clock faked at all?");
}

#[test]
fn whatever_the_clock_says_at_the_start_its_certificates_are_good_by_it() {
    let origin = Origin::http();
    for offset in [HOUR, -HOUR, 10 * YEAR, -10 * YEAR] {
        let Some(faked) = Faked::new(offset) else { return };
        let world = faked.start("");
        is_off(&world, offset);
        assert_eq!(world.get(&origin.url("shop", "/")).status, 200, "{offset}");
        tunnel(&world, "shop.test", offset).unwrap_or_else(|why| panic!("{offset}: {why}"));
        assert_eq!(panics(&world), [""; 0]);
    }
}

#[test]
fn who_waits_does_not_notice_that_the_clock_jumps() {
    let authority = Authority::new();
    let safe = Origin::https(&authority, &["a.test", "b.test", "c.test", "d.test", "e.test"]);
    let origin = Origin::http();
    origin.on("/stall", [Answer::status(503)]);
    let Some(faked) = Faked::new(0) else { return };
    let names = ["a.test", "b.test", "c.test", "d.test", "e.test"];
    let pairs = names.map(|name| (name, safe.address()));
    let roots = authority.file().display();
    let config = format!(
        "pace: {{ladder: [0, 2s]}}\nretry: {{window: 8s}}\n{}tls: {{roots: {roots}}}\n",
        resolve(&pairs)
    );
    let world = faked.start(&config);
    let jumps = [(HOUR, "a.test"), (-HOUR, "b.test"), (9 * YEAR, "c.test"), (-10 * YEAR, "d.test")];
    for (offset, name) in jumps {
        let shop = format!("s{}", name.replace('.', ""));
        world.get_with(&origin.url(&shop, "/stall"), "Pace-Retry: 0\r\n");
        let stalled = now();
        let mut held = world.client();
        held.say("GET", &origin.url(&shop, "/"), "", "");
        world.await_held(1);
        faked.turn(offset);
        is_off(&world, offset);
        // A leaf minted now is good by a clock that jumped, and, before the CA was made, by a right one.
        let by = if offset < -YEAR { 0 } else { offset };
        let mut client = tunnel(&world, name, by).unwrap_or_else(|why| panic!("{offset}: {why}"));
        assert_eq!(client.get_path(name, "/").status, 200, "{offset}");
        let answer = held.response();
        let waited = answer.head_at.since(stalled);
        assert_eq!(answer.status, 200);
        let (least, most) = (Duration::from_millis(1950), Duration::from_secs(6));
        assert!(waited >= least && waited < most, "{offset}: {waited:?}");
        assert!(world.metrics().text().contains("pacegate_build_info"));
    }
    faked.turn(0);
    is_off(&world, 0);
    let mut client = tunnel(&world, "e.test", 0).expect("all is as it was");
    assert_eq!(client.get_path("e.test", "/").status, 200);
    assert_eq!(panics(&world), [""; 0]);
}

#[test]
fn an_expired_ca_and_one_from_the_future_are_named_and_plain_requests_go_on() {
    let origin = Origin::http();
    let Some(faked) = Faked::new(0) else { return };
    let world = faked.start("");
    faked.turn(11 * YEAR);
    is_off(&world, 11 * YEAR);
    assert_eq!(world.get(&origin.url("shop", "/")).status, 200);
    assert!(tunnel(&world, "shop.test", 0).is_err(), "no leaf can be minted");
    world.await_log(&["the CA expired on"]);
    assert_eq!(panics(&world), [""; 0]);
}
