//! What counting one healthy request costs: the goal is 150 ns for the request and its attempt.

use criterion::{Criterion, criterion_group, criterion_main};
use pacegate::clock::Clock;
use pacegate::judge::verdict::Class;
use pacegate::metrics::labels::{RequestOutcome, Source};
use pacegate::metrics::meter::{Meter, RequestEnd};
use pacegate::metrics::text::Gauges;
use pacegate::pace::rules::PaceRules;
use pacegate::pace::scope::Host;
use std::time::Duration;

fn request(meter: &Meter, host: &Host) {
    let mark = meter.request_began();
    meter.attempt(host, Class::Served);
    meter.request_ended(&RequestEnd {
        host: Some(host),
        outcome: RequestOutcome::Served,
        code: Some(http::StatusCode::OK),
        source: Source::Origin,
        took: Duration::from_millis(40),
        attempts: 1,
        waits: &[],
    });
    drop(mark);
}

fn metrics(bench: &mut Criterion) {
    let meter = Meter::new(200, &PaceRules::default().ladder);
    let hosts: Vec<Host> =
        (0..151).map(|n| Host::parse(&format!("shop{n}.example")).expect("a host")).collect();
    bench.bench_function("healthy request, known host", |b| b.iter(|| request(&meter, &hosts[0])));
    for host in &hosts {
        request(&meter, host);
    }
    bench.bench_function("healthy request, host _other", |b| {
        b.iter(|| request(&meter, &hosts[150]));
    });
    bench.bench_function("scrape of 150 hosts", |b| {
        b.iter(|| meter.text(Clock::runtime().now(), Gauges::default));
    });
}

criterion_group!(benches, metrics);
criterion_main!(benches);
