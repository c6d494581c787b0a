//! Fetches a host's robots.txt through the gate: an attempt like any other, with a permit, from which
//! the host's pace learns. Nobody's answer: what comes of it is what is known.

use crate::clock::Tick;
use crate::flow::gather::{Gathered, gather};
use crate::flow::job::Job;
use crate::flow::robots::{PATH, hear, missed};
use crate::flow::terms::Terms;
use crate::flow::works::Flow;
use crate::judge::classify::classify;
use crate::judge::outcome::{Answer, Outcome};
use crate::judge::robots::MOST_BYTES;
use crate::net::body::Replay;
use crate::net::exchange::Limits;
use crate::net::outbound::Outbound;
use crate::net::target::Target;
use crate::pace::claims::Claims;
use crate::pace::scope::{Client, Scope};
use crate::pace::turn::Turn;
use crate::state::ticket::Ticket;
use crate::state::visit::Lesson;
use bytes::Bytes;
use http::header::{ACCEPT, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request, StatusCode, Uri};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// What is fetched, for whom.
pub struct Errand {
    terms: Arc<Terms>,
    target: Target,
    client: Client,
    agent: Vec<u8>,
    path: Uri,
}

/// What came.
struct Came {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Errand {
    /// For a request: to where it goes, in its client's name.
    pub fn of(job: &Job, agent: &[u8]) -> Errand {
        Errand {
            terms: job.terms.clone(),
            target: job.target.clone(),
            client: job.client,
            agent: agent.to_owned(),
            path: Uri::from_static(PATH),
        }
    }

    /// Runs it. `_doing` goes when it is over, however it ends.
    pub async fn run(mut self, flow: Arc<Flow>, _doing: watch::Sender<()>) {
        let host = self.target.host.clone();
        for _ in 0..=MOST_REDIRECTS {
            let Some(came) = self.attempt(&flow).await else { break };
            if came.status.is_redirection() && came.status != StatusCode::NOT_MODIFIED {
                match self.led(&came.headers) {
                    Some(()) => continue,
                    // To another host, or nowhere: for this one there is none (RFC 9309 §2.3.1.2).
                    None => return self.hear(&flow, StatusCode::NOT_FOUND, &came),
                }
            }
            if came.status.is_server_error() || came.status == StatusCode::TOO_MANY_REQUESTS {
                break;
            }
            return self.hear(&flow, came.status, &came);
        }
        missed(&flow, &host);
    }

    fn hear(&self, flow: &Flow, status: StatusCode, came: &Came) {
        let page = (status, &came.headers, &came.body[..]);
        hear(flow, &self.terms.robots, &self.target.host, &self.agent, page);
    }

    /// Follows a redirect on the same host.
    fn led(&mut self, headers: &HeaderMap) -> Option<()> {
        let to: Uri = headers.get(LOCATION)?.to_str().ok()?.parse().ok()?;
        match (to.scheme_str(), to.host()) {
            (None, None) => {}
            (Some(scheme @ ("http" | "https")), Some(host)) => {
                let same = host.eq_ignore_ascii_case(self.target.host.as_str());
                self.target.secure = scheme == "https";
                let usual = if self.target.secure { 443 } else { 80 };
                self.target.port = to.port_u16().unwrap_or(usual);
                same.then_some(())?;
            }
            (_, _) => return None,
        }
        let path = to.path_and_query().filter(|path| path.as_str().starts_with('/'))?;
        self.path = Uri::from(path.clone());
        Some(())
    }

    /// `None`: nothing came.
    async fn attempt(&self, flow: &Arc<Flow>) -> Option<Came> {
        let now = flow.clock.now();
        let mut permit = flow.gate.claim(self.ticket(now)).await.ok()?;
        let limits = Limits { response_timeout: self.terms.retry.response_timeout };
        let sent = self.outbound();
        let exchanged = self.terms.pool.exchange(&mut permit, &self.target, &sent, limits).await;
        let came = match exchanged {
            Ok(exchanged) => {
                let (parts, body) = exchanged.response.into_parts();
                let most = MOST_BYTES + 1;
                let read = gather(body, most, limits.response_timeout, &flow.answers).await;
                read.map(|read| {
                    let body = match read {
                        Gathered::Whole { body, .. } | Gathered::Part(body, _) => body,
                    };
                    Came { status: parts.status, headers: parts.headers, body }
                })
            }
            Err(fault) => Err(fault),
        };
        let arrived = flow.clock.wall();
        let outcome = match &came {
            Ok(Came { status, headers, .. }) => {
                Outcome::Answer(Answer { status: *status, headers, arrived })
            }
            Err(fault) => Outcome::Fault(fault),
        };
        let judged = classify(&outcome, &self.terms.measure(&self.target.host));
        let verdict = judged.verdict;
        flow.meter.attempt(&self.target.host, verdict.class);
        let lesson = Lesson {
            pause: verdict.pause,
            status: came.as_ref().ok().map(|came| came.status.as_u16()),
            ..Lesson::new(verdict.class, verdict.pace)
        };
        flow.learn(&self.target.host, &mut permit, lesson, flow.clock.now());
        came.ok()
    }

    fn ticket(&self, now: Tick) -> Ticket {
        Ticket {
            claims: Claims::of(Scope::of(&self.target.host)),
            client: self.client,
            turn: Turn::default(),
            accepted: now,
            repeat: false,
            not_before: None,
            window_end: now + LONGEST,
            deadline: Some(now + LONGEST),
        }
    }

    fn outbound(&self) -> Outbound {
        let (mut head, ()) = Request::new(()).into_parts();
        head.uri = self.path.clone();
        head.headers.insert(ACCEPT, HeaderValue::from_static("text/plain, */*;q=0.1"));
        if let Ok(agent) = HeaderValue::from_bytes(&self.agent)
            && !agent.is_empty()
        {
            head.headers.insert(USER_AGENT, agent);
        }
        Outbound { head, body: Replay::none(), informational: None }
    }
}

/// RFC 9309 §2.3.1.2: five at least.
const MOST_REDIRECTS: usize = 5;
/// How long it may be held.
const LONGEST: Duration = Duration::from_secs(600);
