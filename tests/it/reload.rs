//! A new configuration for a proxy that runs: all of it or nothing, and nobody notices but by it.

use crate::world::answer::Answer;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::until;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const TAKEN: &str = "\"configuration taken\"";
const NOT_TAKEN: &str = "configuration not taken";

/// Reloads and waits until that is done; whether it was taken. Only what is new in the log is looked
/// at: under load it grows long.
fn reload(world: &World, config: &str) -> bool {
    let before = world.log_length();
    world.reload(config);
    let done = until(|| {
        // A file that changes may be seen by itself as well: that is another reload.
        let lines = world.log_after(before);
        let ours = lines.iter().filter(|line| line.contains("\"SIGHUP\""));
        ours.into_iter().find_map(|line| match line {
            line if line.contains(TAKEN) => Some(true),
            line if line.contains(NOT_TAKEN) => Some(false),
            _ => None,
        })
    });
    done.unwrap_or_else(|| panic!("no reload came of it:\n{}", world.log().join("\n")))
}

#[test]
fn reload_after_reload_under_load_fails_no_request_and_bad_ones_change_nothing() {
    let rounds = std::env::var("PACEGATE_RELOADS").ok().and_then(|text| text.parse().ok());
    let rounds: usize = rounds.unwrap_or(200);
    let origin = Origin::http();
    let quiet = "log: {level: info}\n";
    let world = World::start(quiet);
    let (over, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for host in ["a", "b"] {
            let url = origin.url(host, "/");
            let (world, over, asked) = (&world, &over, &asked);
            scope.spawn(move || {
                let mut client = world.client();
                while !over.load(Ordering::Relaxed) {
                    let answer = client.get(&url);
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    asked.fetch_add(1, Ordering::Relaxed);
                    // The log is read for each reload: it must not grow by megabytes.
                    std::thread::sleep(Duration::from_millis(2));
                }
            });
        }
        for round in 0..rounds {
            let (config, good) = match round % 6 {
                0 => ("retry: {window: 5m}\nresponse_headers: full\n", true),
                1 => ("retry: {windw: 5m}\nresponse_headers: off\n", false),
                2 => ("scopes: {a.localhost: {concurrency: 3}}\nresponse_headers: full\n", true),
                3 => ("limits: {held: 7}\nresolve: {x.test: 127.0.0.1}\n", true),
                4 => ("tls: {roots: /nowhere.pem}\nresponse_headers: off\n", false),
                _ => ("tls: {intercept: false}\npace: {ladder: [0, 1, 4]}\n", true),
            };
            assert_eq!(reload(&world, config), good, "round {round}: {config}");
        }
        over.store(true, Ordering::Relaxed);
    });
    let asked = asked.into_inner();
    assert!(asked > rounds / 4, "{asked} requests in {rounds} reloads");
    assert!(reload(&world, "response_headers: full\n"));
    let full = world.get(&origin.url("a", "/"));
    assert!(full.header("pace-status").is_some(), "the last one is in force");
    assert!(!reload(&world, "response_headers: [off"));
    assert!(world.get(&origin.url("a", "/")).header("pace-status").is_some(), "and stays");
    world.await_exactly("pacegate_config_last_reload_successful", &[], 0.0);
    assert!(reload(&world, "response_headers: off\n"));
    world.await_exactly("pacegate_config_last_reload_successful", &[], 1.0);
    let at = world.metrics().count("pacegate_config_last_reload_success_timestamp_seconds", &[]);
    assert!(at > 1.7e9, "{at}");
}

#[test]
fn who_is_held_stays_held_over_new_limits_and_goes_by_the_new_pace() {
    let origin = Origin::http();
    origin.on("/stall", [Answer::status(500)]);
    let world = World::start("pace: {ladder: [0, 60]}\nlimits: {held: 50}\n");
    world.get_with(&origin.url("shop", "/stall"), "Pace-Retry: 0\r\n");
    let mut held: Vec<_> = (0..20).map(|_| world.client()).collect();
    for client in &mut held {
        client.say("GET", &origin.url("shop", "/page"), "", "");
    }
    world.await_held(20);
    assert!(reload(&world, "pace: {ladder: [0, 60]}\nlimits: {held: 5, held_per_scope: 5}\n"));
    world.await_held(20);
    assert_eq!(world.rung("shop.localhost"), 1.0, "the rung stays");
    let refused = world.get(&origin.url("shop", "/page"));
    assert_eq!(refused.status, 503, "newcomers go by the new limit");
    assert!(reload(&world, "pace: {ladder: [0, 100ms]}\nlimits: {held: 5}\n"));
    for mut client in held {
        assert_eq!(client.response().status, 200);
    }
}

#[test]
fn a_request_goes_by_the_settings_it_began_with() {
    let origin = Origin::http();
    origin.on("/slow", [Answer::page("late").after(Duration::from_millis(900))]);
    let world = World::start("response_headers: full\n");
    let mut slow = world.client();
    slow.say("GET", &origin.url("shop", "/slow"), "", "");
    origin.await_arrivals(1);
    assert!(reload(&world, "response_headers: off\nretry: {response_timeout: 100ms}\n"));
    assert_eq!(world.get(&origin.url("shop", "/")).header("pace-status"), None);
    let answer = slow.response();
    assert_eq!((answer.status, answer.text().as_str()), (200, "late"));
    assert!(answer.header("pace-status").is_some());
}

#[cfg(unix)]
#[test]
fn a_file_that_changes_is_read_again_also_when_a_link_is_swapped() {
    let origin = Origin::http();
    let world = World::start("response_headers: off\n");
    let certs = world.certs();
    let folder = certs.parent().expect("it is in the world's folder");
    let file = folder.join("pacegate.yaml");
    let full = || {
        let answer = world.get(&origin.url("shop", "/"));
        answer.header("pace-status").is_some()
    };
    assert!(!full());
    std::fs::write(&file, "response_headers: full\n").expect("the file is ours");
    until(|| full().then_some(())).expect("what was written is taken");
    world.await_log(&[TAKEN, "the file changed"]);
    let (next, link) = (folder.join("next.yaml"), folder.join("link"));
    std::fs::write(&next, "response_headers: off\n").expect("the folder is ours");
    std::os::unix::fs::symlink(&next, &link).expect("links can be made");
    std::fs::rename(&link, &file).expect("links can be swapped");
    until(|| (!full()).then_some(())).expect("what the link names is taken");
    std::fs::remove_file(&file).expect("it is there");
    world.await_log(&[NOT_TAKEN]);
    assert!(!full());
}

#[test]
fn what_is_wrong_and_what_needs_a_restart_is_said_with_its_place() {
    let world = World::start("log: {level: info}\n");
    assert!(!reload(&world, "listen: 127.0.0.1:1\nretry:\n  windw: 5m\n"));
    world.await_log(&["pacegate.yaml:3:3", "unknown key `retry.windw`", "did you mean `window`"]);
    assert!(reload(&world, "metrics: {host_limit: 7}\nlog: {level: debug}\n"));
    world.await_log(&["metrics.host_limit, log.level", "started anew"]);
    let before = world.log().len();
    assert!(reload(&world, "log: {level: info}\n"));
    assert!(!world.log()[before..].join("").contains("anew"), "all is as it was");
}
