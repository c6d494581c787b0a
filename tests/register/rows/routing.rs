//! Rows 1 to 18: where a request is meant for.

use crate::play::Play;
use crate::world::answer::Answer;

rows! {
    row_001 "RFC 9112 §3.2" "HTTP/1.1 without Host: 400, and no origin hears of it"
        met [no_host_is_refused];
    row_002 "RFC 9112 §3.2" "two Host lines, even equal ones: 400"
        met [two_hosts_are_refused];
    row_003 "RFC 9112 §3.2" "a Host that is no host: 400"
        met [odd_hosts_are_refused];
    row_004 "RFC 9112 §3.2.2" "absolute form: Host follows the URL, not the received field"
        met [host_follows_the_url];
    row_005 "RFC 9110 §4.2.4" "user name and password of a URL never reach the origin"
        met [userinfo_stays_here];
    row_006 "RFC 9112 §3.2" "a fragment in a target: 400, never forwarded"
        deviates(RawTargets, [a_fragment_is_never_forwarded]) [a_fragment_is_refused];
    row_007 "RFC 9112 §3.2" "origin form sent to the proxy: 400, or a page of its own"
        met [origin_form_is_refused];
    row_008 "RFC 9110 §4.2" "schemes in any case; others than http and https are refused"
        met [schemes_are_read_in_any_case];
    row_009 "RFC 9112 §3.2.4" "`OPTIONS http://h` becomes `OPTIONS *`, `OPTIONS http://h/` stays"
        met [options_of_a_bare_authority_is_for_the_server];
    row_010 "RFC 9110 §7.7" "an empty path becomes `/`; path and query are otherwise untouched"
        met [paths_are_untouched];
    row_011 "RFC 9110 §7.7" "a host's case and final dot stay as written"
        met [a_host_stays_as_written];
    row_012 "RFC 9112 §3" "a target too long: 414; 8,000 bytes are not"
        met [a_long_target_is_a_414];
    row_013 "RFC 6585 §5" "fields too large: 431 and the connection closed"
        met [large_fields_are_a_431];
    row_014 "RFC 9110 §9.1" "unknown methods are forwarded, case kept"
        met [unknown_methods_are_forwarded];
    row_015 "RFC 9110 §7.6" "a request for the proxy's own address is never forwarded"
        met [its_own_address_is_not_forwarded_to];
    row_016 "RFC 9110 §7.4" "another authority inside a tunnel is refused or goes under its own name"
        met [another_authority_goes_under_its_own_name];
    row_017 "RFC 9110 §15.5.20" "the proxy never makes a 421"
        met [nothing_is_misdirected];
    row_018 "RFC 9110 §7.4" "the scheme is never confused: http inside TLS, https on the plain port"
        met [schemes_are_not_confused];
}

fn no_host_is_refused(play: &Play) {
    play.refuses("GET http://{host}/ HTTP/1.1\r\n\r\n", &[400]);
}

fn two_hosts_are_refused(play: &Play) {
    let get = "GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n";
    play.refuses(format!("{get}Host: {{host}}\r\n\r\n"), &[400]);
    play.refuses(format!("{get}Host: evil.test\r\n\r\n"), &[400]);
    play.refuses(format!("{get}X: y\r\nhOST: {{host}}\r\n\r\n"), &[400]);
}

fn odd_hosts_are_refused(play: &Play) {
    for host in ["localhost x", "u@localhost", "a.test,b.test", "a.test/x", "[::1", "a:b:c"] {
        play.refuses(format!("GET http://{{host}}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"), &[400]);
    }
}

fn host_follows_the_url(play: &Play) {
    let answer = play.ask("GET http://{host}/ HTTP/1.1\r\nHost: evil.test\r\n\r\n");
    assert_eq!(answer.status, 200);
    assert_eq!(play.arrival().headers("host"), [play.host()]);
    // Nor is one invented where HTTP/1.0 sent none.
    assert_eq!(play.ask("GET http://{host}/ HTTP/1.0\r\n\r\n").status, 200);
    assert_eq!(play.arrival().headers("host"), [play.host()]);
}

fn userinfo_stays_here(play: &Play) {
    let said = play.say("GET http://user:secret@{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let status = said.answer().status;
    assert!(matches!(status, 200 | 400), "answered {status}");
    for arrival in play.plain.arrivals() {
        let head = String::from_utf8_lossy(&arrival.head).into_owned();
        assert!(!head.contains("secret@"), "{head}");
        assert_eq!(arrival.headers("host"), [play.host()]);
    }
}

fn a_fragment_is_refused(play: &Play) {
    play.refuses("GET http://{host}/a#part HTTP/1.1\r\nHost: {host}\r\n\r\n", &[400]);
}

fn a_fragment_is_never_forwarded(play: &Play) {
    let answer = play.ask("GET http://{host}/a?q#part HTTP/1.1\r\nHost: {host}\r\n\r\n");
    assert_eq!(answer.status, 200);
    assert_eq!(play.arrival().target, "/a?q");
}

fn origin_form_is_refused(play: &Play) {
    play.refuses("GET /page HTTP/1.1\r\nHost: {host}\r\n\r\n", &[400, 404]);
    play.refuses("GET page HTTP/1.1\r\nHost: {host}\r\n\r\n", &[400, 404]);
}

fn schemes_are_read_in_any_case(play: &Play) {
    for scheme in ["HTTP", "hTTp"] {
        let get = format!("GET {scheme}://{{host}}/a HTTP/1.1\r\nHost: {{host}}\r\n\r\n");
        assert_eq!(play.ask(get).status, 200, "{scheme}");
        assert_eq!(play.arrival().target, "/a", "{scheme}");
    }
    for scheme in ["httpx", "file", "ssh"] {
        let get = format!("GET {scheme}://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\n\r\n");
        let connections = play.plain.connections();
        play.refuses(get, &[400, 403, 501]);
        assert_eq!(play.plain.connections(), connections, "{scheme}: nobody is connected to");
    }
}

fn options_of_a_bare_authority_is_for_the_server(play: &Play) {
    let cases = [("http://{host}", "*"), ("http://{host}/", "/"), ("http://{host}?q", "/?q")];
    for (url, target) in cases {
        let head = format!("OPTIONS {url} HTTP/1.1\r\nHost: {{host}}\r\n\r\n");
        assert_eq!(play.ask(head).status, 200, "{url}");
        assert_eq!(play.arrival().target, target, "{url}");
    }
}

fn paths_are_untouched(play: &Play) {
    let cases = [
        ("http://{host}", "/"),
        ("http://{host}?q=1", "/?q=1"),
        ("http://{host}/?", "/?"),
        ("http://{host}/a/../b//c/./?x=%2f%2F&&=", "/a/../b//c/./?x=%2f%2F&&="),
        ("http://{host}/~u/%7Eu/;p=1,2?a=[1]&b={2}|3", "/~u/%7Eu/;p=1,2?a=[1]&b={2}|3"),
    ];
    for (url, target) in cases {
        let head = format!("GET {url} HTTP/1.1\r\nHost: {{host}}\r\n\r\n");
        assert_eq!(play.ask(head).status, 200, "{url}");
        assert_eq!(play.arrival().target, target, "{url}");
    }
}

fn a_host_stays_as_written(play: &Play) {
    let port = play.plain.port();
    for host in [format!("LOCALhost:{port}"), format!("localhost.:{port}")] {
        let answer = play.ask(format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        if host.contains(".:") && answer.status >= 502 && !play.is_ours() {
            continue; // its resolver's business
        }
        assert_eq!(answer.status, 200, "{host}");
        assert_eq!(play.arrival().headers("host"), [host]);
    }
}

fn a_long_target_is_a_414(play: &Play) {
    let get = |size: usize| {
        let long = "p".repeat(size);
        format!("GET http://{{host}}/{long} HTTP/1.1\r\nHost: {{host}}\r\n\r\n")
    };
    assert_eq!(play.ask(get(8000)).status, 200);
    play.refuses(get(100 * 1024), &[414]);
    play.refuses(get(1024 * 1024), &[414]);
}

fn large_fields_are_a_431(play: &Play) {
    let long = "x".repeat(700 * 1024);
    let get = format!("GET http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\nX: {long}\r\n\r\n");
    play.refuses(get, &[431]).closed();
}

fn unknown_methods_are_forwarded(play: &Play) {
    for method in ["PURGE-ll", "get", "VERSION-CONTROL", "X"] {
        let head = format!("{method} http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\n\r\n");
        assert_eq!(play.ask(head).status, 200, "{method}");
        assert_eq!(play.arrival().method, method);
    }
}

fn its_own_address_is_not_forwarded_to(play: &Play) {
    let own = play.address();
    let get = format!("GET http://{own}/page HTTP/1.1\r\nHost: {own}\r\n\r\n");
    // A forwarded request would come back to the proxy as origin form, whose answer then says so.
    let answer = play.ask(get);
    assert!(answer.status >= 400, "answered {}", answer.status);
    if play.is_ours() {
        let status = answer.header("proxy-status").expect("ours");
        assert!(status.contains("proxy_loop_detected"), "{status}");
    }
}

fn another_authority_goes_under_its_own_name(play: &Play) {
    let other = crate::world::origin::Origin::https(play.authority(), &["localhost", "127.0.0.1"]);
    other.on("/", [Answer::page("other")]);
    play.safe.on("/", [Answer::page("same")]);
    let mut client = play.tunnel();
    let answer = client.get_path(&format!("localhost:{}", other.port()), "/");
    match answer.status {
        200 => assert_eq!(answer.text(), "other", "the other name's request went to the tunnel's"),
        status => assert!(status >= 400, "answered {status}"),
    }
}

fn nothing_is_misdirected(play: &Play) {
    let mut client = play.tunnel();
    assert_ne!(client.get_path("elsewhere.invalid", "/").status, 421);
    let said = play.say("GET http://{host}/ HTTP/1.1\r\nHost: elsewhere.invalid\r\n\r\n");
    assert_ne!(said.answer().status, 421);
}

fn schemes_are_not_confused(play: &Play) {
    play.safe.on("/", [Answer::page("safe")]);
    play.plain.on("/", [Answer::page("plain")]);
    // An http URL inside TLS must not be answered as if it were the https one.
    let mut client = play.tunnel();
    let safe = play.safe_host();
    client.send(format!("GET http://{safe}/ HTTP/1.1\r\nHost: {safe}\r\n\r\n"));
    if let Ok(answer) = client.response_to("GET") {
        assert!(answer.status >= 400, "an http URL got {} over TLS", answer.status);
    }
    // An https URL on the plain port is fetched over TLS or refused, never sent in the clear.
    let answer = play.ask("GET https://{safe}/ HTTP/1.1\r\nHost: {safe}\r\n\r\n");
    assert!(answer.status >= 400 || answer.text() == "safe", "answered {}", answer.status);
}
