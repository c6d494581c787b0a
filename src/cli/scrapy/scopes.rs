//! `THROTTLING_SCOPES`: scopes with settings of their own.

use crate::cli::scrapy::import::{Import, odd};
use crate::cli::scrapy::kind::{Kind, Written, seconds};
use crate::cli::scrapy::literal::Literal;
use crate::cli::scrapy::python::Reading;

/// Brings in every scope.
pub fn import(reading: &Reading, import: &mut Import) {
    let Some(found) = reading.get("THROTTLING_SCOPES") else { return };
    let target = reading.get("RAMPUP_BACKOFF_TARGET").map(|target| &target.value);
    let Literal::Map(scopes) = &found.value else {
        return import
            .leave_out(&format!("THROTTLING_SCOPES (line {})", found.line), &odd(&found.value));
    };
    for (key, value) in scopes.iter().take(SCOPES) {
        match (key, value) {
            (Literal::Text(name), Literal::Map(settings)) => {
                if let Some(why) = import.refuses_scope(name) {
                    import.leave_out(&format!("scope {key}"), &why);
                } else {
                    let mut scope = Scope { name, import: &mut *import };
                    settings.iter().for_each(|(key, value)| scope.setting(key, value, target));
                }
            }
            _ => import.leave_out(&format!("scope {key}"), &odd(value)),
        }
    }
    if scopes.len() > SCOPES {
        import.leave_out("THROTTLING_SCOPES", &format!("the first {SCOPES} are looked at"));
    }
}

/// More are written by a program, which can write ours as well.
const SCOPES: usize = 1000;

struct Scope<'a> {
    name: &'a str,
    import: &'a mut Import,
}

impl Scope<'_> {
    fn setting(&mut self, key: &Literal, value: &Literal, target: Option<&Literal>) {
        let Literal::Text(key) = key else {
            return self.leave_out(&key.to_string(), &odd(value));
        };
        if let Some((_, ours, kind)) = KEYS.iter().find(|(known, ..)| known == key) {
            return self.set(key, &[ours], kind.write(value));
        }
        match (key.as_str(), value) {
            ("backoff", Literal::Map(settings)) => {
                settings.iter().for_each(|(key, value)| self.backoff(key, value));
            }
            ("rampup", _) => {
                let written = rampup(value, target);
                self.set("rampup", &["backoff", "rampup"], written);
            }
            ("ignore_robots_txt", _) => {
                let written = boolean(value);
                self.set(key, &["ignore_robots"], written);
            }
            ("manager", _) => {
                self.leave_out(key, "it is code: `law` chooses between ladder, backoff and fixed")
            }
            _ => self.leave_out(key, &odd(value)),
        }
    }

    fn backoff(&mut self, key: &Literal, value: &Literal) {
        let known = BACKOFF.iter().find(|(known, ..)| key.text() == Some(*known));
        match known {
            Some((name, ours, kind)) => {
                self.set(&format!("backoff.{name}"), &["backoff", ours], kind.write(value));
            }
            None => self.leave_out(&format!("backoff.{key}"), &odd(value)),
        }
    }

    fn set(&mut self, what: &str, path: &[&str], written: Written) {
        let what = format!("scope {}, {what}", self.name);
        let whole: Vec<&str> =
            ["scopes", self.name].into_iter().chain(path.iter().copied()).collect();
        self.import.set(&what, &whole, written, "");
    }

    fn leave_out(&mut self, what: &str, why: &str) {
        self.import.leave_out(&format!("scope {}, {what}", self.name), why);
    }
}

fn boolean(value: &Literal) -> Written {
    if value.is(true) || value.is(false) {
        let text = if value.is(true) { "true" } else { "false" };
        return Written { text: Some(text.to_owned()), left_out: Vec::new() };
    }
    Written::not(odd(value))
}

/// `True`, or a dictionary; `target` is what counts where that doesn't say it.
fn rampup(value: &Literal, target: Option<&Literal>) -> Written {
    let settings = match value {
        Literal::None | Literal::Bool(false) => {
            return Written { text: Some("none".to_owned()), left_out: Vec::new() };
        }
        Literal::Bool(true) => &[][..],
        Literal::Map(settings) => settings,
        Literal::Number(_) | Literal::Text(_) | Literal::List(_) | Literal::Code(_) => {
            return Written::not(odd(value));
        }
    };
    let (mut parts, mut left_out) = (Vec::new(), Vec::new());
    let mut said = false;
    for (key, value) in settings {
        let written = match key.text().unwrap_or_default() {
            "backoff_target" => {
                said = true;
                target_of(value).map(|text| format!("target: {text}"))
            }
            "delay_factor" => value.number().map(|number| format!("factor: {number}")),
            "min_delay" => value.number().map(|delay| format!("min_delay: {}", seconds(delay))),
            _ => None,
        };
        match written {
            Some(text) => parts.push(text),
            None => left_out.push(format!("{key}: {}", odd(value))),
        }
    }
    if let (false, Some(text)) = (said, target.and_then(target_of)) {
        parts.push(format!("target: {text}"));
    }
    let text =
        if parts.is_empty() { "true".to_owned() } else { format!("{{{}}}", parts.join(", ")) };
    Written { text: Some(text), left_out }
}

fn target_of(value: &Literal) -> Option<String> {
    match value.number() {
        Some(number) => Some(number.to_string()),
        None => Kind::Codes.write(value).text,
    }
}

const KEYS: &[(&str, &str, Kind)] = &[
    ("concurrency", "concurrency", Kind::Number),
    ("min_concurrency", "min_concurrency", Kind::Number),
    ("delay", "delay", Kind::Seconds),
    ("jitter", "jitter", Kind::Jitter),
    ("quota", "quota", Kind::Number),
    ("window", "per", Kind::Seconds),
];

const BACKOFF: &[(&str, &str, Kind)] = &[
    ("http_codes", "statuses", Kind::Codes),
    ("exceptions", "errors", Kind::Errors),
    ("delay_factor", "factor", Kind::Number),
    ("min_delay", "min", Kind::Seconds),
    ("max_delay", "max", Kind::Seconds),
    ("jitter", "jitter", Kind::Jitter),
];
