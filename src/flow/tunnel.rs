//! CONNECT: what is decided on it, and what the first bytes inside decide (spec 2.6).

use crate::clock::Tick;
use crate::flow::deliver::Reply;
use crate::flow::ending::{Case, Ending};
use crate::flow::hold::{Waiting, refused};
use crate::flow::intercept::intercept;
use crate::flow::presence::{Fin, Presence};
use crate::flow::serve;
use crate::flow::session::{Caller, Inside, Session};
use crate::flow::terms::Terms;
use crate::flow::works::Flow;
use crate::judge::classify::classify;
use crate::judge::outcome::{Fault, Outcome};
use crate::judge::verdict::{Class, PaceMove};
use crate::metrics::labels::TunnelMode;
use crate::net::headers::target::{Scheme, Tunnel};
use crate::net::opening::{Opening, open};
use crate::net::speak::Speaker;
use crate::net::target::Target;
use crate::net::tunnel::join;
use crate::net::wire::Wire;
use crate::pace::turn::Turn;
use crate::state::permit::Permit;
use crate::state::ticket::{Refusal, Ticket};
use crate::state::visit::Lesson;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// A CONNECT, read and checked.
pub struct Connect {
    /// The settings it goes by; requests inside have their own.
    pub terms: Arc<Terms>,
    pub tunnel: Tunnel,
    /// Where a blind tunnel goes.
    pub target: Target,
    pub caller: Caller,
    /// What the client calls itself, for the log.
    pub agent: Arc<str>,
    pub accepted: Tick,
}

/// Why a CONNECT gets no 200.
pub enum Unmade {
    Refused(Ending),
    /// Its client left while it was held.
    Left,
}

impl From<Ending> for Unmade {
    fn from(ending: Ending) -> Unmade {
        Unmade::Refused(ending)
    }
}

/// Decides a CONNECT: refuses it, passes it through, or looks inside.
pub async fn connect(
    flow: &Arc<Flow>,
    session: &Arc<Session>,
    connect: Connect,
    request: Request<Incoming>,
) -> Result<Response<Reply>, Unmade> {
    if connect.terms.tunnel.deny_ports.contains(&connect.target.port) {
        let text = format!("port {} is on `tunnel.deny_ports`", connect.target.port);
        flow.meter.tunnel(TunnelMode::Denied);
        return Err(Ending::new(Case::Denied, text).into());
    }
    connect.terms.check(&connect.target).inspect_err(|_| flow.meter.tunnel(TunnelMode::Denied))?;
    if !connect.terms.intercept.covers(&connect.target.host) {
        return through(flow, session, connect, request).await;
    }
    let upgrade = hyper::upgrade::on(request);
    let (flow, session) = (flow.clone(), session.clone());
    tokio::spawn(async move {
        let alive = flow.alive.clone();
        inside(flow, session, connect, upgrade).await;
        drop(alive);
    });
    Ok(Response::new(Reply::Empty))
}

/// A name that is passed through unread: its pace and its dial are decided before the 200.
async fn through(
    flow: &Arc<Flow>,
    session: &Arc<Session>,
    connect: Connect,
    request: Request<Incoming>,
) -> Result<Response<Reply>, Unmade> {
    let limit = connect.accepted + connect.terms.tunnel.hold;
    let origin = dial(flow, &session.presence, &connect, limit).await?;
    flow.meter.tunnel(TunnelMode::Passthrough);
    let upgrade = hyper::upgrade::on(request);
    let (alive, idle) = (flow.alive.clone(), connect.terms.tunnel.idle);
    tokio::spawn(async move {
        if let Ok(client) = upgrade.await {
            join(TokioIo::new(client), origin, idle).await;
        }
        drop(alive);
    });
    Ok(Response::new(Reply::Empty))
}

/// Looks inside a tunnel whose 200 has been sent. (Its requests are served like any others: the
/// type has to end somewhere.)
fn inside(
    flow: Arc<Flow>,
    session: Arc<Session>,
    connect: Connect,
    upgrade: OnUpgrade,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(look_inside(flow, session, connect, upgrade))
}

async fn look_inside(flow: Arc<Flow>, session: Arc<Session>, connect: Connect, upgrade: OnUpgrade) {
    let Some((before, wire)) = upgrade.await.ok().and_then(taken_apart) else { return };
    let silence = if connect.target.port == HTTPS { SILENCE_HTTPS } else { SILENCE };
    let mut draining = flow.draining.clone();
    let opened = tokio::select! {
        opened = open(before, wire, silence) => opened,
        () = serve::drained(&mut draining) => return,
    };
    let Ok(opening) = opened else { return };
    match opening {
        Opening::Tls(wire) => {
            flow.meter.tunnel(TunnelMode::Intercepted);
            let host = connect.target.host.clone();
            let inner = within(&session, &connect, true);
            Box::pin(intercept(flow, inner, host, connect.agent, wire)).await;
        }
        Opening::Http(wire) if wire.prefix().starts_with(PREFACE) => {
            flow.meter.tunnel(TunnelMode::PlainHttp);
            let inner = within(&session, &connect, false);
            let speaker = Speaker::new(wire, flow.clock.clone(), connect.terms.manners.unread);
            Box::pin(serve::http2(flow, inner, speaker)).await;
        }
        Opening::Http(wire) => {
            flow.meter.tunnel(TunnelMode::PlainHttp);
            let speaker = Speaker::new(wire, flow.clock.clone(), connect.terms.manners.unread);
            let inner = within(&session, &connect, false);
            let presence = inner.presence.clone().through(speaker.aside());
            Box::pin(serve::http1(flow, Session { presence, ..inner }, speaker)).await;
        }
        Opening::Other(wire) if connect.target.port == HTTPS && wire.is_silent() => {}
        Opening::Other(wire) => {
            flow.meter.tunnel(TunnelMode::Opaque);
            Box::pin(blind(&flow, &session.presence, &connect, wire)).await;
        }
        Opening::Closed => {}
    }
}

fn taken_apart(upgraded: Upgraded) -> Option<(bytes::Bytes, Wire)> {
    let parts = upgraded.downcast::<TokioIo<Speaker<Wire>>>().ok()?;
    Some((parts.read_buf, parts.io.into_inner().into_inner()))
}

fn within(session: &Session, connect: &Connect, secure: bool) -> Session {
    let scheme = if secure { Scheme::Https } else { Scheme::Http };
    let tunnel = Tunnel { scheme, ..connect.tunnel.clone() };
    let inside = Inside { tunnel, caller: connect.caller.clone() };
    Session { inside: Some(inside), ..session.clone() }
}

/// Neither TLS nor HTTP: paced, dialled, copied. Failure closes.
async fn blind<T>(flow: &Flow, presence: &Presence, connect: &Connect, client: T)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let limit = connect.accepted + connect.terms.retry.window;
    match dial(flow, presence, connect, limit).await {
        Ok(origin) => join(client, origin, connect.terms.tunnel.idle).await,
        Err(Unmade::Refused(ending)) => {
            tracing::info!(target = %connect.target, why = ending.what, "tunnel closed");
        }
        Err(Unmade::Left) => flow.left_connect(connect.accepted),
    }
}

async fn dial(
    flow: &Flow,
    presence: &Presence,
    connect: &Connect,
    limit: Tick,
) -> Result<TcpStream, Unmade> {
    let mut permit = hold(flow, presence, connect, limit).await?;
    let dialled = connect.terms.pool.dial(&mut permit, &connect.target).await;
    let (class, pace) = match &dialled {
        Ok(_) => (Class::Served, PaceMove::StepDown),
        Err(fault) => judged(connect, fault),
    };
    flow.meter.attempt(&connect.target.host, class);
    flow.learn(&connect.target.host, &mut permit, Lesson::new(class, pace), flow.clock.now());
    dialled.map_err(|fault| Ending::new(Case::of(&fault.kind), fault.detail).into())
}

fn judged(connect: &Connect, fault: &Fault) -> (Class, PaceMove) {
    let measure = connect.terms.measure(&connect.target.host);
    let verdict = classify(&Outcome::Fault(fault), &measure).verdict;
    (verdict.class, verdict.pace)
}

async fn hold(
    flow: &Flow,
    presence: &Presence,
    connect: &Connect,
    limit: Tick,
) -> Result<Permit, Unmade> {
    let (host, scoping) = (&connect.target.host, connect.terms.scoping);
    let address = match scoping.goes_by_address() {
        true => tokio::select! {
            address = Box::pin(connect.terms.pool.place(&connect.target)) => address,
            () = presence.left(ready(Fin::Departure)) => return Err(Unmade::Left),
        },
        false => None,
    };
    let ticket = Ticket {
        claims: scoping.claims(host, connect.target.port, address),
        client: connect.caller.client,
        turn: Turn { weight: connect.caller.weight, ..Turn::default() },
        accepted: connect.accepted,
        repeat: false,
        not_before: None,
        window_end: limit,
        deadline: None,
    };
    if let Some(permit) = flow.gate.try_claim(&ticket, flow.clock.now()) {
        return Ok(permit);
    }
    let mut waiting = Waiting::new(flow, host, flow.gate.claim(ticket));
    tokio::select! {
        claimed = waiting.hold() => claimed.map_err(|refusal| refused(flow, host, &refusal).into()),
        () = presence.left(ready(Fin::Departure)) => Err(Unmade::Left),
        () = flow.clock.sleep_until(limit) => {
            Err(refused(flow, host, &Refusal::WindowClosed).into())
        }
    }
}

/// As much of HTTP/2's preface (RFC 9113 §3.4) as tells it from every request.
const PREFACE: &[u8] = b"PRI *";
const HTTPS: u16 = 443;
/// Other protocols whose client waits for the server to speak (spec 2.6).
const SILENCE: Duration = Duration::from_secs(3);
/// On 443 silence is a client that has gone to sleep.
const SILENCE_HTTPS: Duration = Duration::from_secs(10);
