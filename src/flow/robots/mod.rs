//! What sites ask of crawlers in their robots.txt, and the floors that follow from it: what has been
//! heard, of whom, and how long it counts.
//!
//! This room must not know how a robots.txt is written. What it says about paths is not looked at.

mod fetch;
#[cfg(test)]
mod tests;
mod text;

use crate::clock::Tick;
use crate::flow::job::Job;
use crate::flow::settings::{Robots, RobotsDelay};
use crate::flow::works::Flow;
use crate::judge::robots::Delays;
use crate::pace::floor::Floor;
use crate::pace::scope::{Host, Scope};
use http::header::{HeaderMap, USER_AGENT};
use http::{Method, StatusCode};
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// What is known of hosts' robots.txt.
#[derive(Debug, Default)]
pub struct Known {
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    hosts: HashMap<Host, Page>,
    /// In the order of their coming: the first go first.
    order: VecDeque<Host>,
}

/// What is known of a host's.
#[derive(Debug)]
struct Page {
    delays: Arc<Delays>,
    /// Until then it counts.
    until: Tick,
    /// Not asked for again before.
    again: Tick,
    /// How often it could not be had in a row.
    failures: u32,
    /// Whose delays are in the floor already, as hashes.
    agents: Vec<u64>,
    /// The longest delay of those.
    delay: Duration,
    /// Done once who fetches it has finished.
    fetching: Option<watch::Receiver<()>>,
}

/// What to do about a host's robots.txt before a request goes to it.
enum Ask {
    Nothing,
    /// Fetch it; the sender is dropped when that is over.
    Fetch(watch::Sender<()>, watch::Receiver<()>),
    /// Somebody does.
    Wait(watch::Receiver<()>),
}

impl Known {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything, floors included: the configuration is another.
    pub fn forget(&self, flow: &Flow) {
        let hosts = std::mem::take(&mut *self.book()).hosts;
        hosts.keys().for_each(|host| flow.gate.set_floor(&Scope::of(host), Floor::default()));
    }
}

impl Book {
    /// The host's page, made if there is none; and which host had to go for it.
    fn page(&mut self, host: &Host) -> (&mut Page, Option<Host>) {
        let mut gone = None;
        if !self.hosts.contains_key(host) {
            if self.hosts.len() >= MOST_HOSTS {
                gone = self.order.pop_front().inspect(|oldest| drop(self.hosts.remove(oldest)));
            }
            self.order.push_back(host.clone());
        }
        (self.hosts.entry(host.clone()).or_insert_with(Page::new), gone)
    }
}

impl Page {
    fn new() -> Page {
        Page {
            delays: Arc::default(),
            until: Tick::ZERO,
            again: Tick::ZERO,
            failures: 0,
            agents: Vec::new(),
            delay: Duration::ZERO,
            fetching: None,
        }
    }

    /// Whether this agent's delay is longer than those before.
    fn hears(&mut self, agent: &[u8]) -> bool {
        let mut hasher = DefaultHasher::new();
        agent.hash(&mut hasher);
        let hash = hasher.finish();
        if self.agents.contains(&hash) {
            return false;
        }
        if self.agents.len() < MOST_AGENTS {
            self.agents.push(hash);
        }
        let delay = self.delays.of(agent).unwrap_or_default();
        let longer = delay > self.delay;
        self.delay = self.delay.max(delay);
        longer
    }
}

/// Before the first claim of a request: sees to it that its host's robots.txt counts for its agent, and
/// fetches it, if that is asked for.
pub async fn attend(flow: &Flow, job: &Job) {
    let robots = &job.terms.robots;
    let host = &job.target.host;
    let agent = agent(&job.outbound.head.headers);
    let now = flow.clock.now();
    let fetches = robots.delay == RobotsDelay::Fetch && !is_robots_txt(job);
    let wait = match ask(flow, robots, host, agent, fetches, now) {
        Ask::Nothing => return,
        Ask::Wait(done) => done,
        Ask::Fetch(doing, done) => {
            let errand = fetch::Errand::of(job, agent);
            tokio::spawn(errand.run(job.trip.flow().clone(), doing));
            done
        }
    };
    let end = job.limits.deadline.unwrap_or(Tick::NEVER).min(now + PATIENCE);
    wait_for(flow, wait, end).await;
    ask(flow, robots, host, agent, false, flow.clock.now());
}

async fn wait_for(flow: &Flow, mut done: watch::Receiver<()>, end: Tick) {
    tokio::select! {
        // The sender says nothing: that it is gone says it.
        _ = done.changed() => {}
        () = flow.clock.sleep_until(end) => {}
    }
}

fn ask(flow: &Flow, robots: &Robots, host: &Host, agent: &[u8], fetches: bool, now: Tick) -> Ask {
    let mut book = flow.robots.book();
    let known = book.hosts.contains_key(host);
    if !known && !fetches {
        return Ask::Nothing;
    }
    let (page, gone) = book.page(host);
    let stale = page.until <= now;
    let mut change = None;
    if stale && !page.delay.is_zero() && !fetches {
        *page = Page { again: page.again, failures: page.failures, ..Page::new() };
        change = Some(Duration::ZERO);
    } else if !stale && page.hears(agent) {
        change = Some(page.delay);
    }
    let ask = match page.fetching.clone().filter(|done| done.has_changed().is_ok()) {
        Some(done) if fetches && page.agents.is_empty() => Ask::Wait(done),
        Some(_) => Ask::Nothing,
        None if fetches && stale && page.again <= now => {
            let (doing, done) = watch::channel(());
            page.fetching = Some(done.clone());
            Ask::Fetch(doing, done)
        }
        None => Ask::Nothing,
    };
    drop(book);
    if let Some(gone) = gone {
        flow.gate.set_floor(&Scope::of(&gone), Floor::default());
    }
    if let Some(delay) = change {
        put(flow, robots, host, delay);
    }
    ask
}

/// An answer passed by that may be a robots.txt.
pub fn overheard(flow: &Flow, job: &Job, status: StatusCode, headers: &HeaderMap, body: &[u8]) {
    if job.terms.robots.delay != RobotsDelay::Off && is_robots_txt(job) {
        let agent = agent(&job.outbound.head.headers);
        hear(flow, &job.terms.robots, &job.target.host, agent, (status, headers, body));
    }
}

/// Takes in what came for a host's robots.txt (RFC 9309 §2.3.1): a page, none there (4xx), or nothing
/// that says anything, and then what was known before goes on to count.
fn hear(
    flow: &Flow,
    robots: &Robots,
    host: &Host,
    agent: &[u8],
    (status, headers, body): (StatusCode, &HeaderMap, &[u8]),
) {
    let delays = match status.as_u16() {
        200..=299 => match text::plain(headers, body) {
            Some(text) => Delays::read(&text),
            None => return,
        },
        429 | 430 => return,
        400..=499 => Delays::default(),
        _ => return,
    };
    let now = flow.clock.now();
    let mut book = flow.robots.book();
    let (page, gone) = book.page(host);
    let fetching = page.fetching.take();
    *page = Page { delays: Arc::new(delays), until: now + DAY, fetching, ..Page::new() };
    page.hears(agent);
    let delay = page.delay;
    drop(book);
    if let Some(gone) = gone {
        flow.gate.set_floor(&Scope::of(&gone), Floor::default());
    }
    put(flow, robots, host, delay);
}

/// It could not be had: it is asked for again later, and later each time.
fn missed(flow: &Flow, host: &Host) {
    let now = flow.clock.now();
    let mut book = flow.robots.book();
    let (page, _) = book.page(host);
    page.again = now + FIRST_AGAIN * 2_u32.saturating_pow(page.failures.min(MOST_DOUBLINGS));
    page.failures = page.failures.saturating_add(1);
}

/// Puts the floor that a delay asks for under the host's pace, as far as the configuration lets it.
fn put(flow: &Flow, robots: &Robots, host: &Host, delay: Duration) {
    let scope = Scope::of(host);
    let delay = delay.min(robots.max_delay);
    let (floor, overruled) = robots.floor(&scope, delay);
    if overruled && flow.first_time(format!("robots {host}")) {
        tracing::warn!(
            host = host.as_str(),
            crawl_delay = delay.as_secs_f64(),
            "`scopes` has this host faster than its robots.txt asks for, and counts; \
             `ignore_robots: true` there silences this"
        );
    }
    if flow.gate.rules(&scope).delay != floor.delay || floor.is_none() {
        tracing::debug!(host = host.as_str(), delay = floor.delay.as_secs_f64(), "robots.txt");
    }
    flow.gate.set_floor(&scope, floor);
}

fn is_robots_txt(job: &Job) -> bool {
    let head = &job.outbound.head;
    head.method == Method::GET && head.uri.path() == PATH
}

fn agent(headers: &HeaderMap) -> &[u8] {
    headers.get(USER_AGENT).map_or(b"", |agent| agent.as_bytes())
}

/// RFC 9309 §2.3.
const PATH: &str = "/robots.txt";
/// RFC 9309 §2.4: no longer than a day.
const DAY: Duration = Duration::from_secs(86_400);
/// How long a request waits for its host's robots.txt; then it goes without.
const PATIENCE: Duration = Duration::from_secs(10);
const FIRST_AGAIN: Duration = Duration::from_secs(60);
/// A minute, doubled so often, is some two hours.
const MOST_DOUBLINGS: u32 = 7;
const MOST_HOSTS: usize = 10_000;
/// Of a host with more, each is looked at every time.
const MOST_AGENTS: usize = 16;
