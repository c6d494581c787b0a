//! The text of an answer's body, whatever coding it travels in.

use crate::judge::robots::MOST_BYTES;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use http::header::{CONTENT_ENCODING, HeaderMap};
use std::borrow::Cow;
use std::io::Read;

/// The text, no more of it than counts; `None` in a coding that isn't read here. What breaks off counts
/// as far as it goes.
pub fn plain<'a>(headers: &HeaderMap, body: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    let coding = headers.get(CONTENT_ENCODING).map_or(&b""[..], |coding| coding.as_bytes());
    match coding.trim_ascii().to_ascii_lowercase().as_slice() {
        b"" | b"identity" => Some(Cow::Borrowed(body)),
        b"gzip" | b"x-gzip" => Some(Cow::Owned(unpacked(MultiGzDecoder::new(body)))),
        b"deflate" => Some(Cow::Owned(unpacked(ZlibDecoder::new(body)))),
        _ => None,
    }
}

fn unpacked(from: impl Read) -> Vec<u8> {
    let mut text = Vec::new();
    // One more, so that who reads it sees that it was cut.
    let most = MOST_BYTES as u64 + 1;
    let _broken = from.take(most).read_to_end(&mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::read::{GzEncoder, ZlibEncoder};

    fn coded(coding: &str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_ENCODING, coding.parse().unwrap())])
    }

    fn packed(mut from: impl Read) -> Vec<u8> {
        let mut all = Vec::new();
        from.read_to_end(&mut all).unwrap();
        all
    }

    #[test]
    fn every_coding_that_is_read_gives_the_text() {
        let text = b"User-agent: *\nCrawl-delay: 2\n".repeat(50);
        let gzip = packed(GzEncoder::new(&text[..], Compression::default()));
        let zlib = packed(ZlibEncoder::new(&text[..], Compression::default()));
        for (headers, body) in [
            (HeaderMap::new(), &text),
            (coded("identity"), &text),
            (coded("gzip"), &gzip),
            (coded(" X-GZIP "), &gzip),
            (coded("deflate"), &zlib),
        ] {
            assert_eq!(plain(&headers, body).as_deref(), Some(&text[..]), "{headers:?}");
        }
        assert_eq!(plain(&coded("br"), &text), None);
        assert_eq!(plain(&coded("gzip, gzip"), &gzip), None);
    }

    #[test]
    fn what_unpacks_to_too_much_or_breaks_off_is_read_as_far_as_it_counts() {
        let bomb =
            packed(GzEncoder::new(std::io::repeat(b'x').take(50 << 20), Compression::best()));
        assert_eq!(plain(&coded("gzip"), &bomb).unwrap().len(), MOST_BYTES + 1);
        assert!(plain(&coded("gzip"), &bomb[..bomb.len() / 100]).is_some());
        assert_eq!(plain(&coded("gzip"), b"junk").as_deref(), Some(&b""[..]));
    }
}
