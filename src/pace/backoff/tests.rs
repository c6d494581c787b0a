//! The law `backoff` as traces: what happens when, and the delay after it.

use super::*;
use proptest::prelude::*;

fn secs(secs: f64) -> Duration {
    Duration::from_secs_f64(secs)
}

fn at(seconds: f64) -> Tick {
    Tick::ZERO + Duration::from_secs(1000) + secs(seconds)
}

fn base(delay: f64) -> Base {
    Base { delay: secs(delay), least: 1, most: None }
}

/// What happens at a moment.
#[derive(Clone, Copy, Debug)]
enum Event {
    Trigger,
    /// A trigger whose answer names a wait.
    Waits,
    Start,
    Nothing,
}

use Event::{Nothing, Start, Trigger, Waits};

/// Plays events; after each the delay must be as said, in seconds.
#[track_caller]
fn check(rules: &Backoff, base: Base, plays: &[(f64, Event, f64)]) -> Pressure {
    let mut state = Pressure::NONE;
    for (place, (moment, event, want)) in plays.iter().enumerate() {
        let now = at(*moment);
        state = state.at(rules, &base, now);
        state = match event {
            Trigger => state.triggered(rules, &base, false, now).0,
            Waits => state.triggered(rules, &base, true, now).0,
            Start => state.started(rules, now),
            Nothing => state,
        };
        assert_eq!(state.delay(&base), secs(*want), "{place}: {event:?} at {moment}: {state:?}");
    }
    state
}

#[test]
fn triggers_multiply_the_delay_up_to_the_most_and_quiet_spells_bring_it_back_by_steps() {
    let rules = Backoff { max: secs(10.0), ..Backoff::default() };
    check(
        &rules,
        base(0.0),
        &[
            (0.0, Nothing, 0.0),
            (1.0, Trigger, 1.0),
            (2.0, Trigger, 2.0),
            (3.0, Trigger, 4.0),
            (4.0, Trigger, 8.0),
            (5.0, Trigger, 10.0),
            (64.999, Nothing, 10.0),
            (65.0, Nothing, 5.0),
            (124.999, Nothing, 5.0),
            (125.0, Nothing, 2.5),
            (185.0, Nothing, 1.25),
            // Half of it would be less than the least of backing off.
            (245.0, Nothing, 0.0),
        ],
    );
}

#[test]
fn a_trigger_restarts_the_countdown_and_many_spells_may_pass_unseen() {
    let rules = Backoff::default();
    check(
        &rules,
        base(0.0),
        &[
            (0.0, Trigger, 1.0),
            (59.0, Trigger, 2.0),
            (118.0, Nothing, 2.0),
            (119.0, Nothing, 1.0),
            (178.0, Trigger, 2.0),
            (237.9, Nothing, 2.0),
            (900.0, Nothing, 0.0),
        ],
    );
}

#[test]
fn the_configured_delay_is_what_grows_and_what_comes_back() {
    let fine = Backoff {
        factor: Factor::new(1.2).unwrap(),
        min: secs(5.0),
        max: secs(180.0),
        ..Backoff::default()
    };
    let check = |delay: f64, plays: &[(f64, Event, f64)]| check(&fine, base(delay), plays);
    check(0.0, &[(0.0, Trigger, 5.0), (1.0, Trigger, 6.0), (2.0, Trigger, 7.2)]);
    check(10.0, &[(0.0, Trigger, 12.0), (1.0, Trigger, 14.4), (61.0, Nothing, 12.0)]);
    check(10.0, &[(0.0, Trigger, 12.0), (60.0, Nothing, 10.0), (600.0, Nothing, 10.0)]);
}

#[test]
fn a_wait_that_is_named_does_not_multiply_the_delay_but_is_a_trigger() {
    let rules = Backoff::default();
    check(&rules, base(0.0), &[(0.0, Waits, 1.0), (1.0, Waits, 1.0), (2.0, Trigger, 2.0)]);
    check(&rules, base(3.0), &[(0.0, Waits, 3.0)]);
    check(
        &rules,
        base(0.0),
        &[(0.0, Trigger, 1.0), (30.0, Waits, 1.0), (89.0, Nothing, 1.0), (90.0, Nothing, 0.0)],
    );
}

#[test]
fn what_triggers_is_what_is_named() {
    let rules = Backoff::default();
    let statuses = (100..600).filter(|status| rules.is_trigger(Class::Served, Some(*status)));
    let named = [429, 502, 503, 504, 520, 521, 522, 523, 524];
    assert_eq!(statuses.collect::<Vec<_>>(), named);
    let errors = Class::ALL.into_iter().filter(|class| rules.is_trigger(*class, None));
    let named = [Class::ConnectTimeout, Class::ResponseTimeout, Class::Reset, Class::Truncated];
    assert_eq!(errors.collect::<Vec<_>>(), named);
}

fn ramping(target: (u32, u32), min_delay: f64) -> Backoff {
    let rampup = Rampup { target, min_delay: secs(min_delay), ..Rampup::default() };
    Backoff { rampup: Some(rampup), ..Backoff::default() }
}

#[test]
fn windows_below_the_target_lower_the_delay_and_then_raise_what_may_be_in_flight() {
    let rules = ramping((1, 1), 0.05);
    let base = Base { delay: secs(0.2), least: 2, most: Some(4) };
    let mut plays: Vec<_> = vec![(0.0, Start, 0.2), (59.9, Nothing, 0.2), (60.0, Nothing, 0.1)];
    plays.extend([(61.0, Start, 0.1), (121.0, Start, 0.05)]);
    let state = check(&rules, base, &plays);
    assert_eq!(state.most(&rules, &base), Some(2));
    for (later, want) in [(181.0, 3), (241.0, 4), (301.0, 4)] {
        plays.push((later, Start, 0.05));
        assert_eq!(check(&rules, base, &plays).most(&rules, &base), Some(want), "{later}");
    }
}

#[test]
fn a_window_in_which_nothing_starts_is_no_reason_to_get_faster() {
    let plays = [(0.0, Start, 1.0), (60.0, Nothing, 0.5), (6000.0, Nothing, 0.5)];
    check(&ramping((1, 1), 0.0), base(1.0), &plays);
}

#[test]
fn windows_that_hit_the_target_hold_and_windows_beyond_it_back_off() {
    let rules = ramping((1, 3), 0.0);
    let state = check(
        &rules,
        base(2.0),
        &[
            (0.0, Start, 2.0),
            (60.0, Start, 1.0),
            (61.0, Trigger, 1.0),
            (62.0, Trigger, 1.0),
            (63.0, Trigger, 1.0),
            (120.0, Start, 1.0),
            (121.0, Trigger, 1.0),
            (122.0, Trigger, 1.0),
            (123.0, Trigger, 1.0),
            // One more than the target: rampup's last step is taken back, and that is multiplied.
            (124.0, Trigger, 4.0),
            (125.0, Trigger, 8.0),
            (181.0, Start, 8.0),
            (185.0, Nothing, 4.0),
            (245.0, Nothing, 2.0),
        ],
    );
    assert!(!state.backs_off());
}

#[test]
fn what_is_in_flight_never_falls_below_its_floor() {
    let rules = ramping((1, 1), 0.0);
    let base = Base { delay: Duration::ZERO, least: 2, most: None };
    let plays = [(0.0, Start, 0.0), (60.0, Start, 0.0), (120.0, Start, 0.0)];
    assert_eq!(check(&rules, base, &plays).most(&rules, &base), Some(4));
    let mut plays = plays.to_vec();
    plays.extend([(121.0, Trigger, 0.0), (122.0, Trigger, 1.0), (123.0, Trigger, 2.0)]);
    assert_eq!(check(&rules, base, &plays).most(&rules, &base), Some(3), "one step a window");
    for (window, start) in [200.0, 300.0, 400.0].into_iter().enumerate() {
        let (mut state, now) = (check(&rules, base, &plays), at(start));
        for _ in 0..5 {
            state = state.triggered(&rules, &base, false, now).0;
        }
        assert!(state.most(&rules, &base) >= Some(2), "{window}");
    }
}

#[test]
fn a_scope_kept_on_a_rung_has_the_delay_of_so_many_triggers() {
    let rules = Backoff::default();
    for (rung, want) in [(0, 0.0), (1, 1.0), (4, 8.0), (15, 300.0)] {
        let state = Pressure::on_rung(rung, &rules, &base(0.0));
        assert_eq!(state.delay(&base(0.0)), secs(want));
        assert_eq!(state.at(&rules, &base(0.0), at(1e6)), state, "time changes nothing");
    }
}

fn rules() -> impl Strategy<Value = Backoff> {
    let ramp = prop_oneof![Just(None), Just(Some(Rampup::default()))];
    (1.05f64..4.0, 0.1f64..5.0, 5.0f64..100.0, 1.0f64..90.0, ramp).prop_map(
        |(factor, min, max, quiet, rampup)| Backoff {
            factor: Factor::new(factor).unwrap(),
            min: secs(min),
            max: secs(max),
            quiet: secs(quiet),
            rampup,
            ..Backoff::default()
        },
    )
}

proptest! {
    /// The next start is the first moment whose own state allows it: neither before nor after.
    #[test]
    fn the_next_start_is_the_first_moment_that_its_state_allows(
        rules in rules(), delay in 0.0f64..3.0, chance: u32,
        steps in proptest::collection::vec((0u8..4, 0.0f64..40.0), 1..30),
    ) {
        let (base, mut state) = (base(delay), Pressure::NONE);
        let mut anchors = Anchors { last_start: Tick::ZERO, last_trigger: Tick::ZERO };
        let jitters = Jitters { ordinary: Jitter::new(-0.5, 0.5).unwrap(), chance };
        let mut now = at(0.0);
        for (event, pass) in steps {
            now = now + secs(pass);
            state = state.at(&rules, &base, now);
            match event {
                0 | 1 => {
                    let (next, slows) = state.triggered(&rules, &base, event == 1, now);
                    state = next;
                    prop_assert!(state.delay(&base) <= rules.max.max(base.delay));
                    prop_assert!(!slows || !state.backs_off() || state.pace() >= rules.min);
                    if slows {
                        anchors.last_trigger = now;
                    }
                }
                2 => {
                    state = state.started(&rules, now);
                    anchors.last_start = now;
                }
                _ => {}
            }
            let next = state.next(&rules, &base, anchors, jitters);
            let allowed = |moment: Tick| {
                state.at(&rules, &base, moment).start(&rules, &base, anchors, jitters) <= moment
            };
            prop_assert!(allowed(next.max(now)));
            let span = next.since(now);
            for part in 0..20 {
                let before = now + span * part / 20;
                prop_assert!(before >= next || !allowed(before), "{part} of {span:?}");
            }
        }
    }

    #[test]
    fn a_clock_that_goes_back_brings_no_step_back(
        rules in rules(), triggers in 1u32..20, back in 0.0f64..900.0,
    ) {
        let (base, mut state) = (base(0.0), Pressure::NONE);
        for _ in 0..triggers {
            state = state.triggered(&rules, &base, false, at(0.0)).0;
        }
        prop_assert_eq!(state.at(&rules, &base, at(0.0) - secs(back)), state);
        let steps = state.steps(&rules, &base);
        prop_assert_eq!(steps == 0, !state.backs_off());
    }
}
