//! A proxy with few descriptors and many clients: nothing that was accepted fails for the lack of
//! one, newcomers wait at no cost, and it is all over as soon as they have left.

use crate::world::answer::Answer;
use crate::world::client::Client;
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use std::time::Duration;

const DESCRIPTORS: u32 = 256;

fn world() -> World {
    World::start_within(DESCRIPTORS, "log: {level: warn}\n")
}

#[test]
fn a_thousand_clients_are_served_with_256_descriptors() {
    // Two for each: one here, and one of the origin's.
    rlimit::increase_nofile_limit(8192).expect("the limit can be raised");
    let origin = Origin::http();
    origin.on("/slow", [Answer::page("slow").after(Duration::from_millis(400))]);
    let world = world();
    let mut clients: Vec<Client> = (0..1000).map(|_| world.client()).collect();
    // They leave their connections open, as crawlers do, and each asks a host of its own.
    for (number, client) in clients.iter_mut().enumerate() {
        let path = if number % 10 == 0 { "/slow" } else { "/" };
        client.say("GET", &origin.url(&format!("s{}", number % 200), path), "", "");
    }
    for (number, client) in clients.iter_mut().enumerate() {
        let answer = client.response();
        assert_eq!(answer.status, 200, "{number}: {}", answer.text());
    }
    let metrics = world.metrics();
    let served = metrics.count("pacegate_attempts_total", &[("class", "served")]);
    assert_eq!((served, metrics.count("pacegate_attempts_total", &[])), (1000.0, 1000.0));
}

#[test]
fn a_crowd_that_says_nothing_costs_nothing_and_holds_nobody_up_once_it_has_left() {
    rlimit::increase_nofile_limit(8192).expect("the limit can be raised");
    let origin = Origin::http();
    let world = world();
    let mut early = world.client();
    assert_eq!(early.get(&origin.url("shop", "/")).status, 200);
    early.say("GET", &origin.url("shop", "/early"), "", "");
    assert_eq!(early.response().status, 200);
    let crowd: Vec<Client> = (0..1000).map(|_| world.client()).collect();
    world.await_log(&["newcomers wait"]);
    let before = world.work();
    std::thread::sleep(Duration::from_secs(1));
    let used = world.work() - before;
    assert!(used < 0.2, "{used} s of a second");
    let mut late = world.client();
    late.say("GET", &origin.url("shop", "/late"), "", "");
    assert!(late.is_quiet_for(Duration::from_millis(100)), "it waits");
    let left = now();
    drop(crowd);
    assert_eq!(late.response().status, 200);
    assert!(now().since(left) < Duration::from_secs(5));
}

#[test]
fn clients_that_say_nothing_make_room_for_one_that_asks() {
    rlimit::increase_nofile_limit(8192).expect("the limit can be raised");
    let origin = Origin::http();
    let world = world();
    let crowd: Vec<Client> = (0..300).map(|_| world.client()).collect();
    world.await_log(&["newcomers wait"]);
    // Behind 108 others in the system's line.
    let mut late = world.client();
    late.say("GET", &origin.url("shop", "/late"), "", "");
    assert_eq!(late.response().status, 200);
    drop(crowd);
}
