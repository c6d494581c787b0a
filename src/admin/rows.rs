//! What the JSON says of a row and of rules: numbers in seconds, words as they stand in the metrics.

use crate::clock::Tick;
use crate::pace::jitter::Jitter;
use crate::pace::rules::{Climb, Law, PaceRules};
use crate::state::picture::RowView;
use serde_json::{Value, json};
use std::time::Duration;

/// A row at a moment.
pub fn row(row: &RowView, now: Tick) -> Value {
    json!({
        "scope": row.scope.as_str(),
        "rung": row.rung,
        "pinned": row.pinned.is_some(),
        "pace_seconds": row.pace.as_secs_f64(),
        "held": row.held,
        "oldest_held_seconds": row.oldest.map(|since| now.since(since).as_secs_f64()),
        "in_flight": row.in_flight,
        "waits_for": row.waits_for.map(|reason| reason.word()),
        "next_slot_seconds": row.next_slot.since(now).as_secs_f64(),
        "newcomer_seconds": row.newcomer.since(now).as_secs_f64(),
        "paused_seconds": row.paused_until.map(|until| until.since(now).as_secs_f64()),
        "cause": row.cause.map(|class| class.word()),
    })
}

/// How a scope is paced.
pub fn rules(rules: &PaceRules) -> Value {
    let law = match rules.law {
        Law::Ladder => "ladder",
        Law::Backoff => "backoff",
        Law::Fixed => "fixed",
    };
    let climb = match rules.climb {
        Climb::Stall => "stall",
        Climb::Incident => "incident",
    };
    let backoff = (rules.law == Law::Backoff).then(|| {
        let backoff = &rules.backoff;
        json!({
            "min_seconds": backoff.min.as_secs_f64(),
            "max_seconds": backoff.max.as_secs_f64(),
            "quiet_seconds": backoff.quiet.as_secs_f64(),
            "rampup": backoff.rampup.is_some(),
        })
    });
    json!({
        "law": law,
        "ladder_seconds": seconds(rules.ladder.paces()),
        "climb": climb,
        "drain": rules.drain,
        "backoff": backoff,
        "throttles": {
            "concurrency": rules.concurrency,
            "delay_seconds": rules.delay.as_secs_f64(),
            "slot_delay_seconds": rules.slot_delay.map(|delay| delay.as_secs_f64()),
            "jitter": jitter(rules.jitter),
            "quota": rules.quota.map(|quota| json!({
                "amount": quota.amount.amount(),
                "per_seconds": quota.per.as_secs_f64(),
            })),
        },
    })
}

fn seconds(spans: &[Duration]) -> Vec<f64> {
    spans.iter().map(Duration::as_secs_f64).collect()
}

/// Its two ends, as fractions.
fn jitter(jitter: Jitter) -> Value {
    match jitter.is_none() {
        true => Value::Null,
        false => json!(jitter.ends()),
    }
}
