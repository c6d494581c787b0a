//! What marks an answer as something else than its status says: a challenge to browsers, a limit that
//! comes as a 403.

use crate::judge::hints::{Manner, older, rate_limit};
use crate::judge::outcome::Answer;

/// Whether a challenge stands in for the page: waiting doesn't help against it.
pub fn is_challenge(answer: &Answer<'_>) -> bool {
    let marks = answer.headers.get_all("cf-mitigated").iter();
    marks.map(|mark| mark.as_bytes().trim_ascii()).any(|mark| mark.eq_ignore_ascii_case(CHALLENGE))
}

/// Whether a 403 is a limit: no quota is left, or its text says so. `text` is the body as far as it is
/// there.
pub fn is_limit(answer: &Answer<'_>, text: &[u8], manner: &Manner<'_>) -> bool {
    rate_limit::is_used_up(answer) || older::is_used_up(answer, manner) || speaks_of_limits(text)
}

fn speaks_of_limits(text: &[u8]) -> bool {
    let text = text[..text.len().min(READ)].to_ascii_lowercase();
    WORDS.iter().any(|words| text.windows(words.len()).any(|part| part == *words))
}

/// Cloudflare's.
const CHALLENGE: &[u8] = b"challenge";
/// GitHub's primary and secondary limits, Google's (`rateLimitExceeded`), RFC 6585's reason.
const WORDS: [&[u8]; 4] = [b"rate limit", b"ratelimit", b"rate-limit", b"too many requests"];
/// Messages of APIs are short, and the longer ones say it first.
const READ: usize = 4096;
