//! Controls from both sources, good and bad.

use super::*;
use crate::judge::again::After;
use crate::judge::verdict::Class;
use http::HeaderName;

fn read(lines: &[(&str, &str)]) -> Result<Wishes, BadWish> {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let name: HeaderName = name.parse().unwrap();
        headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    Wishes::of_headers(&headers)
}

fn secs(seconds: f64) -> Option<Duration> {
    Some(Duration::from_secs_f64(seconds))
}

#[track_caller]
fn check(name: &str, value: &str, want: Wishes) {
    assert_eq!(read(&[(name, value)]), Ok(want), "{name}: {value}");
}

#[track_caller]
fn check_bad(name: &str, value: &str) {
    let why = read(&[(name, value)]).expect_err(value);
    assert_eq!(why.place, name);
    assert!(why.to_string().contains("expected"), "{why}");
}

#[test]
fn spans_are_seconds_with_decimals() {
    check("Pace-Deadline", "30", Wishes { deadline: secs(30.0), ..Wishes::default() });
    check("Pace-Window", " 2.5 ", Wishes { window: secs(2.5), ..Wishes::default() });
    check("Pace-Window", "0", Wishes { window: secs(0.0), ..Wishes::default() });
    check("Pace-Timeout", "0.25", Wishes { timeout: secs(0.25), ..Wishes::default() });
    let day = Wishes { deadline: secs(86_400.0), ..Wishes::default() };
    check("Pace-Deadline", "99999999999999999999999999", day);
    for bad in ["", "soon", "-1", "+1", "1e3", "inf", "NaN", "1.", ".5", "30s", "1,5", "\u{663}"] {
        check_bad("pace-deadline", bad);
    }
    check_bad("pace-timeout", "0");
    check_bad("pace-window", &"9".repeat(33));
}

#[test]
fn retry_counts_names_or_both() {
    let wish = |extra, only: &[After]| {
        let retry = Some(Wish { extra, only: only.to_vec() });
        Wishes { retry, ..Wishes::default() }
    };
    let timeouts = [Class::ConnectTimeout, Class::ResponseTimeout].map(After::Class);
    check("Pace-Retry", "0", wish(Some(0), &[]));
    check("Pace-Retry", "OFF", wish(Some(0), &[]));
    check("Pace-Retry", "99", wish(Some(99), &[]));
    check("Pace-Retry", "503", wish(None, &[After::Status(503, 503)]));
    check(
        "Pace-Retry",
        "5xx, 425-429",
        wish(None, &[After::Status(500, 599), After::Status(425, 429)]),
    );
    check("Pace-Retry", "timeout", wish(None, &timeouts));
    check("Pace-Retry", "2, reset", wish(Some(2), &[After::Class(Class::Reset)]));
    for bad in ["", ",", "1, 2", "off, 3", "099", "1000", "504-500", "xx", "never", "-1", "4 2"] {
        check_bad("pace-retry", bad);
    }
    check_bad("pace-retry", &"429,".repeat(33));
}

#[test]
fn a_preference_to_wait_is_a_deadline_unless_one_is_stated() {
    let wait = |seconds| {
        let deadline = Some(Duration::from_secs(seconds));
        Wishes { deadline, prefer_wait: Some(seconds), ..Wishes::default() }
    };
    check("Prefer", "wait=30", wait(30));
    check("Prefer", "respond-async; foo=\"a,wait=1\", Wait = \"10\"; x", wait(10));
    check("Prefer", "wait=20, wait=30", wait(20));
    for ignored in ["wait", "wait=soon", "wait=-1", "await=3", "foo=\"x, wait=1\"", "\"wait=9"] {
        check("Prefer", ignored, Wishes::default());
    }
    let both = read(&[("prefer", "wait=30"), ("pace-deadline", "5")]).unwrap();
    assert_eq!((both.deadline, both.prefer_wait), (secs(5.0), None));
}

#[test]
fn words_are_read_in_any_case_and_others_are_errors() {
    let preset = Some(Preset::Interactive);
    check("Pace-Preset", "Interactive", Wishes { preset, ..Wishes::default() });
    check_bad("pace-preset", "fast");
    check("Pace-Debug", "yes", Wishes { debug: Some(true), ..Wishes::default() });
    check_bad("pace-debug", "maybe");
    check("Pace-Tag", "job/7#a", Wishes { tag: Some("job/7#a".into()), ..Wishes::default() });
    check_bad("pace-tag", "a b");
    check_bad("pace-tag", &"a".repeat(65));
}

#[test]
fn scopes_are_names_with_amounts() {
    let asked = |adds, names: &[(&str, f64)]| {
        let names = names.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect();
        Wishes { scopes: Some(AskedScopes { adds, learn: false, names }), ..Wishes::default() }
    };
    check("Pace-Scope", "api", asked(false, &[("api", 1.0)]));
    check("Pace-Scope", "api , Users", asked(false, &[("api", 1.0), ("Users", 1.0)]));
    check("Pace-Scope", "cost;n=2.5, api", asked(false, &[("cost", 2.5), ("api", 1.0)]));
    check("Pace-Scope", "+api, b; n=0", asked(true, &[("api", 1.0), ("b", 0.0)]));
    check("Pace-Scope", "shop.example/slow", asked(false, &[("shop.example/slow", 1.0)]));
    let bad =
        ["", ",", "a,", "a b", "+", "a;n", "a;n=-1", "a;n=1e3", "a;m=1", "a;n=1;n=2", "\"a\""];
    bad.iter().for_each(|bad| check_bad("pace-scope", bad));
    check_bad("pace-scope", "a;n=9999999999999");
    check_bad("pace-scope", &"a".repeat(201));
    check_bad("pace-scope", &["a"; 9].join(","));
}

#[test]
fn a_delay_tracking_and_a_way_past_the_pace_are_asked_for() {
    check("Pace-Delay", "2.5", Wishes { delay: secs(2.5), ..Wishes::default() });
    check_bad("pace-delay", "-1");
    check("Pace-Track", "no", Wishes { track: Some(false), ..Wishes::default() });
    check("Pace-Bypass", "?1", Wishes { bypass: Some(true), ..Wishes::default() });
    check_bad("pace-track", "perhaps");
    check_bad("pace-bypass", "");
}

#[test]
fn an_urgency_is_read_and_a_bad_one_is_ignored() {
    for (text, want) in [
        ("u=0", Some(0)),
        ("i, u=7", Some(7)),
        ("u=5;x=1, i=?0", Some(5)),
        ("u=1, u=2", Some(2)),
        ("x=\"u=1, u=2\"", None),
        ("u=8", None),
        ("u=-1", None),
        ("u=10", None),
        ("u=1.5", None),
        ("U=1", None),
        ("u", None),
        ("", None),
    ] {
        check("Priority", text, Wishes { urgency: want, ..Wishes::default() });
    }
}

#[test]
fn a_control_stands_once_and_unknown_ones_are_ignored() {
    let twice = read(&[("pace-deadline", "5"), ("pace-deadline", "6")]).expect_err("twice");
    assert_eq!(twice.place, "pace-deadline");
    check("Pace-Unheard-Of", "whatever", Wishes::default());
}

#[test]
fn a_proxy_user_says_the_same_in_options() {
    let of = |user| Wishes::of_user(&ProxyUser::of_parts(user, "s").unwrap());
    let wishes = of("nightly;preset=archive;deadline=170;retry=2,429;window=60").unwrap();
    assert_eq!(wishes.preset, Some(Preset::Archive));
    assert_eq!((wishes.deadline, wishes.window), (secs(170.0), secs(60.0)));
    assert_eq!(wishes.retry.unwrap().extra, Some(2));
    assert_eq!(of("nightly").unwrap(), Wishes::default());
    assert_eq!(of("nightly;deadline=soon").unwrap_err().place, "proxy user, option deadline");
    let wishes = of("nightly;scope=cost;n=2.5,api;delay=3;priority=u=1;track=no").unwrap();
    let names = vec![("cost".to_owned(), 2.5), ("api".to_owned(), 1.0)];
    assert_eq!(wishes.scopes, Some(AskedScopes { names, ..AskedScopes::default() }));
    assert_eq!((wishes.delay, wishes.urgency, wishes.track), (secs(3.0), Some(1), Some(false)));
    assert!(of("nightly;priority=high").is_err() && of("nightly;n=2").is_err());
    let unknown = of("nightly;dedline=3").unwrap_err();
    assert_eq!((&*unknown.place, &*unknown.text), ("proxy user", "dedline"));
}

#[test]
fn the_request_goes_before_the_proxy_user() {
    let request = read(&[("prefer", "wait=5")]).unwrap();
    let user = read(&[("pace-deadline", "9"), ("pace-window", "7")]).unwrap();
    let both = request.clone().over(user.clone());
    assert_eq!((both.deadline, both.prefer_wait, both.window), (secs(5.0), Some(5), secs(7.0)));
    let other = user.over(request);
    assert_eq!((other.deadline, other.prefer_wait), (secs(9.0), None));
}

#[test]
fn who_is_not_trusted_gets_what_is_politer_only() {
    let asked = [("pace-preset", "off"), ("pace-timeout", "0.1"), ("pace-window", "9999")];
    let granted = |trusted| {
        let hour = Duration::from_secs(3600);
        read(&asked).unwrap().granted(trusted, hour, Duration::from_secs(5))
    };
    let (trusted, stranger) = (granted(true), granted(false));
    assert_eq!((trusted.preset, trusted.timeout), (Some(Preset::Off), secs(0.1)));
    assert_eq!((stranger.preset, stranger.timeout), (None, secs(5.0)));
    assert_eq!((trusted.window, stranger.window), (secs(3600.0), secs(3600.0)));
    let asked = [
        ("pace-scope", "api"),
        ("pace-track", "no"),
        ("pace-bypass", "yes"),
        ("pace-delay", "9999"),
        ("priority", "u=0"),
    ];
    let granted =
        |trusted| read(&asked).unwrap().granted(trusted, Duration::from_secs(60), Duration::ZERO);
    let (trusted, stranger) = (granted(true), granted(false));
    let scopes = |wishes: &Wishes| wishes.scopes.as_ref().map(|it| (it.adds, it.learn));
    assert_eq!((scopes(&trusted), scopes(&stranger)), (Some((false, true)), Some((true, false))));
    assert_eq!((trusted.track, trusted.bypass), (Some(false), Some(true)));
    assert_eq!((stranger.track, stranger.bypass), (None, None));
    assert_eq!((trusted.delay, stranger.delay), (secs(60.0), secs(60.0)));
    assert_eq!((trusted.urgency, stranger.urgency), (Some(0), Some(0)), "it is its own line");
}

#[test]
fn what_an_error_shows_is_short_and_plain() {
    let why = read(&[("pace-deadline", &"\u{e9}\t".repeat(500))]).unwrap_err();
    assert!(why.text.chars().count() <= 60 && !why.text.contains('\t'));
}

proptest::proptest! {
    #[test]
    fn no_text_panics(value in "[ -~]{0,40}", bytes in proptest::collection::vec(0_u8.., 0..60)) {
        for control in Control::ALL {
            let _ = read(&[(control.field(), &value)]);
        }
        let _ = read(&[("prefer", &value)]);
        let _ = ProxyUser::parse(&bytes);
        let _ = ProxyUser::parse(format!("Basic {value}").as_bytes());
        let _ = ProxyUser::of_parts(&value, "").map(|user| Wishes::of_user(&user));
    }
}
