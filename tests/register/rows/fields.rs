//! Rows 51 to 60: which fields end at the proxy, and what becomes of the others.

use crate::play::Play;
use crate::world::answer::Answer;
use crate::world::message;

rows! {
    row_051 "RFC 9110 §7.6.1" "Connection and what it names end at the proxy, both ways"
        met [what_connection_names_ends_here];
    row_052 "RFC 9110 §7.6.1" "Keep-Alive, Proxy-…, TE, Upgrade end at the proxy even if not named"
        met [hop_by_hop_fields_end_here];
    row_053 "RFC 9110 §7.6.1" "Connection can't name away Host, Content-Length, Authorization, Cookie"
        met [connection_cannot_name_everything];
    row_054 "RFC 9110 §10.1.4" "`TE: trailers` goes on only with `Connection: TE`"
        met [te_travels_with_connection];
    row_055 "RFC 9110 §7.6.3" "Via is appended to every message, both ways"
        deviates(Via, [via_is_added_where_it_is_asked_for]) [via_is_appended];
    row_056 "RFC 9110 §7.6" "a request that has been here already is not forwarded again"
        met [a_loop_ends, a_message_that_was_here_is_known];
    row_057 "RFC 9110 §7.6.2" "Max-Forwards: 0 is answered, others count down, on OPTIONS and TRACE only"
        met [max_forwards_counts_down];
    row_058 "RFC 9110 §9.3.8" "a TRACE that the proxy answers shows no credentials"
        deviates(Trace, [a_trace_shows_no_secrets, a_trace_goes_once]) [a_trace_shows_no_secrets];
    row_059 "RFC 9110 §5.3" "unknown fields are forwarded; lines of one name keep their order"
        met [fields_stay_in_order];
    row_060 "RFC 9110 §6.6.1" "an answer without Date gets one"
        met [a_date_is_added];
}

type Fields = Vec<(String, String)>;

/// Sends a GET with these fields to `/`, which answers with those; what went on, both ways.
fn passed(play: &Play, request: &str, answer: &str) -> (Fields, Fields) {
    play.plain.on("/", [Answer::raw(&format!("HTTP/1.1 200 OK\r\n{answer}")).body("page")]);
    let head = format!("GET http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\n{request}\r\n");
    let answer = play.ask(head);
    assert_eq!(answer.status, 200, "{request}");
    (play.arrival().fields(), answer.fields())
}

#[track_caller]
fn ends(fields: &[(String, String)], names: &[&str]) {
    for name in names {
        let found = fields.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        assert_eq!(found, None, "{name} went on");
    }
}

#[track_caller]
fn goes_on(fields: &[(String, String)], name: &str, value: &str) {
    let found = fields.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
    assert_eq!(found.map(|(_, value)| value.as_str()), Some(value), "{name}");
}

fn what_connection_names_ends_here(play: &Play) {
    let lines = "Connection: X-Mine, x-yours\r\nX-Mine: 1\r\nX-Yours: 2\r\nX-Kept: 3\r\n";
    let (request, answer) = passed(play, lines, lines);
    for fields in [request, answer] {
        ends(&fields, &["x-mine", "x-yours"]);
        goes_on(&fields, "x-kept", "3");
        let connection = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("connection"));
        assert!(connection.is_none_or(|(_, value)| !value.to_lowercase().contains("x-")));
    }
}

fn hop_by_hop_fields_end_here(play: &Play) {
    let (request, answer) = passed(
        play,
        "Keep-Alive: 300\r\nProxy-Connection: keep-alive\r\nTE: gzip\r\nUpgrade: h2c\r\n\
         Proxy-Authorization: Basic dTpw\r\n",
        "Keep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nProxy-Authentication-Info: x\r\nUpgrade: h2c\r\n",
    );
    ends(&request, &["keep-alive", "proxy-connection", "te", "upgrade", "proxy-authorization"]);
    let keeps = |(name, value): &&(String, String)| {
        name.eq_ignore_ascii_case("keep-alive") && value == "timeout=5"
    };
    assert_eq!(answer.iter().find(keeps), None, "the origin's Keep-Alive went on");
    ends(&answer, &["proxy-authenticate", "proxy-authentication-info", "upgrade"]);
}

fn connection_cannot_name_everything(play: &Play) {
    let (request, answer) = passed(
        play,
        "Connection: Host, Cookie, Authorization\r\nCookie: a=1\r\nAuthorization: Basic dTpw\r\n",
        "Connection: Content-Length, Set-Cookie, Content-Type\r\nSet-Cookie: a=1\r\nContent-Type: text/plain\r\n",
    );
    goes_on(&request, "host", &play.host());
    goes_on(&request, "cookie", "a=1");
    goes_on(&request, "authorization", "Basic dTpw");
    goes_on(&answer, "content-type", "text/plain");
    goes_on(&answer, "set-cookie", "a=1");
    play.plain.on("/", [Answer::page("ok")]);
    let post = "POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: Content-Length\r\nContent-Length: 4\r\n\r\nbody";
    assert_eq!(play.ask(post).status, 200);
    assert_eq!(play.arrival().body, b"body");
}

fn te_travels_with_connection(play: &Play) {
    let (request, _) = passed(play, "TE: trailers, gzip;q=0.5\r\nConnection: TE\r\n", "");
    let all = |name: &str| -> Vec<String> {
        let named = |(found, value): &(String, String)| {
            found.eq_ignore_ascii_case(name).then(|| value.to_lowercase())
        };
        request.iter().filter_map(named).collect()
    };
    let (te, connection) = (all("te").join(","), all("connection").join(","));
    assert!(te.is_empty() || te == "trailers", "TE: {te} went on");
    let named = connection.split(',').any(|token| token.trim() == "te");
    assert!(te.is_empty() || named, "TE without Connection: {connection}");
}

fn via_is_appended(play: &Play) {
    let (request, answer) = passed(play, "Via: 1.0 first\r\n", "Via: 1.1 cdn\r\n");
    for (fields, first) in [(request, "1.0 first"), (answer, "1.1 cdn")] {
        let vias = fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case("via"));
        let line = vias.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(", ");
        let mut entries = line.split(',').map(str::trim);
        assert_eq!(entries.next(), Some(first), "{line}");
        assert!(entries.next().is_some_and(|ours| ours.starts_with("1.1 ")), "{line}");
    }
}

fn via_is_added_where_it_is_asked_for(play: &Play) {
    let (request, answer) = passed(play, "Via: 1.0 first\r\n", "Via: 1.1 cdn\r\n");
    goes_on(&request, "via", "1.0 first");
    goes_on(&answer, "via", "1.1 cdn");
    via_is_appended(&play.with("via: both\n"));
}

fn a_loop_ends(play: &Play) {
    // The origin is the proxy itself, under a name.
    let own = format!("localhost:{}", play.address().port());
    let get = format!("GET http://{own}/x HTTP/1.1\r\nHost: {own}\r\n\r\n");
    let answer = play.ask(get);
    assert!(answer.status >= 400, "answered {}", answer.status);
    let mut client = play.client();
    let status = client.connect_to(&own).status;
    if status == 200 {
        client.send(format!("CONNECT {own} HTTP/1.1\r\nHost: {own}\r\n\r\n"));
        let inner = client.response_to("CONNECT").map_or(502, |answer| answer.status);
        assert!(inner >= 400, "a tunnel to itself, in a tunnel to itself: {inner}");
    }
}

/// Of a proxy that signs in Via; others are asked with what they sign by default.
fn a_message_that_was_here_is_known(play: &Play) {
    let signing = if play.is_ours() { &play.with("via: both\n") } else { play };
    let get = |fields: &str| {
        let head = "GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n";
        signing.ask(format!("{head}{fields}\r\n"))
    };
    assert_eq!(get("").status, 200);
    let Some(via) = signing.arrival().header("via") else { return };
    let before = signing.plain.arrivals().len();
    let answer = get(&format!("Via: 1.1 other, {via}\r\n"));
    assert!(answer.status >= 400, "answered {}", answer.status);
    assert_eq!(signing.plain.arrivals().len(), before, "it went round");
}

fn max_forwards_counts_down(play: &Play) {
    let ask = |method: &str, hops: &str| {
        play.ask(format!(
            "{method} http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\nMax-Forwards: {hops}\r\n\r\n"
        ))
    };
    for method in ["OPTIONS", "TRACE"] {
        let answer = ask(method, "0");
        assert!(answer.status < 500 || !play.is_ours(), "{method}: answered {}", answer.status);
        assert!(play.plain.arrivals().is_empty(), "{method} with 0 was forwarded");
    }
    assert_eq!(ask("OPTIONS", "3").status, 200);
    assert_eq!(play.arrival().headers("max-forwards"), ["2"]);
    assert_eq!(ask("GET", "0").status, 200);
    assert_eq!(play.arrival().headers("max-forwards"), ["0"]);
    let head = "OPTIONS http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n";
    assert_eq!(play.ask(head).status, 200);
    assert_eq!(play.arrival().header("max-forwards"), None, "one was invented");
}

fn a_trace_shows_no_secrets(play: &Play) {
    let answer = play.ask(
        "TRACE http://{host}/ HTTP/1.1\r\nHost: {host}\r\nMax-Forwards: 0\r\nAuthorization: Basic secret\r\n\
         Cookie: secret\r\nProxy-Authorization: Basic c2VjcmV0Og==\r\n\r\n",
    );
    let text = answer.text();
    assert!(!text.contains("secret") && !text.contains("c2VjcmV0"), "{text}");
    assert!(play.plain.arrivals().is_empty(), "it was forwarded");
}

fn a_trace_goes_once(play: &Play) {
    play.plain.on("/", [Answer::status(503)]);
    let answer = play.ask("TRACE http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n");
    assert_eq!((answer.status, play.plain.arrivals().len()), (503, 1));
}

fn fields_stay_in_order(play: &Play) {
    let lines = "X-Unknown: 1\r\nX-Dup: a\r\nX-Other: b\r\nX-Dup: c\r\nX-dup: d\r\n";
    let (request, answer) = passed(play, lines, lines);
    for fields in [request, answer] {
        goes_on(&fields, "x-unknown", "1");
        goes_on(&fields, "x-other", "b");
        let dups = fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case("x-dup"));
        let line = dups.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(", ");
        assert_eq!(line, "a, c, d");
    }
}

fn a_date_is_added(play: &Play) {
    let answer = play.fetch(Answer::page("page"));
    assert_eq!(answer.headers("date").len(), 1, "{}", message::latin1(&answer.head));
    let (_, answer) = passed(play, "", "Date: Thu, 01 Jan 1970 00:00:01 GMT\r\n");
    goes_on(&answer, "date", "Thu, 01 Jan 1970 00:00:01 GMT");
}
