//! A healthy host costs the gate no allocation, whatever the other hosts do.

use pacegate::clock::{Clock, Tick};
use pacegate::judge::verdict::{Class, PaceMove};
use pacegate::pace::claims::Claims;
use pacegate::pace::scope::{Client, Scope};
use pacegate::pace::turn::Turn;
use pacegate::state::gate::{Gate, GateRules};
use pacegate::state::ticket::Ticket;
use pacegate::state::visit::Lesson;

fn ticket(host: &str) -> Ticket {
    Ticket {
        claims: Claims::of(Scope::named(host).expect("a host")),
        client: Client { origin: 1, lane: 0 },
        turn: Turn::default(),
        accepted: Tick::ZERO,
        repeat: false,
        not_before: None,
        window_end: Tick::NEVER,
        deadline: None,
    }
}

#[test]
fn a_healthy_host_is_claimed_taught_and_released_without_an_allocation() {
    let (clock, _hand) = Clock::by_hand();
    let gate = Gate::new(GateRules::default(), clock);
    let now = gate.clock().now();
    let learn = |ticket: &Ticket, pace: PaceMove| {
        let mut permit = gate.try_claim(ticket, now).expect("healthy");
        permit.learn(&gate, Lesson::new(Class::Served, pace), now);
    };
    for row in 0..1000 {
        learn(&ticket(&format!("row-{row}.example")), PaceMove::Climb);
    }
    assert_eq!(gate.counters().rows, 1000);
    let healthy: Vec<_> = (0..1000).map(|n| ticket(&format!("healthy-{n}.example"))).collect();
    let counted = allocation_counter::measure(|| {
        healthy.iter().for_each(|ticket| learn(ticket, PaceMove::StepDown));
    });
    assert_eq!(counted.count_total, 0);
}

/// What a scope costs that failed and nobody waits for: its row and its place in the map. Names come
/// with requests.
#[test]
fn an_idle_row_takes_two_hundred_bytes_at_most_also_after_a_crowd() {
    let (clock, hand) = Clock::by_hand();
    let gate = Gate::new(GateRules::default(), clock.clone());
    let tickets: Vec<_> = (0..ROWS).map(|row| ticket(&format!("row-{row}.example"))).collect();
    let climb = |ticket: &Ticket| {
        let mut permit = gate.try_claim(ticket, clock.now()).expect("healthy");
        permit.learn(&gate, Lesson::new(Class::Overloaded, PaceMove::Climb), clock.now());
    };
    let rows = allocation_counter::measure(|| tickets.iter().for_each(climb));
    let each = rows.bytes_current / ROWS;
    let crowd = allocation_counter::measure(|| {
        for some in tickets.chunks(5000) {
            let held: Vec<_> = some.iter().map(|ticket| gate.claim(ticket.clone())).collect();
            assert_eq!(gate.counters().held, some.len());
            drop(held);
        }
        hand.advance(std::time::Duration::from_secs(1));
    });
    let left = crowd.bytes_current / ROWS;
    println!("{each} bytes a row, {left} more after a crowd");
    assert!(each <= 200 && left <= 20, "{each} bytes a row, {left} more after a crowd");
}

const ROWS: i64 = 10_000;
