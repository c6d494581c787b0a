//! The least of an HTTP/1.1 client: a request goes out, an answer with a length comes in.

use crate::Result;
use crate::wire::Stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Sends a request and reads its answer whole.
pub async fn fetch(stream: &mut dyn Stream, request: &str, buffer: &mut Vec<u8>) -> Result<u16> {
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    buffer.clear();
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        more(stream, buffer).await?;
    };
    let head = std::str::from_utf8(&buffer[..end])?.to_ascii_lowercase();
    let length = head.split("content-length:").nth(1).and_then(|rest| rest.lines().next());
    let length: usize = length.ok_or("an answer without Content-Length")?.trim().parse()?;
    let status = head.get(9..12).ok_or("an answer without a status")?.parse()?;
    while buffer.len() < end + length {
        more(stream, buffer).await?;
    }
    Ok(status)
}

async fn more(stream: &mut dyn Stream, buffer: &mut Vec<u8>) -> Result<()> {
    match stream.read_buf(buffer).await? {
        0 => Err("closed before the end of an answer".into()),
        _ => Ok(()),
    }
}
