//! Is a failure the site's, or one page's own (spec section 2.10)?
//!
//! One page in a hundred that always answers 500 would otherwise hold the whole site on a rung.

use crate::judge::verdict::{PaceMove, PageFault, Verdict};

/// What the scope did meanwhile. The shell keeps it; here it is weighed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// This request failed before, and since then the scope has served another one.
    pub served_since: bool,
    /// While this attempt was under way, one that started later was served.
    pub later_served: bool,
    /// How the others fared since this request failed first.
    pub others: Others,
}

/// Attempts of other requests: how many were served, and how many stalled the scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    pub served: u32,
    pub stalled: u32,
}

impl Others {
    /// Both together.
    pub fn and(self, more: Others) -> Others {
        Others {
            served: self.served.saturating_add(more.served),
            stalled: self.stalled.saturating_add(more.stalled),
        }
    }

    /// Enough of them were served, and nearly all: then whoever fails again and again is singled
    /// out. An overloaded site fails the others too.
    fn fare_well(self) -> bool {
        self.served >= ENOUGH && self.stalled.saturating_mul(RARE) <= self.served
    }
}

/// Whether the failure is the page's own: then it doesn't climb, and its repeat waits on a ladder
/// of its own.
pub fn is_its_own(fault: PageFault, evidence: Evidence) -> bool {
    match fault {
        PageFault::No => false,
        PageFault::IfServedSince => evidence.served_since,
        PageFault::IfLaterServed => evidence.served_since && evidence.later_served,
        PageFault::IfSingledOut => {
            evidence.served_since && (evidence.later_served || evidence.others.fare_well())
        }
    }
}

/// What the verdict does to the pace once the evidence is in.
pub fn pace_move(verdict: &Verdict, its_own: bool) -> PaceMove {
    match verdict.pace {
        PaceMove::Climb if its_own => PaceMove::Nothing,
        PaceMove::Climb | PaceMove::Nothing | PaceMove::StepDown => verdict.pace,
    }
}

/// A site that resets one attempt in two serves three others in a row, and none but them, one time
/// in eight; `retry.page_faults` asks for that three times.
const ENOUGH: u32 = 3;
/// Of so many others that were served one may have stalled.
const RARE: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::verdict::{Class, Repeat};

    #[track_caller]
    fn check(fault: PageFault, served_since: bool, later_served: bool, want: PaceMove) {
        weigh(fault, Evidence { served_since, later_served, ..Evidence::default() }, want);
    }

    #[track_caller]
    fn weigh(fault: PageFault, evidence: Evidence, want: PaceMove) {
        let verdict = Verdict {
            class: Class::Overloaded,
            pace: PaceMove::Climb,
            pause: None,
            repeat: Repeat::InWindow,
            page_fault: fault,
        };
        assert_eq!(
            pace_move(&verdict, is_its_own(fault, evidence)),
            want,
            "{fault:?} {evidence:?}"
        );
    }

    #[test]
    fn a_failure_climbs_unless_the_scope_served_others_since_the_page_failed_before() {
        check(PageFault::IfServedSince, false, true, PaceMove::Climb);
        check(PageFault::IfServedSince, true, false, PaceMove::Nothing);
    }

    #[test]
    fn a_time_out_needs_a_later_start_that_was_served_as_well() {
        check(PageFault::IfLaterServed, true, false, PaceMove::Climb);
        check(PageFault::IfLaterServed, false, true, PaceMove::Climb);
        check(PageFault::IfLaterServed, true, true, PaceMove::Nothing);
    }

    #[test]
    fn a_break_too_short_to_be_outlived_is_the_pages_own_if_nearly_all_others_are_served() {
        let check = |served_since, served, stalled, want| {
            let others = Others { served, stalled };
            let evidence = Evidence { served_since, others, later_served: false };
            weigh(PageFault::IfSingledOut, evidence, want);
        };
        check(true, 3, 0, PaceMove::Nothing);
        check(true, 40, 10, PaceMove::Nothing);
        check(true, 2, 0, PaceMove::Climb);
        check(true, 7, 2, PaceMove::Climb);
        check(false, 9, 0, PaceMove::Climb);
    }

    #[test]
    fn what_speaks_for_the_site_climbs_whatever_was_served() {
        check(PageFault::No, true, true, PaceMove::Climb);
    }
}
