//! Heads in, heads out; and once more through real hyper connections.

mod requests;
mod responses;
mod targets;
mod wire;

use http::{HeaderMap, HeaderName, HeaderValue};

/// A map from lines; `|` parts the lines, as in `Host: a|Accept: b`.
fn map(lines: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines.split('|').filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').expect("a name and a value");
        let value = value.strip_prefix(' ').unwrap_or(value);
        let name: HeaderName = name.parse().expect("a name");
        headers.append(name, HeaderValue::from_bytes(value.as_bytes()).expect("a value"));
    }
    headers
}

/// The lines of a map, in its order, written like [`map`] reads them.
fn lines(headers: &HeaderMap) -> String {
    let line = |(name, value): (&HeaderName, &HeaderValue)| {
        format!("{name}: {}", String::from_utf8_lossy(value.as_bytes()))
    };
    headers.iter().map(line).collect::<Vec<_>>().join("|")
}
