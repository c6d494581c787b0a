//! The seats of those who had to go and come back: whoever asks for the same again soon enough has
//! the place among its own requests that it would have, had it waited.
//!
//! Time is an argument; who asks for what is a key.

use crate::clock::Tick;
use crate::policy::recent::Recent;

/// Seats that are kept.
#[derive(Debug)]
pub struct Seats(Recent<Seat>);

#[derive(Clone, Copy, Debug)]
struct Seat {
    accepted: Tick,
    until: Tick,
}

impl Default for Seats {
    fn default() -> Seats {
        Seats(Recent::new(MOST))
    }
}

impl Seats {
    /// Keeps the seat of a request that was accepted then.
    pub fn keep(&mut self, request: u64, accepted: Tick, until: Tick) {
        self.0.put(request, Seat { accepted, until });
    }

    /// When the request was accepted that this one is again. A seat is for one.
    pub fn take(&mut self, request: u64, now: Tick) -> Option<Tick> {
        self.0.take(request).filter(|seat| now <= seat.until).map(|seat| seat.accepted)
    }
}

const MOST: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(seconds: u64) -> Tick {
        Tick::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn a_seat_is_kept_for_a_while_and_for_one() {
        let mut seats = Seats::default();
        seats.keep(1, at(3), at(10));
        assert_eq!((seats.take(2, at(4)), seats.take(1, at(10))), (None, Some(at(3))));
        assert_eq!(seats.take(1, at(10)), None);
        seats.keep(1, at(3), at(10));
        assert_eq!(seats.take(1, at(11)), None);
    }
}
