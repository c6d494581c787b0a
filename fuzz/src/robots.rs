//! The delays that a robots.txt asks for.
//!
//! Input: a line with the `User-Agent`; the robots.txt.

use pacegate::judge::robots::{Delays, MOST_BYTES};
use std::time::Duration;

pub fn body(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == b'\n');
    let (agent, text) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let delays = Delays::read(text);
    let delay = delays.of(agent);
    assert!(delay.is_none() || !delays.is_none());
    assert_eq!(delay, delays.of(&agent.to_ascii_uppercase()), "case counts");
    if text.len() * 2 < MOST_BYTES {
        let crlf: Vec<u8> =
            text.split(|byte| *byte == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..]);
        assert_eq!(Delays::read(&crlf), delays, "the ends of lines count");
        let slow = [text, b"\n\nUser-agent: *\nDisallow: /\nCrawl-delay: 86400\n"].concat();
        let day = Duration::from_secs(86_400);
        let nobody = Delays::read(&slow).of(b"");
        assert!(nobody >= Some(day), "nobody's delay is {nobody:?}");
    }
}
