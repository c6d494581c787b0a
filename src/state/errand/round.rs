//! Once round the scopes of a request: what is won, what is given back, and what a keeper keeps.
//!
//! This file must not know where the request waits before and after.

use crate::clock::Tick;
use crate::state::errand::{Berth, Errand, Stage, Step, Won};
use crate::state::permit::{Part, Permit};
use crate::state::ticket::{Refusal, Ticket};
use crate::state::visit::{Bounds, Joined};
use crate::state::waiter::Terms;

/// What trying one scope came to.
enum Tried {
    Won(Won),
    /// It waits there, before the line if so said.
    Held(Berth, bool),
    Refused(Refusal),
}

impl Errand {
    /// Tries what is not won yet; waits where it is refused.
    pub(super) fn go_round(&mut self, now: Tick) -> Step {
        if self.moves >= PATIENCE && self.closing.is_none() {
            self.start_keeping();
        }
        for claim in 0..self.ticket.claims.len() {
            if self.won.iter().any(|won| won.claim == claim) {
                continue;
            }
            match self.attempt(claim) {
                Tried::Won(won) => self.won.push(won),
                Tried::Held(berth, ahead) => {
                    self.moves += 1;
                    self.stage = Stage::Waiting(berth);
                    self.settle_down(ahead);
                    return Step::On;
                }
                Tried::Refused(refusal) => return Step::End(Err(refusal)),
            }
        }
        if !self.still_goes() {
            self.give_back();
            self.stop_keeping();
            self.stage = Stage::Going;
            return Step::On;
        }
        Step::End(Ok(self.permit(now)))
    }

    /// Whether what was kept would be allowed now as well.
    fn still_goes(&self) -> bool {
        self.won.iter().filter(|won| won.kept).all(|won| match &won.start {
            Some((cell, start)) => self.gate.visit(cell, |house| house.still_goes(*start)),
            None => true,
        })
    }

    fn attempt(&self, claim: usize) -> Tried {
        let asked = self.ticket.claims.iter().nth(claim).expect("one of the claims");
        let placed = |won: &Won| won.start.as_ref().is_some_and(|(_, s)| s.place.is_counted());
        let terms = Terms {
            placed: self.won.iter().any(placed),
            only_called: false,
            closing: self.closing,
            keeper: self.keeper,
        };
        let bounds = Bounds { shutting_down: self.gate.shuts_down(), ..self.bounds };
        let ticket = Ticket { not_before: None, ..self.ticket.clone() };
        let free = Tried::Won(Won { claim, start: None, kept: false });
        loop {
            let Some(cell) = self.gate.row_for(&asked.scope, &self.ticket, claim) else {
                return free;
            };
            let has =
                |won: &Won| won.start.as_ref().is_some_and(|(known, _)| known.id() == cell.id());
            if self.won.iter().any(has) {
                return free;
            }
            let (joined, ahead) = self.gate.visit(&cell, |house| {
                let joined = house.join(&ticket, asked.cost, terms, bounds);
                let ahead = matches!(joined, Joined::Held(who) if house.is_ahead(who));
                (joined, ahead)
            });
            return match joined {
                Joined::Started(start) => {
                    Tried::Won(Won { claim, start: Some((cell, start)), kept: false })
                }
                Joined::Held(who) => Tried::Held(Berth { cell, who, claim }, ahead),
                Joined::Refused(refusal) => Tried::Refused(refusal),
                Joined::Gone => {
                    self.gate.scopes.remove(&cell);
                    continue;
                }
            };
        }
    }

    /// It waits in a hall now: nothing is held elsewhere, unless it is the keeper.
    fn settle_down(&mut self, ahead: bool) {
        if self.keeper.is_none() || !ahead {
            self.give_back();
            return self.stop_keeping();
        }
        // What is healthy now may not be later.
        self.won.retain(|won| won.start.is_some());
        for won in self.won.iter_mut().filter(|won| !won.kept) {
            if let Some((cell, _)) = &won.start {
                self.gate.visit(cell, |house| house.keep());
                won.kept = true;
            }
        }
    }

    fn start_keeping(&mut self) {
        let number = self.gate.number();
        let mut lent = Vec::new();
        for asked in self.ticket.claims.iter() {
            let Some(cell) = self.gate.scopes.find(&asked.scope) else { continue };
            if !self.gate.visit(&cell, |house| house.lend(number)) {
                lent.iter().for_each(|cell| self.gate.visit(cell, |house| house.take_back(number)));
                return;
            }
            lent.push(cell);
        }
        self.keeper = Some(number);
    }

    pub(super) fn stop_keeping(&mut self) {
        let Some(number) = self.keeper.take() else { return };
        self.moves = 0;
        for asked in self.ticket.claims.iter() {
            if let Some(cell) = self.gate.scopes.find(&asked.scope) {
                self.gate.visit(&cell, |house| house.take_back(number));
            }
        }
    }

    fn permit(&mut self, now: Tick) -> Permit {
        self.won.sort_unstable_by_key(|won| won.claim);
        let parts = self.won.drain(..).zip(self.ticket.claims.iter()).map(|(won, asked)| {
            let row = won.start.map(|(cell, start)| match won.kept {
                true => {
                    let start = self.gate.visit(&cell, |house| house.use_kept(start));
                    (self.gate.clone(), cell, start)
                }
                false => (self.gate.clone(), cell, start),
            });
            Part::new(asked, row)
        });
        let mut parts = parts;
        let first = parts.next().expect("at least one scope");
        Permit::of(first, parts.collect(), now)
    }

    pub(super) fn give_back(&mut self) {
        for won in self.won.drain(..) {
            match (won.start, won.kept) {
                (Some((cell, start)), true) => {
                    self.gate.visit(&cell, |house| house.drop_kept(start));
                }
                (Some((cell, start)), false) => self.gate.release(&cell, start, false),
                (None, _) => {}
            }
        }
    }
}

/// Moves between its scopes after which a request becomes their keeper. Most need one or two.
const PATIENCE: u32 = 8;
