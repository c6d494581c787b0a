//! Real HTTP clients through `pacegate run`: what a person who runs a scraper gets.
//!
//! Not part of a plain `cargo test`: the clients have to be installed, which `.ci/clients` does.
//! Each client asks an origin that is too busy twice and verifies certificates; it must see the page
//! and nothing else, and the origin must see the ladder. The ladder is scaled down, not changed.

mod installed;
mod play;
#[path = "../it/world/mod.rs"]
#[expect(dead_code, reason = "the stage is shared with the tests in `it`, which use more of it")]
mod world;

use installed::{node, python};
use play::{Stage, refuses_a_stranger, sees_only_the_page, two_clients_share_the_pace};

/// curl as a person types it; only the last line says what it saw.
fn curl() -> Vec<String> {
    let format = "\n%{http_code}";
    ["curl", "-sS", "--max-time", "20", "-w", format].map(str::to_owned).to_vec()
}

#[test]
fn curl_sees_only_the_page() {
    sees_only_the_page("curl", &curl());
}

#[test]
fn urllib_sees_only_the_page() {
    sees_only_the_page("urllib", &python("urllib_client.py"));
}

#[test]
fn requests_sees_only_the_page() {
    sees_only_the_page("requests", &python("requests_client.py"));
}

#[test]
fn httpx_sees_only_the_page() {
    sees_only_the_page("httpx", &python("httpx_client.py"));
}

#[test]
fn aiohttp_sees_only_the_page() {
    sees_only_the_page("aiohttp", &python("aiohttp_client.py"));
}

#[test]
fn scrapy_sees_only_the_page() {
    sees_only_the_page("scrapy", &python("scrapy_client.py"));
}

#[test]
fn node_fetch_sees_only_the_page() {
    sees_only_the_page("undici", &node("undici_client.cjs"));
}

#[test]
fn node_https_sees_only_the_page() {
    sees_only_the_page("node", &node("node_client.cjs"));
}

#[test]
fn axios_sees_only_the_page() {
    sees_only_the_page("axios", &node("axios_client.cjs"));
}

#[test]
fn a_second_curl_waits_too() {
    two_clients_share_the_pace(Stage::http("second-curl"), &curl());
}

#[test]
fn a_second_httpx_waits_too() {
    two_clients_share_the_pace(Stage::https("second-httpx"), &python("httpx_client.py"));
}

#[test]
fn a_second_node_fetch_waits_too() {
    two_clients_share_the_pace(Stage::https("second-undici"), &node("undici_client.cjs"));
}

#[test]
fn clients_that_do_not_trust_our_ca_refuse() {
    // Else the tests above would prove nothing about certificates.
    refuses_a_stranger("curl", &curl());
    for script in ["urllib", "requests", "httpx", "aiohttp", "scrapy"] {
        refuses_a_stranger(script, &python(&format!("{script}_client.py")));
    }
    for script in ["undici", "node", "axios"] {
        refuses_a_stranger(script, &node(&format!("{script}_client.cjs")));
    }
}
