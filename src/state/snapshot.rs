//! What a restart must not forget: taken from all rows, and given back to them.
//!
//! This room must not know where it is kept meanwhile.

use crate::clock::Tick;
use crate::judge::verdict::Class;
use crate::pace::saved::Saved;
use crate::pace::scope::Scope;
use crate::pace::slot::Slot;
use crate::state::gate::Gate;
use crate::state::hall::House;
use std::time::Duration;

/// One scope's row, apart from the clock of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub scope: Scope,
    pub saved: Saved,
    pub pinned: Option<u8>,
    pub cause: Option<Class>,
}

impl Gate {
    /// All rows that have something to say, now. No two rows are looked at together: each is right,
    /// and what happens meanwhile is in some of them.
    pub fn snapshot(&self) -> Vec<Kept> {
        let rows = self.scopes.all();
        let kept = rows.iter().filter_map(|cell| {
            let now = self.clock().now();
            cell.look(|hall, slot| {
                let saved = Saved::of(slot, &hall.memory, &hall.rules, now);
                let saved = match (saved, hall.pinned()) {
                    _ if slot.dead => None,
                    (None, Some(_)) => Some(Saved::new(hall.rules.law)),
                    (saved, _) => saved,
                };
                let (scope, pinned, cause) = (cell.scope().clone(), hall.pinned(), hall.cause);
                saved.map(|saved| Kept { scope, saved, pinned, cause })
            })
        });
        kept.collect()
    }

    /// Gives one row back what was saved so long ago. False if there is no room for it.
    pub fn restore(&self, kept: &Kept, elapsed: Duration) -> bool {
        if self.scopes.lacks_room(&kept.scope) {
            return false;
        }
        self.command_row(&kept.scope, |house| house.restore(kept, elapsed));
        if let Some(rung) = kept.pinned {
            self.pin(&kept.scope, rung);
        }
        true
    }
}

impl House<'_> {
    fn restore(&mut self, kept: &Kept, elapsed: Duration) {
        let (slot, memory) = kept.saved.restored(&self.hall.rules, self.now, elapsed);
        self.hall.memory = memory;
        self.hall.cause = kept.cause;
        self.hall.touch(self.now);
        let last_start = if slot.last_start == Tick::ZERO {
            slot.last_start
        } else {
            Slot::stamp(slot.last_start)
        };
        let _ = self.cell.change(|now| {
            let last_start = last_start.max(now.last_start);
            Some(Slot { rung: slot.rung, last_start, guarded: true, ..now })
        });
    }
}
