//! Forgets: rows that have nothing more to say, and those nobody asks for any longer.

use crate::pace::decide::{Decision, From};
use crate::pace::quota::Cost;
use crate::pace::scope::Scope;
use crate::pace::slot::Slot;
use crate::state::cell::Eviction;
use crate::state::gate::Gate;
use crate::state::hall::House;
use std::time::Duration;

impl Gate {
    /// Forgets rows nobody asked for in their `idle` time, and those that have nothing more to say.
    pub async fn sweep(&self) {
        for rows in self.scopes.all().chunks(SWEEP_AT_ONCE) {
            for cell in rows {
                self.visit(cell, |house| house.expire());
            }
            tokio::task::yield_now().await;
        }
    }
}

impl Gate {
    /// With all rows taken, some make way for `scope` if they can: a host that never failed is not
    /// to wait for strangers. (More than one where the shared row is one too many.)
    pub(crate) fn make_room(&self, scope: &Scope) {
        if self.scopes.lacks_room(scope) {
            for row in self.scopes.candidates() {
                self.visit(&row, |house| house.make_way());
                if !self.scopes.lacks_room(scope) {
                    return;
                }
            }
        }
    }
}

impl House<'_> {
    /// The row goes when the rung is 0, no pause runs and nobody waits. A configured throttle keeps
    /// it while it has something to count; so do repeats in flight, for the evidence.
    pub fn retire(&mut self) -> bool {
        if !self.is_quiet() {
            return false;
        }
        let (rules, now) = (&self.hall.rules, self.now);
        let failed = self.hall.seats.last_failure.is_some_and(|failed| failed + FAILURE_REST > now);
        let pressed = !self.hall.memory.more.pressure.is_none();
        let gone = self.cell.change(|slot| {
            let throttle = rules.throttles()
                && (slot.in_flight > 0 || slot.last_start + rules.delay + THROTTLE_REST > now);
            let says = slot.rung > 0 || throttle || failed || pressed;
            (!says && !slot.dead).then_some(Slot { dead: true, ..slot })
        });
        if gone.is_ok() {
            self.effects.retired = Some(Eviction::Quiet);
        }
        gone.is_ok()
    }

    /// The row goes for another scope's sake, if whoever comes next could start at once.
    pub fn make_way(&mut self) -> bool {
        let slot = self.cell.slot();
        let free = self.hall.may_go(slot, From::Street, Cost::NONE, self.now) == Decision::Go;
        if !self.is_quiet() || !free {
            return false;
        }
        let gone = self.cell.change(|now| {
            let rests = now.in_flight == 0 && now.last_start == slot.last_start;
            (rests && !now.dead).then_some(Slot { dead: true, ..now })
        });
        if gone.is_ok() {
            self.effects.retired = Some(Eviction::Full);
        }
        gone.is_ok()
    }

    /// Removes a row nobody asked for so long.
    pub fn expire(&mut self) {
        let idle = self.hall.rules.idle;
        let quiet = self.is_quiet() && self.hall.touched() + idle <= self.now;
        let now = self.now;
        let gone = quiet
            && self
                .cell
                .change(|slot| {
                    let rests = slot.in_flight == 0 && slot.last_start + idle <= now;
                    (rests && !slot.dead).then_some(Slot { dead: true, ..slot })
                })
                .is_ok();
        if gone {
            self.effects.retired = Some(Eviction::Idle);
        }
    }

    /// Nobody waits, no repeat is in flight, no operator holds on to the row, and nothing is on that
    /// must not be forgotten. (One that is queued for a place stays until its turn: so the queue is no
    /// longer than rows.)
    fn is_quiet(&self) -> bool {
        self.hall.nobody_waits()
            && self.hall.seats.handed == 0
            && self.hall.seats.keeper.is_none()
            && self.hall.seats.kept == 0
            && self.hall.repeats == 0
            && !self.hall.seats.queued
            && self.hall.pinned().is_none()
            && !self.hall.memory.must_stay(&self.hall.rules, self.now)
    }
}

/// So many rows between two breaths for the runtime: some 50 µs.
const SWEEP_AT_ONCE: usize = 256;
/// A row that is there for a configured throttle rests so long before it goes: making one a request
/// would cost more than keeping it.
const THROTTLE_REST: Duration = Duration::from_secs(10);
/// So long a failure speaks for or against its page: longer than a request's own ladder makes it
/// wait (a minute by default). The law `ladder` keeps the row by its rung.
const FAILURE_REST: Duration = Duration::from_secs(120);
