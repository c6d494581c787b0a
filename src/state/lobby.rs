//! Where requests with the same several scopes wait behind one of them.
//!
//! Only that one, the first, goes from scope to scope and waits in the hall of the one that refuses.
//! Would all of them, then each start that one of the scopes allows and another doesn't would be handed
//! down the whole line. Once the first has won all its scopes, or left, the next one is called.
//! A lobby exists while it has a first.
//!
//! This room must not know what scopes allow.

use crate::clock::Tick;
use crate::pace::claims::Claims;
use crate::pace::decide::Reason;
use crate::pace::line::{Line, Place};
use crate::pace::scope::Scope;
use crate::state::ledger::{Lane, Ledger, Stay, Waits};
use crate::state::ticket::{Bound, Refusal, Ticket};
use crate::state::visit::Bounds;
use crate::sync::{AtomicUsize, Mutex, Ordering, lock};
use slab::Slab;
use std::collections::HashMap;
use std::task::Waker;
use std::time::Duration;

/// All lobbies.
#[derive(Debug)]
pub struct Lobbies {
    /// How many there are.
    count: AtomicUsize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    by_scopes: HashMap<Vec<Scope>, usize>,
    rooms: Slab<Room>,
}

#[derive(Debug)]
struct Room {
    scopes: Vec<Scope>,
    /// The scope it is shown under.
    name: Scope,
    line: Line,
    guests: Slab<Guest>,
    /// What they have waited for.
    ledger: Ledger,
    /// Somebody goes round for its scopes, or has been called to.
    has_first: bool,
    /// The first is to look whether it still may hope, and how to wake it.
    alarm: bool,
    bell: Option<Waker>,
}

#[derive(Debug)]
struct Guest {
    accepted: Tick,
    waker: Option<Waker>,
    stay: Stay,
    standing: Standing,
}

#[derive(Clone, Copy, Debug)]
enum Standing {
    InLine(Place),
    /// It is the first now.
    Called,
    Refused(Refusal),
}

/// What coming in came to.
#[derive(Clone, Copy, Debug)]
pub enum Entered {
    /// It is the first, in this room.
    First(usize),
    /// It waits in this room, under this number.
    Behind(usize, usize),
}

/// What one behind sees.
#[derive(Clone, Copy, Debug)]
pub enum Turn {
    Wait,
    /// It is the first now.
    Come(Waits),
    Refused(Refusal, Waits),
}

/// What waits in one lobby, for a snapshot.
#[derive(Clone, Debug)]
pub struct LobbyView {
    pub name: Scope,
    pub held: usize,
    pub waits: Waits,
    pub oldest: Option<Tick>,
}

impl Lobbies {
    /// No lobby.
    pub fn new() -> Lobbies {
        Lobbies { count: AtomicUsize::new(0), inner: Mutex::new(Inner::default()) }
    }

    /// Whether somebody waits for the same scopes.
    pub fn is_occupied(&self, claims: &Claims) -> bool {
        self.count.load(Ordering::Acquire) > 0 && lock(&self.inner).has_first(&key(claims))
    }

    /// Comes in: as the first, or behind it.
    pub fn enter(&self, ticket: &Ticket, bounds: Bounds, now: Tick) -> Result<Entered, Refusal> {
        let mut inner = lock(&self.inner);
        let key = key(&ticket.claims);
        let place = match inner.by_scopes.get(&key) {
            Some(place) => *place,
            None => {
                let name = ticket.claims.first.scope.clone();
                let place = inner.rooms.insert(Room::new(key.clone(), name));
                inner.by_scopes.insert(key, place);
                self.count.fetch_add(1, Ordering::Release);
                place
            }
        };
        let room = &mut inner.rooms[place];
        if !std::mem::replace(&mut room.has_first, true) {
            return Ok(Entered::First(place));
        }
        room.admits(bounds)?;
        Ok(Entered::Behind(place, room.line_up(ticket, now)))
    }

    /// One behind looks whether it is its turn.
    pub fn look(&self, place: usize, who: usize, waker: &Waker, now: Tick) -> Turn {
        let mut inner = lock(&self.inner);
        let room = &mut inner.rooms[place];
        match room.guests[who].standing {
            Standing::InLine(_) => {
                room.guests[who].waker = Some(waker.clone());
                Turn::Wait
            }
            Standing::Called => Turn::Come(room.remove(who, now)),
            Standing::Refused(why) => {
                let waited = room.remove(who, now);
                self.close_empty(&mut inner, place);
                Turn::Refused(why, waited)
            }
        }
    }

    /// One behind leaves, having waited so much. Whom to wake: it may have been called already.
    #[must_use]
    pub fn leave(&self, place: usize, who: usize, now: Tick) -> (Waits, Option<Waker>) {
        let mut inner = lock(&self.inner);
        let room = &mut inner.rooms[place];
        let standing = room.guests[who].standing;
        if let Standing::InLine(place) = standing {
            room.line.leave(place);
        }
        let waited = room.remove(who, now);
        let next = match standing {
            Standing::Called => self.call_next(&mut inner, place),
            Standing::InLine(_) | Standing::Refused(_) => {
                self.close_empty(&mut inner, place);
                None
            }
        };
        (waited, next)
    }

    /// The first goes. Whom to wake.
    #[must_use]
    pub fn advance(&self, place: usize) -> Option<Waker> {
        self.call_next(&mut lock(&self.inner), place)
    }

    /// The first waits for this, and so do all behind it; how to wake it if it should look about.
    /// False if it should right now.
    pub fn park(&self, place: usize, why: Reason, bell: &Waker, now: Tick) -> bool {
        let room = &mut lock(&self.inner).rooms[place];
        room.ledger.turn(Lane::Line, why, now);
        room.bell = Some(bell.clone());
        !std::mem::take(&mut room.alarm)
    }

    /// A scope has changed so that some who wait for it and others may have to give up. Whom to wake.
    #[must_use]
    pub fn alarm(&self, scope: &Scope) -> Vec<Waker> {
        if self.count.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        let mut inner = lock(&self.inner);
        let rooms = inner.rooms.iter_mut().map(|(_, room)| room);
        let hit = rooms.filter(|room| room.scopes.contains(scope));
        hit.filter_map(|room| {
            room.alarm = true;
            room.bell.take()
        })
        .collect()
    }

    /// Sends away all who wait behind. Whom to wake.
    #[must_use]
    pub fn refuse_all(&self, refusal: Refusal) -> Vec<Waker> {
        let mut inner = lock(&self.inner);
        let rooms = inner.rooms.iter_mut();
        rooms.flat_map(|(_, room)| room.refuse_all(refusal)).collect()
    }

    /// What those behind wait for now.
    pub fn reason(&self, place: usize) -> Reason {
        lock(&self.inner).rooms[place].ledger.reason(Lane::Line)
    }

    /// Who waits behind, by lobby.
    pub fn views(&self, now: Tick) -> Vec<LobbyView> {
        if self.count.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        let inner = lock(&self.inner);
        let some = inner.rooms.iter().filter(|(_, room)| !room.guests.is_empty());
        some.map(|(_, room)| room.view(now)).collect()
    }

    fn call_next(&self, inner: &mut Inner, place: usize) -> Option<Waker> {
        let room = &mut inner.rooms[place];
        (room.bell, room.alarm) = (None, false);
        let next = room.line.take();
        room.has_first = next.is_some();
        let waker = next.and_then(|who| {
            room.guests[who].standing = Standing::Called;
            room.guests[who].waker.take()
        });
        self.close_empty(inner, place);
        waker
    }

    fn close_empty(&self, inner: &mut Inner, place: usize) {
        let room = &inner.rooms[place];
        if !room.has_first && room.guests.is_empty() {
            let room = inner.rooms.remove(place);
            inner.by_scopes.remove(&room.scopes);
            self.count.fetch_sub(1, Ordering::Release);
        }
    }
}

impl Inner {
    fn has_first(&self, key: &[Scope]) -> bool {
        self.by_scopes.get(key).is_some_and(|place| self.rooms[*place].has_first)
    }
}

impl Room {
    fn new(scopes: Vec<Scope>, name: Scope) -> Room {
        Room {
            scopes,
            name,
            line: Line::default(),
            guests: Slab::new(),
            ledger: Ledger::default(),
            has_first: false,
            alarm: false,
            bell: None,
        }
    }

    fn admits(&self, bounds: Bounds) -> Result<(), Refusal> {
        if bounds.shutting_down {
            return Err(Refusal::ShuttingDown);
        }
        let full = match self.line.len() >= bounds.per_scope {
            true => Some(Bound::Scope),
            false => bounds.full,
        };
        match full {
            Some(which) => Err(Refusal::LineFull { which, retry_after: SOON }),
            None => Ok(()),
        }
    }

    fn line_up(&mut self, ticket: &Ticket, now: Tick) -> usize {
        let entry = self.guests.vacant_entry();
        let who = entry.key();
        let place = self.line.join(ticket.entry(), who);
        entry.insert(Guest {
            accepted: ticket.accepted,
            waker: None,
            stay: self.ledger.enter(Lane::Line, now),
            standing: Standing::InLine(place),
        });
        who
    }

    fn remove(&mut self, who: usize, now: Tick) -> Waits {
        let guest = self.guests.remove(who);
        self.ledger.leave(guest.stay, now)
    }

    fn refuse_all(&mut self, refusal: Refusal) -> Vec<Waker> {
        let mut woken = Vec::new();
        while let Some(who) = self.line.take() {
            self.guests[who].standing = Standing::Refused(refusal);
            woken.extend(self.guests[who].waker.take());
        }
        woken
    }

    fn view(&self, now: Tick) -> LobbyView {
        LobbyView {
            name: self.name.clone(),
            held: self.guests.len(),
            waits: self.ledger.total(now),
            oldest: self.guests.iter().map(|(_, guest)| guest.accepted).min(),
        }
    }
}

impl Default for Lobbies {
    fn default() -> Lobbies {
        Lobbies::new()
    }
}

/// The same scopes in any order are the same lobby.
fn key(claims: &Claims) -> Vec<Scope> {
    let mut scopes: Vec<Scope> = claims.iter().map(|asked| asked.scope.clone()).collect();
    scopes.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
    scopes
}

/// No Retry-After below a second.
const SOON: Duration = Duration::from_secs(1);
