//! Requests as fast as they are answered, on connections that stay or on new ones.

use crate::client::fetch;
use crate::wire::Road;
use crate::{Options, Result};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::spawn_local;

/// Closed loop on connections that stay.
pub async fn run(options: &Options, road: Rc<Road>) -> Result<()> {
    let left = Rc::new(Cell::new(options.number("requests", 20_000)?));
    let began = Instant::now();
    let worker = |_| spawn_local(work(road.clone(), left.clone()));
    let workers: Vec<_> = (0..options.number("connections", 64)?).map(worker).collect();
    let mut took = Vec::new();
    for worker in workers {
        took.extend(worker.await??);
    }
    report(took, began.elapsed());
    Ok(())
}

async fn work(road: Rc<Road>, left: Rc<Cell<usize>>) -> Result<Vec<Duration>> {
    let (mut stream, request) = (road.connect().await?, road.request());
    let (mut buffer, mut took) = (Vec::with_capacity(64 * 1024), Vec::new());
    while left.get() > 0 {
        left.set(left.get() - 1);
        let sent = Instant::now();
        expect(fetch(&mut *stream, &request, &mut buffer).await?)?;
        took.push(sent.elapsed());
    }
    Ok(took)
}

/// A new connection for each request, one after the other.
pub async fn connects(options: &Options, road: &Road) -> Result<()> {
    let (request, mut buffer) = (road.request(), Vec::with_capacity(64 * 1024));
    let (mut took, began) = (Vec::new(), Instant::now());
    for _ in 0..options.number("requests", 200)? {
        let sent = Instant::now();
        let mut stream = road.connect().await?;
        expect(fetch(&mut *stream, &request, &mut buffer).await?)?;
        took.push(sent.elapsed());
    }
    report(took, began.elapsed());
    Ok(())
}

fn expect(status: u16) -> Result<()> {
    if status == 200 { Ok(()) } else { Err(format!("status {status}").into()) }
}

fn report(mut took: Vec<Duration>, all: Duration) {
    took.sort();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_micros();
    println!(
        "{{\"requests\": {}, \"seconds\": {:.3}, \"p50_us\": {}, \"p99_us\": {}}}",
        took.len(),
        all.as_secs_f64(),
        at(0.5),
        at(0.99)
    );
}
