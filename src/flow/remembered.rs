//! What is remembered of clients between their requests: how long they wait, and the seats of those
//! that had to go. Asked only for requests that are held, or ended without an answer.
//!
//! Both are bounded and by keys: nothing a client sends is kept.

use crate::clock::Tick;
use crate::flow::record::Facts;
use crate::policy::patience::Habits;
use crate::policy::seats::Seats;
use crate::sync::{Mutex, lock};
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// What is remembered.
#[derive(Debug, Default)]
pub struct Remembered {
    keys: RandomState,
    habits: Mutex<Habits>,
    seats: Mutex<Seats>,
}

impl Remembered {
    /// Its client left after so long. How long clients like it wait, if that has just been learnt.
    pub fn left(&self, facts: &Facts, age: Duration, now: Tick) -> Option<Duration> {
        lock(&self.habits).left(self.program(facts), age, now)
    }

    /// Its client was there when its answer came after so long.
    pub fn stayed(&self, facts: &Facts, age: Duration) {
        lock(&self.habits).stayed(self.program(facts), age);
    }

    /// How long clients like its own wait.
    pub fn patience(&self, facts: &Facts, now: Tick) -> Option<Duration> {
        lock(&self.habits).patience(self.program(facts), now)
    }

    /// Keeps its place for when it comes back within `wait`, or soon after.
    pub fn keep_seat(&self, facts: &Facts, wait: Duration, now: Tick) {
        let until = now + wait.saturating_mul(2).min(LONGEST) + SOON;
        lock(&self.seats).keep(self.request(facts), facts.seat, until);
    }

    /// The acceptance of the request that this one is again.
    pub fn seat(&self, facts: &Facts, now: Tick) -> Option<Tick> {
        lock(&self.seats).take(self.request(facts), now)
    }

    /// A client, its program, and the host it asks.
    fn program(&self, facts: &Facts) -> u64 {
        let agent = facts.agent.as_ref().map(|agent| agent.as_bytes());
        self.keys.hash_one((facts.client, agent, facts.host.hash()))
    }

    fn request(&self, facts: &Facts) -> u64 {
        self.keys.hash_one((facts.client, &facts.method, &facts.path, facts.host.hash()))
    }
}

/// A client that comes back does so a little after it was told to.
const SOON: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(3600);
