//! A response as a raw client read it.

use super::message;
use pacegate::clock::Tick;

/// One final response, with the interim ones that came before it.
#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    /// The head's bytes, status line to empty line.
    pub head: Vec<u8>,
    pub body: Vec<u8>,
    /// Whether the body came to the end that the head promised.
    pub whole: bool,
    /// The status codes of interim responses, in order.
    pub interim: Vec<u16>,
    /// When the first byte of the final head was there, to a read's precision.
    pub head_at: Tick,
    /// When the last byte was.
    pub end_at: Tick,
}

impl Response {
    /// The first field of this name, in any case.
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

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}
