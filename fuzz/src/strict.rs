//! A second reader of HTTP/1, written from RFC 9112 alone: as strict as a message can be read, so that
//! whatever it takes means one thing to everybody. What pacegate writes must pass it.

/// One message, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The three parts of the first line: method, target, version; or version, status, reason.
    pub first: [String; 3],
    pub fields: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    pub trailers: Vec<(String, Vec<u8>)>,
    pub framing: Framing,
}

/// What says where the body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is none.
    Nothing,
    Length(usize),
    Chunked,
    /// The connection's end.
    Close,
}

/// How the reading went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A message, and how many bytes it took.
    Whole(Box<Message>, usize),
    /// More bytes must come.
    Partial,
    /// No reader may take it.
    Wrong(String),
}

/// What is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Request,
    /// `bodiless`: to a HEAD.
    Response {
        bodiless: bool,
    },
}

enum Stop {
    Partial,
    Wrong(String),
}

type Step<T> = Result<T, Stop>;

fn wrong<T>(why: impl Into<String>) -> Step<T> {
    Err(Stop::Wrong(why.into()))
}

impl Message {
    /// The values of a field, in their order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> + 'a {
        let named = move |field: &&(String, Vec<u8>)| field.0 == name;
        self.fields.iter().filter(named).map(|(_, value)| &value[..])
    }

    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }
}

/// Reads the first message of some bytes.
pub fn read(bytes: &[u8], kind: Kind) -> Reading {
    let mut rest = bytes;
    match message(&mut rest, kind) {
        Ok(message) => Reading::Whole(Box::new(message), bytes.len() - rest.len()),
        Err(Stop::Partial) => Reading::Partial,
        Err(Stop::Wrong(why)) => Reading::Wrong(why),
    }
}

fn message(rest: &mut &[u8], kind: Kind) -> Step<Message> {
    let first = match kind {
        Kind::Request => request_line(line(rest)?)?,
        Kind::Response { .. } => status_line(line(rest)?)?,
    };
    let fields = fields(rest)?;
    let framing = framing(&first, &fields, kind)?;
    let (body, trailers) = match framing {
        Framing::Nothing => (Vec::new(), Vec::new()),
        Framing::Length(length) => (take(rest, length)?.to_vec(), Vec::new()),
        Framing::Chunked => chunks(rest)?,
        Framing::Close => (std::mem::take(rest).to_vec(), Vec::new()),
    };
    Ok(Message { first, fields, body, trailers, framing })
}

/// A line and its CRLF. A CR or an LF alone is none.
fn line<'a>(rest: &mut &'a [u8]) -> Step<&'a [u8]> {
    let Some(end) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
        return Err(Stop::Partial);
    };
    match rest[end..] {
        [b'\r', b'\n', ..] => {}
        [b'\r'] => return Err(Stop::Partial),
        _ => return wrong("a CR or LF alone"),
    }
    let line = &rest[..end];
    *rest = &rest[end + 2..];
    Ok(line)
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Step<&'a [u8]> {
    let Some((taken, left)) = rest.split_at_checked(count) else { return Err(Stop::Partial) };
    *rest = left;
    Ok(taken)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn request_line(line: &[u8]) -> Step<[String; 3]> {
    let parts: Vec<_> = line.split(|byte| *byte == b' ').collect();
    let [method, target, version] = parts[..] else { return wrong("not three words") };
    if method.is_empty() || !method.iter().all(|byte| is_token(*byte)) {
        return wrong("the method is no token");
    }
    // UTF-8 that nobody has escaped travels as it is (RFC 9110 §7.7).
    if target.is_empty() || !target.iter().all(|byte| matches!(byte, 0x21..=0x7e | 0x80..)) {
        return wrong("the target has other characters");
    }
    if target.contains(&b'#') {
        return wrong("a fragment");
    }
    if !matches!(version, b"HTTP/1.1" | b"HTTP/1.0") {
        return wrong("another version");
    }
    Ok([text(method), text(target), text(version)])
}

fn status_line(line: &[u8]) -> Step<[String; 3]> {
    let mut parts = line.splitn(3, |byte| *byte == b' ');
    let (version, status, reason) = (parts.next(), parts.next(), parts.next());
    let (Some(version), Some(status), Some(reason)) = (version, status, reason) else {
        return wrong("not three parts");
    };
    if !matches!(version, b"HTTP/1.1" | b"HTTP/1.0") {
        return wrong("another version");
    }
    if status.len() != 3 || !status.iter().all(u8::is_ascii_digit) || status[0] == b'0' {
        return wrong("the status is no number");
    }
    if !reason.iter().all(|byte| is_text(*byte)) {
        return wrong("a control byte in the reason");
    }
    Ok([text(version), text(status), text(reason)])
}

fn fields(rest: &mut &[u8]) -> Step<Vec<(String, Vec<u8>)>> {
    let mut fields = Vec::new();
    loop {
        let line = line(rest)?;
        if line.is_empty() {
            return Ok(fields);
        }
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            return wrong("a line without a colon");
        };
        let (name, value) = (&line[..colon], trimmed(&line[colon + 1..]));
        if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) {
            return wrong("a name that is no token");
        }
        if !value.iter().all(|byte| is_text(*byte)) {
            return wrong("a control byte in a value");
        }
        fields.push((text(name).to_ascii_lowercase(), value.to_vec()));
    }
}

fn framing(first: &[String; 3], fields: &[(String, Vec<u8>)], kind: Kind) -> Step<Framing> {
    let all = |wanted: &str| -> Vec<&[u8]> {
        let named = fields.iter().filter(|(name, _)| name == wanted);
        named.map(|(_, value)| &value[..]).collect()
    };
    let (codings, lengths) = (all("transfer-encoding"), all("content-length"));
    let framing = match (&codings[..], &lengths[..]) {
        ([], []) => None,
        ([], [length]) => Some(Framing::Length(number(length, 10)?)),
        ([coding], []) if coding.eq_ignore_ascii_case(b"chunked") => Some(Framing::Chunked),
        (_, _) => return wrong("two framings, or an odd one"),
    };
    // The version stands last in a request, first in an answer, whose reason may be any text.
    let version = match kind {
        Kind::Request => &first[2],
        Kind::Response { .. } => &first[0],
    };
    let old = version == "HTTP/1.0";
    if old && !codings.is_empty() {
        return wrong("a coding in HTTP/1.0");
    }
    Ok(match kind {
        Kind::Request => framing.unwrap_or(Framing::Nothing),
        Kind::Response { bodiless } => {
            let status = first[1].as_str();
            let never = status.starts_with('1') || status == "204";
            if never && framing.is_some() {
                return wrong("a framing where no body can be");
            }
            match bodiless || never || status == "304" {
                true => Framing::Nothing,
                false => framing.unwrap_or(Framing::Close),
            }
        }
    })
}

/// Digits alone, of a number that fits into 64 bits.
fn number(digits: &[u8], radix: u32) -> Step<usize> {
    let good = |byte: &u8| char::from(*byte).is_digit(radix);
    if digits.is_empty() || !digits.iter().all(good) {
        return wrong("not a number");
    }
    match usize::from_str_radix(&text(digits), radix) {
        Ok(number) => Ok(number),
        Err(_) => wrong("not a number"),
    }
}

type Chunks = (Vec<u8>, Vec<(String, Vec<u8>)>);

fn chunks(rest: &mut &[u8]) -> Step<Chunks> {
    let mut body = Vec::new();
    loop {
        let size = number(line(rest)?, 16)?;
        if size == 0 {
            return Ok((body, fields(rest)?));
        }
        body.extend_from_slice(take(rest, size)?);
        match take(rest, 2)? {
            b"\r\n" => {}
            _ => return wrong("a chunk without its end"),
        }
    }
}

/// Without the spaces and tabs around it (RFC 9110 §5.5), and no others.
fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

pub fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | 0x20..=0x7e | 0x80..)
}
