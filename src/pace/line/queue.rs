//! What one client has waiting in a line, and which of it is next when its turn comes.
//!
//! This room must not know about other clients.

use crate::clock::Tick;
use crate::pace::line::linked::{Ends, Linked, Links};
use crate::pace::quota::Cost;
use crate::pace::scope::Client;
use crate::pace::turn::{Urgency, Weight};
use slab::Slab;

/// A request in a line.
#[derive(Debug)]
pub struct Node {
    pub who: usize,
    /// Its client's queue, and its rank there.
    pub queue: usize,
    pub rank: usize,
    pub repeat: bool,
    pub cost: Cost,
    /// Acceptance, then arrival.
    pub age: (Tick, u64),
    pub links: Links,
}

/// All that one client has waiting.
#[derive(Debug)]
pub struct Queue {
    pub client: Client,
    pub weight: Weight,
    /// What it may still spend in this round; below nothing, what it owes for something dear.
    pub credit: i64,
    /// It has had this round's credit: its turn isn't over.
    pub credited: bool,
    /// By urgency, as they came up; those that are empty keep their place among the turns.
    pub ranks: Vec<Rank>,
    /// The turn of the rank served last.
    turn: u64,
    pub count: usize,
    /// How many of them cost more than one turn.
    pub dear: usize,
    pub links: Links,
}

/// What of it is equally urgent: first attempts and repeats, each in order.
#[derive(Debug)]
pub struct Rank {
    pub urgency: Urgency,
    pub firsts: Ends,
    pub repeats: Ends,
    /// Its next turn among its client's ranks.
    turn: u64,
    pub count: usize,
    /// The latest acceptance of all that have stood here.
    pub youngest: Tick,
}

impl Queue {
    /// A client that has nothing waiting yet.
    pub fn new(client: Client) -> Queue {
        Queue {
            client,
            weight: Weight::default(),
            credit: 0,
            credited: false,
            ranks: Vec::new(),
            turn: 0,
            count: 0,
            dear: 0,
            links: Links::default(),
        }
    }

    /// The rank of an urgency; one that comes up begins with the turn of now, not with all it had
    /// missed.
    pub fn rank(&mut self, urgency: Urgency) -> usize {
        let now = self.turn;
        if let Some(rank) = self.ranks.iter().position(|rank| rank.urgency == urgency) {
            let known = &mut self.ranks[rank];
            known.turn = if known.count == 0 { known.turn.max(now) } else { known.turn };
            return rank;
        }
        let (firsts, repeats) = (Ends::default(), Ends::default());
        let youngest = Tick::ZERO;
        self.ranks.push(Rank { urgency, firsts, repeats, turn: now, count: 0, youngest });
        self.ranks.len() - 1
    }

    /// Which is next: the rank whose turn it is, and in it the first attempt or repeat.
    pub fn next(&self, nodes: &Slab<Node>, want_first: bool) -> Option<usize> {
        let ranks = self.ranks.iter();
        let ready = ranks.filter_map(|rank| Some((rank, rank.next(nodes, want_first)?)));
        ready.min_by_key(|(rank, _)| (rank.turn, rank.urgency)).map(|(_, key)| key)
    }

    /// A rank was served.
    pub fn served(&mut self, rank: usize) {
        let rank = &mut self.ranks[rank];
        self.turn = self.turn.max(rank.turn);
        rank.turn = rank.turn.saturating_add(rank.urgency.stride());
    }

    /// What a round adds to its credit.
    fn quantum(&self) -> i64 {
        i64::from(self.weight.get()) * TURN
    }

    /// What it has when its turn comes after so many more rounds.
    pub fn credit_after(&self, rounds: i64) -> i64 {
        let turns = rounds + i64::from(!self.credited);
        self.credit.saturating_add(self.quantum().saturating_mul(turns))
    }

    /// How many rounds it must sit out before its turn.
    pub fn sits_out(&self) -> i64 {
        let credit = self.credit_after(0);
        if credit > 0 { 0 } else { credit.saturating_neg() / self.quantum() + 1 }
    }
}

impl Rank {
    /// The list for first attempts, or for repeats.
    pub fn ends(&mut self, repeat: bool) -> &mut Ends {
        if repeat { &mut self.repeats } else { &mut self.firsts }
    }

    fn next(&self, nodes: &Slab<Node>, want_first: bool) -> Option<usize> {
        let age = |key: usize| nodes[key].age;
        match (self.firsts.head, self.repeats.head) {
            (Some(first), Some(repeat)) if !want_first && age(repeat) < age(first) => Some(repeat),
            (Some(first), _) => Some(first),
            (None, repeat) => repeat.filter(|_| !want_first),
        }
    }
}

impl Node {
    /// What its start takes of its client's turns: never less than one, for a start is one whatever
    /// it spends of a quota.
    pub fn charge(&self) -> i64 {
        i64::try_from(self.cost.millionths()).unwrap_or(i64::MAX).max(TURN)
    }

    /// Whether it takes more than one.
    pub fn is_dear(&self) -> bool {
        self.charge() > TURN
    }
}

impl Linked for Node {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl Linked for Queue {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// One turn: what a request costs that says nothing else.
const TURN: i64 = Cost::ONE.millionths().cast_signed();
