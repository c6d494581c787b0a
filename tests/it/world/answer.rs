//! What an origin does with one request: the bytes it sends, when, and how it ends.

use std::time::Duration;

/// One scripted answer. Built from a whole response, then bent: late, in drips, cut short.
#[derive(Clone, Debug)]
pub struct Answer {
    head: Vec<u8>,
    body: Vec<u8>,
    interim: Vec<u8>,
    after: Duration,
    before_body: Duration,
    drip: Option<(usize, Duration)>,
    early: bool,
    then: Then,
}

/// What happens to the connection once the answer's bytes are out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The next request may come.
    Keep,
    /// A FIN.
    Close,
    /// A reset.
    Reset,
    /// Nothing, until the peer leaves.
    Hang,
    /// Every byte comes back, until the peer finishes (an upgraded connection).
    Echo,
}

impl Answer {
    /// A response of this status with an empty body of known length.
    pub fn status(code: u16) -> Answer {
        Answer::raw(&format!("HTTP/1.1 {code} Scripted\r\n")).body("")
    }

    /// A 200 with this page.
    pub fn page(body: impl AsRef<[u8]>) -> Answer {
        Answer::status(200).header("Content-Type", "text/plain").body(body)
    }

    /// Exactly these bytes. They may end inside the head: then [`Answer::header`] and
    /// [`Answer::body`] go on from there.
    pub fn raw(bytes: &(impl AsRef<[u8]> + ?Sized)) -> Answer {
        Answer {
            head: bytes.as_ref().to_vec(),
            body: Vec::new(),
            interim: Vec::new(),
            after: Duration::ZERO,
            before_body: Duration::ZERO,
            drip: None,
            early: false,
            then: Then::Keep,
        }
    }

    /// No byte at all: the connection is closed, reset, or left hanging.
    pub fn nothing(then: Then) -> Answer {
        Answer::raw("").then(then)
    }

    /// One more header line, spelt as given.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Answer {
        let line = format!("{name}: {value}\r\n");
        let end = self.end_of_fields();
        self.head.splice(end..end, line.into_bytes());
        self
    }

    /// The body, with a Content-Length, in place of any before.
    #[must_use]
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Answer {
        self.body = body.as_ref().to_vec();
        let mut lines: Vec<&[u8]> = self.head.split_inclusive(|byte| *byte == b'\n').collect();
        lines.retain(|line| *line != b"\r\n" && !line.starts_with(b"Content-Length: "));
        let mut head = lines.concat();
        head.extend_from_slice(format!("Content-Length: {}\r\n\r\n", self.body.len()).as_bytes());
        self.head = head;
        self
    }

    /// The body in chunks of this size, with `Transfer-Encoding: chunked`.
    #[must_use]
    pub fn chunked(mut self, body: impl AsRef<[u8]>, size: usize) -> Answer {
        self = self.body("").without_length().header("Transfer-Encoding", "chunked");
        for piece in body.as_ref().chunks(size) {
            self.body.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            self.body.extend_from_slice(piece);
            self.body.extend_from_slice(b"\r\n");
        }
        self.body.extend_from_slice(b"0\r\n\r\n");
        self
    }

    /// The body without a length: its end is the connection's.
    #[must_use]
    pub fn until_close(self, body: impl AsRef<[u8]>) -> Answer {
        self.body(body).without_length().then(Then::Close)
    }

    /// Bytes sent before the head and after the request's head (`103`, `100`), at once.
    #[must_use]
    pub fn interim(mut self, bytes: impl AsRef<[u8]>) -> Answer {
        self.interim.extend_from_slice(bytes.as_ref());
        self
    }

    /// The head goes out so long after the request is there.
    #[must_use]
    pub fn after(mut self, span: Duration) -> Answer {
        self.after = span;
        self
    }

    /// The body begins so long after the head.
    #[must_use]
    pub fn body_after(mut self, span: Duration) -> Answer {
        self.before_body = span;
        self
    }

    /// The body goes out in pieces of `size` bytes with a pause before each but the first.
    #[must_use]
    pub fn drip(mut self, size: usize, pause: Duration) -> Answer {
        self.drip = Some((size, pause));
        self
    }

    /// Only so many bytes of the body are sent, then `then` happens. The head promises all.
    #[must_use]
    pub fn cut(mut self, bytes: usize, then: Then) -> Answer {
        self.body.truncate(bytes);
        self.then(then)
    }

    /// Answers without reading the request's body.
    #[must_use]
    pub fn early(mut self) -> Answer {
        self.early = true;
        self
    }

    /// What happens to the connection afterwards.
    #[must_use]
    pub fn then(mut self, then: Then) -> Answer {
        self.then = then;
        self
    }

    /// Whether the request's body is left unread.
    pub fn is_early(&self) -> bool {
        self.early
    }

    /// What goes out before anything else.
    pub fn interim_bytes(&self) -> &[u8] {
        &self.interim
    }

    /// How it ends.
    pub fn ending(&self) -> Then {
        self.then
    }

    /// What to write, each piece after its pause; without the body if `bodiless` (HEAD).
    pub fn pieces(&self, bodiless: bool) -> Vec<(Duration, &[u8])> {
        let mut pieces = vec![(self.after, self.head.as_slice())];
        if bodiless || self.body.is_empty() {
            return pieces;
        }
        let (size, pause) = self.drip.unwrap_or((self.body.len(), Duration::ZERO));
        for (place, piece) in self.body.chunks(size).enumerate() {
            pieces.push((if place == 0 { self.before_body } else { pause }, piece));
        }
        pieces
    }

    fn without_length(mut self) -> Answer {
        let mut lines: Vec<&[u8]> = self.head.split_inclusive(|byte| *byte == b'\n').collect();
        lines.retain(|line| !line.starts_with(b"Content-Length: "));
        self.head = lines.concat();
        self
    }

    fn end_of_fields(&self) -> usize {
        let closed = self.head.ends_with(b"\r\n\r\n");
        if closed { self.head.len() - 2 } else { self.head.len() }
    }
}
