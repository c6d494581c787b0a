//! The record: what the crawls came to, and whether they came to what the story claims.
//!
//! Pure: must not know about sockets, proxies or terminals.

use crate::clock::Tick;
use crate::demo::crawler::{Fetched, Page};
use crate::demo::scene::{Allowed, Kind, Scene};
use crate::demo::visits::Visit;
use std::time::Duration;

/// One crawl, finished or under way.
#[derive(Clone, Debug)]
pub struct Run {
    pub kind: Kind,
    /// Its client's.
    pub time_out: Duration,
    /// Pages it wants.
    pub wanted: usize,
    pub began: Tick,
    /// `None`: it is still under way.
    pub ended: Option<Tick>,
    pub pages: Vec<Page>,
    /// The shop's log.
    pub visits: Vec<Visit>,
    /// The rung over time; nothing for a crawl without a proxy.
    pub rungs: Vec<Sample>,
    /// The gate's starts.
    pub allowed: Vec<Allowed>,
    pub client_gone: u64,
    pub advice: Vec<String>,
}

/// A look at the rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    pub at: Tick,
    /// `None`: there was no row.
    pub rung: Option<u8>,
}

/// A start in the shop's log beside the gate's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    pub allowed: Allowed,
    pub arrived: Tick,
}

impl Start {
    /// Whether it came before it was allowed.
    pub fn early(self) -> bool {
        self.arrived < self.allowed.at
    }
}

impl Run {
    /// Pages it got.
    pub fn served(&self) -> usize {
        self.pages.iter().filter(|page| page.outcome == Fetched::Page).count()
    }

    /// Pages it gave up or got an error for.
    pub fn lost(&self) -> usize {
        self.pages.len() - self.served()
    }

    /// Pages the shop made, or was asked to make, for nobody.
    pub fn wasted(&self) -> usize {
        self.visits.iter().filter(|visit| visit.left.is_some()).count()
    }

    /// From its first request to its last page.
    pub fn took(&self) -> Option<Duration> {
        self.ended.map(|ended| ended.since(self.began))
    }

    /// The highest rung seen.
    pub fn top(&self) -> Option<u8> {
        self.rungs.iter().filter_map(|sample| sample.rung).max()
    }

    /// Whether it had a row, and at the last look had none.
    pub fn row_gone(&self) -> bool {
        self.top().is_some() && self.rungs.last().is_some_and(|sample| sample.rung.is_none())
    }

    /// The shop's arrivals beside the instants the gate allowed, each in order of time.
    ///
    /// The two logs share no name for a start, and need none: if the n-th arrival is never before
    /// the n-th allowed instant, the starts can be paired so that none is early; if it is before
    /// it once, they can't (Hall's theorem).
    pub fn starts(&self) -> Vec<Start> {
        let mut allowed = self.allowed.clone();
        allowed.sort();
        let mut arrivals: Vec<Tick> = self.visits.iter().map(|visit| visit.arrived).collect();
        arrivals.sort();
        let pairs = allowed.into_iter().zip(arrivals);
        pairs.map(|(allowed, arrived)| Start { allowed, arrived }).collect()
    }
}

/// The whole story.
#[derive(Clone, Debug)]
pub struct Story {
    pub scene: Scene,
    /// One of each [`Kind`], in their order.
    pub runs: [Run; 4],
}

/// Something the story says, and whether it turned out so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub says: String,
    pub kept: bool,
}

impl Story {
    /// The crawl of that kind.
    pub fn run(&self, kind: Kind) -> &Run {
        let [direct, paced, unpaced, hasty] = &self.runs;
        match kind {
            Kind::Direct => direct,
            Kind::Paced => paced,
            Kind::Unpaced => unpaced,
            Kind::Hasty => hasty,
        }
    }

    /// What is to be believed of it, one by one.
    pub fn claims(&self) -> Vec<Claim> {
        let [direct, paced, unpaced, hasty] = &self.runs;
        let mut claims = vec![
            claim(
                direct.lost() > 0,
                format!("asked directly, the crawler loses {}", pages(direct.lost())),
            ),
            claim(
                paced.served() == paced.wanted,
                format!("through the proxy {} of {} are served", paced.served(), paced.wanted),
            ),
        ];
        claims.extend(self.pace_claims(paced));
        claims.push(claim(
            unpaced.lost() > 0,
            format!("with pacing off it loses {}", pages(unpaced.lost())),
        ));
        let gone = hasty.client_gone;
        claims.push(claim(
            hasty.lost() > 0 && gone > 0,
            format!("with the short time-out it leaves before its answer: client_gone {gone}"),
        ));
        claims.push(claim(!hasty.advice.is_empty(), "the log advises a longer time-out".into()));
        claims
    }

    /// Whether every claim was kept.
    pub fn told(&self) -> bool {
        self.claims().iter().all(|claim| claim.kept)
    }

    fn pace_claims(&self, paced: &Run) -> [Claim; 3] {
        let top = self.scene.ladder.top();
        let seen = paced.top().unwrap_or_default();
        let (starts, came) = (paced.starts(), paced.visits.len());
        let early = starts.iter().filter(|start| start.early()).count();
        let noted = came > 0 && starts.len() == came;
        let starts = match early {
            _ if !noted => format!("the gate noted {} of {came} starts", starts.len()),
            0 => format!("none of {came} starts is early"),
            _ => format!("{early} of {came} starts are early"),
        };
        [
            claim(seen == top, format!("the rung climbs to {seen} of {top}")),
            claim(paced.row_gone(), "it comes back to 0, and afterwards the row is gone".into()),
            claim(noted && early == 0, starts),
        ]
    }
}

fn pages(count: usize) -> String {
    match count {
        1 => "1 page".into(),
        more => format!("{more} pages"),
    }
}

fn claim(kept: bool, says: String) -> Claim {
    Claim { says, kept }
}
