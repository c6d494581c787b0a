//! Trouble that is not the sites': our own line, and names that the resolver does not know.

use crate::world::door::Deaf;
use crate::world::names::{Names, Said};
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::response::Response;
use std::time::Duration;

const CONFIG: &str = "pace: {ladder: [0, 0.05, 0.1]}\n\
    retry: {window: 5s, connect_timeout: 250ms, response_timeout: 2s}\n";

#[test]
fn when_five_hosts_or_more_time_out_and_none_is_reached_nobody_climbs_for_it() {
    let (deaf, origin) = (Deaf::new(), Origin::http());
    let world = World::start(CONFIG);
    let once = |name: &str| {
        let url = format!("http://{name}.localhost:{}/", deaf.port());
        let answer = world.get_with(&url, "Pace-Retry: 0\r\n");
        assert_eq!(answer.status, 504, "{name}: {}", answer.text());
        world.rung(&format!("{name}.localhost"))
    };
    for name in ["a", "b", "c", "d"] {
        assert_eq!(once(name), 1.0, "{name}: so far it may be the sites");
    }
    for name in ["e", "f", "g"] {
        assert_eq!(once(name), 0.0, "{name}: with the fifth it is our own line");
    }
    assert_eq!(once("a"), 1.0, "and a host that is on the ladder stays where it is");
    let timeouts =
        world.metrics().count("pacegate_attempts_total", &[("class", "connect_timeout")]);
    assert_eq!(timeouts, 8.0, "they are counted for what they are");
    assert_eq!(world.get(&origin.url("good", "/")).status, 200);
    assert_eq!(once("h"), 1.0, "somebody was reached: it is the site again");
}

#[test]
fn a_request_caught_in_our_own_trouble_waits_by_itself_and_is_repeated() {
    let deaf = Deaf::new();
    let world = World::start(CONFIG);
    let url = |name: &str| format!("http://{name}.localhost:{}/", deaf.port());
    let crowd = ["a", "b", "c", "d", "e", "f", "g"];
    std::thread::scope(|scope| {
        let get = |name: &str| world.get(&url(name)).status;
        let asked = crowd.map(|name| scope.spawn(move || get(name)));
        world.await_metric("pacegate_attempts_total", &[("class", "connect_timeout")], 21.0);
        let rungs: f64 = crowd.iter().map(|name| world.rung(&format!("{name}.localhost"))).sum();
        assert!(rungs <= 4.0, "only the first four may have climbed: {rungs}");
        for answer in asked {
            assert_eq!(answer.join().expect("an answer"), 504);
        }
    });
}

#[test]
fn a_name_that_is_not_found_is_a_502_at_once_and_one_nobody_answers_for_is_asked_for_again() {
    let Some(names) = Names::serve(|label| match label {
        "nowhere" => Said::Unknown,
        "bare" => Said::Bare,
        "broken" => Said::Broken,
        "silent" => Said::Silence,
        _ => Said::Here,
    }) else {
        return; // Not root here: the room's own tests have the rest.
    };
    let origin = Origin::http();
    let config = "pace: {ladder: [0, 0.05, 0.1]}\nretry: {window: 2s, connect_timeout: 500ms}\n";
    let world = World::start_among(&names, config);
    let get = |name: &str| world.get(&format!("http://{name}.test:{}/", origin.port()));
    assert_eq!(get("here").status, 200);
    for (name, why) in [("nowhere", "was not found"), ("bare", "")] {
        let answer = get(name);
        check(&world, name, &answer, (502, "dns_error", "dns"), 1);
        assert!(answer.text().contains(why), "{}", answer.text());
    }
    for name in ["broken", "silent"] {
        check(&world, name, &get(name), (504, "dns_timeout", "soft"), 2);
    }
    let climbs = world.metrics().count("pacegate_rung_changes_total", &[]);
    assert_eq!(climbs, 0.0, "a resolver's trouble is no site's");
}

/// Status, error and class; and at least so many attempts.
#[track_caller]
fn check(world: &World, name: &str, answer: &Response, want: (u16, &str, &str), attempts: u32) {
    let said = answer.header("proxy-status").unwrap_or_default();
    assert_eq!(answer.status, want.0, "{name}: {}", answer.text());
    assert!(said.contains(&format!("error={};", want.1)), "{name}: {said}");
    let host = format!("{name}.test");
    let labels = [("host", host.as_str()), ("class", want.2)];
    let made = world.metrics().count("pacegate_attempts_total", &labels);
    let exactly = attempts == 1 && made == 1.0;
    assert!(exactly || (attempts > 1 && made >= f64::from(attempts)), "{name}: {made} attempts");
}

#[test]
fn names_that_nobody_answers_for_hold_up_nobody_else() {
    let Some(names) = Names::serve(|label| match label.starts_with("silent") {
        true => Said::Silence,
        false => Said::Here,
    }) else {
        return; // Not root here: the room's own tests have the rest.
    };
    let origin = Origin::http();
    let world = World::start_among(&names, "retry: {window: 2s, connect_timeout: 1500ms}\n");
    let port = origin.port();
    let mut hung: Vec<_> = (0..200).map(|_| world.client()).collect();
    for (number, client) in hung.iter_mut().enumerate() {
        client.say("GET", &format!("http://silent-{number}.test:{port}/"), "", "");
    }
    world.await_metric("pacegate_requests_in_flight", &[], 200.0);
    for name in ["here.test", "there.test", "shop.localhost", "127.0.0.1"] {
        let asked = now();
        let answer = world.get(&format!("http://{name}:{port}/"));
        let took = now().since(asked);
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        assert!(took < Duration::from_secs(1), "{name}: {took:?}");
    }
    for mut client in hung {
        assert_eq!(client.response().status, 504);
    }
    assert_eq!(world.metrics().count("pacegate_rung_changes_total", &[]), 0.0);
}
