//! Every interleaving (three preemptions at most) of claims, departures, a pace change and the
//! timer over one cell: no lost wake-up, starts a pace apart, what is given back is granted again.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test --release --test model`; otherwise this is empty.
#![cfg(loom)]

use loom::thread;
use pacegate::clock::{Clock, Tick};
use pacegate::judge::verdict::{Class, PaceMove};
use pacegate::pace::backoff::Backoff;
use pacegate::pace::claims::{Asked, Claims};
use pacegate::pace::decide::From;
use pacegate::pace::jitter::Jitter;
use pacegate::pace::quota::Cost;
use pacegate::pace::rules::{Ladder, Law, PaceRules};
use pacegate::pace::scope::{Client, Scope};
use pacegate::pace::turn::Turn;
use pacegate::state::agenda::Agenda;
use pacegate::state::cell::{Cell, Claim, Effects, Start};
use pacegate::state::gate::{Gate, GateRules};
use pacegate::state::hold::Hold;
use pacegate::state::permit::Permit;
use pacegate::state::ticket::Ticket;
use pacegate::state::total::{Place, Total};
use pacegate::state::visit::{Bounds, Joined, Lesson, Look};
use pacegate::state::waiter::Terms;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// One cell, its agenda, and what has started so far.
struct Scene {
    cell: Arc<Cell>,
    agenda: Agenda,
    started: AtomicUsize,
}

#[derive(Default)]
struct Calls(AtomicUsize);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A waiter and how often it was woken.
struct Waiting {
    who: usize,
    calls: Arc<Calls>,
}

impl Scene {
    fn new(rules: PaceRules) -> Arc<Scene> {
        let scope = Scope::named("shop.example").expect("a name");
        let cell = Cell::new(0, scope, Arc::new(rules), Tick::ZERO);
        Arc::new(Scene { cell, agenda: Agenda::new(), started: AtomicUsize::new(0) })
    }

    /// Lines up and looks once; `None` if it started at once.
    fn join(&self, client: u64, now: Tick) -> Option<Waiting> {
        let waiting = self.line_up(client, now)?;
        self.look(&waiting, now).is_none().then_some(waiting)
    }

    /// Lines up; `None` if it started at once.
    fn line_up(&self, client: u64, now: Tick) -> Option<Waiting> {
        let ticket = Ticket {
            claims: Claims::of(self.cell.scope().clone()),
            client: Client { origin: client, lane: 0 },
            turn: Turn::default(),
            accepted: now,
            repeat: false,
            not_before: None,
            window_end: Tick::NEVER,
            deadline: None,
        };
        let bounds = Bounds { per_scope: 10, full: None, shutting_down: false };
        let (joined, effects) = self.cell.enter_with(&self.agenda, now, |house| {
            house.join(&ticket, Cost::ONE, Terms::default(), bounds)
        });
        finish(effects);
        match joined {
            Joined::Held(who) => Some(Waiting { who, calls: Arc::default() }),
            Joined::Started(_) | Joined::Gone => {
                self.started.fetch_add(1, Ordering::SeqCst);
                None
            }
            Joined::Refused(refusal) => panic!("{refusal:?}"),
        }
    }

    fn look(&self, waiting: &Waiting, now: Tick) -> Option<Start> {
        let waker = Waker::from(waiting.calls.clone());
        let (look, effects) =
            self.cell.enter_with(&self.agenda, now, |house| house.look(waiting.who, &waker));
        finish(effects);
        match look {
            Look::Wait | Look::Called { .. } => None,
            Look::Go { start, .. } => {
                self.started.fetch_add(1, Ordering::SeqCst);
                Some(start)
            }
            Look::Refused { why, .. } => panic!("{why:?}"),
        }
    }

    fn leave(&self, waiting: &Waiting, now: Tick) {
        let (_, effects) =
            self.cell.enter_with(&self.agenda, now, |house| house.leave(waiting.who));
        finish(effects);
    }

    fn claim(&self, now: Tick) -> Option<Start> {
        match self.cell.try_claim(now) {
            Claim::Won(start) => {
                self.started.fetch_add(1, Ordering::SeqCst);
                Some(start)
            }
            Claim::Wait | Claim::Gone => None,
        }
    }

    fn release(&self, start: Start, used: bool, now: Tick) {
        finish(self.cell.release(&self.agenda, start, used, || now));
    }

    fn learn(&self, pace: PaceMove, now: Tick) {
        let lesson = Lesson { status: Some(503), ..Lesson::new(Class::Overloaded, pace) };
        let (_, effects) =
            self.cell.enter_with(&self.agenda, now, |house| house.learn(lesson, now));
        finish(effects);
    }

    /// A stall, and time until its pace has passed: the guard is down again.
    fn climb_and_rest(&self) {
        self.learn(PaceMove::Climb, at(0));
        finish(self.cell.enter(&self.agenda, at(3000), |_| ()));
        assert!(!self.cell.slot().guarded && self.cell.slot().rung == 1);
    }

    /// The timer, at `now`.
    fn fire(&self, now: Tick) {
        while let Some((due, cell)) = self.agenda.take_due(now) {
            finish(cell.enter(&self.agenda, now, |house| {
                if house.hall.armed == due {
                    house.hall.armed = Tick::NEVER;
                }
            }));
        }
    }

    /// Whoever waits is woken in the end, by the timer alone if need be, exactly once.
    fn must_be_served(&self, waiting: &Waiting) -> Tick {
        let mut now = at(0);
        while waiting.calls.0.load(Ordering::SeqCst) == 0 {
            let next = self.agenda.next();
            assert_ne!(next, Tick::NEVER, "somebody waits and nothing will wake them");
            now = now.max(next);
            self.fire(now);
        }
        assert!(self.look(waiting, now).is_some(), "woken, but not served");
        assert_eq!(waiting.calls.0.load(Ordering::SeqCst), 1, "woken once");
        now
    }
}

fn finish(effects: Effects) {
    effects.wakes.into_iter().chain(effects.bell).for_each(Waker::wake);
}

fn at(millis: u64) -> Tick {
    Tick::ZERO + Duration::from_secs(1000) + Duration::from_millis(millis)
}

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

fn two_rungs() -> PaceRules {
    let ladder = Ladder::new(vec![Duration::ZERO, Duration::from_secs(2)]).expect("rises");
    PaceRules { ladder, ..PaceRules::default() }
}

#[test]
fn of_two_claims_of_one_slot_and_a_climb_one_start_at_most_is_won() {
    check(|| {
        let scene = Scene::new(two_rungs());
        scene.climb_and_rest();
        let claim = {
            let scene = scene.clone();
            thread::spawn(move || scene.claim(at(3000)).is_some())
        };
        let climb = {
            let scene = scene.clone();
            thread::spawn(move || scene.learn(PaceMove::Climb, at(2999)))
        };
        scene.join(1, at(3000));
        claim.join().expect("no panic");
        climb.join().expect("no panic");
        assert!(scene.started.load(Ordering::SeqCst) <= 1);
    });
}

#[test]
fn a_release_reaches_who_lines_up_meanwhile_though_another_leaves() {
    check(|| {
        let scene = Scene::new(PaceRules { concurrency: Some(1), ..PaceRules::default() });
        let busy = scene.claim(at(0)).expect("free");
        let leaver = {
            let scene = scene.clone();
            thread::spawn(move || match scene.line_up(1, at(1)) {
                Some(waiting) => scene.leave(&waiting, at(1)),
                // It came in time to start, and its attempt never ends.
                None => {}
            })
        };
        let releaser = {
            let scene = scene.clone();
            thread::spawn(move || scene.release(busy, true, at(1)))
        };
        let waiting = scene.line_up(2, at(1));
        leaver.join().expect("no panic");
        releaser.join().expect("no panic");
        let handed = scene.cell.look(|hall, _| hall.seats.handed);
        let started = scene.started.load(Ordering::SeqCst);
        assert_eq!(started + handed, 2, "the slot is in use again");
        assert_eq!(scene.cell.slot().in_flight, 1);
        drop(waiting);
    });
}

#[test]
fn what_is_given_back_is_granted_again() {
    check(|| {
        let scene = Scene::new(two_rungs());
        scene.climb_and_rest();
        let start = scene.claim(at(3000)).expect("free");
        let giver = {
            let scene = scene.clone();
            thread::spawn(move || scene.release(start, false, at(3000)))
        };
        let waiting = scene.join(1, at(3000));
        giver.join().expect("no panic");
        match waiting {
            Some(waiting) => {
                assert_eq!(waiting.calls.0.load(Ordering::SeqCst), 1, "at once, not a pace later");
                scene.must_be_served(&waiting);
            }
            None => assert_eq!(scene.started.load(Ordering::SeqCst), 2),
        }
    });
}

#[test]
fn a_pace_change_and_the_timer_lose_nobody_and_keep_the_distance() {
    check(|| {
        let scene = Scene::new(two_rungs());
        scene.learn(PaceMove::Climb, at(0));
        let stays = scene.join(1, at(500)).expect("waits");
        let goes = scene.join(2, at(500)).expect("waits");
        let leaver = {
            let scene = scene.clone();
            thread::spawn(move || scene.leave(&goes, at(2000)))
        };
        let timer = {
            let scene = scene.clone();
            thread::spawn(move || scene.fire(at(2001)))
        };
        scene.learn(PaceMove::Climb, at(1900));
        leaver.join().expect("no panic");
        timer.join().expect("no panic");
        let served = scene.must_be_served(&stays);
        assert!(served <= at(3901), "a pace after the stall at the latest");
        assert_eq!(scene.cell.look(|hall, _| (hall.held(), hall.seats.handed)), (0, 0));
    });
}

/// Under the law `backoff` the guard never falls: everybody comes through the lock.
#[test]
fn a_row_that_is_always_guarded_loses_nobody_either() {
    check(|| {
        let backoff = Backoff { jitter: Jitter::NONE, ..Backoff::default() };
        let concurrency = Some(1);
        let scene = Scene::new(PaceRules {
            law: Law::Backoff,
            backoff,
            concurrency,
            ..PaceRules::default()
        });
        assert!(scene.claim(at(0)).is_none(), "not without the lock");
        let busy = scene.line_up(0, at(0));
        assert!(busy.is_none(), "but at once");
        let busy = scene.cell.slot();
        assert!(busy.guarded && busy.in_flight == 1);
        let trigger = {
            let scene = scene.clone();
            thread::spawn(move || scene.learn(PaceMove::Climb, at(1)))
        };
        let start = Start {
            at: at(0),
            due: at(0),
            rung: 0,
            before: Tick::ZERO,
            spaced: false,
            repeat: false,
            from: From::Street,
            cost: Cost::ONE,
            place: Place::Free,
        };
        let releaser = {
            let scene = scene.clone();
            thread::spawn(move || scene.release(start, true, at(1)))
        };
        let waiting = scene.join(1, at(1));
        trigger.join().expect("no panic");
        releaser.join().expect("no panic");
        if let Some(waiting) = waiting {
            let served = scene.must_be_served(&waiting);
            // Starts are stamped up to 33 µs late.
            assert!(served <= at(1002), "a second after the trigger at the latest");
        }
        assert_eq!(scene.cell.look(|hall, _| (hall.held(), hall.seats.handed)), (0, 0));
    });
}

/// One attempt at all hosts together: what one cell gives back reaches the other.
#[test]
fn a_place_that_is_given_back_reaches_the_cell_that_waits_for_it() {
    check(|| {
        let total = Arc::new(Total::new());
        total.set_limit(Some(1));
        assert_eq!(total.take(), Some(Place::Counted));
        let scope = Scope::named("shop.example").expect("a name");
        let cell = Cell::new(0, scope, Arc::new(PaceRules::default()), Tick::ZERO);
        let giver = {
            let total = total.clone();
            thread::spawn(move || total.leave().is_some())
        };
        let taken = total.take_or_wait(&cell).is_some();
        let handed = giver.join().expect("no panic");
        assert!(taken != handed, "to whoever asked, once");
        assert_eq!(total.take(), None);
        assert!(total.leave().is_none());
        assert_eq!(total.take(), Some(Place::Counted));
    });
}

/// Two scopes with a slot each: who claims both, who claims one and ends, and who leaves, in any order.
#[test]
fn of_two_scopes_both_are_won_or_none_and_what_is_free_reaches_who_waits() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let slot = PaceRules { concurrency: Some(1), ..PaceRules::default() };
        let [a, b] = ["a", "b"].map(|name| Scope::named(name).expect("a name"));
        let scopes = [(a.clone(), slot.clone()), (b.clone(), slot)].into();
        let (clock, _hand) = Clock::by_hand();
        let gate = Gate::new(GateRules { scopes, ..GateRules::default() }, clock);
        let busy = poll(&mut claimed(&gate, 0, &[&b]), &Arc::default()).expect("free");
        let leaver = {
            let hold = claimed(&gate, 1, &[&a, &b]);
            thread::spawn(move || drop(hold))
        };
        let ender = thread::spawn(move || drop(busy));
        let mut hold = claimed(&gate, 2, &[&b, &a]);
        let calls = Arc::new(Calls::default());
        let mut permit = poll(&mut hold, &calls);
        leaver.join().expect("no panic");
        ender.join().expect("no panic");
        let mut seen = 0;
        while permit.is_none() {
            let woken = calls.0.load(Ordering::SeqCst);
            assert!(woken > seen, "everything is free, and nobody says so");
            seen = woken;
            permit = poll(&mut hold, &calls);
        }
        let in_flight = |scope| gate.row(scope).map_or(0, |row| row.in_flight);
        assert_eq!((in_flight(&a), in_flight(&b)), (1, 1));
        drop(permit);
        assert_eq!((in_flight(&a), in_flight(&b)), (0, 0));
        assert_eq!(gate.counters().held, 0);
    });
}

fn claimed(gate: &Arc<Gate>, client: u64, scopes: &[&Scope]) -> Hold {
    let asked = scopes.iter().map(|scope| Asked::new((*scope).clone()));
    let now = gate.clock().now();
    gate.claim(Ticket {
        claims: Claims::new(asked).expect("some"),
        client: Client { origin: client, lane: 0 },
        turn: Turn::default(),
        accepted: now,
        repeat: false,
        not_before: None,
        window_end: Tick::NEVER,
        deadline: None,
    })
}

fn poll(hold: &mut Hold, calls: &Arc<Calls>) -> Option<Permit> {
    let waker = Waker::from(calls.clone());
    match Pin::new(hold).poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(result) => Some(result.expect("not refused")),
        Poll::Pending => None,
    }
}
