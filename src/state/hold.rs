//! A request that waits for its claim: a future that ends with a permit, or with why not.
//!
//! Dropped, it leaves the line; a start it was just handed passes on.

use crate::clock::Tick;
use crate::pace::decide::Reason;
use crate::pace::scope::{Client, Scope};
use crate::state::cell::Cell;
use crate::state::gate::Gate;
use crate::state::ledger::Waits;
use crate::state::permit::Permit;
use crate::state::ticket::Refusal;
use crate::state::visit::Look;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A request that waits. It owns nothing but its place.
#[derive(Debug)]
#[must_use = "dropped, it leaves the line"]
pub struct Hold {
    state: State,
    waited: Waits,
}

#[derive(Debug)]
enum State {
    Ready(Result<Permit, Refusal>),
    Waiting(Seat),
    Over,
}

/// A place in a cell's hall, and in the count of held requests.
#[derive(Debug)]
pub(crate) struct Seat {
    pub gate: Arc<Gate>,
    pub cell: Arc<Cell>,
    pub scope: Scope,
    pub client: Client,
    pub who: usize,
    pub since: Tick,
}

impl Hold {
    pub(crate) fn ready(result: Result<Permit, Refusal>) -> Hold {
        Hold { state: State::Ready(result), waited: Waits::default() }
    }

    pub(crate) fn waiting(seat: Seat) -> Hold {
        Hold { state: State::Waiting(seat), waited: Waits::default() }
    }

    /// Whether it waits, or did until now: `false` means that the first poll ends it without a wait.
    pub fn waits(&self) -> bool {
        matches!(self.state, State::Waiting(_))
    }

    /// What it has waited, once it is over.
    pub fn waited(&self) -> Waits {
        self.waited
    }

    /// Leaves the line, if it still waits; what it has waited.
    pub fn leave(&mut self) -> Waits {
        if let State::Waiting(seat) = std::mem::replace(&mut self.state, State::Over) {
            self.waited = seat.gate.leave(&seat);
        }
        self.waited
    }

    /// Since when it waits.
    pub fn since(&self) -> Option<Tick> {
        self.seat().map(|seat| seat.since)
    }

    /// The request's window has ended and it was never sent (`window_close: send`): it moves to the
    /// closing line, which skips the ladder only. Such starts are 2 s apart per scope; what is
    /// unsent 60 s later is refused with [`Refusal::WindowClosed`].
    pub fn close(&mut self) {
        if let Some(seat) = self.seat() {
            seat.gate.visit(&seat.cell, |house| house.close(seat.who));
        }
    }

    /// What it waits for now.
    pub fn reason(&self) -> Option<Reason> {
        let seat = self.seat()?;
        let now = seat.gate.clock().now();
        Some(seat.cell.look(|hall, _| hall.reason(&seat.cell, seat.who, now)))
    }

    /// The pace of its scope now.
    pub fn pace(&self) -> Duration {
        let pace = |seat: &Seat| seat.cell.look(|hall, slot| hall.pace(slot));
        self.seat().map_or(Duration::ZERO, pace)
    }

    /// The rung of its scope now.
    pub fn rung(&self) -> u8 {
        self.seat().map_or(0, |seat| seat.cell.slot().rung)
    }

    fn seat(&self) -> Option<&Seat> {
        match &self.state {
            State::Waiting(seat) => Some(seat),
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
            State::Over => panic!("a hold is not polled after its end"),
        };
        let now = seat.gate.clock().now();
        match seat.gate.look(&seat, context.waker(), now) {
            Look::Wait => {
                self.state = State::Waiting(seat);
                Poll::Pending
            }
            Look::Refused { why, waited } => {
                self.waited = waited;
                Poll::Ready(Err(why))
            }
            Look::Go { start, waited, .. } => {
                self.waited = waited;
                Poll::Ready(Ok(Permit::won(seat.gate, seat.cell, seat.scope, start)))
            }
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.leave();
    }
}
