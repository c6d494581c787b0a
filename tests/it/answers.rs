//! Every request has one final answer, in time, and every cancelled one gives back what it had (http.md
//! G3, G7). At full size: `PACEGATE_ANSWERS=10000 PACEGATE_CANCELS=5000`.

use crate::world::answer::{Answer, Then};
use crate::world::client::Client;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::{now, sized, until};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

const CLIENTS: usize = 24;
const WINDOW: Duration = Duration::from_millis(1500);
/// What an attempt that begins at the window's end may take, and a loaded machine.
const SLACK: Duration = Duration::from_secs(4);

/// What a site does to a request, by chance (xorshift): most often something goes wrong.
fn luck(dice: &AtomicUsize, target: &str) -> Answer {
    let mut number = dice.fetch_add(0x9E37_79B9, Ordering::Relaxed) as u64 | 1;
    number ^= number << 13;
    number ^= number >> 7;
    number ^= number << 17;
    match number % 12 {
        0 => Answer::nothing(Then::Reset),
        1 => Answer::nothing(Then::Close),
        2 => Answer::raw("HTTP/1.1 200 OK\r\nContent-Le").then(Then::Reset),
        3 => Answer::page("0123456789").cut(5, Then::Close),
        4 => Answer::status(429).body(target),
        5 => Answer::status(503).header("Retry-After", "0").body(target),
        6 => Answer::status(503).header("Retry-After", "1").body(target),
        7 => Answer::nothing(Then::Hang),
        8 => Answer::status(500).body(target),
        9 => Answer::page(target).drip(4, Duration::from_millis(5)),
        _ => Answer::page(target),
    }
}

/// Asks for numbers on one connection after the other, each answered with what is its own.
fn crawl(world: &World, origin: &Origin, next: &AtomicUsize, count: usize) -> Vec<Duration> {
    let (mut client, mut took): (Option<Client>, _) = (None, Vec::new());
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return took;
        }
        let path = format!("/luck?{number}");
        let mut connection = client.take().unwrap_or_else(|| world.client());
        let began = now();
        let answer = connection.get(&origin.url(&format!("h{}", number % 50), &path));
        took.push(now().since(began));
        let ours = answer.header("proxy-status").is_some();
        assert!(answer.whole && (ours || answer.text() == path), "{path}: {}", answer.text());
        if answer.header("connection").is_none() {
            assert!(
                connection.is_quiet_for(Duration::from_millis(1)),
                "{path}: one answer and no more"
            );
            client = Some(connection);
        }
    }
}

#[test]
fn whatever_goes_wrong_a_request_has_one_answer_within_its_window_and_two_seconds() {
    let (origin, dice) = (Origin::http(), AtomicUsize::new(7));
    origin.decide("/luck", move |arrival| luck(&dice, &arrival.target));
    let world = World::start(&format!(
        "pace: {{ladder: [0, 0.02, 0.05, 0.2]}}\nlog: {{level: warn}}\n\
         retry: {{window: {}ms, response_timeout: 400ms, page_faults: none}}\n",
        WINDOW.as_millis()
    ));
    let (count, next) = (sized("PACEGATE_ANSWERS", 200), AtomicUsize::new(0));
    let all = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let took = crawl(&world, &origin, &next, count);
                all.lock().unwrap_or_else(PoisonError::into_inner).extend(took);
            });
        }
    });
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.sort();
    println!("{count} requests: median {:?}, longest {:?}", all[count / 2], all[count - 1]);
    assert!(all[count - 1] < WINDOW + SLACK, "{:?}", all[count - 1]);
    world.await_idle();
    let answered = world.metrics().count("pacegate_requests_total", &[]);
    assert_eq!((answered, all.len()), (count as f64, count));
}

fn descriptors(world: &World) -> usize {
    let folder = format!("/proc/{}/fd", world.pid());
    std::fs::read_dir(folder).expect("the proxy runs").count()
}

#[test]
fn cancelled_holds_give_back_place_memory_and_descriptor() {
    const AT_ONCE: usize = 100;
    let origin = Origin::http();
    origin.on("/stall", [Answer::status(503)]);
    let world = World::start("pace: {ladder: [0, 60]}\nlog: {level: warn}\n");
    assert_eq!(world.get_with(&origin.url("shop", "/stall"), "Pace-Retry: 0\r\n").status, 503);
    let url = origin.url("shop", "/page");
    let (before, mut spans, mut memory) = (descriptors(&world), Vec::new(), Vec::new());
    let rounds = sized("PACEGATE_CANCELS", 500).div_ceil(AT_ONCE);
    for _ in 0..rounds {
        let mut crowd: Vec<Client> = (0..AT_ONCE).map(|_| world.client()).collect();
        crowd.iter_mut().for_each(|client| client.say("GET", &url, "", ""));
        world.await_held(AT_ONCE);
        let left = now();
        crowd.into_iter().for_each(Client::reset);
        let free = || (descriptors(&world) <= before + 2).then_some(());
        until(free).unwrap_or_else(|| panic!("{} and not {before}", descriptors(&world)));
        spans.push(now().since(left));
        world.await_held(0);
        memory.push(world.memory());
    }
    spans.sort();
    let (median, most) = (spans[rounds / 2], spans[rounds - 1]);
    println!(
        "{rounds} × {AT_ONCE} cancelled: all gone after {median:?}, at most {most:?}; {} to {} KiB",
        memory[0],
        memory[rounds - 1]
    );
    assert!(median < Duration::from_millis(1000), "{spans:?}");
    assert!(memory[rounds - 1] < memory[0] + 8 * 1024, "{memory:?}");
    assert!(origin.arrivals_for("/page").is_empty(), "none was attempted");
}
