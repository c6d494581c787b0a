//! Rows 86 to 96: the heads of HTTP/2 requests.

use crate::frames::Fate;
use crate::play::Play;
use crate::world::frames::{DATA, END_STREAM};

rows! {
    row_086 "RFC 9113 §8.2.2" "connection fields over HTTP/2: malformed"
        met [connection_fields_are_malformed];
    row_087 "RFC 9113 §8.2.2" "TE other than trailers: malformed"
        met [te_is_trailers_only];
    row_088 "RFC 9113 §8.1.1" "a Content-Length that isn't the sum of DATA is never forwarded as whole"
        met [lengths_are_kept];
    row_089 "RFC 9113 §8.2.1" "field names and values have no characters they can't have"
        met [fields_are_clean];
    row_090 "RFC 9113 §8.2.1" "values that begin or end with a space: malformed"
        met [values_are_trimmed];
    row_091 "RFC 9113 §8.3" "pseudo-fields: none missing, twice, unknown or late; none of trailers goes on"
        met [pseudo_fields_are_complete];
    row_092 "RFC 9113 §8.3.1" "`:path` begins with a slash and has no space"
        met [paths_are_paths];
    row_093 "RFC 9113 §8.3.1" "`:method`, `:scheme`, `:authority` are valid; no user in an authority"
        met [authorities_have_no_user];
    row_094 "RFC 9113 §8.3.1" "a Host that differs from `:authority`: 400, or the latter counts"
        met [host_and_authority_agree];
    row_095 "RFC 9113 §8.3.1" "a request with Host and no `:authority` is served"
        met [host_will_do];
    row_096 "RFC 9113 §8.2.3" "cookie crumbs are joined for HTTP/1"
        met [crumbs_are_joined];
}

pub type Field<'a> = (&'a str, &'a str);

/// A GET of `/` at the origin behind TLS.
pub fn get(host: &str) -> Vec<Field<'_>> {
    vec![(":method", "GET"), (":scheme", "https"), (":authority", host), (":path", "/")]
}

/// A head is malformed: the stream, or the connection, is refused; nothing reaches the origin.
#[track_caller]
fn malformed(play: &Play, fields: &[Field<'_>]) {
    let before = play.safe.arrivals().len();
    let mut frames = play.frames();
    frames.head(1, fields, true);
    let fate = frames.fate(1);
    assert_ne!(fate, Fate::Answered(200), "{fields:?} was served");
    assert_eq!(play.safe.arrivals().len(), before, "{fields:?} was forwarded: {fate:?}");
}

/// The same for a GET with one more field.
#[track_caller]
fn malformed_with(play: &Play, field: Field<'_>) {
    let host = play.safe_host();
    let mut fields = get(&host);
    fields.push(field);
    malformed(play, &fields);
}

fn connection_fields_are_malformed(play: &Play) {
    for field in [
        ("connection", "close"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "websocket"),
    ] {
        malformed_with(play, field);
    }
}

fn te_is_trailers_only(play: &Play) {
    malformed_with(play, ("te", "gzip"));
    malformed_with(play, ("te", "trailers, deflate"));
}

fn lengths_are_kept(play: &Play) {
    let host = play.safe_host();
    for (length, body) in [("5", "four"), ("3", "four"), ("0", "four")] {
        let mut frames = play.frames();
        let mut fields = get(&host);
        fields[0].1 = "POST";
        fields.push(("content-length", length));
        frames.head(1, &fields, false);
        frames.send(DATA, END_STREAM, 1, body.as_bytes());
        assert_ne!(frames.fate(1), Fate::Answered(200), "{length} for {body:?}");
        // The stage notes whole requests only.
        assert!(play.safe.arrivals().is_empty(), "{length} for {body:?} looked whole");
    }
}

fn fields_are_clean(play: &Play) {
    for field in [
        ("X-Upper", "v"),
        ("x space", "v"),
        ("x\u{1}", "v"),
        ("x:y", "v"),
        ("", "v"),
        ("x-nul", "a\0b"),
        ("x-cr", "a\rb"),
        ("x-lf", "a\nb"),
        ("x-crlf", "a\r\nInjected: b"),
        ("x-name\r\ninjected", "b"),
    ] {
        malformed_with(play, field);
    }
}

fn values_are_trimmed(play: &Play) {
    for value in [" a", "a ", "\ta", "a\t"] {
        malformed_with(play, ("x-space", value));
    }
}

fn pseudo_fields_are_complete(play: &Play) {
    let host = play.safe_host();
    let all = get(&host);
    for missing in [0, 1, 3] {
        let mut fields = all.clone();
        fields.remove(missing);
        malformed(play, &fields);
    }
    for place in 0..4 {
        let mut fields = all.clone();
        fields.insert(place, all[place]);
        malformed(play, &fields);
    }
    malformed_with(play, (":odd", "x"));
    malformed(play, &[&all[..], &[(":status", "200")]].concat());
    malformed(play, &[&all[..3], &[("x", "y")], &all[3..]].concat());
    // Those of trailers are refused or dropped.
    let mut frames = play.frames();
    let mut fields = all.clone();
    fields[0].1 = "POST";
    frames.head(1, &fields, false);
    frames.send(DATA, 0, 1, b"body");
    frames.head(1, &[(":path", "/evil"), ("x-sum", "1")], true);
    frames.fate(1);
    for arrival in play.safe.arrivals() {
        assert_eq!((arrival.target.as_str(), arrival.body.as_slice()), ("/", &b"body"[..]));
    }
}

fn paths_are_paths(play: &Play) {
    let host = play.safe_host();
    let absolute = format!("https://{host}/");
    for path in ["", "page", "*", "/a b", "/a\tb", "/a\r\nb", "/a\0", &absolute] {
        let mut fields = get(&host);
        fields[3].1 = path;
        malformed(play, &fields);
    }
}

fn authorities_have_no_user(play: &Play) {
    let host = play.safe_host();
    let user = format!("user:secret@{host}");
    for (place, value) in [
        (0, "GE T"),
        (0, ""),
        (0, "GET\r\n"),
        (1, "ht tp"),
        (2, user.as_str()),
        (2, "a b"),
        (2, "a.test/x"),
        (2, "a\r\nb"),
    ] {
        let mut fields = get(&host);
        fields[place].1 = value;
        malformed(play, &fields);
    }
}

fn host_and_authority_agree(play: &Play) {
    let host = play.safe_host();
    let mut frames = play.frames();
    let mut fields = get(&host);
    fields.push(("host", "evil.test"));
    frames.head(1, &fields, true);
    let fate = frames.fate(1);
    for arrival in play.safe.arrivals() {
        assert_eq!(arrival.headers("host"), [play.safe_host()], "{fate:?}");
    }
}

fn host_will_do(play: &Play) {
    let host = play.safe_host();
    let mut frames = play.frames();
    let fields =
        [(":method", "GET"), (":scheme", "https"), (":path", "/x"), ("host", host.as_str())];
    frames.head(1, &fields, true);
    assert_eq!(frames.fate(1), Fate::Answered(200));
    assert_eq!(play.safe.arrivals()[0].headers("host"), [host]);
}

fn crumbs_are_joined(play: &Play) {
    let host = play.safe_host();
    let mut frames = play.frames();
    let mut fields = get(&host);
    fields.extend([("cookie", "a=1"), ("x", "y"), ("cookie", "b=2"), ("cookie", "c=3")]);
    frames.head(1, &fields, true);
    assert_eq!(frames.fate(1), Fate::Answered(200));
    assert_eq!(play.safe.arrivals()[0].headers("cookie"), ["a=1; b=2; c=3"]);
}
