//! A crowd against a plain model: random arrivals, lessons and departures, over 100,000 grants.

use super::*;
use std::collections::HashMap;

/// The ladder in plain words, for one scope: what the gate is held to.
#[derive(Default)]
pub(super) struct Model {
    pub rung: usize,
    last_start: Tick,
    last_stall: Tick,
    pub last_climb: Option<Tick>,
}

const LADDER: [u64; 6] = [0, 2, 5, 15, 30, 60];

impl Model {
    pub fn check_start(&mut self, now: Tick) {
        let anchor = self.last_start.max(self.last_stall);
        let earliest = if self.rung == 0 { now } else { anchor + seconds(LADDER[self.rung]) };
        assert!(now >= earliest, "started {:?} early on rung {}", earliest.since(now), self.rung);
        self.last_start = self.last_start.max(now);
    }

    pub fn learn(&mut self, climbs: bool, started: Tick, now: Tick) {
        if !climbs {
            self.rung = self.rung.saturating_sub(1);
        } else {
            if self.last_climb.is_none_or(|climb| started > climb) {
                self.last_stall = now;
            }
            if self.rung < 5 {
                self.rung += 1;
                self.last_climb = Some(now);
            }
        }
    }
}

pub(super) struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

struct Simulation {
    world: World,
    dice: Dice,
    model: Model,
    held: Vec<(Held, u64, u64)>,
    flying: Vec<(Permit, Tick)>,
    served_of: HashMap<u64, u64>,
    serial: u64,
    granted: u64,
    waited: u64,
    left: u64,
    handed_in_vain: u64,
}

impl Simulation {
    fn arrive(&mut self) {
        let client = self.dice.roll(7);
        self.world.hand.advance(Duration::from_nanos(1));
        let mut held = self.world.claim(self.world.ticket(client));
        self.serial += 1;
        match held.poll() {
            Some(permit) => self.flew(permit.unwrap()),
            None => self.held.push((held, client, self.serial)),
        }
    }

    fn flew(&mut self, mut permit: Permit) {
        self.model.check_start(self.world.now());
        self.granted += 1;
        permit.mark_used();
        let ends = self.world.now() + Duration::from_millis(50 + self.dice.roll(3000));
        self.flying.push((permit, ends));
    }

    /// Those woken look, unless they left in this very moment.
    fn look(&mut self) {
        let woken = |held: &[(Held, u64, u64)]| {
            let woken = held.iter().enumerate().filter(|(_, (held, ..))| held.woken());
            woken.min_by_key(|(_, (.., serial))| *serial).map(|(at, _)| at)
        };
        while let Some(at) = woken(&self.held) {
            let (mut held, client, serial) = self.held.remove(at);
            if self.dice.roll(3) == 0 {
                self.left += 1;
                self.handed_in_vain += 1;
                continue;
            }
            if let Some(permit) = held.poll() {
                let before = self.served_of.insert(client, serial);
                assert!(before.is_none_or(|before| before < serial), "order within a client");
                self.waited += 1;
                self.flew(permit.unwrap());
            } else {
                self.held.push((held, client, serial));
            }
        }
    }

    fn depart(&mut self) {
        let at = self.dice.roll(self.held.len().max(1) as u64) as usize;
        if at < self.held.len() {
            drop(self.held.swap_remove(at));
            self.left += 1;
        }
    }

    fn land(&mut self) {
        let now = self.world.now();
        while let Some(at) = self.flying.iter().position(|(_, ends)| *ends <= now) {
            let (mut permit, _) = self.flying.swap_remove(at);
            let climbs = self.dice.roll(3) == 0;
            let lesson = if climbs { stalled() } else { served() };
            let started = permit.started();
            if self.world.gate.scopes.find(&shop()).is_none() {
                // The row went, and with it what it remembered of climbs.
                self.model.last_climb = None;
            }
            let learned = permit.learn(&self.world.gate, lesson, now);
            self.model.learn(climbs, started, now);
            assert_eq!(usize::from(learned.after), self.model.rung);
            drop(permit);
            self.look();
        }
    }

    /// To the next moment at which anything happens by itself.
    fn pass(&mut self) -> bool {
        let next = self.world.gate.serve_due();
        self.look();
        let next = self.flying.iter().map(|(_, ends)| *ends).min().unwrap_or(Tick::NEVER).min(next);
        if next == Tick::NEVER {
            return false;
        }
        self.world.hand.set(next.max(self.world.now()));
        self.world.gate.serve_due();
        self.look();
        self.land();
        true
    }
}

#[test]
fn a_crowd_is_served_one_a_pace_in_order_and_nobody_is_forgotten() {
    let world = World::new(PaceRules::default());
    let mut run = Simulation {
        world,
        dice: Dice(0x5eed),
        model: Model::default(),
        held: Vec::new(),
        flying: Vec::new(),
        served_of: HashMap::new(),
        serial: 0,
        granted: 0,
        waited: 0,
        left: 0,
        handed_in_vain: 0,
    };
    while run.waited < 100_000 {
        match run.dice.roll(8) {
            0..4 if run.held.len() < 24 => run.arrive(),
            4 => run.depart(),
            _ => {
                run.pass();
            }
        }
    }
    while !(run.held.is_empty() && run.flying.is_empty()) {
        assert!(run.pass(), "{} are held and nothing will wake them", run.held.len());
    }
    let counters = run.world.gate.counters();
    assert_eq!((counters.held, counters.grants), (0, run.waited));
    assert!(run.left * 3 > run.waited, "a third leave: {} of {}", run.left, run.waited);
    let wakes = counters.wakeups as f64 / (run.waited + run.handed_in_vain) as f64;
    assert!(wakes <= 1.05, "{wakes} wakes per grant");
}
