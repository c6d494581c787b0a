//! The shop, and the crawler on it, over connections without network: nothing sleeps.

use crate::clock::Clock;
use crate::demo::crawler::{Crawler, Fetched, Page, Plan, Route};
use crate::demo::shop::{Shop, Trade};
use crate::demo::visits::Visit;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn plan(pages: usize, at_once: usize, time_out: Option<Duration>) -> Plan {
    let route = Route::Direct(SocketAddr::from((Ipv4Addr::LOCALHOST, 1)));
    Plan { host: "shop.localhost".into(), route, pages, at_once, time_out, retries: 0 }
}

/// Crawls a shop of the default trade, and waits until the shop is done with everything.
async fn crawl(plan: Plan) -> (Vec<Page>, Vec<Visit>) {
    let clock = Clock::runtime();
    let shop = Shop::open(Trade::default(), &clock).await.unwrap();
    let crawler = Crawler::new(plan, &clock);
    crawler.run_over(shop.caller()).await;
    clock.sleep_until(clock.now() + ms(60_000)).await;
    (crawler.pages(), shop.visits())
}

fn count(pages: &[Page], outcome: &Fetched) -> usize {
    pages.iter().filter(|page| page.outcome == *outcome).count()
}

#[tokio::test(start_paused = true)]
async fn two_at_once_are_served_at_the_shops_own_speed() {
    let (pages, visits) = crawl(plan(10, 2, Some(ms(1000)))).await;
    assert_eq!(count(&pages, &Fetched::Page), 10);
    assert!(visits.iter().all(Visit::served), "{visits:?}");
    let took = pages.last().unwrap().ended.since(pages[0].began);
    assert!((ms(750)..ms(775)).contains(&took), "five rounds of 150 ms, not {took:?}");
    let connections = visits.iter().map(|visit| visit.connection).max().unwrap() + 1;
    assert_eq!(connections, 2, "connections are kept");
}

#[tokio::test(start_paused = true)]
async fn thirty_at_once_lose_pages_and_the_shop_works_for_nobody() {
    let (pages, visits) = crawl(plan(60, 30, Some(ms(1000)))).await;
    let (served, lost) = (count(&pages, &Fetched::Page), count(&pages, &Fetched::TimedOut));
    assert_eq!((served + lost, pages.len()), (60, 60));
    // Two workers make 13 pages in the first second; what waits behind them has been given up.
    assert!((12..=14).contains(&served), "served {served}");
    assert_eq!(visits.len(), 60, "everything was accepted");
    assert!(visits.iter().all(|visit| visit.ended.is_some()), "and worked on to its end");
    assert_eq!(visits.iter().filter(|visit| visit.left.is_some()).count(), lost);
}

#[tokio::test(start_paused = true)]
async fn a_crowd_without_time_out_waits_and_gets_every_page() {
    let (pages, visits) = crawl(plan(60, 30, None)).await;
    assert_eq!(count(&pages, &Fetched::Page), 60);
    assert!(visits.iter().all(Visit::served));
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_is_the_only_refusal() {
    let clock = Clock::runtime();
    let trade = Trade { workers: 1, service: ms(150), queue: 3 };
    let shop = Shop::open(trade, &clock).await.unwrap();
    let crawler = Crawler::new(plan(6, 6, None), &clock);
    crawler.run_over(shop.caller()).await;
    let refused = shop.visits().iter().filter(|visit| visit.refused).count();
    // How many wait depends on whether the worker took its first order before the others came.
    assert!((2..=3).contains(&refused), "{refused}");
    assert_eq!(count(&crawler.pages(), &Fetched::Status(503)), refused);
}

#[tokio::test(start_paused = true)]
async fn retries_are_the_clients_and_ask_again() {
    let (pages, visits) = crawl(Plan { retries: 2, ..plan(30, 30, Some(ms(1000))) }).await;
    assert!(pages.iter().all(|page| page.outcome == Fetched::Page || page.tries == 3));
    let tries: u32 = pages.iter().map(|page| page.tries).sum();
    assert_eq!(visits.len(), tries as usize);
    assert!(tries > 30, "some were given up at first");
}

#[tokio::test(start_paused = true)]
async fn a_closed_shop_breaks_the_connection() {
    let clock = Clock::runtime();
    let shop = Shop::open(Trade::default(), &clock).await.unwrap();
    let crawler = Crawler::new(plan(1, 1, None), &clock);
    let caller = shop.caller();
    let crawl = tokio::spawn(async move {
        crawler.run_over(caller).await;
        crawler.pages()
    });
    clock.sleep_until(clock.now() + ms(50)).await;
    drop(shop);
    let pages = crawl.await.unwrap();
    assert!(matches!(pages[0].outcome, Fetched::Broken(_)), "{pages:?}");
}

/// Sends `request` and checks how the answer begins and ends.
async fn check(request: &str, begins: &str, ends: &str) {
    let clock = Clock::runtime();
    let shop = Shop::open(Trade::default(), &clock).await.unwrap();
    let mut stream = shop.caller()().await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with(begins), "{answer}");
    assert!(answer.ends_with(ends), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_decides_what_is_answered() {
    let close = "Connection: close\r\n\r\n";
    check(&format!("GET /a HTTP/1.1\r\n{close}"), "HTTP/1.1 200 OK\r\n", "Here is /a.\n").await;
    check(&format!("HEAD /a HTTP/1.1\r\n{close}"), "HTTP/1.1 200 OK\r\n", "\r\n\r\n").await;
    check("GET /b HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n", "Here is /b.\n").await;
    let sent = format!("POST /c HTTP/1.1\r\nContent-Length: 3\r\n{close}abc");
    check(&sent, "HTTP/1.1 200 OK\r\n", "Here is /c.\n").await;
    check("nonsense\r\n\r\n", "HTTP/1.1 400", "\r\n\r\n").await;
    check("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 400", "\r\n\r\n").await;
}

/// What a crawler makes of `answer`, sent and closed by whoever it calls.
async fn fetched(answer: &'static str) -> Fetched {
    let crawler = Crawler::new(plan(1, 1, Some(ms(1000))), &Clock::runtime());
    let dial = move || async move {
        let (here, mut there) = tokio::io::duplex(4096);
        there.write_all(answer.as_bytes()).await?;
        there.shutdown().await?;
        // What the crawler sends goes nowhere.
        Ok(tokio::io::join(here, tokio::io::sink()))
    };
    crawler.run_over(dial).await;
    crawler.pages().remove(0).outcome
}

#[tokio::test(start_paused = true)]
async fn a_page_is_a_whole_200_however_it_is_framed() {
    let page = Fetched::Page;
    assert_eq!(fetched("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await, page);
    let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    assert_eq!(fetched(chunks).await, page);
    assert_eq!(fetched("HTTP/1.1 200 OK\r\n\r\nok").await, page);
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(fetched(interim).await, page);
    let gateway = "HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(fetched(gateway).await, Fetched::Status(504));
    for broken in ["", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", "SSH-2.0\r\n\r\n"] {
        assert!(matches!(fetched(broken).await, Fetched::Broken(_)), "{broken}");
    }
}
