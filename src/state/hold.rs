//! A request that waits for its claim: a future that ends with a permit, or with why not.
//!
//! Dropped, it leaves the line; a start it was just handed passes on.

use crate::clock::Tick;
use crate::pace::claims::Asked;
use crate::pace::decide::Reason;
use crate::pace::scope::Client;
use crate::state::cell::Cell;
use crate::state::errand::Errand;
use crate::state::gate::Gate;
use crate::state::ledger::Waits;
use crate::state::permit::{Part, Permit};
use crate::state::ticket::Refusal;
use crate::state::visit::Look;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A request that waits. It owns nothing but its place (see [`keeping`](crate::state::keeping)).
#[derive(Debug)]
#[must_use = "dropped, it leaves the line"]
pub struct Hold {
    state: State,
    waited: Waits,
}

#[derive(Debug)]
enum State {
    Ready(End),
    Waiting(Seat),
    /// For several scopes.
    OnErrand(Box<Errand>),
    Over,
}

/// How a wait ends.
pub(crate) type End = Result<Permit, Refusal>;

/// A place in a cell's hall, and in the count of held requests.
#[derive(Debug)]
pub(crate) struct Seat {
    pub gate: Arc<Gate>,
    pub cell: Arc<Cell>,
    pub asked: Asked,
    pub client: Client,
    pub who: usize,
    pub since: Tick,
}

impl Hold {
    pub(crate) fn ready(result: End) -> Hold {
        Hold { state: State::Ready(result), waited: Waits::default() }
    }

    pub(crate) fn waiting(seat: Seat) -> Hold {
        Hold { state: State::Waiting(seat), waited: Waits::default() }
    }

    pub(crate) fn on_errand(errand: Errand) -> Hold {
        Hold { state: State::OnErrand(Box::new(errand)), waited: Waits::default() }
    }

    /// Whether it waits, or did until now: `false` means that the first poll ends it without a wait.
    pub fn waits(&self) -> bool {
        matches!(self.state, State::Waiting(_) | State::OnErrand(_))
    }

    /// What it has waited, once it is over.
    pub fn waited(&self) -> Waits {
        self.waited
    }

    /// Leaves the line, if it still waits; what it has waited.
    pub fn leave(&mut self) -> Waits {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Waiting(seat) => self.waited = seat.gate.leave(&seat),
            State::OnErrand(mut errand) => {
                let now = errand.gate.clock().now();
                errand.gate.crowd.leave(errand.ticket().client.origin);
                self.waited = errand.leave(now);
            }
            State::Ready(_) | State::Over => {}
        }
        self.waited
    }

    /// Since when it waits.
    pub fn since(&self) -> Option<Tick> {
        match &self.state {
            State::Waiting(seat) => Some(seat.since),
            State::OnErrand(errand) => Some(errand.since),
            State::Ready(_) | State::Over => None,
        }
    }

    /// The request's window has ended and it was never sent (`window_close: send`): it moves to the
    /// closing line, which skips the ladder only. Such starts are 2 s apart per scope; what is
    /// unsent 60 s later is refused with [`Refusal::WindowClosed`]. To be polled again.
    pub fn close(&mut self) {
        match &mut self.state {
            State::Waiting(seat) => seat.gate.visit(&seat.cell, |house| house.close(seat.who)),
            State::OnErrand(errand) => errand.close(errand.gate.clock().now()),
            State::Ready(_) | State::Over => {}
        }
    }

    /// What it waits for now: with several scopes, in the one that refuses.
    pub fn reason(&self) -> Option<Reason> {
        let (gate, cell, who) = match &self.state {
            State::Waiting(seat) => (&seat.gate, &seat.cell, seat.who),
            State::OnErrand(errand) => match (errand.berth(), errand.lobby()) {
                (Some(berth), _) => (&errand.gate, &berth.cell, berth.who),
                (None, Some(room)) => return Some(errand.gate.lobbies.reason(room)),
                (None, None) => return Some(Reason::Pace),
            },
            State::Ready(_) | State::Over => return None,
        };
        let now = gate.clock().now();
        Some(cell.look(|hall, _| hall.reason(cell, who, now)))
    }

    /// The pace of its scope now.
    pub fn pace(&self) -> Duration {
        self.cell().map_or(Duration::ZERO, |cell| cell.look(|hall, slot| hall.pace(slot)))
    }

    /// The rung of its scope now.
    pub fn rung(&self) -> u8 {
        self.cell().map_or(0, |cell| cell.slot().rung)
    }

    /// The row of the scope it waits in, or of its first.
    fn cell(&self) -> Option<Arc<Cell>> {
        match &self.state {
            State::Waiting(seat) => Some(seat.cell.clone()),
            State::OnErrand(errand) => match errand.berth() {
                Some(berth) => Some(berth.cell.clone()),
                None => errand.gate.scopes.find(&errand.ticket().claims.first.scope),
            },
            State::Ready(_) | State::Over => None,
        }
    }
}

impl Future for Hold {
    type Output = Result<Permit, Refusal>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let seat = match std::mem::replace(&mut self.state, State::Over) {
            State::Ready(result) => return Poll::Ready(result),
            State::Waiting(seat) => seat,
            State::OnErrand(errand) => return self.poll_errand(errand, context.waker()),
            State::Over => panic!("a hold is not polled after its end"),
        };
        let now = seat.gate.clock().now();
        match seat.gate.look(&seat, context.waker(), now) {
            Look::Wait => {
                self.state = State::Waiting(seat);
                Poll::Pending
            }
            Look::Called { .. } => unreachable!("only an errand is called"),
            Look::Refused { why, waited } => {
                self.waited = waited;
                Poll::Ready(Err(why))
            }
            Look::Go { start, waited, .. } => {
                self.waited = waited;
                let part = Part::new(&seat.asked, Some((seat.gate, seat.cell, start)));
                Poll::Ready(Ok(Permit::of(part, Vec::new(), start.at)))
            }
        }
    }
}

impl Hold {
    fn poll_errand(&mut self, mut errand: Box<Errand>, waker: &Waker) -> Poll<End> {
        let now = errand.gate.clock().now();
        let Some(end) = errand.go(now, Some(waker)) else {
            self.state = State::OnErrand(errand);
            return Poll::Pending;
        };
        errand.gate.crowd.leave(errand.ticket().client.origin);
        self.waited = errand.waited();
        if end.is_ok() {
            errand.gate.tally.granted(errand.lateness(now));
        }
        Poll::Ready(end)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.leave();
    }
}
