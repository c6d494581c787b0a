//! What an origin noted down: who came when, with which bytes, and who left early.

use super::message;
use pacegate::clock::Tick;

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// When its head was complete.
    pub at: Tick,
    /// Which connection of this origin it came on, from 0.
    pub connection: usize,
    pub method: String,
    /// The request target, as sent.
    pub target: String,
    /// The head's bytes, request line to empty line.
    pub head: Vec<u8>,
    /// The body, chunks taken apart. Empty if the answer was early.
    pub body: Vec<u8>,
}

impl Arrival {
    /// The first field of this name, in any case; bytes above 127 read as Latin-1.
    pub fn header(&self, name: &str) -> Option<String> {
        self.headers(name).into_iter().next()
    }

    /// All fields of this name, in order.
    pub fn headers(&self, name: &str) -> Vec<String> {
        let named =
            |(found, value): (String, String)| found.eq_ignore_ascii_case(name).then_some(value);
        self.fields().into_iter().filter_map(named).collect()
    }

    /// All fields in order, names spelt as sent.
    pub fn fields(&self) -> Vec<(String, String)> {
        message::fields(&self.head)
    }
}

/// A connection whose peer left while the origin was not done with it.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    pub at: Tick,
    pub connection: usize,
}
