//! The fields from before there was a draft, as sites are known to send them.

use super::*;
use crate::judge::hints::moment::Unit;
use crate::judge::hints::profile::Profile;
use HintResult as R;

const DATE: (&str, &str) = ("Date", "Fri, 15 Jan 2027 08:00:00 GMT");
/// `DATE` in seconds since 1970.
const NOW: u64 = 1_800_000_000;

fn told(manner: &Manner<'_>, status: u16, fields: &[(&str, &str)]) -> Option<(f64, R)> {
    let hints = said_to(manner, status, &[&[DATE], fields].concat());
    let read = hints.results().find(|(field, _)| *field == Field::Older);
    read.map(|(_, read)| (hints.wait().map_or(0.0, |wait| wait.as_secs_f64()), read))
}

#[track_caller]
fn check(status: u16, fields: &[(&str, &str)], want: Option<(f64, R)>) {
    match (told(&PLAIN, status, fields), want) {
        (Some((wait, read)), Some((wanted, result))) => {
            assert!((wait - wanted).abs() < 0.001 && read == result, "{fields:?}: {wait} {read:?}");
        }
        (got, want) => assert_eq!(got, want, "{fields:?}"),
    }
}

#[test]
fn sites_are_understood_as_they_write() {
    let left = "X-RateLimit-Remaining";
    // GitHub: seconds since 1970.
    check(403, &[(left, "0"), ("X-RateLimit-Reset", "1800000059")], Some((60.0, R::Epoch)));
    // Discord: the moment with a fraction, and the span.
    let discord = [("X-RateLimit-Reset", "1800000001.5"), ("X-RateLimit-Reset-After", "1.25")];
    check(429, &discord, Some((1.25, R::Ok)));
    check(200, &[&discord[..], &[(left, "0")]].concat(), Some((1.25, R::Ok)));
    // Reddit: decimals, and a span where others have a moment.
    check(200, &[(left, "0.0"), ("X-RateLimit-Reset", "354")], Some((354.0, R::Ok)));
    check(200, &[(left, "597.0"), ("X-RateLimit-Reset", "354")], None);
    // Mastodon: ISO 8601.
    let iso = ("X-RateLimit-Reset", "2027-01-15T08:05:00.500000Z");
    check(429, &[(left, "0"), iso], Some((300.5, R::Ok)));
    let iso = ("X-RateLimit-Reset", "2027-01-15T09:05:00+01:00");
    check(429, &[(left, "0"), iso], Some((301.0, R::Ok)));
    // X: another spelling.
    let reset = ("x-rate-limit-reset", "1800000009");
    check(200, &[("x-rate-limit-remaining", "0"), reset], Some((10.0, R::Epoch)));
    // Bluesky: the draft's names, but a moment and a policy that is no such field.
    let bluesky = [
        ("RateLimit-Remaining", "0"),
        ("RateLimit-Reset", "1800000099"),
        ("RateLimit-Policy", "3000;w=300"),
    ];
    check(429, &bluesky, Some((100.0, R::Epoch)));
    // Zenodo, and milliseconds.
    check(429, &[("X-RateLimit-Reset", "1800000029")], Some((30.0, R::Epoch)));
    check(429, &[("X-RateLimit-Reset", "1800000029500")], Some((29.5, R::Epoch)));
    check(429, &[("RateLimit-Reset", "Fri, 15 Jan 2027 08:00:10 GMT")], Some((11.0, R::Ok)));
}

#[test]
fn they_count_where_nothing_is_left_or_a_limit_was_hit() {
    let (reset, left) = (("X-RateLimit-Reset", "30"), |text| ("X-RateLimit-Remaining", text));
    let wait = Some((30.0, R::Ok));
    for status in [200, 302, 403, 429, 503] {
        check(status, &[left("0"), reset], wait);
        check(status, &[left("-1"), reset], wait);
    }
    check(429, &[left("7"), reset], wait);
    check(430, &[reset], wait);
    for status in [200, 403, 500, 503] {
        check(status, &[left("7"), reset], None);
        check(status, &[left("none"), reset], None);
        check(status, &[reset], None);
    }
    check(200, &[left("0")], None);
    // What is left by one spelling says nothing of another's reset.
    check(200, &[("RateLimit-Remaining", "0"), reset], None);
}

#[test]
fn what_lies_in_the_past_or_beyond_a_day_is_no_wait() {
    let reset = |text: &str, want| check(429, &[("X-RateLimit-Reset", text)], Some(want));
    reset("0", (0.0, R::Zero));
    reset("0.0", (0.0, R::Zero));
    reset("-5", (0.0, R::Negative));
    reset("3601", (3600.0, R::Capped));
    reset("86400", (3600.0, R::Capped));
    reset("86401", (0.0, R::Malformed));
    reset(&NOW.to_string(), (0.0, R::Past));
    reset(&(NOW - 1).to_string(), (0.0, R::Past));
    reset(&(NOW + 86_401).to_string(), (0.0, R::Malformed));
    reset("2027-01-15T07:59:59Z", (0.0, R::Past));
    reset("2127-01-15T07:59:59Z", (0.0, R::Malformed));
    for text in ["", ".", ".5", "1e3", "0x10", "1.2.3", "+5", "nan", "inf", "6m0s", "soon", "-"] {
        reset(text, (0.0, R::Malformed));
    }
    reset(&"9".repeat(1000), (0.0, R::Malformed));
    reset("-0001-01-15T07:59:59Z", (0.0, R::Malformed));
}

// discord/discord-api-docs#5621: absolute and relative reset disagree.
#[test]
fn a_span_beats_a_moment_and_of_several_the_later_counts() {
    let (moment, span) = ("X-RateLimit-Reset", "X-RateLimit-Reset-After");
    check(429, &[(moment, "1800000050"), (span, "5")], Some((5.0, R::Ok)));
    check(429, &[(moment, "1800000004"), (span, "5"), (span, "7")], Some((7.0, R::Ok)));
    check(429, &[(moment, "1800000050"), (span, "junk")], Some((51.0, R::Epoch)));
    check(429, &[(moment, "30"), (moment, "40")], Some((40.0, R::Ok)));
    check(429, &[(moment, "30"), ("RateLimit-Reset", "90")], Some((90.0, R::Ok)));
}

// envoyproxy/envoy#12200 and victornpb/undiscord#349: the unit is the site's, and configured.
#[test]
fn a_profile_says_what_a_field_means_and_nothing_else_is_guessed() {
    let name = HeaderName::from_static;
    let profile = |waits: &[(&'static str, Unit)], left: &[&'static str]| Profile {
        waits: waits.iter().map(|(field, unit)| (name(field), *unit)).collect(),
        left: left.iter().map(|field| name(field)).collect(),
    };
    let tell = |profile: &Profile, status, fields: &[_]| {
        told(&Manner { profile: Some(profile), ..PLAIN }, status, fields)
    };
    let millis = profile(&[("x-ratelimit-reset", Unit::Milliseconds)], &[]);
    let reset = ("X-RateLimit-Reset", "1500");
    assert_eq!(tell(&millis, 429, &[reset]), Some((1.5, R::Ok)));
    assert_eq!(tell(&millis, 200, &[reset, ("X-RateLimit-Remaining", "0")]), Some((1.5, R::Ok)));
    assert_eq!(tell(&millis, 200, &[reset, ("X-RateLimit-Remaining", "2")]), None);
    let own = profile(&[("x-next", Unit::Epoch)], &["x-left"]);
    let next = ("X-Next", "1800000004.5");
    assert_eq!(tell(&own, 200, &[next, ("X-Left", "0")]), Some((4.5, R::Epoch)));
    assert_eq!(tell(&own, 200, &[next, ("X-RateLimit-Remaining", "0")]), None);
    assert_eq!(tell(&own, 429, &[reset]), None);
    assert_eq!(tell(&Profile::default(), 429, &[reset]), None);
    let units = [
        (Unit::Seconds, "2026-01-01T00:00:00Z", R::Malformed),
        (Unit::Date, "30", R::Malformed),
        (Unit::Epoch, "30", R::Past),
        (Unit::EpochMilliseconds, "1800000000", R::Past),
        (Unit::Seconds, "1800000030", R::Malformed),
    ];
    for (unit, text, want) in units {
        let got = tell(&profile(&[("x-next", unit)], &[]), 429, &[("X-Next", text)]);
        assert_eq!(got, Some((0.0, want)), "{unit:?} {text}");
    }
}

#[test]
fn little_left_of_a_window_spaces_to_its_end_if_that_is_asked_for() {
    let fields = |left, reset| {
        let (limit, left) =
            (("X-RateLimit-Limit", "100, 100;w=60"), ("X-RateLimit-Remaining", left));
        [limit, left, ("X-RateLimit-Reset", reset)]
    };
    let eager = Manner { preemptive: true, ..PLAIN };
    assert_eq!(told(&eager, 200, &fields("10", "30")), Some((3.0, R::Ok)));
    assert_eq!(told(&eager, 200, &fields("11", "30")), None);
    assert_eq!(told(&eager, 200, &fields("5", "junk")), None);
    assert_eq!(told(&eager, 200, &fields("0", "30")), Some((30.0, R::Ok)));
    assert_eq!(told(&eager, 404, &fields("5", "30")), None);
    assert_eq!(told(&eager, 200, &fields("0.0001", "3000")), Some((3600.0, R::Capped)));
    assert_eq!(told(&PLAIN, 200, &fields("10", "30")), None);
}

proptest::proptest! {
    #[test]
    fn no_text_panics_or_names_no_time_at_all(
        reset in "[0-9.]{0,20}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8}Z|[ -~]{0,30}",
        date in "[ -~]{0,30}", status in 200_u16..600,
    ) {
        let fields =
            [("Date", &*date), ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", &*reset)];
        if let Some(wait) = said(status, &fields).wait() {
            proptest::prop_assert!(!wait.is_zero() && wait <= MOST);
        }
    }
}
