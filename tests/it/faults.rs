//! What the client sees where the origin gave no answer: each row of the table, in all three forms,
//! in the open and inside a tunnel.

use crate::world::answer::{Answer, Then};
use crate::world::authority::Authority;
use crate::world::client::Client;
use crate::world::door::{Deaf, closed_port, greeting};
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::response::Response;

const CONFIG: &str = "pace: {ladder: [0, 0.05]}\n\
    retry: {window: 500ms, response_timeout: 200ms, connect_timeout: 200ms}\n";

/// Checks an answer of ours: status, error, kind, and `Retry-After` exactly where it belongs.
#[track_caller]
fn check(answer: &Response, status: u16, error: &str, kind: &str) {
    let text = answer.text();
    assert_eq!(answer.status, status, "{text}");
    let ours = answer.header("proxy-status").expect("an answer of ours says so");
    assert!(ours.starts_with(&format!("pacegate; error={error};")), "{ours}");
    assert!(text.contains(&format!("({kind})")), "{text}");
    assert!(text.starts_with("pacegate: ") && text.lines().count() == 2, "two lines: {text}");
    let comes_back = answer.header("retry-after");
    assert_eq!(comes_back.is_some(), matches!(status, 429 | 503), "{comes_back:?}");
    assert_eq!(answer.headers("cache-control"), ["no-store"]);
    assert!(answer.header("date").is_some() && answer.whole);
}

fn posted(world: &World, url: &str) -> Response {
    world.ask("POST", url, "", "once")
}

#[test]
fn what_never_passes_by_itself_is_a_502_at_once() {
    let origin = Origin::http();
    origin.on("/reset", [Answer::nothing(Then::Reset)]);
    origin.on("/close", [Answer::nothing(Then::Close)]);
    origin.on("/cut", [Answer::page("0123456789").cut(3, Then::Close)]);
    origin.on("/odd", [Answer::raw("SSH-2.0-OpenSSH_9.2\r\n\r\n").then(Then::Close)]);
    origin.on("/switch", [Answer::raw("HTTP/1.1 101 Switching Protocols\r\n\r\n")]);
    origin.on("/407", [Answer::status(407)]);
    let world = World::start(CONFIG);
    let gone = "target_unavailable";
    let shut = format!("http://shut.localhost:{}/", closed_port().port());
    check(&world.get(&shut), 502, "connection_refused", gone);
    let url = |path| origin.url("shop", path);
    // A POST is not repeated, so that its fault shows.
    check(&posted(&world, &url("/reset")), 502, "connection_terminated", gone);
    check(&posted(&world, &url("/close")), 502, "connection_terminated", gone);
    check(&posted(&world, &url("/cut")), 502, "http_response_incomplete", gone);
    check(&world.get(&url("/odd")), 502, "http_protocol_error", gone);
    check(&world.get(&url("/switch")), 502, "http_upgrade_failed", gone);
    check(&world.get(&url("/407")), 502, "http_protocol_error", gone);
    let kinds = [("kind", gone)];
    assert_eq!(world.metrics().count("pacegate_early_answers_total", &kinds), 7.0);
    let ours = [("code", "502"), ("source", "proxy")];
    assert_eq!(world.metrics().count("pacegate_responses_total", &ours), 7.0);
}

#[test]
fn no_answer_in_time_is_a_504() {
    let origin = Origin::http();
    origin.on("/hang", [Answer::nothing(Then::Hang)]);
    let deaf = Deaf::new();
    let world = World::start(CONFIG);
    let hang = posted(&world, &origin.url("shop", "/hang"));
    check(&hang, 504, "http_response_timeout", "target_timeout");
    let deaf = format!("http://deaf.localhost:{}/", deaf.port());
    check(&world.get(&deaf), 504, "connection_timeout", "target_timeout");
    check(&posted(&world, &deaf), 504, "connection_timeout", "target_timeout");
}

#[test]
fn what_may_not_be_reached_says_why() {
    let world =
        World::start(&format!("{CONFIG}destinations: {{deny: true, allow: [127.0.0.2]}}\n"));
    let (forbidden, not_allowed) = ("destination_ip_prohibited", "url_not_allowed");
    check(&world.get("http://127.0.0.1:9/"), 403, forbidden, not_allowed);
    check(&world.get("http://private.localhost:9/"), 403, forbidden, not_allowed);
    check(&world.get("http://169.254.169.254/"), 403, forbidden, not_allowed);
    check(&world.get("http://[::ffff:10.0.0.1]/"), 403, forbidden, not_allowed);
    let world = World::start(CONFIG);
    let own = format!("http://127.0.0.1:{}/", world.proxy().port());
    check(&world.get(&own), 502, "proxy_loop_detected", "loop");
    let own = format!("http://me.localhost:{}/", world.proxy().port());
    check(&world.get(&own), 502, "proxy_loop_detected", "loop");
    let own = format!("http://me.localhost:{}/", world.admin().port());
    check(&world.get(&own), 502, "proxy_loop_detected", "loop");
    let denied = world.client().connect_to("mail.localhost:25");
    check(&denied, 403, "http_request_denied", "denied");
    let denied = world.client().connect_to(&format!("127.0.0.1:{}", world.proxy().port()));
    check(&denied, 502, "proxy_loop_detected", "loop");
}

#[test]
fn what_cant_be_passed_on_says_what_to_mend() {
    let world = World::start(CONFIG);
    let many: String = (0..250).map(|number| format!("X-{number}: 1\r\n")).collect();
    let long = format!("GET http://a.localhost/{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(66_000));
    let cases = [
        ("GET / HTTP/1.1\r\nHost: elsewhere\r\n\r\n".to_owned(), 400),
        ("GET ftp://a.localhost/ HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 400),
        ("GET http://a..b/ HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 400),
        ("CONNECT a.localhost HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 400),
        (format!("GET http://a.localhost/ HTTP/1.1\r\nHost: a\r\n{many}\r\n"), 431),
        (long, 414),
    ];
    for (request, status) in cases {
        let mut client = world.client();
        client.try_send(&request).ok();
        let line: String = request.chars().take(60).collect();
        let answer = client.response_to("GET").unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(answer.status, status, "{line}: {}", answer.text());
        let ours = answer.header("proxy-status").expect("an answer of ours says so");
        assert!(ours.contains("error=http_request_error"), "{line}: {ours}");
        assert!(answer.text().contains("bad_request"), "{line}: {}", answer.text());
    }
}

#[test]
fn an_answer_of_ours_speaks_the_clients_language() {
    let world = World::start(CONFIG);
    let url = format!("http://shut.localhost:{}/a?b", closed_port().port());
    let json = world.get_with(&url, "Accept: application/json, text/plain;q=0.5\r\n");
    assert_eq!(json.headers("content-type"), ["application/problem+json"]);
    let value: serde_json::Value = serde_json::from_slice(&json.body).expect("it is JSON");
    assert_eq!(value["status"], 502);
    assert_eq!(value["kind"], "target_unavailable");
    assert_eq!(value["error"], "connection_refused");
    assert_eq!(value["host"], "shut.localhost");
    let detail = value["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("refused the connection"), "{detail}");
    let page = world.get_with(&url, "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n");
    assert_eq!(page.headers("content-type"), ["text/html; charset=utf-8"]);
    assert!(page.text().starts_with("<!doctype html>"), "{}", page.text());
    assert!(page.text().contains("target_unavailable"));
    let text = world.get_with(&url, "Accept: image/png\r\n");
    assert_eq!(text.headers("content-type"), ["text/plain; charset=utf-8"]);
    check(&text, 502, "connection_refused", "target_unavailable");
    let head = world.ask("HEAD", &url, "Accept: application/json\r\n", "");
    assert_eq!((head.status, head.body.len()), (502, 0));
}

/// A tunnel to `host` with our leaf in it.
fn inside(world: &World, host: &str, port: u16) -> Client {
    world.tunnel(&format!("{host}:{port}"))
}

#[test]
fn inside_a_tunnel_faults_are_answered_inside() {
    let stranger = Authority::new();
    let expected = Authority::new();
    let unknown = Origin::https(&stranger, &["shop.localhost"]);
    let misnamed = Origin::https(&expected, &["other.localhost"]);
    let mail = greeting("220 mail.example ESMTP\r\n");
    let good = Origin::https(&expected, &["good.localhost"]);
    good.on("/hang", [Answer::nothing(Then::Hang)]);
    let deaf = Deaf::new();
    let world = World::start(&format!("{CONFIG}tls: {{roots: {}}}\n", expected.file().display()));
    let get = |host: &str, port: u16, path: &str| inside(&world, host, port).get_path(host, path);
    let gone = "target_unavailable";
    let answer = get("shop.localhost", unknown.port(), "/");
    check(&answer, 502, "tls_certificate_error", gone);
    // Both authorities have one name, so that it is the signature which does not fit.
    assert!(answer.text().contains("signature is wrong"), "{}", answer.text());
    let answer = get("wrong.localhost", misnamed.port(), "/");
    check(&answer, 502, "tls_certificate_error", gone);
    assert!(answer.text().contains("other names"), "{}", answer.text());
    check(&get("mail.localhost", mail.port(), "/"), 502, "tls_protocol_error", gone);
    check(&get("shut.localhost", closed_port().port(), "/"), 502, "connection_refused", gone);
    let answer = get("deaf.localhost", deaf.port(), "/");
    check(&answer, 504, "connection_timeout", "target_timeout");
    let answer = get("good.localhost", good.port(), "/hang");
    check(&answer, 504, "http_response_timeout", "target_timeout");
    let mut client = inside(&world, "good.localhost", good.port());
    client.send("GET / HTTP/1.1\r\nHost: good.localhost\r\nPace-Deadline: x\r\n\r\n");
    check(&client.response(), 400, "http_request_error", "bad_request");
    assert_eq!(client.get_path("good.localhost", "/").status, 200, "the tunnel goes on");
}
