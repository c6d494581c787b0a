//! What a configuration changes in the table of verdicts.
//!
//! Input: what stands under `verdicts:`.

use super::config::{placed, read};
use http::{HeaderMap, StatusCode};
use pacegate::judge::amend::{Amendments, changeable, stand_in};
use pacegate::judge::classify::{Forbidden, Measure, classify};
use pacegate::judge::hints::Manner;
use pacegate::judge::outcome::{Answer, Fault, FaultKind, Outcome, Sent};
use pacegate::judge::verdict::{Class, PaceMove, Repeat};
use std::time::{Duration, UNIX_EPOCH};

pub fn body(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let indented = text.split('\n').map(|line| format!("\n  {line}"));
    let file = format!("verdicts:{}", indented.collect::<String>());
    match read(&file, &[]) {
        Err(mistakes) => placed(&mistakes, &file, &[]),
        // An indented line can end the section only by ending the file's one map: there is no other key.
        Ok(loaded) => check(&loaded.config.verdicts),
    }
}

fn check(amendments: &Amendments) {
    let plain = Amendments::default();
    for code in 100..=999 {
        let status = StatusCode::from_u16(code).expect("three digits");
        let meant = amendments.meant(status);
        let stands = |class| stand_in(class) == Some(meant);
        assert!(meant == status || Class::ALL.into_iter().any(stands), "{status} is {meant}");
        assert!(code >= 200 || meant == status, "an interim answer: {status}");
        let (headers, arrived) = (HeaderMap::new(), UNIX_EPOCH);
        let answer = Answer { status, headers: &headers, arrived };
        let verdict = judge(&Outcome::Answer(answer), amendments);
        let before = judge(&Outcome::Answer(Answer { status: meant, ..answer }), &plain);
        assert_eq!(verdict.0, before.0, "another class than that of {meant}");
        allowed(before, verdict);
    }
    for kind in [FaultKind::Reset, FaultKind::Abandoned, FaultKind::NoSuchName, FaultKind::Stuck] {
        let fault = Fault { kind, sent: Sent::Perhaps, detail: String::new() };
        let outcome = Outcome::Fault(&fault);
        allowed(judge(&outcome, &plain), judge(&outcome, amendments));
    }
}

type Short = (Class, PaceMove, Repeat);

fn judge(outcome: &Outcome<'_>, amendments: &Amendments) -> Short {
    let hints = Manner { most: Duration::from_secs(3600), preemptive: false, profile: None };
    let measure = Measure { hints, amendments, forbidden: Forbidden::Served };
    let verdict = classify(outcome, &measure).verdict;
    (verdict.class, verdict.pace, verdict.repeat)
}

/// A class keeps what can't be changed, and none that failed makes its host faster.
fn allowed(before: Short, after: Short) {
    let (pace, repeat) = changeable(before.0);
    assert!(pace || before.1 == after.1, "{before:?} became {after:?}");
    assert!(repeat || before.2 == after.2, "{before:?} became {after:?}");
    assert!(after.1 != PaceMove::StepDown || before.1 == PaceMove::StepDown);
}
