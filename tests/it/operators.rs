//! What an operator asks and does beside the proxy that runs: the commands, as a shell runs them.

use crate::world::answer::Answer;
use crate::world::door::closed_port;
use crate::world::folder::Folder;
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::{World, pacegate};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;
use std::thread;
use std::time::Duration;

/// Runs a command against a proxy, found by its environment variable.
fn run(world: &World, arguments: &[&str]) -> Output {
    let folder = Folder::new();
    let mut command = pacegate(&folder);
    command.env("PACEGATE_ADMIN", world.admin().to_string()).args(arguments);
    command.output().expect("the binary starts")
}

#[track_caller]
fn good(world: &World, arguments: &[&str]) -> String {
    let output = run(world, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

#[track_caller]
fn bad(output: &Output, want: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(want), "{want} is not in {said}");
    assert!(!output.status.success() && output.stdout.is_empty(), "{said}");
}

#[test]
fn hosts_and_explain_say_what_slows_whom_and_why() {
    let origin = Origin::http();
    origin.on("/full", [Answer::status(503)]);
    let world = World::start("pace: {ladder: [0, 30, 60]}\n");
    assert!(good(&world, &["hosts"]).starts_with("no host has a row"));
    let text = good(&world, &["explain", "http://shop.localhost/page"]);
    assert!(text.contains("scope      shop.localhost\n"), "{text}");
    assert!(text.contains("law        ladder 0s 30s 1m00s\n"), "{text}");
    assert!(text.contains("row        none") && text.contains("starts at once"), "{text}");
    world.get_with(&origin.url("shop", "/full"), "Pace-Retry: 0\r\n");
    let mut held = world.client();
    held.say("GET", &origin.url("shop", "/page"), "", "");
    world.await_held(1);
    let text = good(&world, &["hosts"]);
    let row = text.lines().nth(1).expect("a row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(&cells[..5], ["shop.localhost", "1", "30s", "1", "0"], "{text}");
    assert!(row.ends_with("overloaded"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&good(&world, &["hosts", "--json"])).unwrap();
    assert_eq!((&json["hosts"][0]["rung"], &json["hosts"][0]["held"]), (&1.into(), &1.into()));
    let text = good(&world, &["explain", "shop.localhost"]);
    assert!(text.contains("rung 1: a start every 30s, last overloaded\n"), "{text}");
    assert!(
        text.contains("waits for its host's pace, ") && text.contains("held       1 ("),
        "{text}"
    );
}

#[test]
fn explain_names_the_rules_and_all_scopes_that_they_bring() {
    let world = World::start(
        "rules:\n  - {name: fast, when: 'path.startsWith(\"/fast\")', scopes: api}\n\
         \x20 - {name: paid, when: 'host == \"api.localhost\"', scopes: {+cost: 2.5}}\n\
         scopes: {api: {concurrency: 7}, cost: {quota: 9, per: 1h}}\n",
    );
    let text = good(&world, &["explain", "http://api.localhost/fast/x"]);
    assert!(text.contains("rules      fast, paid\n"), "{text}");
    let scopes: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("  scope      ")).collect();
    assert!(scopes.contains(&"api") && scopes.contains(&"cost (2.5 a request)"), "{text}");
    assert!(text.contains("concurrency 7") && text.contains("quota 9 per 1h00m"), "{text}");
    let text = good(&world, &["explain", "http://other.localhost/"]);
    assert!(
        text.contains("rules      none\n") && text.contains("scope      other.localhost\n"),
        "{text}"
    );
    good(&world, &["host", "cost", "pause", "5m"]);
    let text = good(&world, &["explain", "http://api.localhost/"]);
    assert!(text.contains("waits for the end of a pause, "), "{text}");
}

#[test]
fn a_host_is_paused_resumed_pinned_and_reset() {
    let origin = Origin::http();
    let world = World::start("pace: {ladder: [0, 2, 60]}\n");
    let text = good(&world, &["host", "shop.localhost", "pause", "9m"]);
    assert!(text.contains("pause      8m5") || text.contains("9m00s more"), "{text}");
    let asked = now();
    thread::scope(|scope| {
        let waits = scope.spawn(|| world.get(&origin.url("shop", "/page")).status);
        world.await_held(1);
        thread::sleep(Duration::from_millis(200));
        good(&world, &["host", "shop.localhost", "resume"]);
        assert_eq!(waits.join().expect("it is answered"), 200);
    });
    assert!(origin.arrivals()[0].at.since(asked) >= Duration::from_millis(200));
    let text = good(&world, &["host", "shop.localhost", "pin", "2"]);
    assert!(text.contains("rung 2, pinned: a start every 1m00s"), "{text}");
    let text = good(&world, &["host", "shop.localhost"]);
    assert!(text.contains("pinned"), "{text}");
    assert!(good(&world, &["host", "shop.localhost", "reset"]).contains("row        none"));
    assert_eq!(world.get(&origin.url("shop", "/page")).status, 200);
    bad(&run(&world, &["host", "shop.localhost", "reset"]), "pacegate: it has no row");
    bad(&run(&world, &["host", "shop.localhost", "pause", "soon"]), "write it like 30s");
    bad(&run(&world, &["host", "a b", "reset"]), "no host or scope can have this name");
    bad(&run(&world, &["explain", "ftp://x/"]), "http:// or https://");
}

#[test]
fn where_nothing_or_something_else_listens_that_is_said() {
    let folder = Folder::new();
    let ask = |admin: &str| {
        let mut command = pacegate(&folder);
        command.args(["--admin", admin, "hosts"]).output().expect("the binary starts")
    };
    let nobody = closed_port().to_string();
    bad(&ask(&nobody), &format!("no pacegate listens at http://{nobody}: is it running?"));
    bad(&ask("off"), "there is no admin port");
    bad(&ask("127.0.0.1:0"), "any free port");
    let other = Origin::http();
    bad(&ask(&other.address().to_string()), "is no pacegate");
}

#[test]
fn with_its_token_the_api_opens_for_callers_from_elsewhere_and_the_commands_use_it() {
    let folder = Folder::new();
    let file = folder.write("token", "0123456789abcdef-token\n");
    let config = format!("admin: {{token_file: {}}}\n", file.display());
    let world = World::start(&config);
    world.await_log(&["token_file", "can be read by every user"]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("the file is ours");
    let mut client = crate::world::client::Client::connect(world.admin());
    client.send("GET /api/hosts HTTP/1.1\r\nHost: pace\r\nAuthorization: Bearer wrong\r\n\r\n");
    let answer = client.response();
    assert_eq!(answer.status, 401, "{}", answer.text());
    let mut client = crate::world::client::Client::connect(world.admin());
    let token = "Authorization: Bearer 0123456789abcdef-token\r\n";
    client.send(format!("GET /api/hosts HTTP/1.1\r\nHost: pace\r\n{token}\r\n"));
    assert_eq!(client.response().status, 200);
    let arguments = ["--set", &format!("admin.token_file={}", file.display()), "hosts"];
    assert!(good(&world, &arguments).starts_with("no host has a row"));
    let short = folder.write("short", "abc\n");
    let mut command = pacegate(&folder);
    let set = format!("admin.token_file={}", short.display());
    let output = command.args(["--set", &set, "hosts"]).output().expect("the binary starts");
    bad(&output, "`admin.token_file` has no token");
}
