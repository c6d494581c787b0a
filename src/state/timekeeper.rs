//! The one timer of the process: serves rows when their moment comes.
//!
//! tokio's timer has a resolution of a millisecond and wakes 1.1 ms late at the median (measured),
//! and as the pace counts from actual starts, every late one slows the whole line: at 250 ms that
//! is 0.4 % of the rate. So a real process keeps time with a thread of its own, which parks until
//! the next entry of the agenda (some 60 µs late, no CPU in between), while tests with virtual time
//! and runtimes without threads keep it with a task. Both do the same thing.

use crate::clock::Tick;
use crate::state::agenda::Agenda;
use crate::state::cell::Cell;
use crate::state::gate::Gate;
use crate::sync::{AtomicBool, Ordering};
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Weak};
use std::task::{Poll, Wake, Waker};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

impl Gate {
    /// Keeps time as a task: serves what is due, and sweeps. Beside a [`Timekeeper`] it only sweeps.
    /// Never ends; run it once.
    pub async fn keep_time(self: Arc<Self>) {
        let mut next_sweep = self.clock().now() + SWEEP;
        loop {
            let kept = self.agenda.is_kept();
            let next = if kept { Tick::NEVER } else { self.serve_due() };
            if self.clock().now() >= next_sweep {
                self.sweep().await;
                next_sweep = self.clock().now() + SWEEP;
            }
            let until = next.min(next_sweep);
            tokio::select! {
                () = self.clock().sleep_until(until) => {}
                () = rung(&self.agenda, until), if !kept => {}
            }
        }
    }

    /// Serves every row whose moment has come. When the next one's comes.
    pub fn serve_due(&self) -> Tick {
        while let Some((due, cell)) = self.agenda.take_due(self.clock().now()) {
            self.fire(due, &cell);
        }
        self.agenda.next()
    }

    fn fire(&self, due: Tick, cell: &Arc<Cell>) {
        self.visit(cell, |house| {
            if house.hall.armed == due {
                house.hall.armed = Tick::NEVER;
            }
        });
    }
}

/// Ends when something comes that is earlier than `until`.
async fn rung(agenda: &Agenda, until: Tick) {
    let mut asleep = false;
    poll_fn(|context| {
        if asleep || agenda.sleep(context.waker()) < until {
            return Poll::Ready(());
        }
        asleep = true;
        Poll::Pending
    })
    .await;
}

/// Keeps a gate's time with a thread of its own. Dropped, the thread ends.
#[derive(Debug)]
#[must_use = "dropped, it stops keeping time"]
pub struct Timekeeper {
    gate: Weak<Gate>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Timekeeper {
    /// Starts to keep time.
    pub fn start(gate: &Arc<Gate>) -> io::Result<Timekeeper> {
        let over = Arc::new(AtomicBool::new(false));
        let (weak, ends) = (Arc::downgrade(gate), over.clone());
        let keep = move || keep(&weak, &ends);
        let thread = thread::Builder::new().name("timekeeper".to_owned()).spawn(keep)?;
        gate.agenda.set_kept(true);
        Ok(Timekeeper { gate: Arc::downgrade(gate), over, thread: Some(thread) })
    }
}

impl Drop for Timekeeper {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(gate) = self.gate.upgrade() {
            gate.agenda.set_kept(false);
        }
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic in there was reported when it happened; there is nobody to tell again.
            let _ = thread.join();
        }
    }
}

fn keep(gate: &Weak<Gate>, over: &AtomicBool) {
    let bell = Waker::from(Arc::new(Bell { thread: thread::current() }));
    while !over.load(Ordering::Acquire) {
        let Some(gate) = gate.upgrade() else { return };
        gate.serve_due();
        let until = gate.agenda.sleep(&bell);
        let span = until.since(gate.clock().now()).min(LONGEST_PARK);
        drop(gate);
        if !span.is_zero() {
            thread::park_timeout(span);
        }
    }
}

/// Wakes the timekeeper's thread.
struct Bell {
    thread: Thread,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.thread.unpark();
    }
}

/// How often idle rows are looked for; a row's `idle` is an hour.
const SWEEP: Duration = Duration::from_secs(30);
/// How long a thread whose gate has gone may stay.
const LONGEST_PARK: Duration = Duration::from_secs(1);
