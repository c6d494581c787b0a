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
