//! HTTP/2 connections that are meant to hurt (http.md A3, A4): each ends or is closed as idle, the
//! proxy's memory stays where it was, and other clients are served all the while.

use crate::world::answer::{Answer, Then};
use crate::world::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, Frames, GOAWAY, HEADERS, NO_WINDOW, PING,
    RST_STREAM, SETTINGS, WINDOW_UPDATE, fields, frame, reason,
};
use crate::world::now;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A proxy that is soon tired of a connection, before a shop.
struct Play {
    origin: Origin,
    world: World,
}

fn play() -> Play {
    let origin = Origin::http();
    origin.on("/hang", [Answer::nothing(Then::Hang)]);
    origin.on("/page", [Answer::page("x".repeat(16 * 1024))]);
    let world = World::start("clients: {idle: 1s, unread: 1s}\nlog: {level: warn}\n");
    // What the first requests make is no growth.
    for _ in 0..50 {
        assert_eq!(world.get(&origin.url("other", "/")).status, 200);
    }
    Play { origin, world }
}

impl Play {
    fn shop(&self) -> String {
        format!("shop.localhost:{}", self.origin.port())
    }

    fn open(&self, settings: &[u8]) -> Frames {
        Frames::open(&self.world, &self.shop(), settings)
    }

    /// Plays `attack`, which returns when its connection has ended, beside another client.
    fn beside<T>(&self, attack: impl FnOnce() -> T) -> T {
        let before = self.world.memory();
        let over = AtomicBool::new(false);
        let (result, slowest) = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let mut slowest = Duration::ZERO;
                while !over.load(Ordering::SeqCst) {
                    let began = now();
                    let answer = self.world.get(&self.origin.url("other", "/"));
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    slowest = slowest.max(now().since(began));
                    std::thread::sleep(Duration::from_millis(5));
                }
                slowest
            });
            let ended = Ended(&over);
            let result = attack();
            drop(ended);
            (result, other.join().expect("the other client is served"))
        });
        let grown = self.world.memory().saturating_sub(before);
        assert!(grown < 10 * 1024, "{grown} KiB more");
        assert!(slowest < Duration::from_secs(5), "another client waited {slowest:?}");
        self.world.await_idle();
        result
    }
}

/// Tells the other client, even of an attack that failed.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Sends the same bytes again and again until the proxy takes no more.
fn flood(frames: &mut Frames, bytes: &[u8]) {
    let block = bytes.repeat(1 + 16 * 1024 / bytes.len());
    frames.give_up_after(Duration::from_secs(3));
    let end = now() + Duration::from_secs(10);
    while now() < end && frames.bytes(&block).is_ok() {}
}

#[test]
fn pings_and_settings_whose_answers_nobody_reads_end_the_connection() {
    for bytes in [frame(PING, 0, 0, b"pingpong"), frame(SETTINGS, 0, 0, &[])] {
        let play = play();
        play.beside(|| {
            let mut frames = play.open(&[]);
            flood(&mut frames, &bytes);
            frames.await_end();
        });
    }
}

#[test]
fn pings_and_settings_keep_no_connection_open() {
    for bytes in [frame(PING, 0, 0, b"pingpong"), frame(SETTINGS, 0, 0, &[])] {
        let play = play();
        play.beside(|| {
            let mut frames = play.open(&[]);
            let mut answers = frames.reader();
            let reading = std::thread::spawn(move || answers.rest());
            while frames.bytes(&bytes.repeat(50)).is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
            let reasons = reading.join().expect("it ends");
            assert_eq!(reasons.first(), Some(&0), "NO_ERROR: it was idle");
        });
    }
}

#[test]
fn empty_data_ends_the_connection_or_waits_for_its_end() {
    let play = play();
    play.beside(|| {
        let mut frames = play.open(&[]);
        frames.post(1, &play.shop(), "/hang");
        flood(&mut frames, &frame(DATA, 0, 1, &[]));
        frames.await_end();
    });
}

#[test]
fn continuations_without_end_end_the_connection() {
    let play = play();
    play.beside(|| {
        let mut frames = play.open(&[]);
        frames.send(HEADERS, END_STREAM, 1, &fields(b"\x82", &play.shop(), "/"));
        flood(&mut frames, &frame(CONTINUATION, 0, 1, &[]));
        frames.await_end();
        let mut frames = play.open(&[]);
        frames.send(HEADERS, END_STREAM, 1, &fields(b"\x82", &play.shop(), "/"));
        let field = [b"\x00\x01a\x7f\xe1\x7e".as_slice(), &[b'b'; 127 + 97 + 126 * 128]].concat();
        flood(&mut frames, &frame(CONTINUATION, 0, 1, &field[..16_000]));
        frames.await_end();
    });
}

#[test]
fn streams_reset_by_the_thousand_end_the_connection() {
    let play = play();
    play.beside(|| {
        let mut frames = play.open(&[]);
        frames.give_up_after(Duration::from_secs(3));
        let block = fields(b"\x82", &play.shop(), "/hang");
        let end = now() + Duration::from_secs(15);
        let mut streams = (1..1 << 31).step_by(2).take_while(|_| now() < end);
        let taken = streams.all(|stream| {
            let ask = frame(HEADERS, END_HEADERS | END_STREAM, stream, &block);
            let leave = frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes());
            frames.bytes(&[ask, leave].concat()).is_ok()
        });
        assert!(!taken, "it goes on");
        frames.await_end();
    });
}

#[test]
fn streams_that_make_us_reset_them_end_the_connection() {
    let play = play();
    let reasons = play.beside(|| {
        let mut frames = play.open(&[]);
        frames.give_up_after(Duration::from_secs(3));
        let mut answers = frames.reader();
        let reading = std::thread::spawn(move || answers.rest());
        let block = fields(b"\x82", &play.shop(), "/hang");
        for stream in (1..20_000_u32).step_by(2) {
            let ask = frame(HEADERS, END_HEADERS | END_STREAM, stream, &block);
            let far_too_much = frame(WINDOW_UPDATE, 0, stream, &(u32::MAX >> 1).to_be_bytes());
            if frames.bytes(&[ask, far_too_much].concat()).is_err() {
                break;
            }
        }
        drop(frames);
        reading.join().expect("it ends")
    });
    const ENHANCE_YOUR_CALM: u32 = 11;
    assert_eq!(reasons.last(), Some(&ENHANCE_YOUR_CALM));
}

#[test]
fn a_head_that_unpacks_to_megabytes_is_refused() {
    let play = play();
    play.beside(|| {
        let mut frames = play.open(&[]);
        // A field of 4,000 bytes, remembered (RFC 7541 §6.2.1), and then named 12,000 times.
        let mut block = fields(b"\x82", &play.shop(), "/");
        block.extend_from_slice(b"\x40\x01a\x7f\xa1\x1e");
        block.extend_from_slice(&[b'b'; 4000]);
        block.extend_from_slice(&[0xbe; 12_000]);
        for stream in (1..100).step_by(2) {
            frames.try_send(HEADERS, END_HEADERS | END_STREAM, stream, &block).ok();
        }
        let refused = frames.next_of(|it| [HEADERS, RST_STREAM, GOAWAY].contains(&it.kind));
        let refused = refused.expect("it says so");
        assert!(refused.kind != HEADERS || refused.payload[0] != 0x88, "{refused:?}");
        frames.await_end();
    });
    assert_eq!(play.origin.arrivals_for("/").len(), play.others(), "none reached the shop");
}

#[test]
fn a_hundred_streams_without_a_window_end_and_no_more_are_open_at_once() {
    let play = play();
    play.beside(|| {
        let mut frames = play.open(NO_WINDOW);
        let settings = frames.find(SETTINGS, 0).expect("ours come first");
        let most = settings.payload.chunks(6).find(|it| it[..2] == [0, 3]);
        assert_eq!(most, Some(&[0, 3, 0, 0, 0, 100][..]), "SETTINGS_MAX_CONCURRENT_STREAMS");
        for stream in (1..=201).step_by(2) {
            frames.get(stream, &play.shop(), "/page");
        }
        let refused = frames.next_of(|it| it.kind == RST_STREAM).expect("one too many");
        assert_eq!((refused.stream, reason(&refused.payload)), (201, 7), "REFUSED_STREAM");
        let mut reset = 0;
        while reset < 100 && frames.next_of(|it| it.kind == RST_STREAM).is_some() {
            reset += 1;
        }
        assert_eq!(reset, 100, "none is taken");
        frames.await_end();
    });
}

impl Play {
    /// How many requests the other client has made.
    fn others(&self) -> usize {
        let to = format!("other.localhost:{}", self.origin.port());
        let others = |it: &&crate::world::arrival::Arrival| it.header("host").as_ref() == Some(&to);
        self.origin.arrivals().iter().filter(others).count()
    }
}
