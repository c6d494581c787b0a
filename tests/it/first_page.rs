//! The first thing anybody tries: a page of a shop that is too busy twice, over http and over https.

use crate::world::answer::Answer;
use crate::world::authority::Authority;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::resolve;
use std::time::Duration;

const LADDER: &str = "pace: {ladder: [0s, 100ms, 200ms]}\n";

/// What the origin of these tests does at `/page`.
fn busy_twice(origin: &Origin) {
    origin.on("/page", [Answer::status(503), Answer::status(503), Answer::page("hello")]);
}

/// Whether the three attempts kept the ladder's distance.
fn assert_paced(origin: &Origin) {
    let arrivals = origin.arrivals_for("/page");
    assert_eq!(arrivals.len(), 3, "{arrivals:#?}");
    assert!(arrivals[1].at.since(arrivals[0].at) >= Duration::from_millis(100));
    assert!(arrivals[2].at.since(arrivals[1].at) >= Duration::from_millis(200));
}

#[test]
fn a_busy_http_page_is_repeated_until_it_is_there() {
    let origin = Origin::http();
    busy_twice(&origin);
    let world = World::start(&format!("{LADDER}{}", resolve(&[("shop.test", origin.address())])));
    let page = world.client().get("http://shop.test/page");
    assert_eq!((page.status, page.text()), (200, "hello".into()));
    assert_paced(&origin);
    world.await_metric("pacegate_requests_total", &[("host", "shop.test")], 1.0);
}

#[test]
fn a_busy_https_page_is_repeated_until_it_is_there() {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["shop.test"]);
    busy_twice(&origin);
    let world = World::start(&format!(
        "{LADDER}{}tls: {{roots: \"{}\"}}\n",
        resolve(&[("shop.test", origin.address())]),
        authority.file().display()
    ));
    let page = world.tunnel("shop.test:443").get_path("shop.test", "/page");
    assert_eq!((page.status, page.text()), (200, "hello".into()));
    assert_paced(&origin);
}

#[test]
fn a_term_signal_ends_it_with_success() {
    let mut world = World::start("");
    world.signal("TERM");
    let status = world.wait();
    assert!(status.success(), "{status}: {}", world.log().join("\n"));
}
