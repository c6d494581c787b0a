//! What a client may ask for, by request fields and by the proxy URL's user part.

use crate::world::answer::{Answer, Then};
use crate::world::authority::Authority;
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::response::Response;
use std::time::Duration;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const CONFIG: &str = "pace: {ladder: [0, 0.1, 0.2]}\nretry: {window: 20s, min_attempt: 50ms}\n";
/// A rung that nobody waits for.
const SLOW: &str = "pace: {ladder: [0, 30, 40]}\nretry: {window: 1000s, min_attempt: 50ms}\n";

/// An origin that always answers 503, and a world.
fn busy(config: &str) -> (World, Origin) {
    let origin = Origin::http();
    origin.on("/busy", [Answer::status(503).body("busy")]);
    origin.on("/hang", [Answer::nothing(Then::Hang)]);
    (World::start(config), origin)
}

fn kind_of(answer: &Response) -> String {
    let text = answer.text();
    let kind = text.rsplit_once('(').and_then(|(_, rest)| rest.split_once(')'));
    kind.map_or_else(|| text.clone(), |(kind, _)| kind.to_owned())
}

#[test]
fn a_deadline_that_cant_be_met_is_refused_at_once() {
    let (world, origin) = busy(SLOW);
    let url = origin.url("shop", "/busy");
    assert_eq!(world.get_with(&url, "Pace-Retry: off\r\n").status, 503);
    let began = now();
    let answer = world.get_with(&url, "Pace-Deadline: 5\r\n");
    assert!(now().since(began) < millis(3000));
    assert_eq!((answer.status, kind_of(&answer).as_str()), (503, "deadline_infeasible"));
    let wait: u64 = answer.header("retry-after").expect("it has one").parse().expect("seconds");
    assert!((25..=30).contains(&wait), "the best case: {wait}");
    let status = answer.header("proxy-status").expect("it is ours");
    assert!(status.contains("error=destination_unavailable"), "{status}");
    assert_eq!(origin.arrivals().len(), 1);
}

#[test]
fn a_deadline_too_short_for_an_attempt_sends_nothing() {
    let (world, origin) = busy(CONFIG);
    for deadline in ["0", "0.01"] {
        let fields = format!("Pace-Deadline: {deadline}\r\n");
        let answer = world.get_with(&origin.url("shop", "/busy"), &fields);
        assert_eq!((answer.status, kind_of(&answer).as_str()), (503, "deadline_infeasible"));
        assert!(answer.header("retry-after").is_some());
    }
    assert_eq!(origin.arrivals().len(), 0);
}

#[test]
fn a_deadline_with_an_answer_at_hand_gives_that_answer() {
    let (world, origin) = busy(SLOW);
    let began = now();
    let answer = world.get_with(&origin.url("shop", "/busy"), "Pace-Deadline: 1.2\r\n");
    assert_eq!((answer.status, answer.text().as_str()), (503, "busy"));
    assert!(now().since(began) < millis(3000));
    let (world, origin) = busy(CONFIG);
    let began = now();
    let answer = world.get_with(&origin.url("shop", "/busy"), "Pace-Deadline: 1.7\r\n");
    assert_eq!((answer.status, answer.text().as_str()), (503, "busy"));
    assert!(origin.arrivals().len() >= 2);
    for arrival in origin.arrivals() {
        // Counted from when the request was read: on a loaded machine a little after `began`.
        assert!(arrival.at.since(began) <= millis(2500), "nothing starts after it");
    }
}

#[test]
fn a_deadline_ends_an_attempt_under_way() {
    let (world, origin) = busy(CONFIG);
    let began = now();
    let answer = world.get_with(&origin.url("shop", "/hang"), "Pace-Deadline: 1.2\r\n");
    assert_eq!((answer.status, kind_of(&answer).as_str()), (504, "target_timeout"));
    let took = answer.head_at.since(began);
    assert!((millis(500)..millis(3000)).contains(&took), "{took:?}");
    origin.await_departures(1);
    world.await_metric("pacegate_attempts_total", &[], 1.0);
}

#[test]
fn a_preference_to_wait_is_a_deadline_and_is_said_back() {
    let (world, origin) = busy(CONFIG);
    let fields = "Prefer: respond-async, wait=1\r\n";
    let answer = world.get_with(&origin.url("shop", "/busy"), fields);
    assert_eq!((answer.status, answer.text().as_str()), (503, "busy"));
    assert_eq!(answer.headers("preference-applied"), ["wait=1"]);
    assert_eq!(origin.arrivals()[0].headers("prefer"), ["respond-async, wait=1"], "forwarded");
    let answer = world.get_with(&origin.url("other", "/"), fields);
    assert_eq!((answer.status, answer.headers("preference-applied")), (200, vec!["wait=1".into()]));
    let answer = world.get_with(&origin.url("third", "/hang"), fields);
    assert_eq!((answer.status, answer.headers("preference-applied")), (504, vec!["wait=1".into()]));
    let both = "Prefer: wait=1\r\nPace-Deadline: 2\r\n";
    let answer = world.get_with(&origin.url("fourth", "/"), both);
    assert_eq!(answer.headers("preference-applied"), Vec::<String>::new());
}

#[test]
fn a_streamed_answer_says_the_preference_back_beside_the_origins_own() {
    let origin = Origin::http();
    let stream = Answer::status(200)
        .header("Content-Type", "text/event-stream")
        .header("Preference-Applied", "return=minimal")
        .chunked("data: 1\n\n", 4);
    origin.on("/", [stream]);
    let world = World::start(CONFIG);
    let answer = world.get_with(&origin.url("shop", "/"), "Prefer: wait=9, return=minimal\r\n");
    assert_eq!(answer.headers("preference-applied"), ["return=minimal", "wait=9"]);
}

#[test]
fn a_window_of_its_own_is_the_requests() {
    let (world, origin) = busy("pace: {ladder: [0, 0.1]}\nretry: {window_max: 2s}\n");
    for (window, most) in [("0.5", millis(1900)), ("900", millis(4000)), ("0", millis(500))] {
        let began = now();
        let fields = format!("Pace-Window: {window}\r\n");
        let answer = world.get_with(&origin.url(&format!("w{most:?}"), "/busy"), &fields);
        assert_eq!(answer.status, 503);
        let took = now().since(began);
        assert!(took < most, "Pace-Window: {window} took {took:?}");
    }
}

#[test]
fn repeats_are_those_the_client_wants() {
    let (world, origin) = busy("pace: {ladder: [0, 0.05]}\nretry: {window: 1s}\n");
    let mut before = 0;
    let cases = [
        ("0", "/busy", Some(1)),
        ("off", "/busy", Some(1)),
        ("1", "/busy", Some(2)),
        ("3", "/busy", Some(4)),
        ("429", "/busy", Some(1)),
        ("429, timeout", "/busy", Some(1)),
        ("2, 5xx", "/busy", Some(3)),
        ("503", "/busy", None),
    ];
    for (number, (wish, path, attempts)) in cases.into_iter().enumerate() {
        let url = origin.url(&format!("r{number}"), path);
        let answer = world.get_with(&url, &format!("Pace-Retry: {wish}\r\n"));
        assert_eq!((answer.status, answer.text().as_str()), (503, "busy"), "{wish}");
        let now = origin.arrivals().len();
        match attempts {
            Some(attempts) => assert_eq!(now - before, attempts, "Pace-Retry: {wish}"),
            None => assert!(now - before > 4, "Pace-Retry: {wish}"),
        }
        before = now;
    }
}

#[test]
fn a_time_out_of_its_own_is_each_attempts() {
    let (world, origin) = busy(CONFIG);
    let began = now();
    let fields = "Pace-Timeout: 0.3\r\nPace-Retry: 1\r\n";
    let answer = world.get_with(&origin.url("shop", "/hang"), fields);
    assert_eq!((answer.status, origin.arrivals().len()), (504, 2));
    let took = now().since(began);
    assert!((millis(700)..millis(5000)).contains(&took), "{took:?}");
}

#[test]
fn the_proxy_users_options_are_every_requests_and_its_name_a_label() {
    let (world, origin) = busy("pace: {ladder: [0, 0.05]}\nretry: {window: 1s}\n");
    // nightly;retry=1;debug=yes:x
    let user = "Proxy-Authorization: Basic bmlnaHRseTtyZXRyeT0xO2RlYnVnPXllczp4\r\n";
    let answer = world.get_with(&origin.url("a", "/busy"), user);
    assert_eq!((answer.status, origin.arrivals().len()), (503, 2));
    let both = format!("{user}Pace-Retry: 0\r\n");
    let answer = world.get_with(&origin.url("b", "/busy"), &both);
    assert_eq!((answer.status, origin.arrivals().len()), (503, 3), "the request goes before");
    let answer = world.get_with(&origin.url("c", "/"), user);
    assert!(answer.header("pace-status").is_some(), "debug=yes");
    for arrival in origin.arrivals() {
        let ours = |(name, _): &(String, String)| {
            let name = name.to_lowercase();
            name.starts_with("pace-") || name.starts_with("proxy-")
        };
        assert!(!arrival.fields().iter().any(ours), "{:?}", arrival.fields());
    }
    world.await_log(&["request", "nightly"]);
}

#[test]
fn in_a_tunnel_the_connects_user_counts() {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["shop.localhost"]);
    origin.on("/busy", [Answer::status(503)]);
    let roots = authority.file().display();
    let world = World::start(&format!("pace: {{ladder: [0, 0.05]}}\ntls: {{roots: {roots}}}\n"));
    let mut client = world.client();
    let to = format!("shop.localhost:{}", origin.port());
    // nightly;retry=1:x
    let user = "Proxy-Authorization: Basic bmlnaHRseTtyZXRyeT0xOng=";
    client.send(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{user}\r\n\r\n"));
    assert_eq!(client.response_to("CONNECT").expect("an answer").status, 200);
    let mut client = client.secure("shop.localhost", world.trust()).expect("our leaf is good");
    assert_eq!(client.get_path("shop.localhost", "/busy").status, 503);
    assert_eq!(origin.arrivals().len(), 2);
    client.send("GET /busy HTTP/1.1\r\nHost: shop.localhost\r\nPace-Retry: 0\r\n\r\n");
    assert_eq!(client.response().status, 503);
    assert_eq!(origin.arrivals().len(), 3);
    world.await_log(&["request", "nightly"]);
}

#[test]
fn what_cant_be_obeyed_is_a_400_that_says_what_is_expected() {
    let (world, origin) = busy(CONFIG);
    let bad = [
        ("Pace-Deadline: soon", "pace-deadline"),
        ("Pace-Deadline: 5\r\nPace-Deadline: 6", "pace-deadline"),
        ("Pace-Window: -1", "pace-window"),
        ("Pace-Timeout: 0", "pace-timeout"),
        ("Pace-Retry: 1000", "pace-retry"),
        ("Pace-Retry: often", "pace-retry"),
        ("Pace-Preset: fast", "pace-preset"),
        ("Pace-Debug: perhaps", "pace-debug"),
        ("Pace-Tag: a b", "pace-tag"),
        ("Pace-Delay: soon", "pace-delay"),
        ("Pace-Track: perhaps", "pace-track"),
        ("Pace-Bypass: please", "pace-bypass"),
        ("Pace-Scope: a b", "pace-scope"),
        ("Pace-Scope: a;n=x", "pace-scope"),
        ("Proxy-Authorization: Bearer abc", "Proxy-Authorization"),
        ("Proxy-Authorization: Basic !", "Proxy-Authorization"),
        // a;dedline=3:x
        ("Proxy-Authorization: Basic YTtkZWRsaW5lPTM6eA==", "dedline"),
    ];
    for (line, place) in bad {
        let answer = world.get_with(&origin.url("shop", "/"), &format!("{line}\r\n"));
        assert_eq!(answer.status, 400, "{line}");
        let status = answer.header("proxy-status").expect("it is ours");
        assert!(status.contains("error=http_request_error"), "{line}: {status}");
        assert!(answer.text().contains(place), "{line}: {}", answer.text());
        assert_eq!(kind_of(&answer), "bad_request");
    }
    let mut client = world.client();
    let to = "a.localhost:443";
    let user = "Proxy-Authorization: Basic YTtkZWRsaW5lPTM6eA==";
    client.send(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{user}\r\n\r\n"));
    let answer = client.response_to("CONNECT").expect("an answer");
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("dedline"), "{}", answer.text());
    assert!(origin.arrivals().is_empty(), "nothing was sent");
}

#[test]
fn pace_status_says_what_was_waited_for_and_only_then() {
    let origin = Origin::http();
    origin.on("/busy", [Answer::status(429), Answer::page("good").header("Pace-Status", "forged")]);
    let world = World::start(CONFIG);
    let quiet = world.get(&origin.url("shop", "/"));
    assert_eq!(quiet.headers("pace-status"), Vec::<String>::new());
    let asked = world.get_with(&origin.url("shop", "/"), "Pace-Debug: yes\r\n");
    assert_eq!(asked.headers("pace-status"), ["wait=0.000, attempts=1, rung=0"]);
    let waited = world.get(&origin.url("shop", "/busy"));
    let [status] = &waited.headers("pace-status")[..] else { panic!("one of ours") };
    let wait = status.strip_prefix("wait=").and_then(|rest| rest.split(',').next());
    let wait: f64 = wait.expect("it begins with the wait").parse().expect("a decimal");
    assert!((0.001..5.0).contains(&wait), "{status}");
    assert!(status.ends_with(", attempts=2, rung=0, last=429"), "{status}");
}

#[test]
fn response_headers_full_and_off() {
    let origin = Origin::http();
    origin.on("/busy", [Answer::status(429), Answer::page("good")]);
    let world = World::start("response_headers: full\n");
    let answer = world.get(&origin.url("shop", "/"));
    assert_eq!(answer.headers("pace-status"), ["wait=0.000, attempts=1, rung=0"]);
    let world = World::start("response_headers: off\npace: {ladder: [0, 0.05]}\n");
    let answer = world.get(&origin.url("shop", "/busy"));
    assert_eq!((answer.status, origin.arrivals_for("/busy").len()), (200, 2));
    assert_eq!(answer.headers("pace-status"), Vec::<String>::new());
}

#[test]
fn control_headers_off_obeys_none_and_still_strips_them() {
    let (_, origin) = busy(CONFIG);
    let world =
        World::start("control_headers: off\npace: {ladder: [0, 0.05]}\nretry: {window: 1s}\n");
    let fields = "Pace-Retry: 0\r\nPace-Deadline: nonsense\r\n";
    assert_eq!(world.get_with(&origin.url("shop", "/busy"), fields).status, 503);
    assert!(origin.arrivals().len() > 1);
    assert_eq!(origin.arrivals()[0].headers("pace-retry"), Vec::<String>::new());
}

#[test]
fn presets_of_one_request() {
    let (world, origin) = busy(CONFIG);
    let url = origin.url("shop", "/busy");
    assert_eq!(world.get_with(&url, "Pace-Preset: off\r\n").status, 503);
    assert_eq!(origin.arrivals().len(), 1, "a plain proxy repeats nothing");
    assert_eq!(world.rung("shop.localhost"), 0.0, "and learns nothing");
}

#[test]
fn nothing_of_an_answer_that_flows_outlives_a_deadline() {
    let origin = Origin::http();
    let drip = Answer::page("").chunked([b'x'; 400], 1).drip(24, Duration::from_millis(25));
    origin.on("/feed", [drip.header("Content-Type", "text/event-stream")]);
    let world = World::start("pace: {ladder: [0, 0.1]}\n");
    let began = now();
    let answer = world.get_with(&origin.url("shop", "/feed"), "Pace-Deadline: 1.2\r\n");
    let took = now().since(began);
    assert_eq!(answer.status, 200);
    assert!(!answer.whole, "{} bytes came", answer.body.len());
    assert!(took >= Duration::from_millis(1200), "cut after {took:?}");
    origin.await_departures(1);
    world.await_exactly("pacegate_requests_in_flight", &[], 0.0);
    let metrics = world.metrics();
    assert_eq!(metrics.count("pacegate_requests_total", &[("outcome", "gave_up")]), 1.0);
    assert_eq!(metrics.count("pacegate_rung_changes_total", &[]), 0.0, "the origin has answered");
    world.await_log(&["request", "The stated deadline came within the answer"]);
    // With time to spare it comes whole.
    let answer = world.get_with(&origin.url("shop", "/feed"), "Pace-Deadline: 120\r\n");
    assert!(answer.whole && answer.body.len() == 400, "{} bytes came", answer.body.len());
}
