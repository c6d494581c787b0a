//! JSON under `/api/`: hosts and their rows, why a request would wait, and what an operator does.
//!
//! Reading is a GET. Writing is a POST, on the admin port only, and only by who may: see `guard`.

use crate::admin::explain::explanation;
use crate::admin::guard::{Shown, is_ours, may_write, shown};
use crate::admin::pages::{Door, Views, respond};
use crate::admin::query::{decoded, parameters};
use crate::admin::rows;
use crate::pace::scope::{Host, Scope};
use crate::pace::slot::Slot;
use bytes::Bytes;
use http::header::{ALLOW, CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING, WWW_AUTHENTICATE};
use http::request::Parts;
use http::uri::Uri;
use http::{Method, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use std::net::IpAddr;
use std::time::Duration;

/// Whether a path is one of these.
pub fn is_api(path: &str) -> bool {
    path == "/api" || path.starts_with("/api/")
}

/// Answers for one of them. `caller` is the address at the other end of the connection.
pub fn answer(views: &Views, parts: &Parts, caller: IpAddr, door: Door) -> Response<Full<Bytes>> {
    let said = admitted(views, parts, caller, door).and_then(|()| called(parts)).and_then(|call| {
        let writes = call.writes();
        allowed(&parts.method, writes, door)?;
        if writes {
            may_change(views, parts)?;
        }
        call.done(views)
    });
    match said {
        Ok(value) => json_of(StatusCode::OK, &value),
        Err(no) => no.response(),
    }
}

/// What is wrong with a call.
struct No {
    status: StatusCode,
    why: String,
    field: Option<(http::HeaderName, &'static str)>,
}

impl No {
    fn new(status: StatusCode, why: impl Into<String>) -> No {
        No { status, why: why.into(), field: None }
    }

    fn bad(why: impl Into<String>) -> No {
        No::new(StatusCode::BAD_REQUEST, why)
    }

    fn response(self) -> Response<Full<Bytes>> {
        let mut response = json_of(self.status, &json!({"error": self.why}));
        if let Some((name, value)) = self.field {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// Who may read: callers of this machine under a name of ours, and who knows the token.
fn admitted(views: &Views, parts: &Parts, caller: IpAddr, door: Door) -> Result<(), No> {
    let here = caller.to_canonical().is_loopback();
    // Through the proxy the request is the origin's kind, and its fields are not for us.
    if door == Door::Proxy {
        let text = "not from here: only clients of this machine see this";
        return if here { Ok(()) } else { Err(No::new(StatusCode::FORBIDDEN, text)) };
    }
    match shown(&parts.headers, views.token.as_ref()) {
        Shown::Right => Ok(()),
        Shown::Wrong => Err(No {
            field: Some((WWW_AUTHENTICATE, "Bearer")),
            ..No::new(StatusCode::UNAUTHORIZED, "not the token of admin.token_file")
        }),
        Shown::Nothing if !here => {
            let text = "not from here without the token of admin.token_file";
            Err(No::new(StatusCode::FORBIDDEN, text))
        }
        Shown::Nothing if !is_ours(&parts.headers) => {
            Err(No::new(StatusCode::FORBIDDEN, "the Host header names somebody else"))
        }
        Shown::Nothing => Ok(()),
    }
}

fn allowed(method: &Method, writes: bool, door: Door) -> Result<(), No> {
    let (good, allow, why) = match (writes, door) {
        (true, Door::Proxy) => (false, "", "only on the admin port"),
        (true, Door::Port) => (*method == Method::POST, "POST", "only POST"),
        (false, _) => {
            (*method == Method::GET || *method == Method::HEAD, "GET, HEAD", "only GET and HEAD")
        }
    };
    match good {
        true => Ok(()),
        false => {
            Err(No { field: Some((ALLOW, allow)), ..No::new(StatusCode::METHOD_NOT_ALLOWED, why) })
        }
    }
}

fn may_change(views: &Views, parts: &Parts) -> Result<(), No> {
    let headers = &parts.headers;
    if shown(headers, views.token.as_ref()) != Shown::Right && !may_write(headers) {
        let text = "a page of somebody else's may not do this: Host, Origin or Sec-Fetch-Site";
        return Err(No::new(StatusCode::FORBIDDEN, text));
    }
    let empty = headers.get_all(CONTENT_LENGTH).iter().all(|length| length == "0");
    match empty && !headers.contains_key(TRANSFER_ENCODING) {
        true => Ok(()),
        false => Err(No::bad("a body is not read: the target says it all")),
    }
}

/// What is asked.
#[derive(Debug)]
enum Call {
    Hosts { limit: usize, after: Option<String> },
    Host(Scope),
    Explain { url: Uri, host: Host },
    Reset(Scope),
    Resume(Scope),
    Pause { scope: Scope, span: Duration },
    Pin { scope: Scope, rung: u8 },
}

fn called(parts: &Parts) -> Result<Call, No> {
    let query = parts.uri.query();
    let segments: Vec<&str> = parts.uri.path().split('/').skip(2).collect();
    let nothing = || parameters(query, []).map(|[]| ()).map_err(No::bad);
    match segments[..] {
        ["hosts"] => hosts(query),
        ["hosts", name] => {
            nothing()?;
            Ok(Call::Host(scope(name)?))
        }
        ["hosts", name, "reset"] => {
            nothing()?;
            Ok(Call::Reset(scope(name)?))
        }
        ["hosts", name, "resume"] => {
            nothing()?;
            Ok(Call::Resume(scope(name)?))
        }
        ["hosts", name, "pause"] => {
            let [span] = parameters(query, ["seconds"]).map_err(No::bad)?;
            let span = number(span, "seconds")?;
            let span = Duration::try_from_secs_f64(span)
                .ok()
                .filter(|span| !span.is_zero() && *span <= LONGEST_PAUSE);
            let span = span.ok_or_else(|| No::bad("seconds: above 0 and up to a year"))?;
            Ok(Call::Pause { scope: scope(name)?, span })
        }
        ["hosts", name, "pin"] => {
            let [rung] = parameters(query, ["rung"]).map_err(No::bad)?;
            let rung = rung.and_then(|rung| rung.parse().ok()).filter(|rung| *rung <= Slot::TOP);
            let rung = rung.ok_or_else(|| No::bad("rung: a whole number from 0 to 15"))?;
            Ok(Call::Pin { scope: scope(name)?, rung })
        }
        ["explain"] => explained(query),
        _ => Err(No::new(StatusCode::NOT_FOUND, "there are hosts, hosts/NAME and explain here")),
    }
}

fn hosts(query: Option<&str>) -> Result<Call, No> {
    let [limit, after] = parameters(query, ["limit", "after"]).map_err(No::bad)?;
    let limit = match limit {
        None => ROWS,
        Some(limit) => {
            let limit = limit.parse().ok().filter(|limit| (1..=MOST_ROWS).contains(limit));
            limit.ok_or_else(|| No::bad(format!("limit: from 1 to {MOST_ROWS}")))?
        }
    };
    Ok(Call::Hosts { limit, after })
}

fn explained(query: Option<&str>) -> Result<Call, No> {
    let [url] = parameters(query, ["url"]).map_err(No::bad)?;
    let url = url.ok_or_else(|| No::bad("url: missing"))?;
    let url: Uri = url.parse().map_err(|_| No::bad("url: not a URL"))?;
    if !matches!(url.scheme_str(), Some("http" | "https")) {
        return Err(No::bad("url: http:// or https:// and a host"));
    }
    let host = url.host().and_then(|host| Host::parse(host).ok());
    let host = host.ok_or_else(|| No::bad("url: not a host that requests can go to"))?;
    Ok(Call::Explain { url, host })
}

fn scope(segment: &str) -> Result<Scope, No> {
    let scope = decoded(segment).and_then(|name| Scope::named(&name).ok());
    scope.ok_or_else(|| No::bad("no host or scope can have this name"))
}

fn number(text: Option<String>, name: &str) -> Result<f64, No> {
    let number = text.and_then(|text| text.parse().ok());
    number.ok_or_else(|| No::bad(format!("{name}: a number")))
}

impl Call {
    const fn writes(&self) -> bool {
        match self {
            Call::Hosts { .. } | Call::Host(_) | Call::Explain { .. } => false,
            Call::Reset(_) | Call::Resume(_) | Call::Pause { .. } | Call::Pin { .. } => true,
        }
    }

    fn done(self, views: &Views) -> Result<Value, No> {
        let gate = &views.gate;
        match self {
            Call::Hosts { limit, after } => Ok(listed(views, limit, after.as_deref())),
            Call::Host(scope) => Ok(one(views, &scope)),
            Call::Explain { url, host } => Ok(explanation(views, &url, &host)),
            Call::Reset(scope) => known(gate.reset(&scope), views, &scope),
            Call::Resume(scope) => known(gate.resume(&scope), views, &scope),
            Call::Pause { scope, span } => {
                gate.pause(&scope, span);
                Ok(one(views, &scope))
            }
            Call::Pin { scope, rung } => {
                gate.pin(&scope, rung);
                Ok(one(views, &scope))
            }
        }
    }
}

/// After something was done to a row, if there was one.
fn known(done: bool, views: &Views, scope: &Scope) -> Result<Value, No> {
    match done {
        true => Ok(one(views, scope)),
        false => Err(No::new(StatusCode::NOT_FOUND, "it has no row: nothing slows it")),
    }
}

/// Rows by name; the name to go on after, if there are more.
fn listed(views: &Views, limit: usize, after: Option<&str>) -> Value {
    let picture = views.gate.picture();
    let total = picture.rows.len();
    let mut rows = picture.rows;
    rows.sort_unstable_by(|a, b| a.scope.as_str().cmp(b.scope.as_str()));
    let first = after.map_or(0, |after| rows.partition_point(|row| row.scope.as_str() <= after));
    let page = &rows[first..total.min(first + limit)];
    let truncated = first + page.len() < total;
    let next = page.last().filter(|_| truncated).map(|row| row.scope.as_str());
    json!({
        "total": total,
        "hosts": page.iter().map(|row| rows::row(row, picture.taken)).collect::<Vec<_>>(),
        "truncated": truncated,
        "next": next,
    })
}

fn one(views: &Views, scope: &Scope) -> Value {
    let now = views.gate.clock().now();
    json!({
        "scope": scope.as_str(),
        "row": views.gate.row(scope).map(|row| rows::row(&row, now)),
        "pace": rows::rules(&views.gate.rules(scope)),
    })
}

fn json_of(status: StatusCode, value: &Value) -> Response<Full<Bytes>> {
    respond(status, "application/json", Bytes::from(format!("{value}\n")))
}

/// Rows of an answer, unless another number is asked for; and at most.
const ROWS: usize = 1000;
const MOST_ROWS: usize = 10_000;
/// As long as anything that can be configured.
const LONGEST_PAUSE: Duration = Duration::from_secs(366 * 86_400);
