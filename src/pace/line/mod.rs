//! Who waits in a scope, and who is next. Only order: when the next may go is `decide`'s.
//!
//! Between clients the turn goes round (deficit round robin: a client spends its weight a round, and
//! what is dearer it pays for by sitting out: dear requests are not stuck behind cheap ones). Within
//! a client urgencies share the turns by weight, so that none waits for ever; equally urgent first
//! attempts go by acceptance, and a repeat that is next goes before them if it was accepted earlier.
//! One page that always fails must not keep the others out: a repeat never takes two slots in a row
//! while a first attempt waits, and repeats take turns among themselves, so that who fails again goes
//! behind those who have waited meanwhile. Leaving is O(1).

mod linked;
mod queue;
#[cfg(test)]
mod tests;

use crate::clock::Tick;
use crate::pace::line::linked::{Ends, Links, link, unlink};
use crate::pace::line::queue::{Node, Queue};
use crate::pace::quota::Cost;
use crate::pace::scope::Client;
use crate::pace::turn::Turn;
use slab::Slab;
use std::collections::HashMap;

/// The line of one scope. `who` is the caller's own number for a waiter.
#[derive(Debug, Default)]
pub struct Line {
    nodes: Slab<Node>,
    queues: Slab<Queue>,
    by_client: HashMap<Client, usize>,
    /// The clients in the order of their turns, through [`Queue`]'s links.
    ring: Ends,
    firsts: usize,
    arrivals: u64,
    last_was_repeat: bool,
}

/// A place in a line; good until it is taken or left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(usize);

/// A request that lines up.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub client: Client,
    pub accepted: Tick,
    pub repeat: bool,
    pub turn: Turn,
    pub cost: Cost,
}

/// Who is next, and after how many rounds in which everybody sat out.
#[derive(Clone, Copy, Debug)]
struct Next {
    queue: usize,
    key: usize,
    rounds: i64,
}

impl Line {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Lines up a request. A client that had nothing waiting gets the last turn.
    pub fn join(&mut self, entry: Entry, who: usize) -> Place {
        let Entry { client, accepted, repeat, turn, cost } = entry;
        self.arrivals += 1;
        let queue = self.queue_of(client);
        let own = &mut self.queues[queue];
        own.weight = turn.weight;
        let (rank, age) = (own.rank(turn.urgency), (accepted, self.arrivals));
        let node = Node { who, queue, rank, repeat, cost, age, links: Links::default() };
        own.count += 1;
        own.dear += usize::from(node.is_dear());
        let (own, key) = (&mut own.ranks[rank], self.nodes.insert(node));
        (own.count, own.youngest) = (own.count + 1, own.youngest.max(accepted));
        let ends = own.ends(repeat);
        let before = if repeat { ends.tail } else { last_not_after(&self.nodes, *ends, age) };
        link(ends, &mut self.nodes, before, key);
        self.firsts += usize::from(!repeat);
        Place(key)
    }

    /// Leaves the line, from any place.
    pub fn leave(&mut self, place: Place) -> usize {
        let Node { queue, rank, repeat, .. } = self.nodes[place.0];
        let own = &mut self.queues[queue];
        unlink(own.ranks[rank].ends(repeat), &mut self.nodes, place.0);
        let node = self.nodes.remove(place.0);
        self.firsts -= usize::from(!repeat);
        own.ranks[rank].count -= 1;
        own.count -= 1;
        own.dear -= usize::from(node.is_dear());
        if own.count == 0 {
            self.emptied(queue);
        }
        node.who
    }

    /// Who is next, and where they stand.
    pub fn head(&self) -> Option<(Place, usize)> {
        self.next().map(|next| (Place(next.key), self.nodes[next.key].who))
    }

    /// Serves whoever is next. Their client's turn is over once its credit is spent.
    pub fn take(&mut self) -> Option<usize> {
        let next = self.next()?;
        self.pass_over(next);
        let node = &self.nodes[next.key];
        self.last_was_repeat = node.repeat;
        let own = &mut self.queues[next.queue];
        own.served(node.rank);
        own.credit = own.credit_after(next.rounds).saturating_sub(node.charge());
        own.credited = true;
        if own.credit <= 0 {
            own.credited = false;
            self.send_back(next.queue);
        }
        Some(self.leave(Place(next.key)))
    }

    /// At least so many are served before a request like `entry` that lines up now: what is certain,
    /// not what is likely.
    pub fn ahead_of(&self, entry: &Entry) -> usize {
        let Some(own) = self.by_client.get(&entry.client).map(|queue| &self.queues[*queue]) else {
            return 0;
        };
        let peers = own.ranks.iter().find(|rank| rank.urgency == entry.turn.urgency);
        let Some(peers) = peers.filter(|rank| rank.youngest <= entry.accepted) else { return 0 };
        // In each of its turns it is served as often as its weight, in each of the others' so are
        // they, unless they sit out.
        let rounds = peers.count / usize::from(own.weight.get());
        let certain = |other: &Queue| {
            if other.dear > 0 || other.credit < 0 { 0 } else { other.count.min(rounds) }
        };
        let others = self.queues.iter().filter(|(_, other)| other.client != entry.client);
        peers.count + others.map(|(_, other)| certain(other)).sum::<usize>()
    }

    fn want_first(&self) -> bool {
        self.last_was_repeat && self.firsts > 0
    }

    /// The first in the ring that owes nothing; if all do, whoever has paid soonest. A client that
    /// has none but repeats where a first attempt is due is passed over, and keeps its turn.
    fn next(&self) -> Option<Next> {
        let want_first = self.want_first();
        let mut soonest: Option<Next> = None;
        let mut turn = self.ring.head;
        while let Some(queue) = turn {
            let own = &self.queues[queue];
            turn = own.links.after;
            let Some(key) = own.next(&self.nodes, want_first) else { continue };
            let rounds = own.sits_out();
            if soonest.is_none_or(|next| rounds < next.rounds) {
                soonest = Some(Next { queue, key, rounds });
            }
            if rounds == 0 {
                break;
            }
        }
        soonest
    }

    /// Those who sit out pay off what their turns give them: one turn more for those before `next`
    /// than for those behind, and the former go to the end.
    fn pass_over(&mut self, next: Next) {
        let (want_first, last) = (self.want_first(), self.ring.tail);
        let (mut turn, mut before) = (self.ring.head, true);
        while let Some(queue) = turn {
            let own = &mut self.queues[queue];
            turn = own.links.after.filter(|_| last != Some(queue));
            if queue == next.queue {
                if next.rounds == 0 {
                    return;
                }
                before = false;
            } else if own.count == 0 || own.next(&self.nodes, want_first).is_some() {
                own.credit = own.credit_after(next.rounds - i64::from(!before));
                own.credited = false;
                if own.count == 0 && own.credit >= 0 {
                    self.retire(queue);
                } else if before {
                    self.send_back(queue);
                }
            }
        }
    }

    fn send_back(&mut self, queue: usize) {
        unlink(&mut self.ring, &mut self.queues, queue);
        let last = self.ring.tail;
        link(&mut self.ring, &mut self.queues, last, queue);
    }

    fn queue_of(&mut self, client: Client) -> usize {
        if let Some(queue) = self.by_client.get(&client) {
            return *queue;
        }
        let key = self.queues.insert(Queue::new(client));
        self.by_client.insert(client, key);
        let last = self.ring.tail;
        link(&mut self.ring, &mut self.queues, last, key);
        key
    }

    /// A client has nothing waiting any more. What it owes it owes as long as anybody waits: one
    /// dear request after the other would else cost it nothing.
    fn emptied(&mut self, queue: usize) {
        if self.nodes.is_empty() {
            self.queues.clear();
            self.by_client.clear();
            self.ring = Ends::default();
        } else if self.queues[queue].credit >= 0 || self.queues.len() > DEBTORS {
            self.retire(queue);
        }
    }

    fn retire(&mut self, queue: usize) {
        unlink(&mut self.ring, &mut self.queues, queue);
        let queue = self.queues.remove(queue);
        self.by_client.remove(&queue.client);
    }
}

/// With so many clients in a line no debts are kept of those who left it.
const DEBTORS: usize = 1000;

/// The last first attempt that is not younger than `age`: mostly the newest there is.
fn last_not_after(nodes: &Slab<Node>, ends: Ends, age: (Tick, u64)) -> Option<usize> {
    let mut back = ends.tail;
    while let Some(key) = back.filter(|key| nodes[*key].age > age) {
        back = nodes[key].links.before;
    }
    back
}
