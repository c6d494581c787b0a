//! What is kept of robots.txt, and what the configuration says to it.

use super::*;
use crate::flow::settings::Own;

fn host(number: usize) -> Host {
    Host::parse(&format!("h{number}.test")).unwrap()
}

#[test]
fn hosts_are_bounded_and_the_oldest_goes_first() {
    let mut book = Book::default();
    for number in 0..MOST_HOSTS {
        assert_eq!(book.page(&host(number)).1, None);
    }
    assert_eq!(book.page(&host(0)).1, None, "it is known");
    assert_eq!(book.page(&host(MOST_HOSTS)).1, Some(host(0)));
    assert_eq!((book.hosts.len(), book.order.len()), (MOST_HOSTS, MOST_HOSTS));
}

#[test]
fn the_longest_delay_of_all_agents_counts_and_each_is_looked_at_once() {
    let text = b"User-agent: *\nCrawl-delay: 1\nUser-agent: slow\nCrawl-delay: 9\n";
    let mut page = Page { delays: Arc::new(Delays::read(text)), ..Page::new() };
    assert!(page.hears(b"bot") && page.delay == Duration::from_secs(1));
    assert!(!page.hears(b"bot"));
    assert!(page.hears(b"slow") && page.delay == Duration::from_secs(9));
    assert!(!page.hears(b"another") && page.delay == Duration::from_secs(9));
    (0..99).for_each(|number| {
        page.hears(format!("{number}").as_bytes());
    });
    assert_eq!(page.agents.len(), MOST_AGENTS);
}

#[test]
fn what_the_configuration_says_of_a_scope_counts_more() {
    let secs = Duration::from_secs;
    let scope = Scope::named("shop.test").unwrap();
    let check = |own: Own, delay: u64, concurrency: Option<u32>, overruled| {
        let scopes = HashMap::from([(scope.clone(), own)]);
        let robots = Robots { scopes, ..Robots::default() };
        let floor = Floor { delay: secs(delay), concurrency };
        assert_eq!(robots.floor(&scope, secs(5)), (floor, overruled), "{own:?}");
    };
    let own = Own::default();
    check(own, 5, Some(1), false);
    check(Own { delay: Some(secs(9)), ..own }, 5, Some(1), false);
    check(Own { delay: Some(secs(2)), ..own }, 0, None, true);
    check(Own { concurrency: Some(4), ..own }, 5, None, true);
    check(Own { concurrency: Some(1), ..own }, 5, Some(1), false);
    check(Own { delay: Some(secs(2)), ignores: true, ..own }, 0, None, false);
    assert_eq!(Robots::default().floor(&scope, Duration::ZERO).0, Floor::default());
}
