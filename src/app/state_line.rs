//! A row as a line of JSON, and back: spans in seconds. What is missing is not there; what can't be is
//! no row.

use crate::judge::verdict::Class;
use crate::pace::backoff::saved::SavedPressure;
use crate::pace::quota::Cost;
use crate::pace::rules::Law;
use crate::pace::saved::{Saved, SavedSpent};
use crate::pace::scope::Scope;
use crate::pace::slot::Slot;
use crate::state::snapshot::Kept;
use serde_json::{Map, Value, json};
use std::time::{Duration, SystemTime};

/// The first line.
pub fn header(saved_at: SystemTime) -> String {
    let since = saved_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    json!({"pacegate": "state", "version": VERSION, "saved_at": since.as_secs_f64()}).to_string()
}

/// When the file was written, by its first line.
///
/// # Errors
/// Why it is none of ours.
pub fn saved_at(line: &str) -> Result<SystemTime, String> {
    let value: Value =
        serde_json::from_str(line).map_err(|_| "its first line is not ours".to_owned())?;
    if value["pacegate"] != "state" {
        return Err("its first line is not ours".to_owned());
    }
    if value["version"] != VERSION {
        return Err(format!("it is of another version ({})", value["version"]));
    }
    let since =
        value["saved_at"].as_f64().and_then(|since| Duration::try_from_secs_f64(since).ok());
    let at = since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
    at.ok_or_else(|| "it doesn't say when it was written".to_owned())
}

/// A row's line.
pub fn line(row: &Kept) -> String {
    let saved = &row.saved;
    let mut map = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            map.insert(key.to_owned(), value);
        }
    };
    let seconds = |span: Duration| Value::from(span.as_secs_f64());
    put("scope", Some(row.scope.as_str().into()));
    put("law", Some(word(saved.law).into()));
    put("rung", (saved.rung > 0).then(|| saved.rung.into()));
    put("started", saved.started.map(seconds));
    put("stalled", saved.stalled.map(seconds));
    put("paused", saved.paused.map(seconds));
    put("pressure", saved.pressure.as_ref().map(pressure_line));
    put(
        "spent",
        saved
            .spent
            .map(|spent| json!({"used": spent.used.amount(), "began": spent.began.as_secs_f64()})),
    );
    put("pinned", row.pinned.map(Value::from));
    put("cause", row.cause.map(|cause| cause.word().into()));
    Value::Object(map).to_string()
}

/// The row of a line.
pub fn kept(line: &str) -> Option<Kept> {
    let value: Value = serde_json::from_str(line).ok()?;
    let law = LAWS.into_iter().find(|law| value["law"] == word(*law))?;
    let pressure = given(&value["pressure"]).map(pressure_of);
    let spent = given(&value["spent"]).map(spent_of);
    let saved = Saved {
        law,
        rung: rung(&value["rung"])?.unwrap_or(0),
        started: span(&value["started"])?,
        stalled: span(&value["stalled"])?,
        paused: span(&value["paused"])?,
        pressure: whole(pressure)?,
        spent: whole(spent)?,
    };
    let cause = Class::ALL.into_iter().find(|class| value["cause"] == class.word());
    let scope = Scope::named(value["scope"].as_str()?).ok()?;
    Some(Kept { scope, saved, pinned: rung(&value["pinned"])?, cause })
}

fn pressure_line(pressure: &SavedPressure) -> Value {
    let seconds = |span: Option<Duration>| span.map(|span| span.as_secs_f64());
    json!({
        "delay": seconds(pressure.delay),
        "since": pressure.since.as_secs_f64(),
        "ramped": seconds(pressure.ramped),
        "slots": pressure.slots,
        "window": seconds(pressure.window),
        "triggers": pressure.triggers,
    })
}

fn pressure_of(value: &Value) -> Option<SavedPressure> {
    let count = |value: &Value| u32::try_from(value.as_u64()?).ok();
    Some(SavedPressure {
        delay: span(&value["delay"])?,
        since: span(&value["since"])??,
        ramped: span(&value["ramped"])?,
        slots: count(&value["slots"])?,
        window: span(&value["window"])?,
        triggers: count(&value["triggers"])?,
    })
}

fn spent_of(value: &Value) -> Option<SavedSpent> {
    let used = Cost::new(value["used"].as_f64()?)?;
    Some(SavedSpent { used, began: span(&value["began"])?? })
}

/// A span that may be missing; nothing for what is no span.
#[expect(clippy::option_option, reason = "missing and wrong are two things")]
fn span(value: &Value) -> Option<Option<Duration>> {
    match given(value) {
        None => Some(None),
        Some(value) => Duration::try_from_secs_f64(value.as_f64()?).ok().map(Some),
    }
}

#[expect(clippy::option_option, reason = "missing and wrong are two things")]
fn rung(value: &Value) -> Option<Option<u8>> {
    match given(value) {
        None => Some(None),
        Some(value) => u8::try_from(value.as_u64()?).ok().filter(|n| *n <= Slot::TOP).map(Some),
    }
}

/// What is missing is not there; what is wrong makes it all wrong.
#[expect(clippy::option_option, reason = "missing and wrong are two things")]
fn whole<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    match read {
        None => Some(None),
        Some(read) => read.map(Some),
    }
}

/// What is not missing.
fn given(value: &Value) -> Option<&Value> {
    (!value.is_null()).then_some(value)
}

const fn word(law: Law) -> &'static str {
    match law {
        Law::Ladder => "ladder",
        Law::Backoff => "backoff",
        Law::Fixed => "fixed",
    }
}

const LAWS: [Law; 3] = [Law::Ladder, Law::Backoff, Law::Fixed];
const VERSION: u64 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn full() -> Kept {
        let secs = |seconds: f64| Some(Duration::from_secs_f64(seconds));
        let pressure = SavedPressure {
            delay: secs(8.0),
            since: Duration::from_millis(1500),
            ramped: secs(0.25),
            slots: 3,
            window: secs(12.5),
            triggers: 2,
        };
        let used = Cost::new(2.5).unwrap();
        let saved = Saved {
            rung: 3,
            started: secs(0.125),
            stalled: secs(4.0),
            paused: secs(3600.0),
            pressure: Some(pressure),
            spent: Some(SavedSpent { used, began: Duration::from_secs(9) }),
            ..Saved::new(Law::Backoff)
        };
        let scope = Scope::named("api.example/slow").unwrap();
        Kept { scope, saved, pinned: Some(2), cause: Some(Class::RateLimited) }
    }

    #[test]
    fn a_row_is_itself_again() {
        let bare = Kept { saved: Saved::new(Law::Ladder), pinned: None, cause: None, ..full() };
        for row in [full(), bare] {
            assert_eq!(kept(&line(&row)), Some(row));
        }
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        assert_eq!(saved_at(&header(at)), Ok(at));
    }

    #[test]
    fn what_can_not_be_is_no_row() {
        for (from, to) in [
            (r#""rung":3"#, r#""rung":16"#),
            (r#""rung":3"#, r#""rung":-1"#),
            (r#""paused":3600.0"#, r#""paused":-1"#),
            (r#""paused":3600.0"#, r#""paused":1e300"#),
            (r#""paused":3600.0"#, r#""paused":"long""#),
            (r#""law":"backoff""#, r#""law":"chance""#),
            (r#""scope":"api"#, r#""scope":"a b"#),
            (r#""used":2.5"#, r#""used":-2.5"#),
            (r#""slots":3"#, r#""slots":4294967296"#),
        ] {
            let text = line(&full());
            assert!(text.contains(from), "{from} is not in {text}");
            assert_eq!(kept(&text.replace(from, to)), None, "{to}");
        }
        for line in ["", "{}", "[1]", "x", r#"{"pacegate":"state","version":2,"saved_at":1}"#] {
            assert!(saved_at(line).is_err(), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_stops_the_reader(text in "\\PC{0,200}", cut in 0usize..300, byte: char) {
            let whole = line(&full());
            let cut = whole.floor_char_boundary(cut);
            let _ = (kept(&text), kept(&whole[..cut]), saved_at(&text));
            let _ = kept(&format!("{}{byte}{}", &whole[..cut], &whole[cut..]));
        }
    }
}
