//! `Via` (RFC 9110 §7.6.3): our line for a message that passes, and whether it passed before.
//!
//! This file must not know when it is asked for.

use http::Version;
use http::header::{HeaderMap, HeaderValue, VIA};

/// What we are called in `Via`: unlike every other proxy's name, also of our kind.
#[derive(Clone, Debug)]
pub struct Pseudonym {
    text: String,
    /// As received by HTTP/1.0, HTTP/1.1 and HTTP/2.
    lines: [HeaderValue; 3],
}

/// What is wrong with the way a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Circle {
    /// It has been here.
    Ours,
    /// It has passed more proxies than anybody puts behind each other.
    Long,
}

impl Pseudonym {
    /// `name`, and a number that is another for each process.
    pub fn new(name: &str, instance: u32) -> Pseudonym {
        let text = format!("{name}-{instance:08x}");
        let line = |version: &str| {
            let line = HeaderValue::try_from(format!("{version} {text}"));
            line.expect("our name is visible ASCII")
        };
        Pseudonym { lines: [line("1.0"), line("1.1"), line("2")], text }
    }

    /// Adds our line to a message that was received by `version`, after those that are there.
    pub fn sign(&self, headers: &mut HeaderMap, version: Version) {
        let line = match version {
            Version::HTTP_2 => &self.lines[2],
            Version::HTTP_10 | Version::HTTP_09 => &self.lines[0],
            _ => &self.lines[1],
        };
        headers.append(VIA, line.clone());
    }

    /// Whether a request goes round in a circle.
    pub fn circle(&self, headers: &HeaderMap) -> Option<Circle> {
        if !headers.contains_key(VIA) {
            return None;
        }
        let mut passed = 0;
        for line in headers.get_all(VIA) {
            let line = String::from_utf8_lossy(line.as_bytes());
            for entry in line.split(',').filter(|entry| !entry.trim().is_empty()) {
                passed += 1;
                let by = entry.split_ascii_whitespace().nth(1).unwrap_or_default();
                if by.eq_ignore_ascii_case(&self.text) {
                    return Some(Circle::Ours);
                }
            }
        }
        (passed > MOST).then_some(Circle::Long)
    }
}

/// http.md A33.
const MOST: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[&str]) -> HeaderMap {
        let values = lines.iter().map(|line| (VIA, HeaderValue::from_str(line).unwrap()));
        values.collect()
    }

    #[track_caller]
    fn check(lines: &[&str], want: Option<Circle>) {
        let ours = Pseudonym::new("pacegate", 0xab);
        assert_eq!(ours.circle(&headers(lines)), want, "{lines:?}");
    }

    #[test]
    fn our_own_line_is_known_among_others_and_so_is_a_way_without_end() {
        check(&[], None);
        check(&["1.1 pacegate, 1.0 pacegate-000000ac (x)"], None);
        check(&["1.0 other", "HTTP/1.1 Pacegate-000000AB (behind)"], Some(Circle::Ours));
        check(&["2 a,1.1 pacegate-000000ab,1.1 b"], Some(Circle::Ours));
        check(&["1.1 a, ".repeat(20).as_str()], None);
        check(&["1.1 a, ".repeat(21).as_str()], Some(Circle::Long));
        check(&[",, ,\t", "pacegate-000000ab"], None);
    }

    #[test]
    fn our_line_comes_last_with_the_version_it_was_received_by() {
        let ours = Pseudonym::new("pacegate", 0xab);
        let mut headers = headers(&["1.1 cdn"]);
        for version in [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2] {
            ours.sign(&mut headers, version);
        }
        let lines: Vec<_> = headers.get_all(VIA).iter().collect();
        let ours = ["1.0", "1.1", "2"].map(|version| format!("{version} pacegate-000000ab"));
        assert_eq!(lines, ["1.1 cdn", &ours[0], &ours[1], &ours[2]]);
    }
}
