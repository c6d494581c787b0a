//! A claim becomes a permit at once, or a hold.
//!
//! With one scope, as nearly always, its row decides. With several the quick way asks all of them, and
//! gives back what some allowed if one does not; whatever has to wait is an [`Errand`].

use crate::clock::Tick;
use crate::pace::claims::Asked;
use crate::pace::scope::Scope;
use crate::state::cell::{Cell, Claim, Start};
use crate::state::errand::Errand;
use crate::state::gate::Gate;
use crate::state::hold::{Hold, Seat};
use crate::state::permit::{Part, Permit};
use crate::state::ticket::Ticket;
use crate::state::total::Place;
use crate::state::visit::{Bounds, Joined};
use crate::state::waiter::Terms;
use crate::sync::Ordering;
use std::sync::Arc;

/// What asking one scope came to.
enum Won {
    /// It has no row: it is healthy.
    Plain,
    Row(Arc<Cell>, Start),
}

impl Gate {
    /// A start without waiting, if all scopes allow it and nobody waits. A healthy host costs a count
    /// and at most one look-up that finds nothing; nothing is allocated. Repeats, and requests on a
    /// ladder of their own, go through [`Gate::claim`].
    #[inline]
    pub fn try_claim(self: &Arc<Self>, ticket: &Ticket, now: Tick) -> Option<Permit> {
        if ticket.repeat || ticket.not_before.is_some() {
            return None;
        }
        let claims = &ticket.claims;
        if !self.throttles_all.load(Ordering::Relaxed)
            && self.scopes.is_plain(&claims.first.scope)
            && claims.rest.iter().all(|asked| self.scopes.is_plain(&asked.scope))
        {
            return Some(Permit::free(claims, now));
        }
        self.try_claim_rows(ticket, now)
    }

    /// A start, or a place in the line: from the moment this returns.
    ///
    /// A repeat claims before it drops the permit of its last attempt: that keeps the row, and so
    /// what speaks for a page's fault (spec 2.10), in between.
    pub fn claim(self: &Arc<Self>, ticket: Ticket) -> Hold {
        let now = self.clock().now();
        if let Some(permit) = self.try_claim(&ticket, now) {
            return Hold::ready(Ok(permit));
        }
        let entered = self.crowd.enter(ticket.client.origin);
        let bounds = Bounds {
            per_scope: self.held_per_scope(),
            full: entered.err(),
            shutting_down: self.shuts_down(),
        };
        let client = ticket.client;
        let hold = match ticket.claims.is_single() {
            true => self.claim_one(ticket, bounds, now),
            false => {
                let mut errand = Errand::new(self.clone(), ticket, bounds, now);
                match errand.go(now, None) {
                    Some(end) => Hold::ready(end),
                    None => Hold::on_errand(errand),
                }
            }
        };
        if entered.is_ok() && !hold.waits() {
            self.crowd.leave(client.origin);
        }
        hold
    }

    /// The row of one scope of a request; `None` for a healthy one that needs none. The first keeps
    /// the count of all attempts, and a repeat's what speaks for its page.
    pub(crate) fn row_for(
        &self,
        scope: &Scope,
        ticket: &Ticket,
        claim: usize,
    ) -> Option<Arc<Cell>> {
        self.make_room(scope);
        let wanted = |scope: &Scope| {
            (claim == 0 && (ticket.repeat || self.limits_attempts()))
                || self.rules(scope).throttles()
        };
        let since = if ticket.repeat { self.clock().now() } else { Tick::ZERO };
        self.scopes.find(scope).or_else(|| wanted(scope).then(|| self.row_of(scope, since)))
    }

    fn claim_one(self: &Arc<Self>, ticket: Ticket, bounds: Bounds, now: Tick) -> Hold {
        let (cell, joined) = self.join(&ticket, bounds, now);
        match joined {
            Joined::Started(start) => {
                let row = Some((self.clone(), cell, start));
                let part = Part::new(&ticket.claims.first, row);
                Hold::ready(Ok(Permit::of(part, Vec::new(), start.at)))
            }
            Joined::Refused(refusal) => Hold::ready(Err(refusal)),
            Joined::Held(who) => {
                let (gate, asked, client) = (self.clone(), ticket.claims.first, ticket.client);
                Hold::waiting(Seat { gate, cell, asked, client, who, since: now })
            }
            Joined::Gone => unreachable!("join looks again until there is a row"),
        }
    }

    fn join(&self, ticket: &Ticket, bounds: Bounds, now: Tick) -> (Arc<Cell>, Joined) {
        let Asked { scope, cost, .. } = &ticket.claims.first;
        loop {
            let cell = self.row_of(scope, if ticket.repeat { now } else { Tick::ZERO });
            let (joined, effects) = cell.enter_with(&self.agenda, now, |house| {
                house.join(ticket, *cost, Terms::default(), bounds)
            });
            self.finish(&cell, effects);
            match joined {
                Joined::Gone => drop(self.scopes.remove(&cell)),
                Joined::Started(_) | Joined::Held(_) | Joined::Refused(_) => return (cell, joined),
            }
        }
    }

    fn try_claim_rows(self: &Arc<Self>, ticket: &Ticket, now: Tick) -> Option<Permit> {
        if !ticket.claims.is_single() && self.lobbies.is_occupied(&ticket.claims) {
            return None;
        }
        let mut place = Some(self.agenda.total.take()?);
        let permit = self.try_all(ticket, now, &mut place);
        if let Some(place) = place.filter(|place| place.is_counted()) {
            return match permit {
                Some(permit) => Some(permit.placed(self, place)),
                None => {
                    self.give_back(1);
                    None
                }
            };
        }
        permit
    }

    /// All scopes or none. The place goes to the first that has a row.
    fn try_all(
        self: &Arc<Self>,
        ticket: &Ticket,
        now: Tick,
        place: &mut Option<Place>,
    ) -> Option<Permit> {
        let mut part = |asked: &Asked| {
            let row = match self.try_one(&asked.scope, now)? {
                Won::Plain => None,
                Won::Row(cell, start) => {
                    let place = place.take().unwrap_or(Place::Free);
                    Some((self.clone(), cell, Start { place, ..start }))
                }
            };
            Some(Part::new(asked, row))
        };
        let first = part(&ticket.claims.first)?;
        let mut permit = Permit::of(first, Vec::with_capacity(ticket.claims.rest.len()), now);
        for asked in &ticket.claims.rest {
            // A permit that is dropped unused gives back what it has.
            permit.add(part(asked)?);
        }
        Some(permit)
    }

    fn try_one(&self, scope: &Scope, now: Tick) -> Option<Won> {
        self.make_room(scope);
        loop {
            let cell = match self.scopes.find(scope) {
                Some(cell) => cell,
                None if self.rules(scope).throttles() => self.row_of(scope, Tick::ZERO),
                None => return Some(Won::Plain),
            };
            match cell.try_claim(now) {
                Claim::Won(start) => return Some(Won::Row(cell, start)),
                Claim::Wait => return None,
                Claim::Gone => drop(self.scopes.remove(&cell)),
            }
        }
    }
}
