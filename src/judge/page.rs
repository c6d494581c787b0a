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
}

/// Whether the failure is the page's own: then it doesn't climb, and its repeat waits on a ladder
/// of its own.
pub fn is_its_own(fault: PageFault, evidence: Evidence) -> bool {
    match fault {
        PageFault::No => false,
        PageFault::IfServedSince => evidence.served_since,
        PageFault::IfLaterServed => evidence.served_since && evidence.later_served,
    }
}

/// What the verdict does to the pace once the evidence is in.
pub fn pace_move(verdict: &Verdict, its_own: bool) -> PaceMove {
    match verdict.pace {
        PaceMove::Climb if its_own => PaceMove::Nothing,
        PaceMove::Climb | PaceMove::Nothing | PaceMove::StepDown => verdict.pace,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::verdict::{Class, Repeat};

    #[track_caller]
    fn check(fault: PageFault, served_since: bool, later_served: bool, want: PaceMove) {
        let verdict = Verdict {
            class: Class::Overloaded,
            pace: PaceMove::Climb,
            pause: None,
            repeat: Repeat::InWindow,
            page_fault: fault,
        };
        let evidence = Evidence { served_since, later_served };
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
    fn what_speaks_for_the_site_climbs_whatever_was_served() {
        check(PageFault::No, true, true, PaceMove::Climb);
    }
}
