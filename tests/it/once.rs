//! A thousand requests that may not be sent twice, over every fault there is; and the same faults
//! under requests that may.

use crate::world::answer::{Answer, Then};
use crate::world::arrival::Arrival;
use crate::world::authority::Authority;
use crate::world::client::Client;
use crate::world::door::{Deaf, slamming};
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::until;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Faults, by the number of a request.
const FAULTS: usize = 10;
const POSTS: usize = 1000;
const GETS: usize = 100;
const CLIENTS: usize = 24;

/// What an origin does with the first arrival of request `number`.
fn fault(number: usize) -> Answer {
    match number % FAULTS {
        0 => Answer::nothing(Then::Reset),
        1 => Answer::nothing(Then::Close),
        2 => Answer::raw("HTTP/1.1 200 OK\r\nContent-Le").then(Then::Reset),
        3 => Answer::page("0123456789").cut(5, Then::Reset),
        4 => Answer::page("").chunked("0123456789", 5).cut(7, Then::Close),
        5 => Answer::status(429).body("429"),
        6 => Answer::status(503).header("Retry-After", "0").body("503"),
        7 => Answer::nothing(Then::Hang),
        8 => Answer::status(500).early().then(Then::Reset),
        _ => Answer::page("fine"),
    }
}

/// An origin whose first answer to each target is a fault, and how often each was asked for.
fn faulty() -> (Origin, Arc<Mutex<HashMap<String, usize>>>) {
    let origin = Origin::http();
    let seen: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    let counts = seen.clone();
    origin.decide("/once", move |arrival: &Arrival| {
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        let times = counts.entry(arrival.target.clone()).or_default();
        *times += 1;
        let number = arrival.target.rsplit('=').next().and_then(|text| text.parse().ok());
        match times {
            1 => fault(number.expect("a number")),
            _ => Answer::page("fine"),
        }
    });
    (origin, seen)
}

const CONFIG: &str = "pace: {ladder: [0, 0.001, 0.002, 0.003], drain: 32}\n\
    retry: {window: 20s, response_timeout: 250ms, connect_timeout: 300ms, page_faults: none}\n";

/// Lets many clients do the numbers from 0, each with a connection of its own.
fn crowd(count: usize, one: impl Fn(&mut Option<Client>, usize) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = None;
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    one(&mut client, number);
                }
            });
        }
    });
}

#[test]
fn no_post_reaches_its_origin_twice_and_every_get_ends_in_its_page() {
    let (origin, seen) = faulty();
    let world = World::start(CONFIG);
    let late = Mutex::new(HashSet::new());
    crowd(POSTS, |client, number| {
        let mut connection = client.take().unwrap_or_else(|| world.client());
        // A host for ten: one's time-outs don't slow the others down.
        let url = origin.url(&format!("h{}", number % 40), &format!("/once?post={number}"));
        connection.say("POST", &url, "", &format!("body {number}"));
        let answer = connection.response_to("POST").expect("some answer");
        let want = match number % FAULTS {
            0..=2 | 8 => vec![502, 500],
            3 | 4 => vec![502],
            5 => vec![429],
            6 => vec![503],
            7 => vec![504],
            _ => vec![200],
        };
        // On a loaded machine any of them may take too long, the connection of one too: it has
        // arrived or not.
        if answer.status == 504 {
            late.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(format!("/once?post={number}"));
        }
        let fine = answer.status == 504 || want.contains(&answer.status);
        assert!(fine, "{number}: {} {}", answer.status, answer.text());
        if answer.whole && answer.header("connection").is_none() {
            *client = Some(connection);
        }
    });
    let counts = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let late = late.into_inner().unwrap_or_else(PoisonError::into_inner);
    let arrived = (0..POSTS).map(|number| format!("/once?post={number}"));
    let lost: Vec<_> =
        arrived.filter(|it| !counts.contains_key(it) && !late.contains(it)).collect();
    assert!(lost.is_empty(), "answered by their origin, which knows nothing of it: {lost:?}");
    assert!(late.len() < POSTS / 2, "{} were too late: nothing is shown", late.len());
    let twice: Vec<_> = counts.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    for arrival in origin.arrivals().iter().filter(|arrival| !arrival.body.is_empty()) {
        let number = arrival.target.rsplit('=').next().expect("a number");
        assert_eq!(arrival.body, format!("body {number}").as_bytes());
    }
    crowd(GETS, |client, number| {
        let mut connection = client.take().unwrap_or_else(|| world.client());
        let url = origin.url(&format!("g{}", number % 40), &format!("/once?get={number}"));
        let answer = connection.get(&url);
        assert_eq!((answer.status, answer.text().as_str()), (200, "fine"), "{number}");
        *client = Some(connection);
    });
}

#[test]
fn attempts_and_second_sendings_are_together_what_the_origin_counts() {
    let (origin, _seen) = faulty();
    let world = World::start(CONFIG);
    crowd(400, |client, number| {
        // A whole answer before a reset: the next sending may go out and never be read.
        let number = if number % FAULTS == 8 { number + 1000 - 8 } else { number };
        let mut connection = client.take().unwrap_or_else(|| world.client());
        // Between two faults a page leaves a connection behind for the next to break.
        let host = format!("g{}", number % 4);
        assert_eq!(connection.get(&origin.url(&host, "/page")).status, 200);
        let answer = connection.get(&origin.url(&host, &format!("/once?get={number}")));
        assert_eq!((answer.status, answer.text().as_str()), (200, "fine"), "{number}");
        *client = Some(connection);
    });
    world.await_idle();
    let metrics = world.metrics();
    let attempts = metrics.count("pacegate_attempts_total", &[]);
    let unmade = metrics.count("pacegate_attempts_total", &[("class", "connect_timeout")]);
    let again = metrics.count("pacegate_origin_resends_total", &[]);
    let counted = || origin.arrivals().len() as f64;
    // An origin that is late with its reading is given the time.
    let same = until(|| (counted() == attempts - unmade + again).then_some(()));
    assert!(same.is_some(), "{attempts} - {unmade} + {again}, and not {}", counted());
    assert!(again >= 10.0, "{again}: nothing is shown");
}

#[test]
fn a_key_makes_a_post_repeatable() {
    let (origin, seen) = faulty();
    let world = World::start(CONFIG);
    for number in 0..8 {
        let url = origin.url(&format!("h{number}"), &format!("/once?post={number}"));
        let answer = world.ask("POST", &url, "Idempotency-Key: \"k\"\r\n", "body");
        assert_eq!((answer.status, answer.text().as_str()), (200, "fine"), "{number}");
    }
    let counts = seen.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(counts.values().all(|times| *times == 2), "{counts:?}");
    assert!(origin.arrivals().iter().all(|arrival| arrival.body == b"body"));
}

#[test]
fn a_post_whose_connection_failed_arrives_once() {
    let deaf = Deaf::new();
    let world = World::start(CONFIG);
    let port = deaf.port();
    let mut clients: Vec<_> = (0..10).map(|_| world.client()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let url = format!("http://deaf.localhost:{port}/post?{number}");
        client.say("POST", &url, "", "once");
    }
    world.await_metric("pacegate_retries_total", &[("class", "connect_timeout")], 10.0);
    let heard = deaf.listen();
    for client in &mut clients {
        assert_eq!(client.response_to("POST").expect("an answer").status, 200);
    }
    let mut targets: Vec<_> = heard.arrivals().into_iter().map(|it| it.target).collect();
    targets.sort();
    let want: Vec<_> = (0..10).map(|number| format!("/post?{number}")).collect();
    assert_eq!(targets, want);
}

#[test]
fn a_post_whose_tls_failed_arrives_once() {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["shop.localhost"]);
    let door = slamming(origin.address(), 3);
    let roots = authority.file().display();
    let world = World::start(&format!("{CONFIG}tls: {{roots: {roots}}}\n"));
    let mut client = world.tunnel(&format!("shop.localhost:{}", door.port()));
    client.send("POST /x HTTP/1.1\r\nHost: shop.localhost\r\nContent-Length: 4\r\n\r\nonce");
    let answer = client.response_to("POST").expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(origin.arrivals().len(), 1);
    assert_eq!(world.metrics().count("pacegate_attempts_total", &[("class", "reset")]), 3.0);
}

#[test]
fn a_body_over_the_cap_gets_one_attempt_unless_its_connection_failed() {
    let origin = Origin::http();
    origin.on("/put", [Answer::status(503), Answer::page("fine")]);
    let world = World::start(&format!("{CONFIG}limits: {{replay_body: 1KiB}}\n"));
    let (small, large) = ("x".repeat(1000), "x".repeat(3000));
    assert_eq!(world.ask("PUT", &origin.url("a", "/put"), "", &small).status, 200);
    assert_eq!(origin.arrivals().len(), 2);
    assert!(origin.arrivals().iter().all(|arrival| arrival.body == small.as_bytes()));
    origin.on("/put", [Answer::status(503), Answer::page("fine")]);
    assert_eq!(world.ask("PUT", &origin.url("b", "/put"), "", &large).status, 503);
    assert_eq!(origin.arrivals().len(), 3, "what streamed can't be sent again");
    let deaf = Deaf::new();
    let mut client = world.client();
    client.say("PUT", &format!("http://c.localhost:{}/put", deaf.port()), "", &large);
    world.await_metric("pacegate_retries_total", &[("class", "connect_timeout")], 1.0);
    let heard = deaf.listen();
    assert_eq!(client.response_to("PUT").expect("an answer").status, 200);
    assert_eq!(heard.arrivals()[0].body, large.as_bytes());
}
