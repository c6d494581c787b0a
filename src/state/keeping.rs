//! How a request with several scopes gets a turn in two that are never free at the same moment.
//!
//! It becomes their keeper, if no other is: one of them at a time hands it a start that it keeps, unused,
//! while it waits before the line of the next. A scope has one keeper at most, so none waits for another.
//! What is kept is idle meanwhile; so nobody keeps anything through a pause, or for long.

use crate::clock::Tick;
use crate::pace::decide::{Decision, From, Reason, decide};
use crate::pace::slot::Slot;
use crate::state::cell::Start;
use crate::state::hall::House;
use crate::state::ledger::Lane;
use crate::state::waiter::Standing;
use std::time::Duration;

impl House<'_> {
    /// Makes a request, by its number, the scope's keeper. False if there is another.
    pub fn lend(&mut self, keeper: u64) -> bool {
        let free = self.hall.seats.keeper.is_none() && !self.cell.slot().dead;
        if free {
            self.hall.seats.keeper = Some(keeper);
        }
        free
    }

    /// It is not any longer.
    pub fn take_back(&mut self, keeper: u64) {
        if self.hall.seats.keeper == Some(keeper) {
            self.hall.seats.keeper = None;
        }
    }

    /// The keeper has won a start, and waits elsewhere before it is used.
    pub fn keep(&mut self) {
        self.hall.seats.kept += 1;
    }

    /// Whether a start that is kept would be allowed now as well: its scope may have climbed since, have
    /// been paused, or have another row.
    pub fn still_goes(&self, start: Start) -> bool {
        let (slot, hall) = (self.cell.slot(), &*self.hall);
        let own = slot.last_start == Slot::stamp(start.at);
        let last_start = if own { start.before } else { slot.last_start };
        let slot = Slot { last_start, in_flight: slot.in_flight.saturating_sub(1), ..slot };
        let mut memory = hall.memory.clone();
        memory.set_spent(memory.more.spent.give_back(start.cost, start.at));
        let decision = decide(&slot, &memory, &hall.rules, From::Street, start.cost, self.now);
        !slot.dead && decision == Decision::Go
    }

    /// It is used: from now on it counts.
    pub fn use_kept(&mut self, start: Start) -> Start {
        self.hall.seats.kept -= 1;
        self.stamp(start)
    }

    /// It is given back.
    pub fn drop_kept(&mut self, start: Start) {
        self.hall.seats.kept -= 1;
        self.release(start, false);
    }

    /// The keeper waits before the line.
    pub fn go_ahead(&mut self, who: usize) {
        let until = self.now + KEEPING;
        self.hall.seats.ahead = Some(who);
        self.hall.seats.appointments.insert((until, who));
        let seats = &mut *self.hall.seats;
        let waiter = &mut seats.waiters[who];
        waiter.standing = Standing::Ahead(until);
        waiter.stay = seats.ledger.change(waiter.stay, Lane::Line, self.now);
    }

    /// A keeper does not wait for what only the clock ends, and perhaps much later.
    pub fn send_keeper_on(&mut self, why: Reason) {
        if let (Reason::Pause | Reason::Quota, Some(who)) = (why, self.hall.seats.ahead) {
            self.end_wait(who, Standing::Called);
        }
    }

    /// Whether it waits before the line.
    pub fn is_ahead(&self, who: usize) -> bool {
        self.hall.seats.ahead == Some(who)
    }

    /// Whether the scope is paused.
    pub fn paused_until(&self) -> Option<Tick> {
        Some(self.hall.memory.paused_until).filter(|until| *until > self.now)
    }
}

/// A keeper's patience: the top of the ladder, so that it outwaits a pace. Then it gives everything
/// back and begins anew.
const KEEPING: Duration = Duration::from_secs(60);
