//! How exactly a line is released on the real clock: `cargo bench --bench release`.
//!
//! Goals: nobody early, lateness p50 ≤ 1.3 ms and p99 ≤ 2.5 ms, and from 250 ms on the mean rate
//! within 0.5 % of one start a pace.

#![expect(clippy::print_stdout, reason = "a table is what it is for")]

use pacegate::clock::{Clock, Tick};
use pacegate::judge::verdict::{Class, PaceMove};
use pacegate::pace::claims::Claims;
use pacegate::pace::rules::{Ladder, PaceRules};
use pacegate::pace::scope::{Client, Scope};
use pacegate::pace::turn::Turn;
use pacegate::state::gate::{Gate, GateRules};
use pacegate::state::ticket::Ticket;
use pacegate::state::timekeeper::Timekeeper;
use pacegate::state::visit::Lesson;
use std::sync::Arc;
use std::time::Duration;

/// Who keeps time.
#[derive(Clone, Copy, Debug)]
enum Keeper {
    Thread,
    Task,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    println!(
        "keeper  pace      starts  early  late p50  late p99  late max  rate off  wakes/grant"
    );
    for (millis, waiters) in [(1, 10_000), (10, 500), (250, 20), (1000, 6)] {
        for keeper in [Keeper::Thread, Keeper::Task] {
            runtime.block_on(measure(keeper, Duration::from_millis(millis), waiters));
        }
    }
}

async fn measure(keeper: Keeper, pace: Duration, waiters: usize) {
    let ladder = Ladder::new(vec![Duration::ZERO, pace]).expect("rises");
    let default = PaceRules { ladder, drain: u32::MAX, ..PaceRules::default() };
    let gate = Gate::new(GateRules { default, ..GateRules::default() }, Clock::runtime());
    let task = tokio::spawn(gate.clone().keep_time());
    let thread = match keeper {
        Keeper::Thread => Some(Timekeeper::start(&gate).expect("a thread")),
        Keeper::Task => None,
    };
    let starts = run(&gate, waiters).await;
    drop(thread);
    task.abort();
    let wakes = gate.counters().wakeups as f64 / waiters as f64;
    report(keeper, pace, starts, wakes);
}

/// Lines everybody up on rung 1; when each started, in order.
async fn run(gate: &Arc<Gate>, waiters: usize) -> Vec<Tick> {
    let now = gate.clock().now();
    let scope = Scope::named("shop.example").expect("a name");
    let ticket = |client: usize| Ticket {
        claims: Claims::of(scope.clone()),
        client: Client { origin: client as u64, lane: 0 },
        turn: Turn::default(),
        accepted: now,
        repeat: false,
        not_before: None,
        window_end: Tick::NEVER,
        deadline: None,
    };
    let climb = Lesson::new(Class::Overloaded, PaceMove::Climb);
    let mut first = gate.try_claim(&ticket(0), now).expect("healthy");
    first.learn(gate, climb, now);
    let holds: Vec<_> = (0..waiters).map(|client| gate.claim(ticket(client))).collect();
    let tasks: Vec<_> = holds
        .into_iter()
        .map(|hold| {
            tokio::spawn(async move {
                let mut permit = hold.await.expect("served");
                permit.mark_used();
                permit.started()
            })
        })
        .collect();
    let mut starts = Vec::with_capacity(waiters);
    for task in tasks {
        starts.push(task.await.expect("no panic"));
    }
    starts.sort();
    starts
}

fn report(keeper: Keeper, pace: Duration, starts: Vec<Tick>, wakes: f64) {
    let gaps: Vec<Duration> = starts.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    let early = gaps.iter().filter(|gap| **gap < pace).count();
    let mut late: Vec<Duration> = gaps.iter().map(|gap| gap.saturating_sub(pace)).collect();
    late.sort();
    let at = |share: f64| late[((late.len() - 1) as f64 * share) as usize];
    let span = starts[starts.len() - 1].since(starts[0]).as_secs_f64();
    let off = (span / (gaps.len() as f64 * pace.as_secs_f64()) - 1.0) * 100.0;
    println!(
        "{:6}  {:>7?}  {:6}  {early:5}  {:>8.0?}  {:>8.0?}  {:>8.0?}  {off:7.3}%  {wakes:.3}",
        format!("{keeper:?}"),
        pace,
        starts.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}
