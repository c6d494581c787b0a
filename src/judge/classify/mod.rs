//! Outcome to verdict: spec section 3's table, here and nowhere else. First match wins.
//!
//! Nothing here knows how long the request has left or how often it was sent: that is `again`'s.

#[cfg(test)]
mod tests;

use crate::judge::amend::Amendments;
use crate::judge::hints::{self, Hint, HintResult, Hints, Manner};
use crate::judge::marks;
use crate::judge::outcome::{Answer, FaultKind, Outcome};
use crate::judge::verdict::{Class, PaceMove, PageFault, Repeat, Verdict};
use http::StatusCode;
use std::time::Duration;

/// What the table may be told about its surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure<'a> {
    /// `retry_after`. A wait longer than its `most` is cut to it, and its request is answered now.
    pub hints: Manner<'a>,
    /// `verdicts`.
    pub amendments: &'a Amendments,
    pub forbidden: Forbidden<'a>,
}

/// What a 403 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forbidden<'a> {
    /// An answer like any other.
    Served,
    /// A limit, if it is marked as one (preset `api`). The text is its body, as far as it is there.
    MayBeLimit { text: &'a [u8] },
}

/// A verdict, and what was read on the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    pub verdict: Verdict,
    /// What the answer said about waiting, for `hints_total`.
    pub hints: Hints,
    /// The answer is not to be passed on as it is: the client gets a 502 that names its status.
    pub withheld: bool,
}

/// What an outcome means.
pub fn classify(outcome: &Outcome<'_>, measure: &Measure<'_>) -> Judged {
    classify_as(outcome, None, measure)
}

/// What an outcome means if its answer is judged as if it had another status.
pub fn classify_as(
    outcome: &Outcome<'_>,
    said: Option<StatusCode>,
    measure: &Measure<'_>,
) -> Judged {
    let amendments = measure.amendments;
    let withheld = matches!(outcome, Outcome::Answer(answer) if is_withheld(answer));
    let (outcome, hints) = match outcome {
        Outcome::Answer(answer) => {
            let meant =
                Answer { status: amendments.meant(said.unwrap_or(answer.status)), ..*answer };
            let (answer, hints) = read(meant, measure);
            (Outcome::Answer(answer), hints)
        }
        Outcome::Fault(fault) => (Outcome::Fault(fault), Hints::default()),
    };
    let waits = hints.wait().is_some();
    let row = TABLE.iter().find(|row| row.on.holds(&outcome, waits)).unwrap_or(&SERVED);
    let pace = amendments.pace(row.class, row.pace);
    let repeat = amendments.repeat(row.class, row.repeat);
    Judged { verdict: Row { pace, repeat, ..*row }.verdict(&hints), hints, withheld }
}

/// What an answer says about waiting. A 403 that is a limit is judged as a 429, and one that names no
/// wait gets one.
fn read<'a>(answer: Answer<'a>, measure: &Measure<'_>) -> (Answer<'a>, Hints) {
    let manner = &measure.hints;
    let text = match measure.forbidden {
        Forbidden::MayBeLimit { text } if answer.status == StatusCode::FORBIDDEN => text,
        Forbidden::MayBeLimit { .. } | Forbidden::Served => {
            return (answer, hints::read(&answer, manner, false));
        }
    };
    let mut hints = hints::read(&answer, manner, true);
    if hints.wait().is_none() && marks::is_limit(&answer, text, manner) {
        hints.obeyed =
            Some(Hint { wait: Some(LIMIT_WAIT), read: HintResult::Ok }.capped(manner.most));
    }
    let status = match hints.wait() {
        Some(_) => StatusCode::TOO_MANY_REQUESTS,
        None => answer.status,
    };
    (Answer { status, ..answer }, hints)
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub class: Class,
    pub pace: PaceMove,
    pub repeat: Repeat,
    pub page: PageFault,
    pub on: On,
}

/// What a row is for.
#[derive(Clone, Copy, Debug)]
pub enum On {
    /// An answer with one of these statuses that names a wait.
    Wait(Codes),
    /// An answer with one of these statuses that is a challenge.
    Challenge(Codes),
    /// An answer with one of these statuses.
    Status(Codes),
    /// A fault.
    Fault(fn(&FaultKind) -> bool),
}

/// Statuses, as ranges with both ends in them.
pub type Codes = &'static [(u16, u16)];

use FaultKind as F;
use On::{Challenge, Fault, Status, Wait};
use PaceMove::{Climb, Nothing, StepDown};
use PageFault::{IfLaterServed, IfServedSince, IfSingledOut, No as Site};
use Repeat::{InWindow, No};

/// Spec section 3. A 999 is LinkedIn's block. A 430 is Shopify's 429, so it may name a wait as well.
/// 525 and 526 say that the origin's certificate does not hold; 501, 505, 506 and 511 do not get better
/// by waiting.
#[rustfmt::skip]
pub const TABLE: &[Row] = &[
    row(Class::Blocked,         Nothing,  No,       Site,
        Challenge(&[(403, 403), (503, 503)])),
    row(Class::Blocked,         Nothing,  No,       Site,
        Status(&[(999, 999)])),
    row(Class::ExplicitWait,    Climb,    InWindow, Site,
        Wait(&[(429, 430), (503, 503), (413, 413)])),
    row(Class::ServedWait,      StepDown, No,       Site,
        Wait(&[(200, 399)])),
    row(Class::RateLimited,     Climb,    InWindow, Site,
        Status(&[(429, 430)])),
    row(Class::Unreachable,     Nothing,  No,       Site,
        Status(&[(407, 407)])),
    row(Class::Soft,            Nothing,  InWindow, Site,
        Status(&[(408, 408), (425, 425)])),
    row(Class::Tls,             Nothing,  No,       Site,
        Status(&[(525, 526)])),
    row(Class::Overloaded,      Climb,    InWindow, Site,
        Status(&[(503, 503)])),
    row(Class::Overloaded,      Climb,    InWindow, IfServedSince,
        Status(&[(500, 500), (502, 504), (507, 510), (512, 524), (527, 599)])),
    row(Class::ConnectTimeout,  Climb,    InWindow, Site,
        Fault(|f| matches!(f, F::ConnectTimeout))),
    row(Class::ResponseTimeout, Climb,    InWindow, IfLaterServed,
        Fault(|f| matches!(f, F::ResponseTimeout))),
    row(Class::Abandoned,       Climb,    No,       IfLaterServed,
        Fault(|f| matches!(f, F::Abandoned))),
    row(Class::Reset,           Climb,    InWindow, IfSingledOut,
        Fault(|f| matches!(f, F::Reset))),
    row(Class::Overloaded,      Climb,    InWindow, Site,
        Fault(|f| matches!(f, F::Calm))),
    row(Class::Truncated,       Climb,    InWindow, IfSingledOut,
        Fault(|f| matches!(f, F::Truncated | F::Stuck))),
    row(Class::Soft,            Nothing,  InWindow, Site,
        Fault(|f| matches!(f, F::DnsTimeout | F::RefusedStream | F::NoDescriptor))),
    row(Class::Refused,         Nothing,  No,       Site,
        Fault(|f| matches!(f, F::Refused))),
    row(Class::Dns,             Nothing,  No,       Site,
        Fault(|f| matches!(f, F::NoSuchName))),
    row(Class::Tls,             Nothing,  No,       Site,
        Fault(|f| matches!(f, F::Certificate(_) | F::Tls(_) | F::TlsAlert(_)))),
    row(Class::Unreachable,     Nothing,  No,       Site,
        Fault(|f| matches!(f, F::Unreachable | F::NotHttp(_) | F::HeadTooLarge | F::UpgradeFailed))),
    row(Class::Denied,          Nothing,  No,       Site,
        Fault(|f| matches!(f, F::Prohibited(_) | F::OwnListener))),
    row(Class::ClientGone,      Nothing,  No,       Site,
        Fault(|f| matches!(f, F::ClientBody))),
    row(Class::Served,          StepDown, No,       Site,
        Status(&[(0, 999)])),
];

/// The last row, which holds for every answer.
const SERVED: Row = TABLE[TABLE.len() - 1];

const fn row(class: Class, pace: PaceMove, repeat: Repeat, page: PageFault, on: On) -> Row {
    Row { class, on, pace, repeat, page }
}

impl On {
    fn holds(self, outcome: &Outcome<'_>, waits: bool) -> bool {
        match (self, outcome) {
            (Wait(codes), Outcome::Answer(answer)) => waits && within(codes, answer.status),
            (Challenge(codes), Outcome::Answer(answer)) => {
                within(codes, answer.status) && marks::is_challenge(answer)
            }
            (Status(codes), Outcome::Answer(answer)) => within(codes, answer.status),
            (Fault(is), Outcome::Fault(fault)) => is(&fault.kind),
            (Wait(_) | Challenge(_) | Status(_), Outcome::Fault(_))
            | (Fault(_), Outcome::Answer(_)) => false,
        }
    }
}

fn within(codes: Codes, status: StatusCode) -> bool {
    codes.iter().any(|(first, last)| (*first..=*last).contains(&status.as_u16()))
}

impl Row {
    /// A wait that was cut short can't be kept by this request: it is answered now. And what names
    /// a wait at all speaks for the site.
    fn verdict(&self, hints: &Hints) -> Verdict {
        let wait = hints.wait();
        let cut = hints.obeyed.is_some_and(|hint| hint.read == HintResult::Capped);
        Verdict {
            class: self.class,
            pace: self.pace,
            pause: match self.on {
                Wait(_) => wait,
                Challenge(_) | Status(_) | Fault(_) => None,
            },
            repeat: if cut { No } else { self.repeat },
            page_fault: if wait.is_some() { Site } else { self.page },
        }
    }
}

/// GitHub's advice for limits that say nothing else.
const LIMIT_WAIT: Duration = Duration::from_secs(60);

/// An origin's own 407, passed on, would ask the client for its proxy's credentials.
fn is_withheld(answer: &Answer<'_>) -> bool {
    answer.status == StatusCode::PROXY_AUTHENTICATION_REQUIRED
}
