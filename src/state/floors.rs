//! The floors under scopes' rules, and the rules with them.
//!
//! This file must not know who asks for a floor, nor bound their number: whoever sets one takes it back.

use crate::pace::floor::Floor;
use crate::pace::rules::PaceRules;
use crate::pace::scope::Scope;
use crate::sync::{AtomicUsize, Mutex, Ordering, lock};
use std::collections::HashMap;
use std::sync::Arc;

/// All floors.
#[derive(Debug, Default)]
pub struct Floors {
    /// How many there are: nearly always none.
    count: AtomicUsize,
    floors: Mutex<HashMap<Scope, (Floor, Arc<PaceRules>)>>,
}

impl Floors {
    /// The rules of a scope with its floor under them, if it has one.
    pub fn of(&self, scope: &Scope) -> Option<Arc<PaceRules>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        lock(&self.floors).get(scope).map(|(_, rules)| rules.clone())
    }

    /// Sets a scope's floor under its rules, or takes it away. Whether there was one before.
    pub fn set(&self, scope: &Scope, floor: Floor, rules: &PaceRules) -> bool {
        let mut floors = lock(&self.floors);
        let before = match floor.is_none() {
            true => floors.remove(scope),
            false => floors.insert(scope.clone(), (floor, Arc::new(floor.under(rules)))),
        };
        self.count.store(floors.len(), Ordering::Release);
        before.is_some()
    }

    /// The scopes' own rules are others now.
    pub fn rebase<'a>(&self, rules: impl Fn(&Scope) -> &'a PaceRules) {
        for (scope, (floor, merged)) in lock(&self.floors).iter_mut() {
            *merged = Arc::new(floor.under(rules(scope)));
        }
    }
}
