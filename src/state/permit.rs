//! The proof that a request may be sent. (Stand-in: the real one replaces this file.)

use crate::clock::Tick;
use crate::pace::scope::Host;

/// The proof of a won claim.
#[derive(Debug)]
pub struct Permit {
    scope: Host,
    started: Tick,
    used: bool,
}

impl Permit {
    /// A permit nobody paces.
    pub fn unpaced(scope: &Host, now: Tick) -> Permit {
        Permit { scope: scope.clone(), started: now, used: false }
    }

    /// The scope it was won in.
    pub fn scope(&self) -> &Host {
        &self.scope
    }

    /// When it was won.
    pub fn started(&self) -> Tick {
        self.started
    }

    /// Something was dialled or sent for it.
    pub fn mark_used(&mut self) {
        self.used = true;
    }
}
