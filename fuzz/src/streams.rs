//! What a client sends over HTTP/2, as the library gives it: parts of a request → the sanitiser →
//! HTTP/1 bytes.
//!
//! Input: a byte of flags; a line `method scheme authority path`; lines `name: value`; an empty line;
//! the body.

use super::memory::{Moves, drive};
use super::request::refused;
use super::sent::send;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme, Uri};
use http::{Method, Request, Version};
use http_body::{Body, Frame, SizeHint};
use pacegate::net::headers::request::{Shape, forward};
use pacegate::net::headers::target::RequestTarget;
use std::pin::Pin;
use std::task::{Context, Poll};

pub fn body(data: &[u8]) {
    let Some((flags, rest)) = data.split_first() else { return };
    let Some((mut parts, body)) = request(rest) else { return };
    let Some(stream) = Stream::of(*flags, &parts.headers, body) else { return };
    let shape = match (stream.is_end_stream(), stream.size_hint().exact()) {
        (true, _) | (_, Some(0)) => Shape::Empty,
        (false, Some(size)) => Shape::Exact(size),
        (false, None) => Shape::Unknown,
    };
    let (method, uri, headers) = (&parts.method, &parts.uri, &parts.headers);
    let crumbs: Vec<_> =
        headers.get_all("cookie").iter().map(|it| it.as_bytes().to_vec()).collect();
    let target = match RequestTarget::of(method, uri, Version::HTTP_2, headers, None, None) {
        Ok(target) => target,
        Err(refusal) => return refused(&refusal),
    };
    if let Err(refusal) = forward(&mut parts, &target, shape) {
        return refused(&refusal);
    }
    let moves = Moves::default();
    let sent = drive(send(parts, target, stream, &moves), &moves);
    let Some(message) = sent.and_then(|sent| sent.check()) else { return };
    assert!(message.all("cookie").count() <= 1, "cookies in pieces");
    let cookie: Vec<u8> = message.all("cookie").collect::<Vec<_>>().concat();
    assert_eq!(trimmed(&cookie), trimmed(&crumbs.join(&b"; "[..])), "other cookies");
}

/// A line's reader takes the spaces around a value off.
fn trimmed(value: &[u8]) -> &[u8] {
    value.trim_ascii()
}

/// A head as the library makes it of a HEADERS frame: what can't be in one is no input.
fn request(text: &[u8]) -> Option<(Parts, &[u8])> {
    let mut rest = text;
    let first = line(&mut rest)?;
    let words: Vec<_> = first.split(|byte| *byte == b' ').collect();
    let [method, scheme, authority, path] = words[..] else { return None };
    let mut uri = http::uri::Parts::default();
    uri.scheme = Some(Scheme::try_from(scheme).ok()?);
    uri.authority = Some(Authority::try_from(authority).ok()?);
    uri.path_and_query = Some(PathAndQuery::try_from(path).ok()?);
    let mut request = Request::new(());
    *request.method_mut() = Method::from_bytes(method).ok().filter(|it| *it != Method::CONNECT)?;
    *request.uri_mut() = Uri::from_parts(uri).ok()?;
    *request.version_mut() = Version::HTTP_2;
    loop {
        let line = line(&mut rest)?;
        if line.is_empty() {
            return Some((request.into_parts().0, rest));
        }
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        // RFC 9113 §8.2.1, which the library holds.
        if name.iter().any(u8::is_ascii_uppercase) {
            return None;
        }
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let value = HeaderValue::from_bytes(value).ok()?;
        request.headers_mut().append(HeaderName::from_bytes(name).ok()?, value);
    }
}

fn line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let line = &rest[..end];
    *rest = &rest[end + 1..];
    Some(line)
}

/// A body that comes in DATA frames.
struct Stream {
    rest: Bytes,
    step: usize,
    exact: Option<u64>,
    trailers: Option<HeaderMap>,
    ended: bool,
}

impl Stream {
    /// `None`: the library resets a stream whose data is not what its length says.
    fn of(flags: u8, headers: &HeaderMap, body: &[u8]) -> Option<Stream> {
        let lengths: Vec<_> = headers.get_all(CONTENT_LENGTH).iter().collect();
        let number = |value: &HeaderValue| value.to_str().ok()?.parse::<u64>().ok();
        let first = match lengths.first() {
            Some(first) => Some(number(first)?),
            None => None,
        };
        let bare = flags & 1 == 1;
        let body = if bare { &[][..] } else { body };
        if first.is_some_and(|length| length != body.len() as u64) {
            return None;
        }
        let agreed = lengths.iter().all(|line| number(line) == first);
        let mut trailers = HeaderMap::new();
        if flags & 2 == 2 && !bare {
            trailers.append("x-checksum", HeaderValue::from_static("1"));
            trailers.append("content-length", HeaderValue::from_static("7"));
        }
        Some(Stream {
            rest: Bytes::copy_from_slice(body),
            step: usize::from(flags >> 4) * 7 + 1,
            exact: if bare { Some(0) } else { first.filter(|_| agreed) },
            trailers: Some(trailers).filter(|trailers| !trailers.is_empty()),
            ended: bare,
        })
    }
}

impl Body for Stream {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if !self.rest.is_empty() {
            let count = self.step.min(self.rest.len());
            return Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(count)))));
        }
        self.ended = true;
        Poll::Ready(self.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.ended && self.trailers.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match self.exact {
            Some(_) => SizeHint::with_exact(self.rest.len() as u64),
            None => SizeHint::new(),
        }
    }
}
