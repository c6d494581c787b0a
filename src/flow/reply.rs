//! Makes a response of an ending: the only place that invents one.
//!
//! Its form is chosen by what the client accepts: problem details (RFC 9457), a small page, or two
//! lines of text.

use crate::flow::ending::{Ending, Row};
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, DATE, HeaderName, HeaderValue, RETRY_AFTER,
};
use http::response;
use std::fmt::Write;
use std::time::{Duration, SystemTime};

/// The client's side of an ending.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// What the client accepts.
    pub accept: Vec<&'a HeaderValue>,
    /// The host it was for, for problem details.
    pub host: &'a str,
    /// Our name in Proxy-Status.
    pub name: &'a str,
    pub wall: SystemTime,
}

/// The head and body of the answer for an ending.
pub fn reply(ending: &Ending, asked: &Asked<'_>) -> (response::Parts, Bytes) {
    let row = ending.row();
    let form = Form::chosen(&asked.accept);
    let body = form.body(ending, row, asked.host);
    let (mut parts, ()) = http::Response::new(()).into_parts();
    parts.status = row.status;
    let fields = &mut parts.headers;
    fields.insert(DATE, date(asked.wall));
    fields.insert(PROXY_STATUS, proxy_status(ending, row, asked.name));
    if let Some(wait) = ending.retry_after {
        fields.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
    }
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(form.content_type()));
    fields.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    (parts, body.into())
}

/// A date field's value.
pub fn date(wall: SystemTime) -> HeaderValue {
    HeaderValue::try_from(httpdate::fmt_http_date(wall)).expect("a date is visible ASCII")
}

/// Whole seconds, at least one: common clients parse only integers.
fn whole_seconds(wait: Duration) -> u64 {
    let up = u64::from(wait.subsec_nanos() > 0);
    wait.as_secs().saturating_add(up).max(1)
}

/// RFC 9209 §2: one member, ours.
fn proxy_status(ending: &Ending, row: Row, name: &str) -> HeaderValue {
    let mut text = format!("{name}; error={}", row.error);
    if let Some(received) = ending.received {
        let _ = write!(text, "; received-status={}", received.as_u16());
    }
    let _ = write!(text, "; details=\"{}\"", quoted(&ending.what));
    HeaderValue::try_from(text).expect("quoted text is visible ASCII")
}

/// A structured string (RFC 8941 §3.3.3): ASCII, quotes and backslashes escaped, bounded.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().take(DETAIL_CHARACTERS) {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            _ => out.push('?'),
        }
    }
    out
}

/// What the body is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Problem,
    Page,
    Text,
}

impl Form {
    fn chosen(accept: &[&HeaderValue]) -> Form {
        let accepts = |what: &str| {
            accept
                .iter()
                .filter_map(|value| value.to_str().ok())
                .flat_map(|value| value.split(','))
                .filter_map(|range| range.split(';').next())
                .any(|range| range.trim().eq_ignore_ascii_case(what))
        };
        if accepts("application/problem+json") || accepts("application/json") {
            Form::Problem
        } else if accepts("text/html") {
            Form::Page
        } else {
            Form::Text
        }
    }

    const fn content_type(self) -> &'static str {
        match self {
            Form::Problem => "application/problem+json",
            Form::Page => "text/html; charset=utf-8",
            Form::Text => "text/plain; charset=utf-8",
        }
    }

    fn body(self, ending: &Ending, row: Row, host: &str) -> String {
        match self {
            Form::Problem => problem(ending, row, host),
            Form::Page => page(ending, row),
            Form::Text => {
                format!("pacegate: {}: {}\n{} ({})\n", row.title, ending.what, row.advice, row.kind)
            }
        }
    }
}

fn problem(ending: &Ending, row: Row, host: &str) -> String {
    let mut value = serde_json::json!({
        "type": format!("urn:pacegate:{}", row.kind),
        "title": row.title,
        "status": row.status.as_u16(),
        "detail": ending.what,
        "kind": row.kind,
        "advice": row.advice,
        "error": row.error,
        "host": host,
    });
    if let (Some(wait), Some(object)) = (ending.retry_after, value.as_object_mut()) {
        object.insert("retry_after_seconds".into(), whole_seconds(wait).into());
    }
    value.to_string()
}

fn page(ending: &Ending, row: Row) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport \
         content=\"width=device-width\"><title>{status} {title}</title><style>body{{font:16px/1.5 \
         system-ui;max-width:40em;margin:4em auto;padding:0 1em}}small{{color:#666}}</style>\
         <h1>{title}</h1><p>{what}</p><p>{advice}</p><small>pacegate · {status} · {kind}</small>\n",
        status = row.status.as_u16(),
        title = row.title,
        what = escaped(&ending.what),
        advice = escaped(row.advice),
        kind = row.kind,
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const PROXY_STATUS: HeaderName = HeaderName::from_static("proxy-status");
/// Enough for a sentence; fields of ours stay small.
const DETAIL_CHARACTERS: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::ending::Case;

    #[track_caller]
    fn check(accept: &str, content_type: &str, part: &str) {
        let accept = HeaderValue::from_str(accept).unwrap();
        let ending = Ending::new(Case::LineFull, "10000 wait for <shop> \"x\"\n")
            .after(Duration::from_millis(1200));
        let asked = Asked {
            accept: vec![&accept],
            host: "shop.example",
            name: "pacegate",
            wall: SystemTime::UNIX_EPOCH,
        };
        let (parts, body) = reply(&ending, &asked);
        assert_eq!(parts.status, 503);
        assert_eq!(parts.headers[RETRY_AFTER], "2");
        assert_eq!(parts.headers[CONTENT_TYPE], content_type);
        assert_eq!(
            parts.headers[PROXY_STATUS],
            "pacegate; error=connection_limit_reached; details=\"10000 wait for <shop> \\\"x\\\"?\""
        );
        let text = std::str::from_utf8(&body).unwrap();
        assert!(text.contains(part), "{text}");
    }

    #[test]
    fn speaks_the_language_that_the_client_accepts() {
        check("*/*", "text/plain; charset=utf-8", "(line_full)");
        check("application/json", "application/problem+json", "\"status\":503");
        check("text/html,*/*;q=0.8", "text/html; charset=utf-8", "&lt;shop&gt;");
    }
}
