//! Quotas that origins tell (`RateLimit`): used up, the next request waits, and what brought the news is
//! handed over as it came.

use crate::world::answer::Answer;
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use std::time::Duration;

const CONFIG: &str = "pace: {ladder: [0, 0.05, 0.1]}\nretry: {window: 20s}\n";
const SECOND: Duration = Duration::from_secs(1);
const AT_ONCE: Duration = Duration::from_millis(900);

struct Stage {
    origin: Origin,
    world: World,
}

impl Stage {
    fn new() -> Stage {
        Stage { origin: Origin::http(), world: World::start(CONFIG) }
    }

    fn count(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.world.metrics().count(name, labels)
    }

    /// Hands over `answer` at once with its `RateLimit` lines intact, and the next request then
    /// waits `least`, or hardly at all.
    fn check(&self, host: &str, answer: Answer, limits: &[&str], least: Option<Duration>) {
        let path = format!("/{host}");
        self.origin.on(&path, [answer]);
        let began = now();
        let got = self.world.get(&self.origin.url(host, &path));
        assert!(now().since(began) < AT_ONCE, "{host}: delivered late");
        assert!(got.status < 400, "{host}: {}", got.status);
        assert_eq!(got.headers("ratelimit"), limits, "{host}");
        let next = format!("{path}/next");
        assert_eq!(self.world.get(&self.origin.url(host, &next)).status, 200);
        let at = |path: &str| self.origin.arrivals_for(path)[0].at;
        let gap = at(&next).since(at(&path));
        let labels = [("host", &*format!("{host}.localhost")), ("reason", "pause")];
        let paused = self.count("pacegate_host_wait_seconds_total", &labels);
        match least {
            Some(least) => {
                assert!(gap >= least, "{host}: {gap:?} is early");
                assert!(paused > 0.0, "{host}: no pause");
            }
            None => assert!(paused == 0.0, "{host}: paused for {paused} s"),
        }
    }
}

#[test]
fn a_page_that_uses_a_quota_up_is_delivered_at_once_and_the_next_request_waits() {
    let stage = Stage::new();
    let limit = "\"default\";r=0;t=1";
    for (number, status) in [200, 204, 301, 304].into_iter().enumerate() {
        let answer = Answer::status(status).header("RateLimit", limit);
        stage.check(&format!("h{number}"), answer, &[limit], Some(SECOND));
    }
    let read = [("header", "ratelimit"), ("result", "ok")];
    assert!(stage.count("pacegate_hints_total", &read) >= 4.0);
    let class = [("host", "h0.localhost"), ("class", "served_wait")];
    assert!(stage.count("pacegate_attempts_total", &class) >= 1.0);
    // Served is served: the pause is no step up.
    let climbs = [("host", "h0.localhost"), ("direction", "up")];
    assert!(stage.count("pacegate_rung_changes_total", &climbs) == 0.0);
}

#[test]
fn quotas_are_read_line_by_line_in_any_spelling_and_nonsense_is_passed_on() {
    let stage = Stage::new();
    let lines = ["\"s\";r=0;t=1", "\"m\";r=9;t=60"];
    let told = |lines: &[&str]| {
        lines.iter().fold(Answer::page("p"), |page, line| page.header("ratelimit", line))
    };
    stage.check("two", told(&lines), &lines, Some(SECOND));
    stage.check("token", told(&["day;r=0;t=1"]), &["day;r=0;t=1"], Some(SECOND));
    for (number, line) in ["\"a\";r=3;t=30", "\"a\";r=0;t=86401", "r=0;t=30", "\"a\";r=0;t=-1"]
        .into_iter()
        .enumerate()
    {
        stage.check(&format!("none{number}"), told(&[line]), &[line], None);
    }
    let cached = told(&["\"a\";r=0;t=30"]).header("Age", "4");
    stage.check("cached", cached, &["\"a\";r=0;t=30"], None);
    for result in ["malformed", "negative"] {
        let labels = [("header", "ratelimit"), ("result", result)];
        assert!(stage.count("pacegate_hints_total", &labels) >= 1.0, "{result}");
    }
}

#[test]
fn a_quota_in_a_trailer_is_no_quota() {
    let stage = Stage::new();
    let bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: RateLimit\r\n\r\n\
                 4\r\npage\r\n0\r\nRateLimit: \"a\";r=0;t=30\r\n\r\n";
    stage.check("late", Answer::raw(bytes), &[], None);
}

// The same for a limit: held, repeated after the wait, and never early.
#[test]
fn a_rejection_that_tells_when_there_is_more_is_repeated_then_and_not_before() {
    let stage = Stage::new();
    for status in [429, 503, 413] {
        let path = format!("/{status}");
        let refused = Answer::status(status).header("RateLimit", "\"default\";r=0;t=1");
        stage.origin.on(&path, [refused, Answer::page("good")]);
        let host = format!("h{status}");
        assert_eq!(stage.world.get(&stage.origin.url(&host, &path)).status, 200);
        let arrivals = stage.origin.arrivals_for(&path);
        assert_eq!(arrivals.len(), 2);
        assert!(arrivals[1].at.since(arrivals[0].at) >= SECOND, "{status} was repeated early");
        let class = [("host", &*format!("{host}.localhost")), ("class", "explicit_wait")];
        assert!(stage.count("pacegate_attempts_total", &class) >= 1.0, "{status}");
    }
}

#[test]
fn a_quota_that_renews_after_the_window_is_answered_now_with_the_field_intact() {
    let stage = Stage::new();
    let fields = ["\"default\";r=0;t=30", "\"default\";q=100;w=60"];
    for status in [429, 503] {
        let path = format!("/{status}");
        let refused = Answer::status(status)
            .header("RateLimit", fields[0])
            .header("RateLimit-Policy", fields[1])
            .body("later");
        stage.origin.on(&path, [refused]);
        let began = now();
        let got = stage.world.get(&stage.origin.url(&format!("h{status}"), &path));
        assert!(now().since(began) < AT_ONCE * 3, "at once");
        assert_eq!((got.status, got.text().as_str()), (status, "later"));
        assert_eq!(got.headers("ratelimit"), [fields[0]]);
        assert_eq!(got.headers("ratelimit-policy"), [fields[1]]);
        assert_eq!(stage.origin.arrivals_for(&path).len(), 1);
    }
}

// ietf-wg-httpapi/ratelimit-headers#160: both are there, and disagree.
#[test]
fn retry_after_wins_over_the_quota() {
    let stage = Stage::new();
    let refused =
        Answer::status(429).header("RateLimit", "\"dynamic\";r=0;t=600").header("Retry-After", "1");
    stage.origin.on("/", [refused, Answer::page("good")]);
    assert_eq!(stage.world.get(&stage.origin.url("shop", "/")).status, 200);
    let arrivals = stage.origin.arrivals();
    let gap = arrivals[1].at.since(arrivals[0].at);
    assert!(gap >= SECOND && gap < SECOND * 15, "{gap:?}");
}

// The older fields, as GitHub, Mastodon, Reddit and X write them.
#[test]
fn quotas_in_the_older_fields_are_read_in_each_sites_unit() {
    let stage = Stage::new();
    let date = ("Date", "Fri, 15 Jan 2027 08:00:00 GMT");
    let told = |status, fields: &[(&str, &str)]| {
        let fields = [&[date], fields].concat();
        fields
            .iter()
            .fold(Answer::status(status), |answer, (name, value)| answer.header(name, value))
    };
    let left = ("X-RateLimit-Remaining", "0");
    let reset = |text| ("X-RateLimit-Reset", text);
    stage.check("github", told(200, &[left, reset("1800000001")]), &[], Some(SECOND));
    stage.check("mastodon", told(200, &[left, reset("2027-01-15T08:00:01Z")]), &[], Some(SECOND));
    stage.check("reddit", told(200, &[left, reset("1.0")]), &[], Some(SECOND));
    let x = [("x-rate-limit-remaining", "0"), ("x-rate-limit-reset", "1800000001")];
    stage.check("x", told(200, &x), &[], Some(SECOND));
    let plenty = [("X-RateLimit-Remaining", "9"), reset("30")];
    stage.check("plenty", told(200, &plenty), &[], None);
    stage.check("past", told(200, &[left, reset("1799999999")]), &[], None);
    stage.check("never", told(200, &[left, reset("1900000000")]), &[], None);
    for result in ["ok", "epoch", "past", "malformed"] {
        let labels = [("header", "x-ratelimit"), ("result", result)];
        assert!(stage.count("pacegate_hints_total", &labels) >= 1.0, "{result}");
    }
    // discord/discord-api-docs#5621: the span beats the moment.
    let discord = [reset("1800000600"), ("X-RateLimit-Reset-After", "1.0")];
    stage.origin.on("/discord", [told(429, &discord), Answer::page("good")]);
    assert_eq!(stage.world.get(&stage.origin.url("discord", "/discord")).status, 200);
    let arrivals = stage.origin.arrivals_for("/discord");
    assert!(arrivals[1].at.since(arrivals[0].at) >= SECOND, "early");
}

// envoyproxy/envoy#12200: what the unit is can't be told from the number.
#[test]
fn a_profile_says_what_the_fields_of_a_host_mean() {
    let profiles = "retry_after: {profiles: {a.localhost: {X-Left: remaining, X-Next: \
                    milliseconds}, '*.b.localhost': {}}}\n";
    let stage =
        Stage { origin: Origin::http(), world: World::start(&format!("{CONFIG}{profiles}")) };
    let own = Answer::page("p").header("X-Left", "0").header("X-Next", "1000");
    stage.check("a", own, &[], Some(SECOND));
    let usual =
        || Answer::page("p").header("X-RateLimit-Remaining", "0").header("X-RateLimit-Reset", "1");
    stage.check("x.b", usual(), &[], None);
    stage.check("b", usual(), &[], Some(SECOND));
}

#[test]
fn little_left_spaces_the_next_requests_only_where_that_is_asked_for() {
    let answer = || {
        Answer::page("p")
            .header("RateLimit-Policy", "\"a\";q=60;w=60")
            .header("RateLimit", "\"a\";r=6;t=60")
    };
    let told = ["\"a\";r=6;t=60"];
    let eager = format!("{CONFIG}retry_after: {{preemptive: true}}\n");
    let stage = Stage { origin: Origin::http(), world: World::start(&eager) };
    stage.check("eager", answer(), &told, Some(SECOND));
    Stage::new().check("lazy", answer(), &told, None);
}
