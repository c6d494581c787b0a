//! HTTP/1.1 by hand: just enough for the shop and its crawler, so that what they do with their
//! connections (when they open, close and leave) is theirs alone and no library's.
//!
//! Must not know about shops or crawls.

use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The first line and the fields of a message.
#[derive(Debug)]
pub struct Head {
    /// Request line or status line, without its line end.
    pub first: String,
    fields: Vec<(String, String)>,
}

/// How a message says where it ends (RFC 9112 §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    Exact(u64),
    Chunked,
    UntilClose,
}

impl Head {
    /// The value of the first field of that name (lower case).
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether the sender closes the connection after this message.
    pub fn closes(&self) -> bool {
        let connection = self.field("connection").unwrap_or_default();
        let says = |word| connection.split(',').any(|one| one.trim().eq_ignore_ascii_case(word));
        says("close") || (self.first.contains("HTTP/1.0") && !says("keep-alive"))
    }

    /// Where the body ends; `None` if the fields make no sense.
    pub fn length(&self) -> Option<Length> {
        if let Some(coding) = self.field("transfer-encoding") {
            return coding.eq_ignore_ascii_case("chunked").then_some(Length::Chunked);
        }
        match self.field("content-length") {
            Some(digits) => digits.parse().ok().map(Length::Exact),
            None => Some(Length::UntilClose),
        }
    }

    fn parse(bytes: &[u8]) -> Option<Head> {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split("\r\n");
        let first = lines.next()?.to_string();
        let fields = lines.filter(|line| !line.is_empty()).map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_string()))
        });
        Some(Head { first, fields: fields.collect::<Option<Vec<_>>>()? })
    }
}

/// Reads up to the end of a head; what came after it stays in `buffer`. `None`: closed before the
/// first byte.
pub async fn read_head<S>(stream: &mut S, buffer: &mut Vec<u8>) -> io::Result<Option<Head>>
where
    S: AsyncRead + Unpin,
{
    loop {
        if let Some(end) = find(buffer, b"\r\n\r\n") {
            let head = Head::parse(&buffer[..end]).ok_or_else(|| bad("not a head"))?;
            buffer.drain(..end + 4);
            return Ok(Some(head));
        }
        if buffer.len() > HEAD_BYTES {
            return Err(bad("head too large"));
        }
        if !more(stream, buffer).await? {
            return match buffer.is_empty() {
                true => Ok(None),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
    }
}

/// Reads a body and forgets it; gives its size in bytes.
pub async fn skip_body<S>(stream: &mut S, buffer: &mut Vec<u8>, length: Length) -> io::Result<u64>
where
    S: AsyncRead + Unpin,
{
    match length {
        Length::Exact(size) => skip(stream, buffer, size).await.map(|()| size),
        Length::Chunked => skip_chunks(stream, buffer).await,
        Length::UntilClose => {
            let mut size = 0;
            loop {
                size += buffer.len() as u64;
                buffer.clear();
                if size > BODY_BYTES {
                    return Err(bad("body too large"));
                }
                if !more(stream, buffer).await? {
                    return Ok(size);
                }
            }
        }
    }
}

async fn skip_chunks<S>(stream: &mut S, buffer: &mut Vec<u8>) -> io::Result<u64>
where
    S: AsyncRead + Unpin,
{
    let mut total = 0;
    loop {
        let line = line(stream, buffer).await?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(digits, 16).map_err(|_| bad("not a chunk size"))?;
        if size == 0 {
            break;
        }
        skip(stream, buffer, size).await?;
        skip(stream, buffer, 2).await?;
        total += size;
        if total > BODY_BYTES {
            return Err(bad("body too large"));
        }
    }
    while !line(stream, buffer).await?.is_empty() {}
    Ok(total)
}

async fn line<S>(stream: &mut S, buffer: &mut Vec<u8>) -> io::Result<String>
where
    S: AsyncRead + Unpin,
{
    loop {
        if let Some(end) = find(buffer, b"\r\n") {
            let line = String::from_utf8_lossy(&buffer[..end]).into_owned();
            buffer.drain(..end + 2);
            return Ok(line);
        }
        if buffer.len() > HEAD_BYTES || !more(stream, buffer).await? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

async fn skip<S>(stream: &mut S, buffer: &mut Vec<u8>, mut size: u64) -> io::Result<()>
where
    S: AsyncRead + Unpin,
{
    if size > BODY_BYTES {
        return Err(bad("body too large"));
    }
    loop {
        let here = size.min(buffer.len() as u64);
        buffer.drain(..here as usize);
        size -= here;
        if size == 0 {
            return Ok(());
        }
        if !more(stream, buffer).await? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Reads once; `false` at the end of the stream. Cancelling it loses nothing.
pub async fn more<S>(stream: &mut S, buffer: &mut Vec<u8>) -> io::Result<bool>
where
    S: AsyncRead + Unpin,
{
    buffer.reserve(READ_BYTES);
    Ok(stream.read_buf(buffer).await? > 0)
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

fn bad(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Larger heads are refused: nobody in the story sends one.
const HEAD_BYTES: usize = 64 * 1024;
/// Larger bodies are refused.
const BODY_BYTES: u64 = 16 * 1024 * 1024;
const READ_BYTES: usize = 4096;
