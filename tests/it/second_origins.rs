//! Origins that speak HTTP/2 and go wrong in its own ways: what each does to the rung, and whether
//! its request is repeated.

use crate::world::authority::Authority;
use crate::world::client::Client;
use crate::world::framed::{Act, ENHANCE_YOUR_CALM, Framed, REFUSED_STREAM, block, status};
use crate::world::proxy::World;
use crate::world::resolve;
use crate::world::response::Response;

const CONFIG: &str = "pace: {ladder: [0, 0.05, 0.1]}\nretry: {window: 20s}\n";

fn world(acts: &[Act]) -> (Framed, World) {
    let authority = Authority::new();
    let origin = Framed::https(&authority, &["shop.test"], acts);
    let roots = format!("tls: {{roots: {}}}\n", authority.file().display());
    let world = World::start(&(resolve(&[("shop.test", origin.address())]) + &roots + CONFIG));
    (origin, world)
}

fn ask(world: &World, method: &str) -> Response {
    let mut client: Client = world.tunnel("shop.test:443");
    let body = if method == "POST" { "Content-Length: 4\r\n\r\nonce" } else { "\r\n" };
    client.send(format!("{method} / HTTP/1.1\r\nHost: shop.test\r\n{body}"));
    client.response_to(method).expect("an answer")
}

/// Plays the acts to one request; what it came to.
#[track_caller]
fn check(acts: &[Act], method: &str, class: &str, climbs: bool, requests: usize) -> Response {
    let (origin, world) = world(acts);
    let answer = ask(&world, method);
    let metrics = world.metrics();
    let attempts = metrics.count("pacegate_attempts_total", &[("class", class)]);
    assert!(attempts >= 1.0, "{acts:?}: no {class} in\n{}", metrics.text());
    let climbed = metrics.count("pacegate_rung_changes_total", &[("direction", "up")]);
    assert_eq!(climbed, f64::from(u8::from(climbs)), "{acts:?}: climbs");
    assert_eq!(origin.requests(), requests, "{acts:?}: {} {}", answer.status, answer.text());
    if method == "POST" {
        assert!(origin.bodies().iter().all(|body| body == b"once"), "{acts:?}");
    }
    answer
}

#[test]
fn a_page_of_an_http2_origin_comes_through() {
    let answer = check(&[Act::Page("good")], "GET", "served", false, 1);
    assert_eq!((answer.status, answer.text().as_str()), (200, "good"));
}

#[test]
fn a_request_for_calm_climbs() {
    for calm in [Act::Reset(ENHANCE_YOUR_CALM), Act::Calm] {
        let answer = check(&[calm, Act::Page("good")], "GET", "overloaded", true, 2);
        assert_eq!(answer.status, 200);
    }
}

#[test]
fn a_refused_stream_was_not_looked_at_so_that_a_post_goes_again_and_nothing_climbs() {
    for method in ["GET", "POST"] {
        for refusal in [Act::Reset(REFUSED_STREAM), Act::GoAway] {
            let acts = [refusal.clone(), refusal, Act::Page("good")];
            let answer = check(&acts, method, "soft", false, 3);
            assert_eq!((answer.status, answer.text().as_str()), (200, "good"));
        }
    }
}

#[test]
fn calm_asked_for_below_the_stream_lets_a_post_go_again_and_a_reset_does_not() {
    let answer = check(&[Act::Calm, Act::Page("good")], "POST", "overloaded", true, 2);
    assert_eq!(answer.status, 200);
    let answer = check(&[Act::Reset(ENHANCE_YOUR_CALM)], "POST", "overloaded", true, 1);
    assert_eq!(answer.status, 502);
}

#[test]
fn an_answer_that_is_reset_in_its_body_is_repeated_and_climbs() {
    let acts = [Act::Break("half"), Act::Page("good")];
    assert_eq!(check(&acts, "GET", "truncated", true, 2).text(), "good");
    let answer = check(&acts, "POST", "truncated", true, 1);
    assert_eq!(answer.status, 502);
    assert!(answer.text().contains("broke off"), "{}", answer.text());
}

#[test]
fn a_head_that_cant_be_read_does_not_get_better_by_asking_again() {
    let long: Vec<(&str, &str)> = vec![("x-filler", FILLER); 1200];
    for head in [block(&long), status("2x0"), status("20")] {
        let act = Act::Head(head);
        let answer = check(&[act], "GET", "unreachable", false, 1);
        assert_eq!(answer.status, 502, "{}", answer.text());
        let said = answer.header("proxy-status").expect("it is ours");
        assert!(said.contains("error=http_"), "{said}");
    }
}

/// A hundred bytes.
const FILLER: &str = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";
