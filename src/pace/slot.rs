//! A scope's state packed in one word: encode, decode, nothing else.
//!
//! The word holds what every claim needs; what only lessons and lines need is in
//! [`Memory`](crate::pace::memory::Memory). This room must not know what the fields are good for.
//!
//! | bits | what |
//! |---|---|
//! | 63 | dead: the row was removed, look again |
//! | 62 | guarded: somebody waits or something unusual is on, go through the line |
//! | 58–61 | rung |
//! | 42–57 | attempts in flight |
//! | 0–41 | last start, in units of 2^15 ns (33 µs), rounded up; good for 4.4 years of uptime |

use crate::clock::Tick;

/// What every claim of a scope needs to see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// When the last attempt started; a multiple of [`Slot::UNIT`]. [`Tick::ZERO`] for none yet.
    pub last_start: Tick,
    pub rung: u8,
    /// Attempts that have a permit and have not ended.
    pub in_flight: u16,
    /// Newcomers go through the line's lock.
    pub guarded: bool,
    /// The row was removed; whoever still holds it looks again.
    pub dead: bool,
}

impl Slot {
    /// The resolution of a start, in nanoseconds.
    pub const UNIT: u64 = 1 << UNIT_BITS;
    /// So many attempts fit; a claim beyond is held.
    pub const MOST_IN_FLIGHT: u16 = u16::MAX;
    /// The highest rung that fits.
    pub const TOP: u8 = (1 << RUNG_BITS) - 1;

    /// The word. A start is rounded up (never early) and stops at the largest that fits.
    pub const fn encode(self) -> u64 {
        let units = self.last_start.nanos().div_ceil(Slot::UNIT);
        let units = if units > START_MASK { START_MASK } else { units };
        let rung = if self.rung > Slot::TOP { Slot::TOP } else { self.rung };
        units
            | (self.in_flight as u64) << FLIGHT_SHIFT
            | (rung as u64) << RUNG_SHIFT
            | (self.guarded as u64) << GUARDED_SHIFT
            | (self.dead as u64) << DEAD_SHIFT
    }

    /// The state a word stands for. Every word stands for one.
    pub const fn decode(word: u64) -> Slot {
        Slot {
            last_start: Tick::from_nanos((word & START_MASK) << UNIT_BITS),
            in_flight: (word >> FLIGHT_SHIFT) as u16,
            rung: ((word >> RUNG_SHIFT) as u8) & Slot::TOP,
            guarded: word >> GUARDED_SHIFT & 1 == 1,
            dead: word >> DEAD_SHIFT & 1 == 1,
        }
    }

    /// The state after an attempt started at `now`. A clock that went back changes nothing.
    pub fn started(self, now: Tick) -> Slot {
        let stamp = Slot::stamp(now).max(self.last_start);
        Slot { last_start: stamp, in_flight: self.in_flight.saturating_add(1), ..self }
    }

    /// A start as the word keeps it.
    pub const fn stamp(now: Tick) -> Tick {
        let units = now.nanos().div_ceil(Slot::UNIT);
        let units = if units > START_MASK { START_MASK } else { units };
        Tick::from_nanos(units << UNIT_BITS)
    }
}

const UNIT_BITS: u32 = 15;
const START_BITS: u32 = 42;
const RUNG_BITS: u32 = 4;
const FLIGHT_SHIFT: u32 = START_BITS;
const RUNG_SHIFT: u32 = FLIGHT_SHIFT + 16;
const GUARDED_SHIFT: u32 = RUNG_SHIFT + RUNG_BITS;
const DEAD_SHIFT: u32 = GUARDED_SHIFT + 1;
const START_MASK: u64 = (1 << START_BITS) - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_word_survives_decoding_and_encoding(word: u64) {
            prop_assert_eq!(Slot::decode(word).encode(), word);
        }

        #[test]
        fn a_start_is_packed_late_by_less_than_a_unit_and_never_early(nanos in 0..1u64 << 56) {
            let slot = Slot { last_start: Tick::from_nanos(nanos), ..Slot::default() };
            let kept = Slot::decode(slot.encode()).last_start;
            prop_assert!(kept >= slot.last_start);
            prop_assert!(kept.nanos() - nanos < Slot::UNIT);
            prop_assert_eq!(kept, Slot::stamp(slot.last_start));
        }

        #[test]
        fn no_field_spills_into_another(nanos: u64, rung: u8, in_flight: u16, guarded: bool) {
            let last_start = Tick::from_nanos(nanos);
            let slot = Slot { last_start, rung, in_flight, guarded, dead: false };
            let kept = Slot::decode(slot.encode());
            prop_assert_eq!(kept.in_flight, in_flight);
            prop_assert_eq!(kept.rung, rung.min(Slot::TOP));
            prop_assert_eq!((kept.guarded, kept.dead), (guarded, false));
        }

        #[test]
        fn a_start_never_moves_back(word: u64, nanos: u64) {
            let before = Slot::decode(word);
            prop_assert!(before.started(Tick::from_nanos(nanos)).last_start >= before.last_start);
        }
    }
}
