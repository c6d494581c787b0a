//! Via: who is told of the proxy, and a request that comes back (RFC 9110 §7.6.3; rows 55, 56).

use crate::world::answer::Answer;
use crate::world::authority::Authority;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::resolve;

/// What the origin and the client see of Via, after what was there before.
fn seen(config: &str) -> (Vec<String>, Vec<String>) {
    let origin = Origin::http();
    let page = "HTTP/1.1 200 OK\r\nVia: 1.1 cdn\r\nContent-Length: 0\r\n\r\n";
    origin.on("/", [Answer::raw(page)]);
    let world = World::start(config);
    let answer = world.get_with(&origin.url("shop", "/"), "Via: 1.0 other\r\n");
    let there = origin.arrivals_for("/")[0].headers("via");
    let here = answer.headers("via");
    assert_eq!((there[0].as_str(), here[0].as_str()), ("1.0 other", "1.1 cdn"));
    let own = |lines: &[String]| {
        let lines = lines.iter().skip(1);
        lines.map(|line| line.split('-').next().unwrap_or_default().to_owned()).collect()
    };
    (own(&there), own(&here))
}

#[test]
fn who_is_told_is_told_after_all_others() {
    let ours = vec!["1.1 pacegate".to_owned()];
    assert_eq!(seen(""), (vec![], vec![]));
    assert_eq!(seen("via: false\n"), (vec![], vec![]));
    assert_eq!(seen("via: responses\n"), (vec![], ours.clone()));
    assert_eq!(seen("via: both\n"), (ours.clone(), ours));
}

#[test]
fn a_repeat_is_signed_once() {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["shop.test"]);
    origin.on("/", [Answer::status(503), Answer::page("hello")]);
    let world = World::start(&format!(
        "via: both\npace: {{ladder: [0, 50ms]}}\n{}tls: {{roots: {}}}\n",
        resolve(&[("shop.test", origin.address())]),
        authority.file().display()
    ));
    let answer = world.tunnel("shop.test:443").get_path("shop.test", "/");
    assert_eq!((answer.status, answer.headers("via").len()), (200, 1));
    for arrival in origin.arrivals_for("/") {
        assert_eq!(arrival.headers("via").len(), 1, "{arrival:?}");
    }
}

#[test]
fn a_request_that_comes_back_is_a_loop_and_is_sent_nowhere() {
    let origin = Origin::http();
    let world = World::start("via: responses\n");
    let answer = world.get(&origin.url("shop", "/"));
    let own = answer.header("via").expect("it is signed");
    let back = world.get_with(&origin.url("shop", "/back"), &format!("Via: 1.1 x, {own}\r\n"));
    assert_eq!(back.status, 502);
    let status = back.header("proxy-status").unwrap_or_default();
    assert!(status.contains("proxy_loop_detected"), "{status}");
    assert!(back.text().contains("passed this proxy before"), "{}", back.text());
    let long = format!("Via: {}\r\n", ["1.1 y"; 21].join(", "));
    assert_eq!(world.get_with(&origin.url("shop", "/back"), &long).status, 502);
    assert_eq!(origin.arrivals_for("/back").len(), 0);
}
