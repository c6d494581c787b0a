//! The last words of `pacegate run`: what came back, what was waited for, who was slowest.

use crate::metrics::labels::Reason;
use crate::metrics::total::{Slowest, Totals};
use std::time::Duration;

/// One to three lines for stderr, the last one ended too.
pub fn summary(totals: &Totals) -> String {
    let requests = if totals.requests == 1 { "request" } else { "requests" };
    let mut text = format!(
        "pacegate: {} {requests}, {} answered by the origin, {} given up",
        grouped(totals.requests),
        grouped(totals.answered),
        grouped(totals.given_up)
    );
    let tunnels =
        if totals.tunnels == 1 { "tunnel copied unread" } else { "tunnels copied unread" };
    let more = [
        (totals.refused, "refused"),
        (totals.left, "left by their client"),
        (totals.tunnels, tunnels),
    ];
    for (number, what) in more.into_iter().filter(|(number, _)| *number > 0) {
        text.push_str(&format!(", {} {what}", grouped(number)));
    }
    text.push('\n');
    let waited: Duration = totals.waits.iter().map(|(_, wait)| *wait).sum();
    if waited < SHOWN && totals.repeated == 0 {
        return text;
    }
    text.push_str(&waiting(totals, waited));
    if let Some(slowest) = &totals.slowest {
        text.push_str(&line(slowest));
    }
    text
}

fn waiting(totals: &Totals, waited: Duration) -> String {
    let mut parts: Vec<_> = totals.waits.iter().filter(|(_, wait)| *wait >= SHOWN).collect();
    parts.sort_by_key(|(_, wait)| std::cmp::Reverse(*wait));
    let part = |(reason, wait): &&(Reason, Duration)| format!("{} {}", reason.word(), span(*wait));
    let parts = parts.iter().map(part).collect::<Vec<_>>().join(", ");
    let parts = if parts.is_empty() { parts } else { format!(" ({parts})") };
    let attempts = if totals.repeated == 1 { "attempt" } else { "attempts" };
    format!(
        "{INDENT}waited {} in all{parts}; {} {attempts} repeated\n",
        span(waited),
        grouped(totals.repeated)
    )
}

fn line(slowest: &Slowest) -> String {
    let cause = slowest.cause.as_ref();
    let cause = cause.map_or(String::new(), |(class, times)| {
        format!("{} × {}, ", grouped(*times), class.word())
    });
    format!(
        "{INDENT}slowest host {}: rung {} of {}, {cause}longest wait {}\n",
        slowest.host,
        slowest.rung,
        slowest.top,
        span(slowest.longest_wait)
    )
}

/// Three digits a group, as ISO 80000 has it: 1 204.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Tenths of a second under a minute, then whole seconds: 15.2 s, 6m12s, 1h02m.
fn span(span: Duration) -> String {
    let tenths = (span.as_millis() + 50) / 100;
    let seconds = span.as_secs();
    match seconds {
        0..60 if tenths < 600 => format!("{}.{} s", tenths / 10, tenths % 10),
        0..3600 => format!("{}m{:02}s", seconds.max(60) / 60, seconds.max(60) % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

const INDENT: &str = "         ";
/// Less waiting than this is no news.
const SHOWN: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::verdict::Class;

    #[test]
    fn a_run_that_waited_says_for_what_and_for_whom() {
        let totals = Totals {
            requests: 1204,
            answered: 1204,
            repeated: 41,
            waits: vec![
                (Reason::Pause, Duration::from_secs(32)),
                (Reason::Pace, Duration::from_secs(340)),
            ],
            slowest: Some(Slowest {
                host: "shop.example".to_owned(),
                rung: 3,
                top: 5,
                cause: Some((Class::RateLimited, 29)),
                longest_wait: Duration::from_millis(15_200),
            }),
            ..Totals::default()
        };
        let want = "pacegate: 1 204 requests, 1 204 answered by the origin, 0 given up\n         \
                    waited 6m12s in all (pace 5m40s, pause 32.0 s); 41 attempts repeated\n         \
                    slowest host shop.example: rung 3 of 5, 29 × rate_limited, longest wait 15.2 s\n";
        assert_eq!(summary(&totals), want);
    }

    #[test]
    fn a_run_that_never_waited_takes_one_line() {
        let totals = Totals { requests: 1, left: 1, tunnels: 2, ..Totals::default() };
        let want = "pacegate: 1 request, 0 answered by the origin, 0 given up, \
                    1 left by their client, 2 tunnels copied unread\n";
        assert_eq!(summary(&totals), want);
    }

    #[test]
    fn spans_read_naturally_at_every_size() {
        let check = |millis, want: &str| assert_eq!(span(Duration::from_millis(millis)), want);
        check(0, "0.0 s");
        check(59_949, "59.9 s");
        check(59_960, "1m00s");
        check(3_599_999, "59m59s");
        check(3_720_000, "1h02m");
        assert_eq!((grouped(999), grouped(1_234_567)), ("999".into(), "1 234 567".into()));
    }
}
