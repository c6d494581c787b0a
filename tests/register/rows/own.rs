//! Rows 102 to 111: the answers we make ourselves. They are asked of nobody else.

use crate::play::Play;
use crate::world::answer::{Answer, Then};
use crate::world::authority::Authority;
use crate::world::door::{Deaf, closed_port, greeting};
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::response::Response;

rows! {
    row_102 "RFC 9209 §2" "each answer of our own says so in Proxy-Status, with an error's type"
        met [each_own_answer_says_so];
    row_103 "RFC 9209 §2" "Proxy-Status members that others wrote are kept"
        met [others_members_are_kept];
    row_104 "RFC 9209 §2.3" "each kind of failure has its type and the recommended status"
        deviates(Private, [failures_have_types, a_denied_address_is_a_403]) [];
    row_105 "RFC 9209 §2.1" "its parameters have their types and tell no addresses"
        met [parameters_have_types];
    row_106 "RFC 9209 §2" "no Proxy-Status in trailers alone"
        met [no_status_in_trailers];
    row_107 "RFC 9457 §3.1" "problem details: the real status, a stable type, no secrets"
        met [problems_are_detailed];
    row_108 "RFC 9110 §12" "a page for browsers, JSON for who asks, text else; HEAD the same without"
        met [answers_speak_the_clients_language];
    row_109 "RFC 6585 §3" "our own refusals are never stored"
        met [refusals_are_not_stored];
    row_110 "RFC 9110 §10.2.3" "our 503 says how many seconds to wait"
        met [a_503_says_how_long];
    row_111 "RFC 7240 §4.3" "Prefer is forwarded; `wait` is obeyed and said back"
        met [a_preference_is_forwarded_and_obeyed];
}

/// Quick to despair, and nothing is repeated.
const HASTY: &str = "retry: {window: 1s, response_timeout: 300ms, connect_timeout: 300ms, max_attempts: 1}\n\
    pace: {ladder: [0]}\n";

/// Its error and status.
#[track_caller]
fn is(answer: &Response, status: u16, error: &str) {
    let ours = answer.header("proxy-status").expect("an answer of ours says so");
    assert_eq!(answer.status, status, "{ours}");
    let (id, rest) = ours.split_once("; error=").expect("a member and an error");
    assert!(!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic()), "{ours}");
    let named = rest.split(';').next();
    assert_eq!(named, Some(error), "{ours}");
}

fn refused(play: &Play, fields: &str) -> Response {
    let shut = format!("localhost:{}", closed_port().port());
    play.ask(format!("GET http://{shut}/a?secret HTTP/1.1\r\nHost: {shut}\r\n{fields}\r\n"))
}

fn each_own_answer_says_so(play: &Play) {
    play.world();
    is(&refused(play, ""), 502, "connection_refused");
    let bad = "http_request_error";
    is(&play.ask("GET http://{host}/ HTTP/1.1\r\n\r\n"), 400, bad);
    is(&play.ask("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nExpect: x\r\n\r\n"), 417, bad);
    is(&play.ask("no HTTP\r\n\r\n"), 400, bad);
    is(&play.ask("CONNECT localhost:25 HTTP/1.1\r\nHost: a\r\n\r\n"), 403, "http_request_denied");
    // And nobody else's does.
    let answer = play.fetch(Answer::status(404));
    assert_eq!((answer.status, answer.header("proxy-status")), (404, None));
}

fn others_members_are_kept(play: &Play) {
    play.world();
    for status in [200, 404] {
        let member = "cdn.test; error=http_request_denied; details=\"x, y\"";
        let answer = play.fetch(Answer::status(status).header("Proxy-Status", member));
        assert_eq!(answer.headers("proxy-status"), [member]);
    }
}

fn failures_have_types(play: &Play) {
    play.world();
    let roots = format!("tls: {{roots: {}}}\n", play.authority().file().display());
    let world = World::start(&(HASTY.to_owned() + &roots));
    let origin = Origin::http();
    for (path, answer, status, error) in [
        ("/reset", Answer::nothing(Then::Reset), 502, "connection_terminated"),
        ("/close", Answer::nothing(Then::Close), 502, "connection_terminated"),
        ("/hang", Answer::nothing(Then::Hang), 504, "http_response_timeout"),
        ("/cut", Answer::page("0123456789").cut(3, Then::Close), 502, "http_response_incomplete"),
        ("/odd", Answer::raw("SSH-2.0\r\n\r\n").then(Then::Close), 502, "http_protocol_error"),
        (
            "/large",
            Answer::page("").header("X", &"x".repeat(70_000)),
            502,
            "http_response_header_section_size",
        ),
        ("/switch", Answer::raw("HTTP/1.1 101 Switch\r\n\r\n"), 502, "http_upgrade_failed"),
    ] {
        origin.on(path, [answer]);
        is(&world.get(&origin.url("shop", path)), status, error);
    }
    let shut = format!("http://shut.localhost:{}/", closed_port().port());
    is(&world.get(&shut), 502, "connection_refused");
    let deaf = Deaf::new();
    let deaf = format!("http://deaf.localhost:{}/", deaf.port());
    is(&world.get(&deaf), 504, "connection_timeout");
    let own = format!("http://me.localhost:{}/", world.proxy().port());
    is(&world.get(&own), 502, "proxy_loop_detected");
    let stranger = Origin::https(&Authority::new(), &["safe.localhost"]);
    let inside = |port: u16| {
        let mut client = world.tunnel(&format!("safe.localhost:{port}"));
        client.get_path("safe.localhost", "/")
    };
    is(&inside(stranger.port()), 502, "tls_certificate_error");
    is(&inside(greeting("220 mail ESMTP\r\n").port()), 502, "tls_protocol_error");
}

fn a_denied_address_is_a_403(play: &Play) {
    let denied = play.with("destinations: {deny: true}\n");
    let answer = denied.ask("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n");
    is(&answer, 403, "destination_ip_prohibited");
    assert!(denied.plain.arrivals().is_empty());
}

fn parameters_have_types(play: &Play) {
    play.world();
    play.plain.on("/", [Answer::status(407)]);
    let answer = play.ask("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n");
    is(&answer, 502, "http_protocol_error");
    let line = answer.header("proxy-status").expect("ours");
    assert!(line.contains("; received-status=407;"), "{line}");
    for answer in [answer, refused(play, "")] {
        let line = answer.header("proxy-status").expect("ours");
        let details = line.split_once("; details=").expect("details").1;
        let inner = details.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let inner = inner.expect("a string is quoted");
        assert!(!inner.contains('"') || inner.contains("\\\""), "{line}");
        assert!(!line.contains("127.0.0.1") && !line.contains("::1"), "{line}");
    }
}

fn no_status_in_trailers(play: &Play) {
    play.world();
    let big = "x".repeat(600 * 1024);
    play.plain.on("/", [Answer::page("").chunked(&big, 64 * 1024).cut(300 * 1024, Then::Close)]);
    let mut client = play.client();
    client.send(play.fill(
        "GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nTE: trailers\r\nConnection: TE\r\n\r\n",
    ));
    let seen = String::from_utf8_lossy(&client.rest().unwrap_or_default()).to_lowercase();
    assert!(seen.starts_with("http/1.1 200") && !seen.contains("proxy-status"));
}

fn problems_are_detailed(play: &Play) {
    play.world();
    let answer = refused(play, "Accept: application/problem+json\r\nCookie: secret\r\n");
    assert_eq!(answer.headers("content-type"), ["application/problem+json"]);
    let value: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
    assert_eq!(value["status"], answer.status);
    assert_eq!(value["type"], "urn:pacegate:target_unavailable");
    for word in ["secret", "127.0.0.1", "/work", "panicked", "src/"] {
        assert!(!answer.text().contains(word), "{}", answer.text());
    }
}

fn answers_speak_the_clients_language(play: &Play) {
    play.world();
    for (accept, kind) in [
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html; charset=utf-8"),
        ("application/json", "application/problem+json"),
        ("image/png", "text/plain; charset=utf-8"),
    ] {
        let answer = refused(play, &format!("Accept: {accept}\r\n"));
        assert_eq!(answer.headers("content-type"), [kind]);
        let shut = format!("localhost:{}", closed_port().port());
        let head = play.ask(format!(
            "HEAD http://{shut}/ HTTP/1.1\r\nHost: {shut}\r\nAccept: {accept}\r\n\r\n"
        ));
        assert_eq!((head.status, head.body.len()), (answer.status, 0));
        let names = |answer: &Response| -> Vec<String> {
            answer.fields().into_iter().map(|(name, _)| name.to_lowercase()).collect()
        };
        assert_eq!(names(&head), names(&answer));
    }
}

fn refusals_are_not_stored(play: &Play) {
    play.world();
    let long = "x".repeat(100 * 1024);
    for answer in [
        refused(play, ""),
        play.ask("GET http://{host}/ HTTP/1.1\r\n\r\n"),
        play.ask(format!("GET http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\nX: {long}\r\n\r\n")),
        play.ask("nothing like HTTP\r\n\r\n"),
    ] {
        assert_eq!(answer.headers("cache-control"), ["no-store"], "{}", answer.status);
    }
}

fn a_503_says_how_long(play: &Play) {
    play.world();
    let slow = Play::ours_slow();
    slow.plain.on("/", [Answer::status(503)]);
    let get = |fields: &str| {
        slow.ask(format!("GET http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\n{fields}\r\n"))
    };
    assert_eq!(get("Pace-Retry: 0\r\n").header("proxy-status"), None, "the origin's own");
    let answer = get("Pace-Deadline: 5\r\n");
    is(&answer, 503, "destination_unavailable");
    let wait: u64 = answer.header("retry-after").expect("it has one").parse().expect("seconds");
    assert!((25..=30).contains(&wait), "{wait}");
}

fn a_preference_is_forwarded_and_obeyed(play: &Play) {
    play.world();
    let get = |prefer: &str| {
        play.ask(format!(
            "GET http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\nPrefer: {prefer}\r\n\r\n"
        ))
    };
    let answer = get("respond-async, wait=30");
    assert_eq!(answer.status, 200);
    assert_eq!(play.arrival().headers("prefer"), ["respond-async, wait=30"]);
    assert_eq!(answer.headers("preference-applied"), ["wait=30"]);
    let answer = get("handling=lenient, odd; x=\"y\"");
    assert_eq!(answer.status, 200);
    assert_eq!(play.arrival().headers("prefer"), ["handling=lenient, odd; x=\"y\""]);
    assert_eq!(answer.header("preference-applied"), None);
}
