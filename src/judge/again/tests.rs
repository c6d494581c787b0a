//! Repeats against time, counts and wishes.

use super::*;
use crate::judge::verdict::{PaceMove, PageFault};

const LADDER: [Duration; 4] =
    [Duration::ZERO, Duration::from_secs(2), Duration::from_secs(5), Duration::from_secs(15)];

fn second(at: u64) -> Tick {
    Tick::ZERO + Duration::from_secs(at)
}

/// A request at second 1000 with a minute of window left: what a test changes is what it is about.
struct Case {
    verdict: Verdict,
    status: Option<u16>,
    standing: Standing,
    bounds: Bounds<'static>,
    wish: Wish,
}

fn case(class: Class, pause: Option<u64>) -> Case {
    Case {
        verdict: Verdict {
            class,
            pace: PaceMove::Climb,
            pause: pause.map(Duration::from_secs),
            repeat: Repeat::InWindow,
            page_fault: PageFault::No,
        },
        status: Some(503),
        standing: Standing {
            now: second(1000),
            attempts: 1,
            repeatable: true,
            own_faults: 0,
            scope_waits: true,
            window_end: second(1060),
            deadline: None,
        },
        bounds: Bounds {
            page_faults: Some(3),
            max_attempts: None,
            min_attempt: Duration::from_millis(500),
            ladder: &LADDER,
        },
        wish: Wish::default(),
    }
}

impl Case {
    fn with(mut self, change: impl FnOnce(&mut Case)) -> Case {
        change(&mut self);
        self
    }

    #[track_caller]
    fn check(self, want: Next) {
        let got = next(&self.verdict, self.status, &self.standing, &self.bounds, &self.wish);
        assert_eq!(got, want);
    }
}

const AT_ONCE: Next = Next::Again { not_before: None };

fn at(moment: u64) -> Next {
    Next::Again { not_before: Some(second(moment)) }
}

#[test]
fn what_the_table_does_not_repeat_is_delivered() {
    case(Class::Served, None).with(|c| c.verdict.repeat = Repeat::No).check(Next::Deliver);
}

#[test]
fn a_stall_goes_round_again_until_the_window_ends() {
    case(Class::Overloaded, None).check(AT_ONCE);
    let late = |c: &mut Case| c.standing.now = second(1060);
    case(Class::Overloaded, None).with(late).check(Next::GiveUp(Why::Window));
    let many = |c: &mut Case| c.standing.attempts = 100_000;
    case(Class::Overloaded, None).with(many).check(AT_ONCE);
}

#[test]
fn a_wait_is_kept_if_it_fits_and_answered_now_if_not() {
    case(Class::ExplicitWait, Some(59)).check(AT_ONCE);
    case(Class::ExplicitWait, Some(60)).check(Next::GiveUp(Why::Window));
    let stated = |c: &mut Case| c.standing.deadline = Some(second(1030));
    case(Class::ExplicitWait, Some(29)).with(stated).check(AT_ONCE);
    case(Class::ExplicitWait, Some(30)).with(stated).check(Next::GiveUp(Why::Deadline));
}

#[test]
fn no_attempt_starts_too_short_before_a_stated_deadline() {
    let left = |millis| {
        let deadline = Some(second(1000) + Duration::from_millis(millis));
        case(Class::Overloaded, None).with(|c| c.standing.deadline = deadline)
    };
    left(500).check(AT_ONCE);
    left(499).check(Next::GiveUp(Why::Deadline));
}

#[test]
fn what_must_not_be_sent_twice_is_given_up() {
    let once = |c: &mut Case| c.standing.repeatable = false;
    case(Class::Reset, None).with(once).check(Next::GiveUp(Why::Unrepeatable));
}

#[test]
fn a_page_climbs_its_own_ladder_and_gets_its_last_answer_at_the_third_fault() {
    let faults = |number| {
        case(Class::Overloaded, None).with(|c| {
            c.standing.own_faults = number;
            c.standing.scope_waits = false;
        })
    };
    faults(1).check(at(1002));
    faults(2).check(at(1005));
    faults(3).check(Next::GiveUp(Why::Page));
    faults(300).with(|c| c.bounds.page_faults = None).check(at(1015));
    faults(2).with(|c| c.standing.window_end = second(1004)).check(Next::GiveUp(Why::Window));
}

#[test]
fn a_failure_that_slows_nobody_down_is_no_busy_loop() {
    let soft = |attempts| {
        case(Class::Soft, None).with(|c| {
            c.standing.attempts = attempts;
            c.standing.scope_waits = false;
        })
    };
    soft(1).check(AT_ONCE);
    soft(2).check(at(1002));
    soft(900).check(at(1015));
}

#[test]
fn the_client_may_ask_for_fewer_repeats() {
    let wish = |extra, only: &[After], attempts| {
        let only = only.to_vec();
        case(Class::Overloaded, None).with(move |c| {
            c.wish = Wish { extra, only };
            c.standing.attempts = attempts;
        })
    };
    wish(Some(0), &[], 1).check(Next::GiveUp(Why::Asked));
    wish(Some(3), &[], 3).check(AT_ONCE);
    wish(Some(3), &[], 4).check(Next::GiveUp(Why::Asked));
    wish(None, &[After::Status(503, 503)], 1).check(AT_ONCE);
    wish(None, &[After::Status(500, 599)], 1).check(AT_ONCE);
    wish(None, &[After::Status(429, 429)], 1).check(Next::GiveUp(Why::Asked));
    wish(None, &[After::Class(Class::Overloaded)], 1).check(AT_ONCE);
    wish(None, &[After::Class(Class::Reset)], 1).check(Next::GiveUp(Why::Asked));
}

#[test]
fn a_limit_on_attempts_counts_the_first() {
    let limit = |c: &mut Case| c.bounds.max_attempts = Some(2);
    case(Class::Reset, None).with(limit).check(AT_ONCE);
    let second_try = |c: &mut Case| c.standing.attempts = 2;
    case(Class::Reset, None).with(limit).with(second_try).check(Next::GiveUp(Why::Attempts));
}
