//! What the admin port's JSON says, in words for people.

use serde_json::Value;
use std::fmt::Write;

/// The table of hosts, the slowest first.
pub fn table(hosts: &Value) -> String {
    let Value::Array(hosts) = hosts else { return String::new() };
    if hosts.is_empty() {
        return "no host has a row: nothing is slowed, every request starts at once\n".to_owned();
    }
    let mut rows: Vec<&Value> = hosts.iter().collect();
    let weight = |row: &Value| (row["rung"].as_u64(), row["held"].as_u64());
    rows.sort_by_key(|row| std::cmp::Reverse(weight(row)));
    let mut lines = vec![COLUMNS.map(ToOwned::to_owned)];
    lines.extend(rows.iter().map(|row| cells(row)));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..COLUMNS.len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for line in &lines {
        let padded: Vec<String> =
            line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let _ = writeln!(text, "{}", padded.join("  ").trim_end());
    }
    text
}

fn cells(row: &Value) -> [String; COLUMNS.len()] {
    let or_none = |seconds: &Value| seconds.as_f64().map_or("–".to_owned(), span);
    let pin = if row["pinned"] == true { " pinned" } else { "" };
    [
        plain(row["scope"].as_str().unwrap_or_default()),
        format!("{}{pin}", row["rung"]),
        or_none(&row["pace_seconds"]),
        row["held"].to_string(),
        row["in_flight"].to_string(),
        or_none(&row["oldest_held_seconds"]),
        or_none(&row["next_slot_seconds"]),
        or_none(&row["paused_seconds"]),
        plain(row["cause"].as_str().unwrap_or("–")),
    ]
}

/// One host's row and pace.
pub fn host(value: &Value) -> String {
    let mut text = format!("{}\n", plain(value["scope"].as_str().unwrap_or_default()));
    scope(&value["pace"], &value["row"], &mut text);
    text
}

/// Why a request would wait.
pub fn request(value: &Value) -> String {
    let mut text = format!("{}\n", plain(value["url"].as_str().unwrap_or_default()));
    let rules: Vec<String> = value["rules"]
        .as_array()
        .map(|rules| rules.iter().map(|rule| plain(rule.as_str().unwrap_or_default())).collect())
        .unwrap_or_default();
    let rules = if rules.is_empty() { "none".to_owned() } else { rules.join(", ") };
    line(&mut text, "rules", &rules);
    for one in value["scopes"].as_array().into_iter().flatten() {
        let name = plain(one["scope"].as_str().unwrap_or_default());
        let cost = match one["cost"].as_f64() {
            Some(cost) if cost != 1.0 => format!(" ({cost} a request)"),
            Some(_) | None => String::new(),
        };
        line(&mut text, "scope", &format!("{name}{cost}"));
        scope(&one["pace"], &one["row"], &mut text);
    }
    let starts = match (value["starts_at_once"] == true, value["waits_for"].as_str()) {
        (true, _) | (_, None) => "a request starts at once".to_owned(),
        (false, Some(why)) => {
            let waits = value["waits_at_least_seconds"].as_f64().unwrap_or(0.0);
            let when =
                if waits > 0.0 { format!(", {} at least", span(waits)) } else { String::new() };
            format!("a request waits for {}{when}", reason(why))
        }
    };
    line(&mut text, "now", &starts);
    text
}

fn scope(pace: &Value, row: &Value, text: &mut String) {
    line(text, "law", &law(pace));
    line(text, "throttles", &throttles(&pace["throttles"]));
    if row.is_null() {
        return line(text, "row", "none: nothing slows it");
    }
    let pinned = if row["pinned"] == true { ", pinned" } else { "" };
    let pace = match row["pace_seconds"].as_f64().filter(|pace| *pace > 0.0) {
        Some(pace) => format!(": a start every {}", span(pace)),
        None => String::new(),
    };
    let cause =
        row["cause"].as_str().map_or(String::new(), |cause| format!(", last {}", plain(cause)));
    line(text, "row", &format!("rung {}{pinned}{pace}{cause}", row["rung"]));
    if let Some(paused) = row["paused_seconds"].as_f64() {
        line(text, "pause", &format!("{} more", span(paused)));
    }
    let oldest = row["oldest_held_seconds"].as_f64();
    let oldest =
        oldest.map_or(String::new(), |oldest| format!(" (the longest for {})", span(oldest)));
    line(text, "held", &format!("{}{oldest}, {} in flight", row["held"], row["in_flight"]));
    let next = match row["next_slot_seconds"].as_f64() {
        Some(next) if next > 0.0 => format!("in {}", span(next)),
        _ => "now".to_owned(),
    };
    line(text, "next slot", &next);
}

fn law(pace: &Value) -> String {
    let seconds = |value: &Value| value.as_f64().map_or("?".to_owned(), span);
    match pace["law"].as_str() {
        Some("ladder") => {
            let rungs = pace["ladder_seconds"].as_array().into_iter().flatten().map(seconds);
            format!("ladder {}", rungs.collect::<Vec<_>>().join(" "))
        }
        Some("backoff") => {
            let backoff = &pace["backoff"];
            let rampup = if backoff["rampup"] == true { ", rampup" } else { "" };
            format!(
                "backoff from {} to {}, a step back after {} of quiet{rampup}",
                seconds(&backoff["min_seconds"]),
                seconds(&backoff["max_seconds"]),
                seconds(&backoff["quiet_seconds"]),
            )
        }
        other => plain(other.unwrap_or_default()),
    }
}

fn throttles(throttles: &Value) -> String {
    let mut said = Vec::new();
    if let Some(most) = throttles["concurrency"].as_u64() {
        said.push(format!("concurrency {most}"));
    }
    for (key, name) in [("delay_seconds", "delay"), ("slot_delay_seconds", "slot delay")] {
        if let Some(delay) = throttles[key].as_f64().filter(|delay| *delay > 0.0) {
            said.push(format!("{name} {}", span(delay)));
        }
    }
    if let [low, high] = [&throttles["jitter"][0], &throttles["jitter"][1]].map(Value::as_f64)
        && let (Some(low), Some(high)) = (low, high)
    {
        said.push(format!("jitter {:+} to {:+} %", low * 100.0, high * 100.0));
    }
    let quota = &throttles["quota"];
    if let (Some(amount), Some(per)) = (quota["amount"].as_f64(), quota["per_seconds"].as_f64()) {
        said.push(format!("quota {amount} per {}", span(per)));
    }
    if said.is_empty() { "none".to_owned() } else { said.join(", ") }
}

fn reason(word: &str) -> String {
    match word {
        "pace" => "its host's pace".to_owned(),
        "pause" => "the end of a pause".to_owned(),
        "concurrency" => "an attempt under way to end".to_owned(),
        "delay" => "the delay between two starts".to_owned(),
        "quota" => "the quota's next span".to_owned(),
        other => plain(other),
    }
}

fn line(text: &mut String, name: &str, said: &str) {
    let _ = writeln!(text, "  {name:<10} {said}");
}

/// A span in the largest units that say it.
fn span(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..=59 if seconds < 10.0 => format!("{}s", (seconds * 10.0).round() / 10.0),
        0..=59 => format!("{whole}s"),
        60..=3599 => format!("{}m{:02}s", whole / 60, whole % 60),
        3600.. => format!("{}h{:02}m", whole / 3600, whole % 3600 / 60),
    }
}

/// A text for a terminal: what the other side says must not steer it.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(LONGEST).collect()
}

const COLUMNS: [&str; 9] =
    ["host", "rung", "pace", "held", "in flight", "oldest", "next slot", "paused", "last"];
const LONGEST: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_table_has_the_slowest_first_and_nothing_that_steers_a_terminal() {
        let row = |host: &str, rung: u8| {
            json!({"scope": host, "rung": rung, "pinned": rung == 3, "pace_seconds": 5.0, "held": 2,
                "in_flight": 1, "oldest_held_seconds": 75.2, "next_slot_seconds": 0.04,
                "paused_seconds": null, "cause": "rate_limited"})
        };
        let text = table(&json!([row("b.example", 1), row("a\u{1b}[2J.example", 3)]));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("host"), "{text}");
        assert!(lines[1].starts_with("a\u{fffd}[2J.example  3 pinned  5s    2     1"), "{text}");
        assert!(lines[2].contains("1m15s") && lines[2].ends_with("rate_limited"), "{text}");
        assert!(table(&json!([])).starts_with("no host has a row"));
    }

    #[test]
    fn whatever_the_other_side_says_is_put_into_words() {
        for value in
            [json!(null), json!({"row": {}, "pace": 1}), json!({"scopes": [1, {"row": 2}]})]
        {
            let _ = (host(&value), request(&value), table(&value));
        }
    }

    #[test]
    fn spans_are_short() {
        let check = |seconds: f64, want: &str| assert_eq!(span(seconds), want);
        check(0.0, "0s");
        check(4.77, "4.8s");
        check(59.0, "59s");
        check(3599.0, "59m59s");
        check(90_000.0, "25h00m");
    }
}
