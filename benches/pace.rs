//! What a request pays the gate: `cargo bench --bench pace`.
//!
//! Goals: a healthy host ≤ 25 ns without allocation, two threads ≤ 1.4 times one; a claim with the
//! clock ≤ 45 ns.

use criterion::{Criterion, criterion_group, criterion_main};
use pacegate::clock::{Clock, Tick};
use pacegate::judge::verdict::{Class, PaceMove};
use pacegate::pace::claims::Claims;
use pacegate::pace::scope::{Client, Scope};
use pacegate::pace::turn::Turn;
use pacegate::state::gate::{Gate, GateRules};
use pacegate::state::ticket::Ticket;
use pacegate::state::visit::Lesson;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

/// A gate in which so many hosts have a row.
fn gate(rows: usize) -> Arc<Gate> {
    let gate = Gate::new(GateRules::default(), Clock::runtime());
    let lesson = Lesson::new(Class::Overloaded, PaceMove::Climb);
    for row in 0..rows {
        let now = gate.clock().now();
        let ticket = ticket(&format!("struggling-{row}.example"), now);
        if let Some(mut permit) = gate.try_claim(&ticket, now) {
            permit.learn(&gate, lesson, now);
        }
    }
    gate
}

fn ticket(host: &str, now: Tick) -> Ticket {
    Ticket {
        claims: Claims::of(Scope::named(host).expect("a name")),
        client: Client { origin: 1, lane: 0 },
        turn: Turn::default(),
        accepted: now,
        repeat: false,
        not_before: None,
        window_end: now + Duration::from_secs(600),
        deadline: None,
    }
}

fn one_thread(criterion: &mut Criterion) {
    for rows in [0, 1000] {
        let gate = gate(rows);
        let now = gate.clock().now();
        let ticket = ticket("healthy-shop-1.example", now);
        criterion.bench_function(&format!("healthy, {rows} rows"), |bencher| {
            bencher.iter(|| drop(gate.try_claim(black_box(&ticket), now)));
        });
        criterion.bench_function(&format!("healthy with the clock, {rows} rows"), |bencher| {
            bencher.iter(|| drop(gate.try_claim(black_box(&ticket), gate.clock().now())));
        });
    }
    criterion.bench_function("the clock alone", |bencher| {
        let clock = Clock::runtime();
        bencher.iter(|| clock.now());
    });
    let gate = gate(1);
    let waits = ticket("struggling-0.example", gate.clock().now());
    criterion.bench_function("a row that says wait", |bencher| {
        bencher.iter(|| drop(gate.try_claim(black_box(&waits), waits.accepted)));
    });
    // The clock is read as a request does; the moment is made up, for no real one is an hour later.
    let mut moment = waits.accepted;
    criterion.bench_function("a claim won on a row, with the clock", |bencher| {
        bencher.iter(|| {
            black_box(gate.clock().now());
            moment = moment + Duration::from_secs(3600);
            let mut permit = gate.try_claim(black_box(&waits), moment).expect("an hour has passed");
            permit.mark_used();
        });
    });
}

/// Two threads on hosts of their own, as requests are.
fn two_threads(criterion: &mut Criterion) {
    for rows in [0, 1000] {
        let gate = gate(rows);
        criterion.bench_function(&format!("healthy at two threads, {rows} rows"), |bencher| {
            bencher.iter_custom(|rounds| on_two_threads(&gate, rounds));
        });
    }
}

fn on_two_threads(gate: &Arc<Gate>, rounds: u64) -> Duration {
    let clock = gate.clock();
    let barrier = std::sync::Barrier::new(2);
    let run = |host: &str| {
        let ticket = ticket(host, clock.now());
        barrier.wait();
        let began = clock.now();
        for _ in 0..rounds {
            drop(gate.try_claim(black_box(&ticket), began));
        }
        clock.now().since(began)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run("healthy-shop-2.example"));
        let own = run("healthy-shop-3.example");
        own.max(other.join().expect("no panic"))
    })
}

criterion_group!(benches, one_thread, two_threads);
criterion_main!(benches);
