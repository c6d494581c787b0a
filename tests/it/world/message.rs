//! Reading HTTP/1.1 messages off a socket, byte for byte, for both ends of a test. Lenient where the
//! proxy is under test, so that its mistakes are seen and not hidden by a parser's refusal.

use std::io::{self, Read};

/// Reads up to the empty line; `None` at an end before the first byte. Bytes past it stay `unread`.
pub fn read_head(wire: &mut impl Read, unread: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    loop {
        if let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = unread.split_off(end + 4);
            return Ok(Some(std::mem::replace(unread, rest)));
        }
        if !fill(wire, unread)? {
            let torn = io::Error::from(io::ErrorKind::UnexpectedEof);
            return if unread.is_empty() { Ok(None) } else { Err(torn) };
        }
    }
}

/// Reads the body that a head announces: by length, in chunks, or none.
pub fn read_body(wire: &mut impl Read, unread: &mut Vec<u8>, head: &[u8]) -> io::Result<Vec<u8>> {
    let fields = fields(head);
    let value = |name: &str| {
        fields.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    };
    if value("transfer-encoding").is_some_and(|v| v.eq_ignore_ascii_case("chunked")) {
        return read_chunks(wire, unread);
    }
    let length = value("content-length").and_then(|v| v.parse().ok()).unwrap_or(0);
    read_exactly(wire, unread, length)
}

/// Takes `length` bytes.
pub fn read_exactly(
    wire: &mut impl Read,
    unread: &mut Vec<u8>,
    length: usize,
) -> io::Result<Vec<u8>> {
    while unread.len() < length {
        if !fill(wire, unread)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let rest = unread.split_off(length);
    Ok(std::mem::replace(unread, rest))
}

fn read_chunks(wire: &mut impl Read, unread: &mut Vec<u8>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(wire, unread)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(digits, 16)
            .map_err(|_| io::Error::other(format!("chunk size {digits:?}")))?;
        if size == 0 {
            while !read_line(wire, unread)?.is_empty() {} // trailers
            return Ok(body);
        }
        body.append(&mut read_exactly(wire, unread, size)?);
        read_line(wire, unread)?;
    }
}

fn read_line(wire: &mut impl Read, unread: &mut Vec<u8>) -> io::Result<String> {
    loop {
        if let Some(end) = unread.windows(2).position(|two| two == b"\r\n") {
            let rest = unread.split_off(end + 2);
            let line = std::mem::replace(unread, rest);
            return Ok(latin1(&line[..end]));
        }
        if !fill(wire, unread)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn fill(wire: &mut impl Read, unread: &mut Vec<u8>) -> io::Result<bool> {
    let mut buffer = [0; 16 * 1024];
    let count = wire.read(&mut buffer)?;
    unread.extend_from_slice(&buffer[..count]);
    Ok(count > 0)
}

/// The fields of a head, in order, names as spelt.
pub fn fields(head: &[u8]) -> Vec<(String, String)> {
    let text = latin1(head);
    let lines = text.split("\r\n").skip(1).take_while(|line| !line.is_empty());
    let pair = |line: &str| {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        (name.to_owned(), value.trim().to_owned())
    };
    lines.map(pair).collect()
}

/// Bytes as text, one character each.
pub fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}
