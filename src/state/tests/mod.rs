//! The gate's behaviour, on a clock moved by hand and holds polled by hand.

mod bounds;
mod crossing;
mod crowd;
mod floors;
mod housekeeping;
mod ladder;
mod laws;
mod line;
mod several;
mod throttles;
mod total;

use crate::clock::{Clock, Hand, Tick};
use crate::judge::verdict::{Class, PaceMove};
use crate::pace::claims::Claims;
use crate::pace::rules::PaceRules;
use crate::pace::scope::{Client, Scope};
use crate::pace::turn::Turn;
use crate::state::gate::{Gate, GateRules};
use crate::state::hold::Hold;
use crate::state::permit::Permit;
use crate::state::ticket::{Refusal, Ticket};
use crate::state::visit::{Learned, Lesson};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// A gate, and the hand that moves its clock.
struct World {
    gate: Arc<Gate>,
    clock: Clock,
    hand: Hand,
}

/// A hold and whether it was woken since it was last polled.
struct Held {
    hold: Hold,
    flag: Arc<Flag>,
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl World {
    fn new(default: PaceRules) -> World {
        World::with(GateRules { default, ..GateRules::default() })
    }

    fn with(rules: GateRules) -> World {
        let (clock, hand) = Clock::by_hand();
        World { gate: Gate::new(rules, clock.clone()), clock, hand }
    }

    fn now(&self) -> Tick {
        self.clock.now()
    }

    fn ticket(&self, client: u64) -> Ticket {
        Ticket {
            claims: Claims::of(shop()),
            client: Client { origin: client, lane: 0 },
            turn: Turn::default(),
            accepted: self.now(),
            repeat: false,
            not_before: None,
            window_end: self.now() + seconds(600),
            deadline: None,
        }
    }

    fn claim(&self, ticket: Ticket) -> Held {
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        Held { hold: self.gate.claim(ticket), flag }
    }

    /// A start that must be had at once.
    #[track_caller]
    fn start(&self, ticket: &Ticket) -> Permit {
        let mut held = self.claim(ticket.clone());
        held.poll().expect("does not wait").expect("is not refused")
    }

    /// Moves the clock, serving what is due on the way at its own moment.
    fn pass(&self, span: Duration) {
        let end = self.now() + span;
        loop {
            let next = self.gate.serve_due();
            if next >= end {
                break;
            }
            self.hand.set(next);
        }
        self.hand.set(end);
        self.gate.serve_due();
    }

    /// Puts the scope on a rung by stalls of attempts that start now.
    fn climb_to(&self, rung: u8) {
        for _ in 0..rung {
            let _ = self.teach(PaceMove::Climb, Class::Overloaded, None);
        }
    }

    /// Teaches the scope by an attempt that nobody counts.
    fn teach(&self, pace: PaceMove, class: Class, pause: Option<u64>) -> Learned {
        let mut attempt = Permit::plain(shop(), self.now(), true);
        let lesson = Lesson { pause: pause.map(seconds), ..Lesson::new(class, pace) };
        attempt.learn(&self.gate, lesson, self.now())
    }

    fn rung(&self) -> Option<u8> {
        self.gate.row(&shop()).map(|row| row.rung)
    }
}

impl Held {
    fn poll(&mut self) -> Option<Result<Permit, Refusal>> {
        self.flag.0.store(false, Ordering::SeqCst);
        let waker = Waker::from(self.flag.clone());
        match Pin::new(&mut self.hold).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    fn woken(&self) -> bool {
        self.flag.0.load(Ordering::SeqCst)
    }
}

fn shop() -> Scope {
    Scope::named("shop.example").unwrap()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn served() -> Lesson {
    Lesson::new(Class::Served, PaceMove::StepDown)
}

fn stalled() -> Lesson {
    Lesson::new(Class::Overloaded, PaceMove::Climb)
}
