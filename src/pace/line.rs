//! Who waits in a scope, and who is next. Only order: when the next may go is `decide`'s.
//!
//! Between clients the turn goes round (deficit round robin, where every weight and every cost is
//! one); within a client first attempts go by acceptance, and a repeat that is next goes before them
//! if it was accepted earlier. One page that always fails must not keep the others out: a repeat
//! never takes two slots in a row while a first attempt waits, and repeats take turns among
//! themselves, so that who fails again goes behind those who have waited meanwhile. Leaving is O(1):
//! nodes are linked both ways.

use crate::clock::Tick;
use crate::pace::scope::Client;
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

#[derive(Debug)]
struct Node {
    who: usize,
    queue: usize,
    repeat: bool,
    /// Acceptance, then arrival.
    age: (Tick, u64),
    links: Links,
}

/// What one client has waiting: first attempts and repeats, each in order.
#[derive(Debug)]
struct Queue {
    client: Client,
    firsts: Ends,
    repeats: Ends,
    count: usize,
    /// The latest acceptance of all that have stood here.
    youngest: Tick,
    links: Links,
}

#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    head: Option<usize>,
    tail: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Links {
    before: Option<usize>,
    after: Option<usize>,
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
    pub fn join(&mut self, client: Client, accepted: Tick, repeat: bool, who: usize) -> Place {
        self.arrivals += 1;
        let queue = self.queue_of(client);
        let age = (accepted, self.arrivals);
        let key = self.nodes.insert(Node { who, queue, repeat, age, links: Links::default() });
        let ends = *self.queues[queue].ends(repeat);
        let before = if repeat { ends.tail } else { self.last_not_after(ends, age) };
        link(self.queues[queue].ends(repeat), &mut self.nodes, before, key);
        let own = &mut self.queues[queue];
        (own.count, own.youngest) = (own.count + 1, own.youngest.max(accepted));
        self.firsts += usize::from(!repeat);
        Place(key)
    }

    /// Leaves the line, from any place.
    pub fn leave(&mut self, place: Place) -> usize {
        let queue = self.nodes[place.0].queue;
        let repeat = self.nodes[place.0].repeat;
        unlink(self.queues[queue].ends(repeat), &mut self.nodes, place.0);
        let node = self.nodes.remove(place.0);
        self.firsts -= usize::from(!repeat);
        self.queues[queue].count -= 1;
        if self.queues[queue].count == 0 {
            self.retire(queue);
        }
        node.who
    }

    /// Who is next, and where they stand.
    pub fn head(&self) -> Option<(Place, usize)> {
        let want_first = self.last_was_repeat && self.firsts > 0;
        let mut turn = self.ring.head;
        while let Some(queue) = turn {
            let queue = &self.queues[queue];
            if let Some(key) = self.next_of(queue, want_first) {
                return Some((Place(key), self.nodes[key].who));
            }
            turn = queue.links.after;
        }
        None
    }

    /// Serves whoever is next; their client's turn is over.
    pub fn take(&mut self) -> Option<usize> {
        let (place, who) = self.head()?;
        let queue = self.nodes[place.0].queue;
        self.last_was_repeat = self.nodes[place.0].repeat;
        unlink(&mut self.ring, &mut self.queues, queue);
        let last = self.ring.tail;
        link(&mut self.ring, &mut self.queues, last, queue);
        self.leave(place);
        Some(who)
    }

    /// At least so many are served before a request of `client` that lines up now: what is certain,
    /// not what is likely.
    pub fn ahead_of(&self, client: Client, accepted: Tick) -> usize {
        let Some(own) = self.by_client.get(&client).map(|queue| &self.queues[*queue]) else {
            return 0;
        };
        if own.youngest > accepted {
            return 0;
        }
        self.queues.iter().map(|(_, other)| other.count.min(own.count)).sum()
    }

    fn next_of(&self, queue: &Queue, want_first: bool) -> Option<usize> {
        let age = |key: usize| self.nodes[key].age;
        match (queue.firsts.head, queue.repeats.head) {
            (Some(first), Some(repeat)) if !want_first && age(repeat) < age(first) => Some(repeat),
            (Some(first), _) => Some(first),
            (None, repeat) => repeat.filter(|_| !want_first),
        }
    }

    fn queue_of(&mut self, client: Client) -> usize {
        if let Some(queue) = self.by_client.get(&client) {
            return *queue;
        }
        let (firsts, repeats) = (Ends::default(), Ends::default());
        let links = Links::default();
        let youngest = Tick::ZERO;
        let key = self.queues.insert(Queue { client, firsts, repeats, count: 0, youngest, links });
        self.by_client.insert(client, key);
        let last = self.ring.tail;
        link(&mut self.ring, &mut self.queues, last, key);
        key
    }

    fn retire(&mut self, queue: usize) {
        unlink(&mut self.ring, &mut self.queues, queue);
        let queue = self.queues.remove(queue);
        self.by_client.remove(&queue.client);
    }

    /// The last first attempt that is not younger than `age`: mostly the newest there is.
    fn last_not_after(&self, ends: Ends, age: (Tick, u64)) -> Option<usize> {
        let mut back = ends.tail;
        while let Some(key) = back.filter(|key| self.nodes[*key].age > age) {
            back = self.nodes[key].links.before;
        }
        back
    }
}

impl Queue {
    fn ends(&mut self, repeat: bool) -> &mut Ends {
        if repeat { &mut self.repeats } else { &mut self.firsts }
    }
}

trait Linked {
    fn links(&mut self) -> &mut Links;
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

/// Puts `key` behind `before` (at the head for none).
fn link<T: Linked>(ends: &mut Ends, all: &mut Slab<T>, before: Option<usize>, key: usize) {
    let after = match before {
        Some(before) => all[before].links().after.replace(key),
        None => ends.head.replace(key),
    };
    match after {
        Some(after) => all[after].links().before = Some(key),
        None => ends.tail = Some(key),
    }
    *all[key].links() = Links { before, after };
}

/// Takes `key` out of its list.
fn unlink<T: Linked>(ends: &mut Ends, all: &mut Slab<T>, key: usize) {
    let Links { before, after } = std::mem::take(all[key].links());
    match before {
        Some(before) => all[before].links().after = after,
        None => ends.head = after,
    }
    match after {
        Some(after) => all[after].links().before = before,
        None => ends.tail = before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn client(origin: u64) -> Client {
        Client { origin, lane: 0 }
    }

    fn at(seconds: u64) -> Tick {
        Tick::ZERO + Duration::from_secs(seconds)
    }

    proptest! {
        /// Joins, departures and turns in any order: nobody is lost or served twice, and within a
        /// client first attempts go by acceptance, repeats by when they lined up.
        #[test]
        fn everybody_is_served_once_in_order(
            steps in proptest::collection::vec((0u8..4, 0u64..4, 0u64..50, any::<bool>()), 0..300),
        ) {
            let mut line = Line::default();
            let mut inside: Vec<(usize, Place, u64, u64, bool)> = Vec::new();
            for (who, (step, origin, accepted, repeat)) in steps.into_iter().enumerate() {
                if step >= 2 {
                    let place = line.join(client(origin), at(accepted), repeat, who);
                    inside.push((who, place, origin, accepted, repeat));
                } else if step == 1 && !inside.is_empty() {
                    let (who, place, ..) = inside.swap_remove(accepted as usize % inside.len());
                    prop_assert_eq!(line.leave(place), who);
                } else {
                    let next = line.head().map(|(_, who)| who);
                    prop_assert_eq!(line.take(), next);
                    let Some(next) = next else { continue };
                    let index = inside.iter().position(|(who, ..)| *who == next).unwrap();
                    let (_, _, origin, accepted, repeat) = inside.swap_remove(index);
                    let own = inside.iter().filter(|own| own.2 == origin && own.4 == repeat);
                    let later = |own: &(usize, Place, u64, u64, bool)| match repeat {
                        true => own.0 > next,
                        false => own.3 >= accepted,
                    };
                    prop_assert!(own.clone().all(later));
                }
                prop_assert_eq!(line.len(), inside.len());
            }
            while line.take().is_some() {
                inside.pop();
            }
            prop_assert!(inside.is_empty() && line.queues.is_empty() && line.by_client.is_empty());
        }
    }

    #[test]
    fn what_fails_again_and_again_leaves_every_other_turn_to_the_rest() {
        let mut line = Line::default();
        for who in 0..4 {
            line.join(client(1), at(who), true, usize::try_from(who).unwrap());
        }
        let mut served = Vec::new();
        while let Some(who) = line.take() {
            served.push(who);
            if who == 0 && served.len() < 8 {
                line.join(client(1), at(0), true, 0);
            }
        }
        assert_eq!(served[..5], [0, 1, 2, 3, 0]);
    }

    #[test]
    fn turns_go_round_whatever_the_lengths() {
        let mut line = Line::default();
        for who in 0..6 {
            line.join(client(u64::from(who >= 4)), at(0), false, who);
        }
        let served: Vec<_> = std::iter::from_fn(|| line.take()).collect();
        assert_eq!(served, [0, 4, 1, 5, 2, 3]);
    }

    #[test]
    fn a_client_with_only_repeats_is_passed_over_once_and_keeps_its_turn() {
        let mut line = Line::default();
        let repeats = [line.join(client(1), at(0), true, 0), line.join(client(1), at(0), true, 1)];
        assert_ne!(repeats[0], repeats[1]);
        line.join(client(2), at(9), true, 2);
        line.join(client(3), at(9), false, 3);
        line.join(client(3), at(9), false, 4);
        let served: Vec<_> = std::iter::from_fn(|| line.take()).collect();
        assert_eq!(served, [0, 3, 2, 4, 1]);
    }

    #[test]
    fn only_what_is_certain_counts_as_ahead() {
        let mut line = Line::default();
        line.join(client(1), at(1), false, 0);
        line.join(client(1), at(2), false, 1);
        for who in 2..9 {
            line.join(client(2), at(1), false, who);
        }
        assert_eq!(line.ahead_of(client(1), at(3)), 4);
        assert_eq!(line.ahead_of(client(1), at(0)), 0);
        assert_eq!(line.ahead_of(client(3), at(3)), 0);
    }
}
