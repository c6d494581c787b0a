//! `verdicts`: a site whose statuses mean something else than others'.

use crate::world::answer::Answer;
use crate::world::door::closed_port;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::resolve;
use std::time::Duration;

const CONFIG: &str = "pace: {ladder: [0, 100ms, 200ms]}
retry: {window: 2s, response_timeout: 2s}
verdicts:
  rate_limited: {match: [403, 999]}
  served: {match: 503}
  overloaded: {pace: nothing, repeat: off}
  refused: {pace: climb, repeat: window}
";

#[test]
fn statuses_and_classes_do_what_the_configuration_says() {
    let origin = Origin::http();
    origin.on("/limit", [Answer::status(999), Answer::status(403), Answer::page("hello")]);
    let waits = Answer::raw("HTTP/1.1 403 No\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n");
    origin.on("/wait", [waits, Answer::page("after")]);
    origin.on("/gone", [Answer::status(503)]);
    origin.on("/broken", [Answer::status(500)]);
    let dead = closed_port();
    let world = World::start(&format!("{CONFIG}{}", resolve(&[("dead.test", dead)])));
    let limit = world.get(&origin.url("a", "/limit"));
    assert_eq!((limit.status, limit.text().as_str()), (200, "hello"));
    assert_eq!(origin.arrivals_for("/limit").len(), 3);
    let wait = world.get(&origin.url("b", "/wait"));
    assert_eq!((wait.status, wait.text().as_str()), (200, "after"));
    let arrivals = origin.arrivals_for("/wait");
    assert!(arrivals[1].at.since(arrivals[0].at) >= Duration::from_secs(1), "it was named");
    for (host, path, status) in [("c", "/gone", 503), ("d", "/broken", 500)] {
        assert_eq!(world.get(&origin.url(host, path)).status, status);
        assert_eq!(origin.arrivals_for(path).len(), 1, "not repeated");
        assert_eq!(world.rung(&format!("{host}.localhost")), 0.0, "and nobody is slower for it");
    }
    let refused = world.get("http://dead.test/");
    assert_eq!(refused.status, 504, "it was waited for: {}", refused.text());
    assert!(refused.text().contains("refused"), "{}", refused.text());
    let attempts = [("host", "dead.test"), ("class", "refused")];
    assert!(world.metrics().count("pacegate_attempts_total", &attempts) > 2.0);
}
