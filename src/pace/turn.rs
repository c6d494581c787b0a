//! How often it is somebody's turn in a line: a client's weight among clients, a request's urgency
//! within its client's own.

/// How often. Copied into every waiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    pub weight: Weight,
    pub urgency: Urgency,
}

/// How many turns a client has in a round, 1 to [`Weight::MOST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(u8);

/// RFC 9218 §4.1: 0 is the most urgent, 7 the least. Each step has half the turns of the one above:
/// whoever isn't urgent waits longer, and not for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Urgency(u8);

impl Weight {
    /// More would let one client have a line to itself for minutes.
    pub const MOST: u8 = 100;

    /// A weight, if it is one.
    pub fn new(weight: u8) -> Option<Weight> {
        (1..=Weight::MOST).contains(&weight).then_some(Weight(weight))
    }

    /// The number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for Weight {
    fn default() -> Weight {
        Weight(1)
    }
}

impl Urgency {
    /// An urgency, if it is one.
    pub fn new(urgency: u8) -> Option<Urgency> {
        (urgency <= 7).then_some(Urgency(urgency))
    }

    /// The number.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// How far apart its turns are.
    pub(crate) const fn stride(self) -> u64 {
        1 << self.0
    }
}

impl Default for Urgency {
    fn default() -> Urgency {
        Urgency(3)
    }
}
