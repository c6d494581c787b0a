//! The order to stop: what is under way ends well, what is held is sent home, and it is over.

use crate::world::answer::{Answer, Then};
use crate::world::authority::Authority;
use crate::world::client::Client;
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::until;
use std::time::Duration;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn ready(world: &World) -> u16 {
    let mut client = Client::connect(world.admin());
    client.send("GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    client.response().status
}

#[test]
fn a_term_lets_attempts_finish_and_sends_the_held_home() {
    let origin = Origin::http();
    origin.on("/slow", [Answer::page("made it").after(millis(1200))]);
    origin.on("/stall", [Answer::status(500)]);
    let mut world = World::start("pace: {ladder: [0, 30]}\n");
    assert_eq!(ready(&world), 200);
    let mut slow = world.client();
    slow.say("GET", &origin.url("free", "/slow"), "", "");
    origin.await_arrivals(1);
    world.get_with(&origin.url("shop", "/stall"), "Pace-Retry: 0\r\n");
    let mut held: Vec<_> = (0..3).map(|_| world.client()).collect();
    for client in &mut held {
        client.say("GET", &origin.url("shop", "/page"), "Accept: application/json\r\n", "");
    }
    let mut repeating = world.client();
    repeating.say("GET", &origin.url("other", "/stall"), "", "");
    world.await_held(4);
    let mut idle = world.client();
    assert_eq!(idle.get(&origin.url("free", "/")).status, 200);
    world.signal("TERM");
    let told = now();
    for mut client in held {
        let answer = client.response();
        assert_eq!(answer.status, 503);
        let wait: u64 = answer.header("retry-after").expect("it has one").parse().expect("seconds");
        assert!(wait >= 1);
        let status = answer.header("proxy-status").expect("it is ours");
        assert!(status.contains("error=proxy_internal_response"), "{status}");
        assert!(answer.text().contains("shutting_down"), "{}", answer.text());
        assert!(answer.head_at.since(told) < millis(1100), "at once");
    }
    let kept = repeating.response();
    assert_eq!((kept.status, kept.header("retry-after")), (500, None), "its origin has answered");
    assert!(kept.head_at.since(told) < millis(1100), "at once");
    assert_eq!(ready(&world), 503);
    assert!(idle.rest().unwrap_or_default().is_empty(), "an idle connection is closed");
    let answer = slow.response();
    assert_eq!((answer.status, answer.text().as_str()), (200, "made it"));
    assert_eq!(world.wait().code(), Some(0));
    assert_eq!(origin.arrivals_for("/page").len(), 0);
}

#[test]
fn who_does_not_finish_within_the_grace_is_cut_off_and_the_code_is_0() {
    let origin = Origin::http();
    origin.on("/hang", [Answer::nothing(Then::Hang)]);
    let mut world = World::start("shutdown: {grace: 400ms}\n");
    let mut client = world.client();
    client.say("GET", &origin.url("shop", "/hang"), "", "");
    origin.await_arrivals(1);
    world.signal("TERM");
    let told = now();
    assert_eq!(world.wait().code(), Some(0));
    let took = now().since(told);
    assert!((millis(400)..millis(5000)).contains(&took), "{took:?}");
    world.await_log(&["grace is over"]);
    assert!(client.response_to("GET").is_err());
    origin.await_departures(1);
}

#[test]
fn a_second_term_ends_it_now() {
    let origin = Origin::http();
    origin.on("/hang", [Answer::nothing(Then::Hang)]);
    let mut world = World::start("shutdown: {grace: 60s}\n");
    let mut client = world.client();
    client.say("GET", &origin.url("shop", "/hang"), "", "");
    origin.await_arrivals(1);
    world.signal("TERM");
    world.await_log(&["stopping"]);
    until(|| (ready(&world) == 503).then_some(())).expect("it drains");
    world.signal("TERM");
    let told = now();
    assert_ne!(world.wait().code(), Some(0), "it says that something was cut off");
    assert!(now().since(told) < millis(3000));
}

#[test]
fn inside_a_tunnel_it_is_the_same() {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["shop.localhost"]);
    origin.on("/stall", [Answer::status(500)]);
    origin.on("/slow", [Answer::page("made it").after(millis(700))]);
    let roots = authority.file().display();
    let mut world = World::start(&format!("tls: {{roots: {roots}}}\npace: {{ladder: [0, 30]}}\n"));
    let to = format!("shop.localhost:{}", origin.port());
    let head = |path: &str, field: &str| {
        format!("GET {path} HTTP/1.1\r\nHost: shop.localhost\r\n{field}\r\n")
    };
    let (mut held, mut slow, mut idle) = (world.tunnel(&to), world.tunnel(&to), world.tunnel(&to));
    assert_eq!(idle.get_path("shop.localhost", "/").status, 200);
    slow.send(head("/slow", ""));
    origin.await_arrivals(2);
    held.send(head("/stall", "Pace-Retry: 0\r\n"));
    assert_eq!(held.response().status, 500);
    held.send(head("/page", ""));
    world.await_held(1);
    world.signal("TERM");
    let answer = held.response();
    assert_eq!((answer.status, answer.header("retry-after").is_some()), (503, true));
    assert!(answer.text().contains("shutting_down"), "{}", answer.text());
    assert_eq!(slow.response().text(), "made it");
    assert_eq!(world.wait().code(), Some(0));
    assert!(idle.rest().unwrap_or_default().is_empty());
}

#[test]
fn a_hang_up_is_no_order_to_stop() {
    let origin = Origin::http();
    let world = World::start("");
    world.signal("HUP");
    world.await_log(&["SIGHUP", "configuration taken"]);
    assert_eq!(world.get(&origin.url("shop", "/")).status, 200);
}
