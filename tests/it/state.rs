//! A restart: what was learnt is kept in `state_file`, and what can't be read is said and left.

use crate::world::answer::Answer;
use crate::world::folder::Folder;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A proxy that keeps its state in a file of this folder.
fn start(folder: &Folder, config: &str) -> (World, PathBuf) {
    let file = folder.path().join("state.json");
    (World::start(&format!("{config}state_file: {}\n", file.display())), file)
}

fn stop(mut world: World) {
    world.signal("TERM");
    assert!(world.wait().success());
}

fn row(world: &World, host: &str) -> Value {
    let value: Value =
        serde_json::from_str(&world.admin_page(&format!("/api/hosts/{host}"))).expect("JSON");
    value["row"].clone()
}

fn post(world: &World, target: &str) {
    let mut client = crate::world::client::Client::connect(world.admin());
    let host = world.admin();
    client.send(format!("POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n"));
    let answer = client.response();
    assert_eq!(answer.status, 200, "{target}: {}", answer.text());
}

fn names(file: &Path) -> Vec<String> {
    let folder = fs::read_dir(file.parent().expect("a folder")).expect("it is there");
    folder.map(|entry| entry.expect("a name").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn pauses_rungs_pins_backoffs_and_quotas_survive_a_restart() {
    let origin = Origin::http();
    origin.on("/503", [Answer::status(503)]);
    let config =
        "scopes:\n  back.localhost: {law: backoff}\n  quota.localhost: {quota: 1, per: 1h}\n";
    let folder = Folder::new();
    let (world, file) = start(&folder, config);
    for host in ["ladder", "back"] {
        world.get_with(&origin.url(host, "/503"), "Pace-Retry: 0\r\n");
    }
    assert_eq!(world.get(&origin.url("quota", "/page")).status, 200);
    assert_eq!(world.get(&origin.url("healthy", "/page")).status, 200);
    post(&world, "/api/hosts/paused.localhost/pause?seconds=3600");
    post(&world, "/api/hosts/pinned.localhost/pin?rung=4");
    stop(world);
    assert_eq!(fs::metadata(&file).expect("it was written").permissions().mode() & 0o777, 0o600);
    assert_eq!(names(&file), ["state.json"], "no draft is left");

    let (world, _) = start(&folder, config);
    let paused = row(&world, "paused.localhost")["paused_seconds"].as_f64().expect("a pause");
    assert!((3000.0..3600.0).contains(&paused), "{paused}");
    assert_eq!(row(&world, "ladder.localhost")["rung"], 1);
    assert_eq!(row(&world, "ladder.localhost")["cause"], "overloaded");
    let back = row(&world, "back.localhost");
    assert_eq!((&back["rung"], &back["pace_seconds"]), (&1.into(), &1.0.into()), "{back}");
    let pinned = row(&world, "pinned.localhost");
    assert_eq!((&pinned["rung"], &pinned["pinned"]), (&4.into(), &true.into()));
    assert_eq!(row(&world, "quota.localhost")["waits_for"], "quota");
    assert_eq!(row(&world, "healthy.localhost"), Value::Null);
    let answer = world.get(&origin.url("paused", "/page"));
    assert_eq!(answer.status, 503, "a pause beyond the window is answered at once");
    let wait: f64 =
        answer.header("retry-after").and_then(|wait| wait.parse().ok()).expect("a wait");
    assert!((3000.0..=3600.0).contains(&wait), "{wait}");
    stop(world);
}

#[test]
fn a_file_that_is_damaged_or_not_ours_is_said_put_aside_and_starts_without() {
    for text in
        ["no state\n", "", "{\"pacegate\":\"state\",\"version\":9,\"saved_at\":1}\n", "\u{0}\u{0}"]
    {
        let folder = Folder::new();
        fs::write(folder.path().join("state.json"), text).expect("the folder is ours");
        let (world, file) = start(&folder, "");
        world.await_log(&["state_file can't be read", "state.json.damaged"]);
        assert_eq!(row(&world, "shop.localhost"), Value::Null);
        stop(world);
        assert_eq!(fs::read_to_string(folder.path().join("state.json.damaged")).unwrap(), text);
        assert!(
            fs::read_to_string(file).unwrap().starts_with('{'),
            "a good one is written on stop"
        );
    }
}

#[test]
fn of_a_file_that_broke_off_the_whole_lines_count() {
    let folder = Folder::new();
    let (world, file) = start(&folder, "");
    for host in ["a.localhost", "b.localhost", "c.localhost"] {
        post(&world, &format!("/api/hosts/{host}/pause?seconds=3600"));
    }
    stop(world);
    let text = fs::read_to_string(&file).expect("it was written");
    fs::write(&file, &text[..text.len() - 10]).expect("the file is ours");
    let (world, _) = start(&folder, "");
    world.await_log(&["damaged lines", "\"lines\":1"]);
    let all: Value = serde_json::from_str(&world.admin_page("/api/hosts")).unwrap();
    assert_eq!(all["total"], 2, "{all}");
}
