//! `Crawl-delay` in robots.txt: what a site asks of each crawler between two requests (RFC 9309 for the
//! groups; the directive itself is in no standard).
//!
//! Only delays are read here; what may be fetched at all is not.

use crate::judge::hints::moment::number;
use std::time::Duration;

/// The delays of one robots.txt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// By product token, in lower case; `*` is for all that have no group of their own.
    groups: Vec<(String, Option<Duration>)>,
}

impl Delays {
    /// Reads a robots.txt, at most [`MOST_BYTES`] of it.
    pub fn read(text: &[u8]) -> Delays {
        let whole = text.len() <= MOST_BYTES;
        let text = &text[..text.len().min(MOST_BYTES)];
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut reading = Reading::default();
        let mut lines = text.split(|byte| matches!(byte, b'\n' | b'\r')).peekable();
        while let Some(line) = lines.next() {
            // A line that was cut may say something else than it would have.
            if whole || lines.peek().is_some() {
                reading.line(line);
            }
        }
        reading.delays
    }

    /// Whether it asks for nothing.
    pub fn is_none(&self) -> bool {
        self.groups.iter().all(|(_, delay)| delay.is_none())
    }

    /// What is asked of a crawler with this `User-Agent`: by the group with the longest name found in
    /// it, else by that for all.
    pub fn of(&self, agent: &[u8]) -> Option<Duration> {
        let agent = agent[..agent.len().min(LONGEST_AGENT)].to_ascii_lowercase();
        let named = |name: &String| name != ALL && contains(&agent, name.as_bytes());
        let named = self.groups.iter().filter(|(name, _)| named(name));
        let group = named.max_by_key(|(name, _)| name.len());
        let all = || self.groups.iter().find(|(name, _)| name == ALL);
        group.or_else(all).and_then(|(_, delay)| *delay)
    }
}

#[derive(Default)]
struct Reading {
    delays: Delays,
    /// Places of the groups that the lines belong to.
    current: Vec<usize>,
    /// Rules have come: the next `User-agent` begins another group.
    has_rules: bool,
}

impl Reading {
    fn line(&mut self, line: &[u8]) {
        let line = line.split(|byte| *byte == b'#').next().unwrap_or_default();
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
        let (key, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
        if key.eq_ignore_ascii_case(b"user-agent") {
            self.agent(value);
        } else if key.eq_ignore_ascii_case(b"crawl-delay") {
            self.has_rules = true;
            self.delay(value);
        } else if [b"allow".as_slice(), b"disallow"]
            .iter()
            .any(|rule| key.eq_ignore_ascii_case(rule))
        {
            self.has_rules = true;
        }
    }

    fn agent(&mut self, value: &[u8]) {
        if std::mem::take(&mut self.has_rules) {
            self.current.clear();
        }
        // A version behind the name is common, and no part of it.
        let end = value.iter().position(|byte| matches!(byte, b'/' | b' ' | b'\t'));
        let name = &value[..end.unwrap_or(value.len())];
        let known = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        if name.is_empty() || name.len() > LONGEST_NAME || !(name == b"*" || name.iter().all(known))
        {
            return;
        }
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        let groups = &mut self.delays.groups;
        let place = match groups.iter().position(|(known, _)| *known == name) {
            Some(place) => place,
            None if groups.len() == MOST_GROUPS => return,
            None => {
                groups.push((name, None));
                groups.len() - 1
            }
        };
        if !self.current.contains(&place) {
            self.current.push(place);
        }
    }

    /// Of several delays for one crawler the longest counts.
    fn delay(&mut self, value: &[u8]) {
        let seconds = number(value).and_then(|number| Duration::try_from_secs_f64(number).ok());
        for place in &self.current {
            let known = &mut self.delays.groups[*place].1;
            *known = (*known).max(seconds);
        }
    }
}

/// Whether a product token stands in an agent, as a word.
fn contains(agent: &[u8], name: &[u8]) -> bool {
    let part = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    agent.windows(name.len()).enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).and_then(|before| agent.get(before));
        word == name && !part(before) && !part(agent.get(at + name.len()))
    })
}

const ALL: &str = "*";
/// RFC 9309 §2.5: at least so much must be read.
pub const MOST_BYTES: usize = 500 * 1024;
/// The largest robots.txt of the large sites name some two hundred crawlers.
const MOST_GROUPS: usize = 1000;
const LONGEST_NAME: usize = 64;
const LONGEST_AGENT: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, agent: &str, want: Option<f64>) {
        let got = Delays::read(text.as_bytes()).of(agent.as_bytes());
        assert_eq!(got.map(|delay| delay.as_secs_f64()), want, "{agent} by {text:?}");
    }

    // PostHog/posthog#88268: `16.1` was rejected.
    #[test]
    fn decimals_are_kept_and_what_is_no_delay_is_none() {
        let delay = |text| check(&format!("User-agent: *\nCrawl-delay: {text}"), "bot", None);
        for text in
            ["", "soon", "-1", "inf", "nan", "NaN", "Infinity", "1e400", "1e3", "1,5", "0x1"]
        {
            delay(text);
        }
        delay(&"9".repeat(400));
        let delay = |text, want| {
            check(&format!("User-agent: *\nCrawl-delay:{text}\n"), "bot", Some(want));
        };
        delay(" 16.1", 16.1);
        delay("0.2", 0.2);
        delay("0", 0.0);
        delay("\t5 # slowly", 5.0);
        delay("99999999999", 99_999_999_999.0);
    }

    #[test]
    fn the_group_with_the_longest_name_found_in_the_agent_counts() {
        let text = "User-agent: *\nCrawl-delay: 9\n\nUser-Agent: Bot\nUSER-AGENT: other-bot/2.1\n\
                    Disallow: /x\ncrawl-delay: 3\n\nUser-agent: slow-bot\nCrawl-delay: 7\n";
        check(text, "Mozilla/5.0 (compatible; BOT/2.0; +http://x)", Some(3.0));
        check(text, "Other-Bot", Some(3.0));
        check(text, "slow-bot/1 bot", Some(7.0));
        check(text, "robot/1", Some(9.0));
        check(text, "bots", Some(9.0));
        check(text, "", Some(9.0));
    }

    #[test]
    fn a_group_of_its_own_without_a_delay_is_not_that_for_all() {
        let text = "User-agent: *\nCrawl-delay: 9\nUser-agent: fast\nDisallow:\n";
        check(text, "fast/1", None);
        check("User-agent: other\nCrawl-delay: 9\n", "bot", None);
        check("Crawl-delay: 9\nUser-agent: *\nDisallow:\n", "bot", None);
        assert!(Delays::read(b"User-agent: *\nDisallow: /").is_none());
    }

    #[test]
    fn groups_of_one_name_are_one_and_other_lines_end_none() {
        let text = "User-agent: a\nSitemap: http://x/\nUser-agent: b\nHost: x\nCrawl-delay: 2\n\
                    User-agent: a\nCrawl-delay: 4\nCrawl-delay: 1\n";
        check(text, "a", Some(4.0));
        check(text, "b", Some(2.0));
    }

    #[test]
    fn lines_end_in_any_way_and_a_mark_of_order_is_no_letter() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["\u{feff}User-agent : *", "  Crawl-Delay :  3 ", ""].join(end);
            check(&text, "bot", Some(3.0));
        }
    }

    #[test]
    fn no_more_is_read_than_the_bound() {
        let filler = "# filler\n".repeat(MOST_BYTES / 9 + 1);
        let text = format!("User-agent: *\nCrawl-delay: 3\n{filler}Crawl-delay: 9\n");
        check(&text, "bot", Some(3.0));
        // The last line is cut in the middle of its number.
        let start = "User-agent: *\n";
        let line = "Crawl-delay: 12";
        let padding = MOST_BYTES - start.len() - line.len() + 1;
        let text = format!("{start}{}{line}\n", "\n".repeat(padding));
        check(&text, "bot", None);
        let many: String = (0..5000).map(|number| format!("User-agent: b{number}\n")).collect();
        assert_eq!(Delays::read(many.as_bytes()).groups.len(), MOST_GROUPS);
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in ".{0,400}", agent in "[ -~]{0,40}") {
            let _ = Delays::read(text.as_bytes()).of(agent.as_bytes());
        }
    }
}
