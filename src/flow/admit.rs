//! Reads a request once and checks it: answered now, or on its way as a job.

use crate::clock::Tick;
use crate::flow::conduct;
use crate::flow::deliver::{Gone, Reply};
use crate::flow::ending::{Case, Ending};
use crate::flow::here;
use crate::flow::interim::Interim;
use crate::flow::job::{Job, Limits, Tries};
use crate::flow::planned;
use crate::flow::record::{Facts, Trip};
use crate::flow::reply::{Asked, date, reply};
use crate::flow::session::{Caller, Session};
use crate::flow::settings::{ControlHeaders, Via};
use crate::flow::terms::Terms;
use crate::flow::tunnel::{self, Connect, Unmade};
use crate::flow::works::Flow;
use crate::metrics::labels::{RequestOutcome, Source};
use crate::metrics::meter::RequestEnd;
use crate::net::body::Replay;
use crate::net::headers::refusal::Refusal;
use crate::net::headers::request::{Shape, forward, measure};
use crate::net::headers::target::{RequestTarget, Scheme, Tunnel};
use crate::net::headers::via::Circle;
use crate::net::outbound::Outbound;
use crate::net::target::Target;
use crate::pace::scope::Client;
use crate::pace::turn::{Turn, Urgency};
use crate::policy::user::ProxyUser;
use crate::policy::wishes::Wishes;
use http::header::{
    CONNECTION, DATE, HOST, HeaderMap, HeaderValue, PROXY_AUTHORIZATION, TRANSFER_ENCODING,
    USER_AGENT,
};
use http::{Method, Request, Response, StatusCode, Uri, Version, request};
use http_body::Body;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use std::sync::Arc;

/// Answers a request that a client sent, one way or another.
pub async fn answer(
    flow: &Arc<Flow>,
    session: &Arc<Session>,
    request: Request<Incoming>,
) -> Result<Response<Reply>, Gone> {
    let accepted = flow.clock.now();
    if request.method() == Method::CONNECT {
        let refused = Refused::of(request.method(), request.uri(), request.headers());
        return match Box::pin(connect(flow, session, request, accepted)).await {
            Ok(response) => Ok(response),
            Err(Unmade::Refused(ending)) => Ok(refuse(flow, session, &refused, &ending, accepted)),
            Err(Unmade::Left) => {
                flow.left_connect(accepted);
                Err(Gone)
            }
        };
    }
    match admit(flow, session, request, accepted) {
        Ok(Admitted::Job(job)) => {
            let body = (job.version < Version::HTTP_2).then(|| job.outbound.body.clone());
            let mut response = conduct(flow, job).await?;
            if body.is_some_and(|body| body.is_unread()) {
                // RFC 9112 §9.6: what is left of the body is not waited for. A client that isn't told
                // sends its next request into the end.
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(response)
        }
        Ok(Admitted::Local(response)) => Ok(*response),
        Err(refused) => Ok(refuse(flow, session, &refused.0, &refused.1, accepted)),
    }
}

enum Admitted {
    Job(Box<Job>),
    /// Answered by a page of ours.
    Local(Box<Response<Reply>>),
}

fn admit(
    flow: &Arc<Flow>,
    session: &Arc<Session>,
    request: Request<Incoming>,
    accepted: Tick,
) -> Result<Admitted, Box<(Refused, Ending)>> {
    let (mut parts, body) = request.into_parts();
    let terms = flow.terms.read();
    match read(flow, session, &terms, &mut parts, shape(&body)) {
        Ok(Read::Local) => Ok(Admitted::Local(Box::new(local(flow, session, &parts)))),
        Ok(Read::LastHop(meant)) => {
            Ok(Admitted::Local(Box::new(here::last_hop(flow, &parts, &meant, accepted))))
        }
        Ok(Read::Journey(read)) => {
            Ok(Admitted::Job(Box::new(job(flow, session, terms, parts, body, *read, accepted))))
        }
        Err(ending) => {
            Err(Box::new((Refused::of(&parts.method, &parts.uri, &parts.headers), ending)))
        }
    }
}

fn shape(body: &Incoming) -> Shape {
    match body.size_hint().exact() {
        Some(0) => Shape::Empty,
        Some(size) => Shape::Exact(size),
        None => Shape::Unknown,
    }
}

enum Read {
    Local,
    /// It may be forwarded no further.
    LastHop(Box<RequestTarget>),
    Journey(Box<Journey>),
}

/// What was read of a request's head.
struct Journey {
    target: Target,
    version: http::Version,
    upgrade: bool,
    on_upgrade: Option<OnUpgrade>,
    caller: Caller,
    wishes: Wishes,
    accept: Option<http::HeaderValue>,
}

fn read(
    flow: &Flow,
    session: &Session,
    terms: &Terms,
    parts: &mut request::Parts,
    body: Shape,
) -> Result<Read, Ending> {
    measure(parts, &terms.heads).map_err(bad)?;
    uncircled(flow, &parts.headers)?;
    let inside = session.inside.as_ref().map(|inside| &inside.tunnel);
    if inside.is_none() && parts.uri.authority().is_none() && is_local(session, parts) {
        return Ok(Read::Local);
    }
    let (method, uri, headers) = (&parts.method, &parts.uri, &parts.headers);
    let of =
        |known: Option<&_>| RequestTarget::of(method, uri, parts.version, headers, inside, known);
    let meant = session.recent.read(of).map_err(bad)?;
    if meant.host.as_str() == LOCAL {
        return Ok(Read::Local);
    }
    if inside.is_none() && meant.scheme == Scheme::Https && !session.is_local() {
        return Err(refused(
            StatusCode::BAD_REQUEST,
            "an https URL over the network needs CONNECT",
        ));
    }
    let caller = match &session.inside {
        Some(inside) => inside.caller.clone(),
        None => caller(flow, terms, session, &parts.headers)?,
    };
    let wishes = wishes(terms, session, &parts.headers, &caller)?;
    let version = parts.version;
    let accept = parts.headers.get(http::header::ACCEPT).cloned();
    let target = Target {
        secure: meant.scheme == Scheme::Https,
        host: meant.host.clone(),
        port: meant.port,
    };
    terms.check(&target)?;
    let passage = forward(parts, &meant, body).map_err(bad)?;
    if terms.via == Via::Both {
        flow.pseudonym.sign(&mut parts.headers, version);
    }
    if passage.answer_here {
        return Ok(Read::LastHop(Box::new(meant)));
    }
    Ok(Read::Journey(Box::new(Journey {
        target,
        version,
        upgrade: passage.upgrade,
        on_upgrade: parts.extensions.remove::<OnUpgrade>(),
        caller,
        wishes,
        accept,
    })))
}

/// Refuses what has been here, or has been everywhere.
fn uncircled(flow: &Flow, headers: &HeaderMap) -> Result<(), Ending> {
    let what = match flow.pseudonym.circle(headers) {
        None => return Ok(()),
        Some(Circle::Ours) => "the request has passed this proxy before, as its Via says",
        Some(Circle::Long) => "the request has passed more than 20 proxies, as its Via says",
    };
    let advice = Some("Look at the proxies behind this one: one of them leads back here.");
    Err(Ending { advice, ..Ending::new(Case::Loop, what) })
}

fn bad(refusal: Refusal) -> Ending {
    Ending::new(Case::BadRequest(refusal.status), refusal.detail)
}

fn refused(status: StatusCode, why: impl std::fmt::Display) -> Ending {
    Ending::new(Case::BadRequest(status), why.to_string())
}

/// Who asks: its address, and the label in the proxy URL's user part.
fn caller(
    flow: &Flow,
    terms: &Terms,
    session: &Session,
    headers: &HeaderMap,
) -> Result<Caller, Ending> {
    let address = session.peer.ip();
    let Some(line) = headers.get(PROXY_AUTHORIZATION) else {
        return Ok(flow.anonymous(address));
    };
    let user = ProxyUser::parse(line.as_bytes())
        .map_err(|why| refused(StatusCode::BAD_REQUEST, format!("Proxy-Authorization: {why}")))?;
    let wishes = Wishes::of_user(&user).map_err(|why| refused(StatusCode::BAD_REQUEST, why))?;
    let label: Option<Arc<str>> = user.name.map(Arc::from);
    let client = Client::new(address, label.as_deref());
    let known = label.as_deref().and_then(|label| terms.weights.get(label));
    Ok(Caller {
        client,
        weight: known.copied().unwrap_or_default(),
        label,
        wishes: Arc::new(wishes),
    })
}

/// What the request wishes, where it may, over what its client wishes.
fn wishes(
    terms: &Terms,
    session: &Session,
    headers: &HeaderMap,
    caller: &Caller,
) -> Result<Wishes, Ending> {
    let own = match terms.control_headers {
        ControlHeaders::Off => Wishes::default(),
        ControlHeaders::Loopback | ControlHeaders::All => {
            Wishes::of_headers(headers).map_err(|why| refused(StatusCode::BAD_REQUEST, why))?
        }
    };
    let trusted = match terms.control_headers {
        ControlHeaders::All => true,
        ControlHeaders::Loopback => session.is_local(),
        ControlHeaders::Off => false,
    };
    let all = own.over(Wishes::clone(&caller.wishes));
    Ok(all.granted(trusted, terms.retry.window_max, terms.retry.abandoned_after))
}

fn job(
    flow: &Arc<Flow>,
    session: &Arc<Session>,
    terms: Arc<Terms>,
    parts: request::Parts,
    body: Incoming,
    journey: Journey,
    accepted: Tick,
) -> Job {
    let Journey { target, version, upgrade, caller, wishes, accept, on_upgrade } = journey;
    let known = (caller.label.as_deref(), wishes.tag.as_deref());
    let plan = planned::plan(flow, &terms, &target, &parts, known);
    let ruled = plan.as_ref().and_then(|plan| plan.preset);
    let preset = wishes.preset.or(ruled).unwrap_or(terms.preset);
    let limits = Limits::new(accepted, (preset, terms.preset), &terms.retry, &wishes);
    let replay = Replay::new(body, terms.buffers.replay_body, &flow.replays);
    let interim = Interim::heard_by(&session.presence, version, &parts.headers);
    let scoping = terms.scoping;
    let own = scoping.claims(&target.host, target.port, None);
    let claims = planned::claims(scoping, own, plan.as_deref(), wishes.scopes.as_ref());
    let urgency = wishes.urgency.and_then(Urgency::new).unwrap_or_default();
    let facts = Facts {
        host: target.host.clone(),
        method: parts.method.clone(),
        path: parts.uri.path_and_query().cloned(),
        peer: session.peer,
        client: caller.client,
        agent: parts.headers.get(USER_AGENT).cloned(),
        label: caller.label,
        tag: wishes.tag.as_deref().map(Arc::from),
        accepted,
        seat: accepted,
    };
    Job {
        terms,
        target,
        outbound: Outbound {
            head: parts,
            body: replay,
            informational: interim.as_ref().map(Interim::listener),
        },
        version,
        accept,
        interim,
        upgrade: on_upgrade.filter(|_| upgrade),
        presence: session.presence.clone(),
        client: caller.client,
        turn: Turn { weight: caller.weight, urgency },
        claims,
        plan,
        wishes,
        preset,
        limits,
        tries: Tries { not_before: limits.not_before, ..Tries::default() },
        trip: Trip::begin(flow.clone(), facts),
    }
}

async fn connect(
    flow: &Arc<Flow>,
    session: &Arc<Session>,
    request: Request<Incoming>,
    accepted: Tick,
) -> Result<Response<Reply>, Unmade> {
    if session.inside.is_some() {
        let why = "a CONNECT inside a tunnel is not served";
        return Err(refused(StatusCode::BAD_REQUEST, why).into());
    }
    let headers = request.headers();
    uncircled(flow, headers)?;
    let tunnel = Tunnel::of(request.uri(), headers, Scheme::Https).map_err(bad)?;
    let terms = flow.terms.read();
    let caller = caller(flow, &terms, session, headers)?;
    let agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("client");
    let connect = Connect {
        terms,
        target: Target { secure: false, host: tunnel.host.clone(), port: tunnel.port },
        tunnel,
        caller,
        agent: format!(
            "{} ({})",
            agent.chars().take(AGENT_CHARACTERS).collect::<String>(),
            session.peer.ip().to_canonical()
        )
        .into(),
        accepted,
    };
    tunnel::connect(flow, session, connect, request).await
}

/// What an answer to a request that was refused, and its line in the log, must know of it.
struct Refused {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
}

impl Refused {
    fn of(method: &Method, uri: &Uri, headers: &HeaderMap) -> Refused {
        Refused { method: method.clone(), uri: uri.clone(), headers: headers.clone() }
    }

    /// As it was written, for it may be what is wrong with the request; but without a user's name and
    /// password, or a query, in it.
    fn host(&self, session: &Session) -> String {
        let within = session.inside.as_ref().map(|inside| inside.tunnel.host.to_string());
        let own = self.uri.host().map(ToOwned::to_owned);
        let field = || self.headers.get(HOST).map(|it| String::from_utf8_lossy(it.as_bytes()));
        let named = |text: &str| {
            let host = text.rsplit('@').next().unwrap_or_default();
            host.split(['/', '?', '#']).next().unwrap_or_default().to_owned()
        };
        within.or(own).or_else(|| field().map(|text| named(&text))).unwrap_or_default()
    }
}

/// An answer of ours before a request has become a job.
fn refuse(
    flow: &Flow,
    session: &Session,
    refused: &Refused,
    ending: &Ending,
    accepted: Tick,
) -> Response<Reply> {
    let terms = flow.terms.read();
    let asked = Asked {
        accept: refused.headers.get_all(http::header::ACCEPT).iter().collect(),
        host: "",
        name: &terms.name,
        wall: flow.clock.wall(),
    };
    let (mut parts, body) = reply(ending, &asked);
    if refused.headers.contains_key(TRANSFER_ENCODING) {
        // Where its body ends may be read in two ways: nothing after it is a request.
        parts.headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let row = ending.case.row();
    flow.meter.early_answer(row.kind);
    flow.meter.request_ended(&RequestEnd {
        host: None,
        outcome: RequestOutcome::Refused,
        code: Some(row.status),
        source: Source::Proxy,
        took: flow.clock.now().since(accepted),
        attempts: 0,
        waits: &[],
    });
    tracing::info!(
        host = refused.host(session),
        method = refused.method.as_str(),
        client = %session.peer.ip(),
        status = row.status.as_u16(),
        kind = row.kind,
        why = ending.what,
        "refused"
    );
    Response::from_parts(parts, Reply::Whole { body: Some(body), trailers: None })
}

/// Whether a request without a whole URL is for a page of ours: it names us as its host.
fn is_local(session: &Session, parts: &request::Parts) -> bool {
    let host = parts.headers.get(HOST).and_then(|value| value.to_str().ok());
    host.is_some_and(|host| {
        host.eq_ignore_ascii_case(LOCAL)
            || host == session.local.to_string()
            || host == format!("localhost:{}", session.local.port())
    })
}

fn local(flow: &Flow, session: &Session, parts: &request::Parts) -> Response<Reply> {
    let (mut head, body) = (flow.local)(parts, session.peer).into_parts();
    // RFC 9110 §6.6.1: hyper leaves it to us, so that a site's is not replaced.
    head.headers.insert(DATE, date(flow.clock.wall()));
    Response::from_parts(head, Reply::Whole { body: Some(body), trailers: None })
}

/// Reserved for private use; never resolves publicly (spec section 14).
const LOCAL: &str = "pacegate.internal";
const AGENT_CHARACTERS: usize = 80;
