//! What it says to whoever starts it, asks it, or looks into its log: what, where, and what to do.

use crate::world::answer::{Answer, Then};
use crate::world::folder::Folder;
use crate::world::origin::Origin;
use crate::world::proxy::{World, pacegate};
use std::process::Output;

/// Runs a command that ends by itself.
fn run(folder: &Folder, arguments: &[&str]) -> Output {
    pacegate(folder).args(arguments).output().expect("the binary runs")
}

#[track_caller]
fn says(arguments: &[&str], code: i32, words: &[&str]) -> String {
    let folder = Folder::new();
    let output = run(&folder, arguments);
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    for word in words {
        assert!(text.contains(word), "{arguments:?} does not say {word:?}:\n{text}");
    }
    text
}

#[test]
fn a_port_alone_is_this_machines_and_off_is_no_admin_port() {
    says(&["check", "--listen", "3128", "--admin", "off"], 0, &["good"]);
    says(
        &["check", "--listen", ":3128"],
        2,
        &["flag for `listen`", "did you mean `127.0.0.1:3128`"],
    );
    says(&["check", "--admin", "nine"], 2, &["flag for `admin.listen`", "`nine`"]);
    says(&["health", "--admin", "off"], 1, &["there is no admin port"]);
}

#[test]
fn a_program_in_a_commands_place_is_told_how_to_run_it() {
    says(&["python", "x.py"], 2, &["pacegate run -- python x.py"]);
    says(&["chek"], 2, &["check"]);
}

#[test]
fn roots_that_are_not_there_are_found_before_the_first_handshake() {
    let words = ["`tls.roots` can't be read: /nowhere.pem", "flag for `tls.roots`", "auto"];
    says(&["check", "--set", "tls.roots=/nowhere.pem"], 2, &words);
    says(&["--listen", "0", "--admin", "off", "--set", "tls.roots=/nowhere.pem"], 2, &words);
}

#[test]
fn a_log_in_json_is_json_from_its_first_line() {
    let origin = Origin::http();
    let warned = "retry: {window: 30s, response_timeout: 40s}\nlog: {level: warn}\n";
    let world = World::start(warned);
    world.get(&origin.url("shop", "/"));
    let log = world.log();
    for line in &log {
        let object: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|why| panic!("{line}: {why}"));
        assert!(object["level"].is_string() && object["time"].is_string(), "{line}");
    }
    assert!(log.iter().any(|line| line.contains("retry.response_timeout")), "{log:#?}");
    let text = World::start("log: {format: text}\n").log().join("\n");
    assert!(text.contains("\nready proxy=127.0.0.1:"), "{text}");
}

#[test]
fn a_command_is_led_to_an_address_it_can_reach() {
    let arguments = ["run", "--listen", "0.0.0.0:0", "--set", "clients.allow=private", "--", "env"];
    let text = says(&arguments, 0, &["http_proxy=http://127.0.0.1:", "HTTPLIB2_CA_CERTS="]);
    assert!(!text.contains("proxy=http://0.0.0.0"), "{text}");
}

#[cfg(unix)]
#[test]
fn signals_that_mean_nothing_here_end_nothing() {
    let origin = Origin::http();
    let world = World::start("");
    for name in ["USR1", "USR2"] {
        world.signal(name);
    }
    world.await_log(&["SIGUSR1", "SIGTERM"]);
    assert_eq!(world.get(&origin.url("shop", "/")).status, 200);
}

#[test]
fn the_environment_of_another_ca_than_the_running_proxys_is_warned_of() {
    let world = World::start("");
    let admin = world.admin().to_string();
    let folder = Folder::new();
    let elsewhere = run(&folder, &["env", "--admin", &admin]);
    let said = String::from_utf8_lossy(&elsewhere.stderr).into_owned();
    assert!(said.contains("another CA") && said.contains("--certs"), "{said}");
    let certs = world.certs();
    let same = run(&folder, &["env", "--admin", &admin, "--certs", &certs.to_string_lossy()]);
    assert_eq!(String::from_utf8_lossy(&same.stderr), "");
}

#[test]
fn who_set_the_end_that_came_is_told_so() {
    let origin = Origin::http();
    origin.on("/slow", [Answer::nothing(Then::Hang)]);
    origin.on("/reset", [Answer::nothing(Then::Reset)]);
    let world = World::start("pace: {ladder: [0s, 50ms]}\n");
    let late = world.get_with(&origin.url("shop", "/slow"), "Pace-Deadline: 1\r\n");
    assert_eq!(late.status, 504);
    assert!(late.text().contains("Pace-Deadline"), "{}", late.text());
    assert!(!late.text().contains("retry.window"), "{}", late.text());
    let once = world.ask("POST", &origin.url("shop", "/reset"), "", "x");
    assert_eq!(once.status, 502);
    assert!(once.text().contains("Idempotency-Key"), "{}", once.text());
}

#[test]
fn a_refusal_says_in_the_log_who_was_refused_what() {
    let world = World::start("");
    world.ask("DELETE", "http://shop.test:0/", "", "");
    world.await_log(&["refused", "\"host\":\"shop.test\"", "\"method\":\"DELETE\"", "127.0.0.1"]);
    let mut client = world.client();
    assert_eq!(client.connect_to("mail.test:25").status, 403);
    world.await_log(&["refused", "\"host\":\"mail.test\"", "\"method\":\"CONNECT\""]);
}

#[test]
fn answers_of_ours_carry_the_name_they_were_given() {
    let world = World::start("proxy_name: crawl-proxy-1\n");
    let answer = world.client().get("http://localhost:1/");
    let status = answer.header("proxy-status").expect("it is ours");
    assert!(status.starts_with("crawl-proxy-1; error=connection_refused"), "{status}");
}
