//! What is remembered of clients that left: how long they wait, and where they stood.

use crate::world::answer::{Answer, Then};
use crate::world::client::Client;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use std::thread;
use std::time::Duration;

/// A request that somebody sends and may leave.
fn asks(world: &World, url: &str, fields: &str) -> Client {
    let mut client = world.client();
    client.send(format!("GET {url} HTTP/1.1\r\nHost: shop\r\n{fields}\r\n"));
    client
}

fn held(world: &World, count: f64) {
    world.await_exactly("pacegate_held_requests", &[], count);
}

/// A world and a host whose next slot is far away, to which a program has come until its time-out
/// of a second was known.
fn known(config: &str) -> (World, Origin) {
    let origin = Origin::http();
    origin.on("/busy", [Answer::status(503)]);
    let world = World::start(&format!("{config}pace: {{ladder: [0, 100, 200]}}\n"));
    let url = origin.url("shop", "/busy");
    assert_eq!(world.get_with(&url, "Pace-Retry: off\r\n").status, 503);
    let learnt = || world.log().iter().any(|line| line.contains("after the same time again"));
    for _ in 0..40 {
        let client = asks(&world, &url, "User-Agent: hasty/1\r\n");
        held(&world, 1.0);
        thread::sleep(Duration::from_secs(1));
        drop(client);
        held(&world, 0.0);
        if learnt() {
            return (world, origin);
        }
    }
    panic!("two departures within 3 % of the same age in 40: {:?}", world.log());
}

#[test]
fn a_clients_time_out_is_learnt_and_shown_and_refuses_nobody() {
    let (world, origin) = known("");
    world.await_log(&["after the same time again", "hasty/1", "patience"]);
    assert!(world.metrics().count("pacegate_client_patience_seconds_count", &[]) >= 2.0);
    let _patient = asks(&world, &origin.url("shop", "/"), "User-Agent: hasty/1\r\n");
    held(&world, 1.0);
}

#[test]
fn enforced_it_answers_at_once_what_nobody_would_wait_for() {
    let (world, origin) = known("patience: enforce\n");
    let url = origin.url("shop", "/");
    let refused = world.get_with(&url, "User-Agent: hasty/1\r\n");
    assert_eq!(refused.status, 503);
    assert!(refused.text().contains("after which this client leaves"), "{}", refused.text());
    assert!(refused.text().contains("(deadline_infeasible)"), "{}", refused.text());
    assert!(refused.header("retry-after").is_some());
    let _other = asks(&world, &url, "User-Agent: calm/1\r\n");
    held(&world, 1.0);
    assert_eq!(world.get_with(&origin.url("healthy", "/"), "User-Agent: hasty/1\r\n").status, 200);
}

/// One attempt at a time, and one that hangs until its client is dropped.
fn blocked(config: &str) -> (World, Origin, Client) {
    let origin = Origin::http();
    origin.on("/hang", [Answer::nothing(Then::Hang)]);
    let world = World::start(&format!("pace: {{concurrency: 1}}\n{config}"));
    let first = asks(&world, &origin.url("shop", "/hang"), "");
    origin.await_arrivals(1);
    (world, origin, first)
}

fn order(origin: &Origin, count: usize) -> Vec<String> {
    let arrivals = origin.await_arrivals(1 + count);
    arrivals.iter().skip(1).map(|arrival| arrival.target.clone()).collect()
}

#[test]
fn who_left_and_comes_back_has_its_place() {
    let (world, origin, first) = blocked("");
    let ask = |path: &str, count| {
        let client = asks(&world, &origin.url("shop", path), "");
        held(&world, count);
        client
    };
    let early = ask("/early", 1.0);
    drop(early);
    held(&world, 0.0);
    let _late = [ask("/late", 1.0), ask("/later", 2.0)];
    let _again = ask("/early", 3.0);
    drop(first);
    assert_eq!(order(&origin, 3), ["/early", "/late", "/later"]);
}

#[test]
fn who_was_sent_away_and_comes_back_has_its_place() {
    let (world, origin, first) = blocked("limits: {held_per_client: 1}\n");
    let other = asks(&world, &origin.url("shop", "/other"), "");
    held(&world, 1.0);
    let refused = world.get(&origin.url("shop", "/early"));
    assert_eq!(refused.status, 503);
    assert!(refused.text().contains("(line_full)"), "{}", refused.text());
    drop(other);
    held(&world, 0.0);
    world.reload("pace: {concurrency: 1}\nlimits: {held_per_client: 9}\n");
    world.await_log(&["configuration taken"]);
    let _late = asks(&world, &origin.url("shop", "/late"), "");
    held(&world, 1.0);
    let _again = asks(&world, &origin.url("shop", "/early"), "");
    held(&world, 2.0);
    drop(first);
    assert_eq!(order(&origin, 2), ["/early", "/late"]);
}
