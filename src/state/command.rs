//! What an operator may do to one scope's row: reset, pause, resume, pin.
//!
//! Like every visit these serve whoever may go now; nobody is overtaken.

use crate::clock::Tick;
use crate::pace::backoff::Pressure;
use crate::pace::quota::Reconcile;
use crate::pace::scope::Scope;
use crate::pace::slot::Slot;
use crate::state::gate::Gate;
use crate::state::hall::House;
use std::time::Duration;

impl Gate {
    /// Forgets what was learnt: rung 0, no pause, no pin. False if there is no row.
    pub fn reset(&self, scope: &Scope) -> bool {
        self.command(scope, |house| {
            house.hall.set_pinned(None);
            house.hall.memory.reset();
            house.set_rung(0);
        })
    }

    /// Ends a pause early; the pace stays. False if there is no row.
    pub fn resume(&self, scope: &Scope) -> bool {
        self.command(scope, |house| house.hall.memory.paused_until = Tick::ZERO)
    }

    /// Nobody starts for so long. Whoever can't wait that long is sent away.
    pub fn pause(&self, scope: &Scope, span: Duration) {
        self.command_row(scope, |house| {
            let until = house.now + span;
            let memory = &mut house.hall.memory;
            memory.paused_until = memory.paused_until.max(until);
            house.send_hopeless_away();
        });
        self.wake(self.lobbies.alarm(scope));
    }

    /// Keeps the scope on a rung, whatever is learnt, until it is reset.
    pub fn pin(&self, scope: &Scope, rung: u8) {
        self.command_row(scope, |house| {
            let rung = rung.min(house.hall.rules.ladder.top());
            house.hall.set_pinned(Some(rung));
            let rules = &house.hall.rules;
            let pressure = Pressure::on_rung(rung, &rules.backoff, &rules.base());
            if pressure != house.hall.memory.more.pressure {
                house.hall.memory.more.pressure = pressure;
            }
            house.set_rung(rung);
        });
    }

    /// Corrects what is known to be spent of a scope's quota, by what an answer says. False if it has
    /// none.
    pub fn reconcile(&self, scope: &Scope, said: Reconcile) -> bool {
        let has_quota = self.rules(scope).quota.is_some();
        if has_quota {
            self.command_row(scope, |house| {
                if let Some(quota) = &house.hall.rules.quota {
                    let spent = house.hall.memory.more.spent.reconcile(quota, said, house.now);
                    house.hall.memory.set_spent(spent);
                }
            });
        }
        has_quota
    }

    fn command(&self, scope: &Scope, act: impl FnOnce(&mut House<'_>)) -> bool {
        let Some(cell) = self.scopes.find(scope) else { return false };
        self.visit(&cell, |house| {
            let alive = !house.cell.slot().dead;
            if alive {
                act(house);
            }
            alive
        })
    }

    pub(crate) fn command_row(&self, scope: &Scope, act: impl Fn(&mut House<'_>)) {
        loop {
            let cell = self.row_of(scope, Tick::ZERO);
            let done = self.visit(&cell, |house| {
                let alive = !house.cell.slot().dead;
                if alive {
                    act(house);
                }
                alive
            });
            if done {
                return;
            }
            self.scopes.remove(&cell);
        }
    }
}

impl House<'_> {
    /// The guard goes up with it: the word may not say all of it.
    fn set_rung(&mut self, rung: u8) {
        let _ = self.cell.change(|slot| Some(Slot { rung, guarded: true, ..slot }));
        self.hall.touch(self.now);
    }
}
