//! A crowd whose requests cross several scopes, against plain models: caps, distances, a ladder, order,
//! and nobody forgotten, over 100,000 starts.

use super::crowd::{Dice, Model};
use super::*;
use crate::pace::claims::Asked;
use std::collections::HashMap;

/// Three slots; two slots 40 ms apart; a ladder that learns; nothing at all.
const SLOTS: &str = "slots";
const SPACED: &str = "spaced";
const LADDER: &str = "ladder";
const HEALTHY: &str = "healthy";
const SETS: [&[&str]; 9] = [
    &[SLOTS],
    &[SPACED],
    &[LADDER],
    &[SLOTS, SPACED],
    &[SPACED, SLOTS, HEALTHY],
    &[LADDER, SLOTS],
    &[HEALTHY, LADDER],
    &[SPACED, LADDER],
    &[LADDER, SPACED, SLOTS],
];

struct Waiting {
    held: Held,
    client: u64,
    serial: u64,
    set: usize,
}

struct Crossing {
    world: World,
    dice: Dice,
    ladder: Model,
    held: Vec<Waiting>,
    flying: Vec<(Permit, usize, Tick)>,
    in_flight: HashMap<&'static str, usize>,
    last_start: HashMap<&'static str, Tick>,
    last_served: HashMap<(u64, usize), u64>,
    serial: u64,
    starts: [u64; SETS.len()],
    waited: u64,
    left: u64,
}

impl Crossing {
    fn new() -> Crossing {
        let slots = PaceRules { concurrency: Some(3), ..PaceRules::default() };
        let delay = Duration::from_millis(40);
        let spaced = PaceRules { concurrency: Some(2), delay, ..PaceRules::default() };
        let of = |name: &str| Scope::named(name).unwrap();
        let scopes = [(of(SLOTS), slots), (of(SPACED), spaced)].into();
        Crossing {
            world: World::with(GateRules { scopes, ..GateRules::default() }),
            dice: Dice(0x5eed),
            ladder: Model::default(),
            held: Vec::new(),
            flying: Vec::new(),
            in_flight: HashMap::new(),
            last_start: HashMap::new(),
            last_served: HashMap::new(),
            serial: 0,
            starts: [0; SETS.len()],
            waited: 0,
            left: 0,
        }
    }

    fn arrive(&mut self) {
        let (client, set) = (self.dice.roll(3), self.dice.roll(SETS.len() as u64) as usize);
        self.world.hand.advance(Duration::from_nanos(1));
        let asked = SETS[set].iter().map(|name| {
            let scope = Scope::named(name).unwrap();
            Asked { learns: *name == LADDER, ..Asked::new(scope) }
        });
        let ticket = Ticket { claims: Claims::new(asked).unwrap(), ..self.world.ticket(client) };
        let mut held = self.world.claim(ticket);
        self.serial += 1;
        match held.poll() {
            Some(permit) => self.flew(permit.unwrap(), set),
            None => self.held.push(Waiting { held, client, serial: self.serial, set }),
        }
    }

    fn flew(&mut self, mut permit: Permit, set: usize) {
        let now = self.world.now();
        permit.mark_used();
        assert_eq!(permit.started(), now);
        self.starts[set] += 1;
        for name in SETS[set] {
            let count = self.in_flight.entry(name).or_default();
            *count += 1;
            let most = match *name {
                SLOTS => 3,
                SPACED => 2,
                _ => usize::MAX,
            };
            assert!(*count <= most, "{name}: {count}");
            if *name == LADDER {
                self.ladder.check_start(now);
            }
            let last = self.last_start.insert(name, now).filter(|_| *name == SPACED);
            let gap = last.map(|last| now.since(last));
            assert!(gap.is_none_or(|gap| gap >= Duration::from_millis(40)), "{name}: {gap:?}");
        }
        let ends = now + Duration::from_millis(5 + self.dice.roll(200));
        self.flying.push((permit, set, ends));
    }

    /// Those woken look, some leave in this very moment.
    fn look(&mut self) {
        while let Some(at) = self.held.iter().position(|waiting| waiting.held.woken()) {
            if self.dice.roll(8) == 0 {
                drop(self.held.remove(at));
                self.left += 1;
                continue;
            }
            let Some(permit) = self.held[at].held.poll() else { continue };
            let Waiting { client, serial, set, .. } = self.held.remove(at);
            let before = self.last_served.insert((client, set), serial);
            assert!(before.is_none_or(|before| before < serial), "order among their like");
            self.waited += 1;
            self.flew(permit.unwrap(), set);
        }
    }

    fn depart(&mut self) {
        let at = self.dice.roll(self.held.len().max(1) as u64) as usize;
        if at < self.held.len() {
            drop(self.held.remove(at));
            self.left += 1;
        }
    }

    fn land(&mut self) {
        let now = self.world.now();
        while let Some(at) = self.flying.iter().position(|(.., ends)| *ends <= now) {
            let (mut permit, set, _) = self.flying.swap_remove(at);
            for name in SETS[set] {
                *self.in_flight.get_mut(name).unwrap() -= 1;
            }
            if SETS[set].contains(&LADDER) {
                self.learn(&mut permit, now);
            }
            drop(permit);
            self.look();
        }
    }

    fn learn(&mut self, permit: &mut Permit, now: Tick) {
        let climbs = self.dice.roll(4) == 0;
        let lesson = if climbs { stalled() } else { served() };
        if self.world.gate.scopes.find(&Scope::named(LADDER).unwrap()).is_none() {
            self.ladder.last_climb = None;
        }
        let started = permit.started();
        let learned = permit.learn(&self.world.gate, lesson, now);
        self.ladder.learn(climbs, started, now);
        assert_eq!(usize::from(learned.after), self.ladder.rung);
    }

    /// To the next moment at which anything happens by itself.
    fn pass(&mut self) -> bool {
        let next = self.world.gate.serve_due();
        self.look();
        let next =
            self.flying.iter().map(|(.., ends)| *ends).min().unwrap_or(Tick::NEVER).min(next);
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
fn a_crowd_that_crosses_scopes_keeps_to_all_of_them_and_nobody_is_forgotten() {
    let mut run = Crossing::new();
    while run.starts.iter().sum::<u64>() < 100_000 {
        match run.dice.roll(8) {
            0..4 if run.held.len() < 40 => run.arrive(),
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
    assert!(run.world.gate.lobbies.views(run.world.now()).is_empty());
    run.world.pass(seconds(4000));
    assert_eq!(run.world.gate.picture().rows.iter().map(|row| row.in_flight).max().unwrap_or(0), 0);
    assert!(run.starts.iter().all(|starts| *starts > 3000), "{:?}", run.starts);
    assert!(run.left > 10_000, "{}", run.left);
    let wakes = counters.wakeups as f64 / (run.waited + run.left) as f64;
    assert!(wakes <= 3.0, "{wakes} wakes per start or departure");
}
