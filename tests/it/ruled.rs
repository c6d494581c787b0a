//! The examples of rules, as files, over the real proxy: the same files with shorter times.

use crate::world::answer::Answer;
use crate::world::arrival::Arrival;
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use pacegate::clock::Tick;
use std::thread;
use std::time::Duration;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The proxy under an example, with its names at `origin` and some settings changed.
fn world(example: &str, origin: &Origin, names: &[&str], settings: &[&str]) -> World {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/config/examples");
    let text = std::fs::read_to_string(format!("{folder}/{example}.yaml")).expect("an example");
    let resolve = names.iter().map(|name| format!("resolve.{name}={}", origin.address()));
    let settings = settings.iter().map(|setting| (*setting).to_owned()).chain(resolve);
    let arguments: Vec<String> = settings.flat_map(|it| ["--set".to_owned(), it]).collect();
    World::start_with(&text, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// One request for each URL at once, all served; when they arrived, in order, since the first.
fn crowd(world: &World, origin: &Origin, urls: &[&str]) -> Vec<Duration> {
    let began = now();
    thread::scope(|scope| {
        for url in urls {
            scope.spawn(move || assert_eq!(world.get(url).status, 200, "{url}"));
        }
    });
    let mut arrivals: Vec<_> = origin.arrivals().iter().map(|it| it.at.since(began)).collect();
    arrivals.sort_unstable();
    arrivals
}

#[test]
fn names_of_one_registrable_domain_share_a_pace() {
    let origin = Origin::http();
    let names = ["books.toscrape.com", "quotes.toscrape.com", "other.example"];
    let world = world("domains", &origin, &names, &["scopes.toscrape.com.delay=400ms"]);
    let books = ["http://books.toscrape.com/", "http://quotes.toscrape.com/"];
    let found = crowd(&world, &origin, &[books[0], books[1], books[0], "http://other.example/"]);
    assert!(found[3] >= millis(800), "three of them share a pace: {found:?}");
    let other = origin
        .arrivals()
        .into_iter()
        .find(|it| it.header("host").as_deref() == Some("other.example"));
    let last = origin.arrivals().into_iter().map(|it| it.at).max();
    assert!(other.map(|it| it.at) < last, "another domain waits for nobody: {found:?}");
}

#[test]
fn endpoints_of_an_api_have_paces_of_their_own() {
    let origin = Origin::http();
    let settings = [
        "scopes.api.toscrape.com/fast-endpoint.delay=50ms",
        "scopes.api.toscrape.com/slow-endpoint.delay=1500ms",
    ];
    let world = world("endpoints", &origin, &["api.toscrape.com"], &settings);
    let [fast, slow] = ["fast", "slow"].map(|it| format!("http://api.toscrape.com/{it}-endpoint"));
    let began = now();
    crowd(&world, &origin, &[&fast, &slow, &fast, &slow, &fast]);
    let arrived = |path: &str| {
        let found = origin.arrivals_for(path).into_iter().map(|it| it.at.since(began));
        let mut found: Vec<_> = found.collect();
        found.sort_unstable();
        found
    };
    let (fast, slow) = (arrived("/fast-endpoint"), arrived("/slow-endpoint"));
    assert!(slow[1] >= millis(1500), "{slow:?}");
    assert!(fast[1] >= millis(50) && fast[2] >= millis(100), "{fast:?}");
    assert!(fast[2] < slow[1], "the one does not wait for the other: {fast:?} {slow:?}");
}

#[test]
fn a_page_is_judged_by_the_status_its_site_gave_the_api() {
    let origin = Origin::http();
    let refused = Answer::page("no").header("X-Upstream-Status-Code", "503");
    let served = Answer::page("yes").header("X-Upstream-Status-Code", "200");
    origin.on("/", [refused, served]);
    let settings = ["pace.ladder=[0s,600ms,1s]"];
    let world = world("scraping-api", &origin, &["api.toscrape.com"], &settings);
    let answer = world.get("http://api.toscrape.com/?url=https://example.com/");
    assert_eq!((answer.status, answer.text().as_str()), (200, "yes"));
    let found = origin.arrivals();
    assert_eq!(found.len(), 2, "the first answer was a failure");
    let gap = found[1].at.since(found[0].at);
    assert!(gap >= millis(590), "a rung is waited for: {gap:?}");
    let stalls = [("host", "api.toscrape.com"), ("class", "overloaded")];
    assert_eq!(world.metrics().count("pacegate_attempts_total", &stalls), 1.0);
}

#[test]
fn a_window_holds_what_costs_too_much_and_hears_what_is_left() {
    let origin = Origin::http();
    let settings = ["scopes.api.toscrape.com.quota=10", "scopes.api.toscrape.com.per=2s"];
    let world = world("fixed-window", &origin, &["api.toscrape.com"], &settings);
    let began = now();
    let get = |target: &str| {
        assert_eq!(world.get(&format!("http://api.toscrape.com{target}")).status, 200);
        now().since(began)
    };
    get("/?items=4");
    assert!(get("/?items=6") < millis(1900), "ten fit");
    assert!(get("/?items=1") >= millis(2000), "the window was full");
    origin.on("/", [Answer::page("x").header("X-Quota-Left", "0"), Answer::page("x")]);
    let told = get("/?items=1");
    let after = get("/?items=1");
    assert!(after >= millis(4000) && after > told, "the API said that nothing is left: {after:?}");
}

#[test]
fn what_an_expression_comes_to_nothing_for_is_counted_and_said_once() {
    let origin = Origin::http();
    let world =
        World::start("rules: [{name: odd, when: 'headers[\"x-none\"] == \"1\"', scopes: a}]");
    for _ in 0..3 {
        assert_eq!(world.get(&origin.url("shop", "/")).status, 200);
    }
    world.await_metric("pacegate_rule_failures_total", &[], 3.0);
    world.await_log(&["a rule does not apply", "odd", "x-none"]);
    let said = world.log().iter().filter(|line| line.contains("a rule does not apply")).count();
    assert_eq!(said, 1);
}

#[test]
fn rules_are_read_anew_and_a_bad_one_changes_nothing() {
    let origin = Origin::http();
    origin.on("/", [Answer::status(503), Answer::page("served")]);
    let fails = "pace: {ladder: [0s, 50ms]}\nrules: [{classify: served, when: 'path == \"/\"'}]\n";
    let world = World::start(fails);
    assert_eq!(world.get(&origin.url("shop", "/")).status, 503, "it is taken for served");
    world.reload("rules: [{classify: served, when: 'pth == \"/\"'}]\n");
    world.await_log(&["there is no `pth`", "did you mean `path`?"]);
    origin.on("/", [Answer::status(503), Answer::page("served")]);
    assert_eq!(world.get(&origin.url("shop", "/")).status, 503, "the old rules hold");
    world.reload("pace: {ladder: [0s, 50ms]}\n");
    world.await_log(&["\"configuration taken\""]);
    origin.on("/", [Answer::status(503), Answer::page("served")]);
    assert_eq!(world.get(&origin.url("shop", "/")).status, 200, "no rules any more");
}

#[test]
fn rules_say_what_is_not_tracked_and_under_which_preset() {
    let origin = Origin::http();
    origin.on("/login", [Answer::status(503)]);
    origin.on("/plain", [Answer::status(503)]);
    let world = World::start(
        "pace: {ladder: [0s, 100ms, 200ms]}\nretry: {window: 1s}\n\
         rules: [{when: 'path == \"/login\"', track: false}, {when: 'path == \"/plain\"', preset: off}]\n",
    );
    assert_eq!(world.get(&origin.url("shop", "/login")).status, 503);
    assert!(origin.arrivals_for("/login").len() > 1, "it is repeated all the same");
    assert_eq!(world.rung("shop.localhost"), 0.0, "and teaches nothing");
    assert_eq!(world.get(&origin.url("shop", "/plain")).status, 503);
    assert_eq!(origin.arrivals_for("/plain").len(), 1, "preset off repeats nothing");
}

#[test]
fn what_an_api_charges_is_capped_and_corrected_by_what_it_says() {
    let origin = Origin::http();
    let settings = ["scopes.cost.quota=20", "scopes.cost.per=2500ms"];
    let world = world("cost", &origin, &["api.toscrape.com", "other.example"], &settings);
    let began = now();
    let get = |target: &str| {
        assert_eq!(world.get(&format!("http://{target}")).status, 200);
        now().since(began)
    };
    get("api.toscrape.com/?render=true");
    get("api.toscrape.com/?render=true");
    assert!(get("other.example/") < millis(2400), "another API costs nothing here");
    assert!(get("api.toscrape.com/") >= millis(2500), "20 are spent");
    origin.on("/", [Answer::page("x").header("X-Actual-Cost", "40"), Answer::page("x")]);
    get("api.toscrape.com/?render=true");
    assert!(get("api.toscrape.com/") >= millis(5000), "it was dearer than thought");
}

#[test]
fn a_chain_s_parts_go_together_and_never_beyond_the_whole() {
    let origin = Origin::http();
    let names = ["books.toscrape.com", "quotes.toscrape.com"];
    origin.on("/", [Answer::page("x").after(millis(60))]);
    let settings = [
        "scopes.toscrape.com.concurrency=8",
        "scopes.books.toscrape.com.concurrency=6",
        "scopes.quotes.toscrape.com.concurrency=4",
    ];
    let world = world("chain", &origin, &names, &settings);
    thread::scope(|scope| {
        for client in 0..24 {
            let (world, url) = (&world, format!("http://{}/", names[client % 2]));
            scope.spawn(move || (0..8).for_each(|_| assert_eq!(world.get(&url).status, 200)));
        }
    });
    let arrivals = origin.arrivals();
    assert_eq!(arrivals.len(), 192);
    let at_once = |name: Option<&str>| {
        let of = |it: &&Arrival| name.is_none_or(|name| it.header("host").as_deref() == Some(name));
        let starts: Vec<_> = arrivals.iter().filter(of).map(|it| it.at).collect();
        // An attempt is under way for 60 ms at least from when it arrives.
        let flying = |now: &Tick| {
            starts.iter().filter(|at| **at <= *now && now.since(**at) < millis(60)).count()
        };
        starts.iter().map(flying).max().unwrap_or(0)
    };
    let (all, books, quotes) = (at_once(None), at_once(Some(names[0])), at_once(Some(names[1])));
    assert!(all <= 8 && books <= 6 && quotes <= 4, "{all} {books} {quotes}");
    assert!(books >= 2 && quotes >= 2, "both go: {all} {books} {quotes}");
}
