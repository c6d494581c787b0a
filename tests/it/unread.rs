//! Clients that ask for nothing, take nothing, or take and give in drips: closed in time. Those that
//! are held, or whose origin is the slow one, are not.

use crate::world::answer::{Answer, Then};
use crate::world::frames::{
    DATA, END_HEADERS, END_STREAM, Frames, GOAWAY, HEADERS, NO_WINDOW, RST_STREAM, WINDOW_UPDATE,
    frame, reason,
};
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use std::time::Duration;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn authority(origin: &Origin) -> String {
    format!("shop.localhost:{}", origin.port())
}

#[test]
fn a_connection_that_asks_for_nothing_is_closed() {
    let origin = Origin::http();
    let world = World::start("clients: {idle: 1500ms, unread: 400ms}\n");
    let began = now();
    let mut idle = Frames::open(&world, &authority(&origin), &[]);
    let mut begun = Frames::silent(&world, &authority(&origin));
    begun.bytes(b"PRI * HTTP/2.0\r\n").expect("the proxy is there");
    let mut served = Frames::open(&world, &authority(&origin), &[]);
    served.get(1, &authority(&origin), "/");
    assert!(served.find(DATA, 1).is_some());
    let end = idle.find(GOAWAY, 0).expect("it says so");
    assert_eq!(reason(&end.payload[4..]), 0, "NO_ERROR");
    assert!(now().since(began) >= millis(1500));
    // None of them answers the PING that goes with it.
    for frames in [&mut idle, &mut begun, &mut served] {
        frames.await_end();
    }
}

#[test]
fn a_head_that_never_ends_is_no_request() {
    let origin = Origin::http();
    let world = World::start("clients: {idle: 400ms, unread: 400ms}\n");
    let mut frames = Frames::open(&world, &authority(&origin), &[]);
    frames.send(HEADERS, END_STREAM, 1, b"\x82\x86");
    frames.await_end();
}

#[test]
fn a_held_request_and_one_with_a_slow_origin_keep_their_connection() {
    let origin = Origin::http();
    origin.on("/stall", [Answer::status(503)]);
    origin.on("/slow", [Answer::page("late").after(millis(1200))]);
    let long = Answer::page("x".repeat(300_000)).body_after(millis(1200));
    origin.on("/pauses", [long]);
    let config = "pace: {ladder: [0, 1.2]}\nclients: {idle: 200ms, unread: 200ms}\n";
    let world = World::start(config);
    let shop = authority(&origin);
    for path in ["/slow", "/pauses"] {
        let mut frames = Frames::open(&world, &shop, &[]);
        frames.send(WINDOW_UPDATE, 0, 0, &10_000_000_u32.to_be_bytes());
        frames.get(1, &shop, path);
        frames.send(WINDOW_UPDATE, 0, 1, &10_000_000_u32.to_be_bytes());
        let head = frames.find(HEADERS, 1).expect("an answer");
        assert_eq!(head.payload[0], 0x88, "200");
        let mut got = 0;
        while let Some(data) = frames.find(DATA, 1) {
            got += data.payload.len();
            if data.flags & END_STREAM != 0 {
                break;
            }
        }
        assert_eq!(got, if path == "/slow" { 4 } else { 300_000 });
    }
    let stalled = world.get_with(&origin.url("shop", "/stall"), "Pace-Retry: 0\r\n");
    assert_eq!(stalled.status, 503);
    let mut frames = Frames::open(&world, &shop, &[]);
    frames.get(1, &shop, "/");
    world.await_held(1);
    assert_eq!(frames.find(HEADERS, 1).expect("an answer").payload[0], 0x88);
}

#[test]
fn an_answer_without_a_window_ends_its_attempt_and_its_stream_and_nothing_else() {
    let origin = Origin::http();
    origin.on("/long", [Answer::page("x".repeat(400_000)).cut(390_000, Then::Hang)]);
    origin.on("/slow", [Answer::page("").after(millis(2500))]);
    let world = World::start("clients: {unread: 500ms}\n");
    let shop = authority(&origin);
    let mut frames = Frames::open(&world, &shop, NO_WINDOW);
    let began = now();
    frames.get(1, &shop, "/slow");
    frames.get(3, &shop, "/long");
    frames.get(5, &shop, "/");
    for _ in 0..2 {
        let reset = std::iter::from_fn(|| frames.next()).find(|it| it.kind == RST_STREAM);
        let stream = reset.expect("it is told").stream;
        assert!([3, 5].contains(&stream), "{stream}");
    }
    assert!(now().since(began) >= millis(500));
    origin.await_departures(1);
    world.await_metric("pacegate_client_gone_total", &[("phase", "answer")], 1.0);
    world.await_exactly("pacegate_requests_in_flight", &[], 1.0);
    assert_eq!(frames.find(HEADERS, 1).expect("the slow one").payload[0], 0x88);
    assert_eq!(world.rung("shop.localhost"), 0.0);
}

#[test]
fn a_window_that_opens_in_drips_is_none() {
    let origin = Origin::http();
    origin.on("/long", [Answer::page("x".repeat(400_000)).cut(390_000, Then::Hang)]);
    let world = World::start("clients: {unread: 500ms}\n");
    let shop = authority(&origin);
    let mut frames = Frames::open(&world, &shop, NO_WINDOW);
    frames.get(1, &shop, "/long");
    assert!(frames.find(HEADERS, 1).is_some());
    let (mut taken, mut reset) = (0, false);
    while !reset {
        std::thread::sleep(millis(20));
        assert!(taken < 400, "it goes on");
        frames.send(WINDOW_UPDATE, 0, 1, &1_u32.to_be_bytes());
        let next = frames.next().expect("the connection stays");
        taken += usize::from(next.kind == DATA);
        reset = next.kind == RST_STREAM;
    }
    origin.await_departures(1);
}

#[test]
fn an_answer_that_an_http1_client_does_not_read_ends_with_its_connection() {
    let origin = Origin::http();
    origin.on("/long", [Answer::page("x".repeat(60_000_000))]);
    let world = World::start("clients: {unread: 500ms}\n");
    let mut client = world.client();
    client.say("GET", &origin.url("shop", "/long"), "", "");
    client.head();
    origin.await_departures(1);
    world.await_metric("pacegate_client_gone_total", &[("phase", "answer")], 1.0);
    let rest = client.rest();
    assert!(rest.is_ok_and(|rest| rest.len() < 60_000_000), "it ends before its length");
    assert_eq!(world.rung("shop.localhost"), 0.0);
}

#[test]
fn a_body_in_drips_is_given_up_and_its_origin_is_not_blamed() {
    let origin = Origin::http();
    let world = World::start("retry: {idle_timeout: 500ms}\n");
    let shop = authority(&origin);
    let (mut one, mut two) = (world.client(), Frames::open(&world, &shop, &[]));
    let head = format!("POST http://{shop}/ HTTP/1.1\r\nHost: {shop}\r\nContent-Length: 9999\r\n");
    one.send(head + "\r\n");
    two.post(1, &shop, "/");
    let began = now();
    let mut drips = 0;
    world.await_metric("pacegate_requests_in_flight", &[], 2.0);
    while world.metrics().count("pacegate_requests_in_flight", &[]) > 0.0 {
        assert!(now().since(began) < Duration::from_secs(15), "it goes on");
        std::thread::sleep(millis(50));
        one.try_send("x").ok();
        two.bytes(&frame(DATA, 0, 1, b"x")).ok();
        drips += 1;
    }
    assert!(now().since(began) >= millis(500) && drips > 3, "{drips}");
    assert_eq!(world.rung("shop.localhost"), 0.0);
    assert_eq!(world.metrics().count("pacegate_attempts_total", &[("class", "client_gone")]), 2.0);
}

#[test]
fn a_tunnel_and_a_websocket_end_when_nothing_moves_in_them() {
    let origin = Origin::http();
    let switch = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\
                  Upgrade: websocket\r\n\r\n";
    origin.on("/socket", [Answer::raw(switch).then(Then::Echo)]);
    let config = "tls: {passthrough: [\"*.localhost\"]}\ntunnel: {idle: 1s}\n";
    let world = World::start(config);
    let (mut blind, mut socket) = (world.client(), world.client());
    assert_eq!(blind.connect_to(&authority(&origin)).status, 200);
    assert_eq!(blind.get_path("shop.localhost", "/").text(), "unscripted");
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    socket.say("GET", &origin.url("shop", "/socket"), upgrade, "");
    socket.head();
    for _ in 0..5 {
        std::thread::sleep(millis(300));
        socket.send("ping");
        assert_eq!(socket.exactly(4), b"ping");
    }
    let last = now();
    assert!(socket.rest().is_ok_and(|rest| rest.is_empty()));
    assert!(now().since(last) >= millis(700), "it was idle for a second");
    assert!(blind.rest().is_ok_and(|rest| rest.is_empty()));
}

#[test]
fn a_slow_body_that_makes_progress_arrives() {
    let origin = Origin::http();
    let world = World::start("retry: {idle_timeout: 1s}\n");
    let shop = authority(&origin);
    let mut frames = Frames::open(&world, &shop, &[]);
    frames.post(1, &shop, "/up");
    for _ in 0..20 {
        std::thread::sleep(millis(100));
        frames.send(DATA, 0, 1, &[b'u'; 400]);
    }
    frames.send(DATA, END_STREAM, 1, b"");
    assert_eq!(frames.find(HEADERS, 1).expect("an answer").flags & END_HEADERS, END_HEADERS);
    assert_eq!(origin.arrivals_for("/up")[0].body.len(), 8000);
}

#[test]
fn answers_that_nobody_takes_share_a_budget_and_once_it_is_spent_they_flow() {
    const SIZE: usize = 250_000;
    let origin = Origin::http();
    let page: String = (0..SIZE).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
    // In pieces, as over a network: what is there at once is read at once.
    origin.on("/long", [Answer::page(&page).drip(25_000, millis(3))]);
    let world = World::start("limits: {response_total: 1MiB}\n");
    let shop = authority(&origin);
    let mut frames = Frames::open(&world, &shop, NO_WINDOW);
    for stream in (1..80).step_by(2) {
        frames.get(stream, &shop, "/long");
        assert!(frames.find(HEADERS, stream).is_some(), "its head comes all the same");
    }
    // 1 MiB is four of them: theirs is all read, and their requests are over. The others' isn't
    // (unless a slow machine had all of it there at once).
    world.await_metric("pacegate_requests_in_flight", &[], 25.0);
    let mut client = world.client();
    for _ in 0..3 {
        let answer = client.get(&origin.url("shop", "/long"));
        assert!(answer.whole && answer.text() == page, "what flows is the same");
    }
    drop(frames);
    world.await_idle();
    // The memory is given back with them: four more fit.
    let mut frames = Frames::open(&world, &shop, NO_WINDOW);
    for stream in [1, 3, 5, 7, 9, 11] {
        frames.get(stream, &shop, "/long");
        assert!(frames.find(HEADERS, stream).is_some());
    }
    let in_flight = world.metrics().count("pacegate_requests_in_flight", &[]);
    assert!(in_flight <= 2.0, "{in_flight} of 6");
}

#[test]
fn a_break_is_repeated_as_long_as_there_is_memory_to_find_it_out() {
    let origin = Origin::http();
    let (cut, whole) = (Answer::page("x".repeat(200_000)).cut(150_000, Then::Reset), "fine");
    origin.on("/cut", [cut.clone(), Answer::page(whole), cut, Answer::page(whole)]);
    for (total, want) in [("1MiB", Some(whole)), ("100KiB", None)] {
        let config = format!("pace: {{ladder: [0, 20ms]}}\nlimits: {{response_total: {total}}}\n");
        let world = World::start(&config);
        let answer = world.get(&origin.url("shop", "/cut"));
        let text = answer.text();
        assert_eq!(answer.whole.then_some(text.as_str()), want, "{total}: {}", answer.status);
    }
}
