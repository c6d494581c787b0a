//! Requests with several scopes: all must allow at once, nothing is held where one waits, and nobody
//! starves.

use super::*;
use crate::pace::claims::Asked;
use crate::pace::decide::Reason;
use crate::state::limits::Limits;
use crate::state::picture::RowView;
use std::collections::HashMap;

fn scope(name: &str) -> Scope {
    Scope::named(name).unwrap()
}

fn slots(concurrency: u32) -> PaceRules {
    PaceRules { concurrency: Some(concurrency), ..PaceRules::default() }
}

fn spaced(millis: u64) -> PaceRules {
    PaceRules { delay: Duration::from_millis(millis), ..PaceRules::default() }
}

fn world(scopes: &[(&str, PaceRules)]) -> World {
    let scopes = scopes.iter().map(|(name, rules)| (scope(name), rules.clone())).collect();
    World::with(GateRules { scopes, ..GateRules::default() })
}

impl World {
    fn asking(&self, client: u64, names: &[&str]) -> Ticket {
        let claims = Claims::new(names.iter().map(|name| Asked::new(scope(name)))).unwrap();
        Ticket { claims, ..self.ticket(client) }
    }

    /// In a line, or behind one who is.
    #[track_caller]
    fn parks(&self, ticket: Ticket) -> Held {
        let mut held = self.claim(ticket);
        assert!(held.poll().is_none());
        held
    }

    fn flies(&self, client: u64, names: &[&str]) -> Permit {
        let mut permit = self.start(&self.asking(client, names));
        permit.mark_used();
        permit
    }

    fn rows(&self) -> HashMap<String, RowView> {
        let rows = self.gate.picture().rows.into_iter();
        rows.map(|row| (row.scope.as_str().to_owned(), row)).collect()
    }
}

#[test]
fn healthy_scopes_have_no_rows_and_an_attempt_counts_in_every_scope_that_has_one() {
    let world = world(&[("b", slots(2))]);
    let plain = world.flies(1, &["a", "c"]);
    let counted = world.flies(1, &["a", "b", "c"]);
    let rows = world.rows();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows["b"].in_flight, 1);
    drop((plain, counted));
    assert_eq!(world.rows()["b"].in_flight, 0);
}

#[test]
fn all_must_allow_at_once_and_what_waits_holds_nothing_elsewhere() {
    let world = world(&[("a", slots(1)), ("b", slots(1))]);
    let busy = world.flies(1, &["b"]);
    let mut held = world.parks(world.asking(2, &["a", "b"]));
    assert_eq!(held.hold.reason(), Some(Reason::Concurrency));
    let other = world.flies(3, &["a"]);
    drop(busy);
    assert!(held.woken());
    assert!(held.poll().is_none(), "the other scope is in use now");
    let third = world.flies(4, &["b"]);
    drop(other);
    assert!(held.woken() && held.poll().is_none());
    drop(third);
    let permit = held.poll().unwrap().unwrap();
    assert_eq!(world.rows().values().filter(|row| row.in_flight == 1).count(), 2);
    drop(permit);
    assert_eq!(world.gate.counters().held, 0);
}

#[test]
fn of_the_same_scopes_one_is_on_its_way_and_the_others_follow_in_order() {
    let world = world(&[("a", slots(1)), ("b", spaced(1000))]);
    let first = world.flies(1, &["a", "b"]);
    let mut line: Vec<_> = (0..50).map(|_| world.parks(world.asking(1, &["b", "a"]))).collect();
    assert!(world.gate.try_claim(&world.asking(2, &["a", "b"]), world.now()).is_none());
    assert_eq!(world.rows().values().map(|row| row.held).sum::<usize>(), 50);
    let before = world.gate.counters().wakeups;
    let mut flying = vec![first];
    for (place, held) in line.iter_mut().enumerate() {
        world.pass(Duration::from_millis(500));
        flying.clear();
        assert!(!(held.woken() && held.poll().is_some()), "{place}: early");
        world.pass(Duration::from_millis(501));
        assert!(held.woken(), "{place}");
        let mut permit = held.poll().unwrap().unwrap();
        permit.mark_used();
        flying.push(permit);
    }
    let wakes = world.gate.counters().wakeups - before;
    assert!(wakes <= 3 * 50, "{wakes} wakes for 50 starts");
}

#[test]
fn any_scope_refuses_what_cannot_be_in_time() {
    let world = world(&[("a", slots(1)), ("b", slots(1))]);
    world.gate.pause(&scope("b"), seconds(700));
    let away = world.claim(world.asking(1, &["a", "b"])).poll();
    assert!(matches!(away, Some(Err(Refusal::PausedBeyondWindow { .. }))));
    let late = Ticket { deadline: Some(world.now() + seconds(5)), ..world.asking(1, &["a", "b"]) };
    let late = Ticket { window_end: world.now() + seconds(900), ..late };
    let away = world.claim(late).poll();
    assert!(matches!(away, Some(Err(Refusal::Infeasible { .. }))));
    assert_eq!(world.gate.counters().held, 0);
}

#[test]
fn a_pause_of_another_scope_reaches_who_waits_and_all_behind() {
    let world = world(&[("a", slots(1)), ("b", slots(1))]);
    let _busy = world.flies(1, &["a"]);
    let mut line: Vec<_> = (0..3).map(|_| world.parks(world.asking(2, &["a", "b"]))).collect();
    world.gate.pause(&scope("b"), seconds(700));
    for held in &mut line {
        assert!(held.woken());
        assert!(matches!(held.poll(), Some(Err(Refusal::PausedBeyondWindow { .. }))));
    }
    assert_eq!(world.gate.counters().held, 0);
}

#[test]
fn who_leaves_from_any_place_is_followed_by_the_next() {
    let world = world(&[("a", slots(1)), ("b", slots(1))]);
    let busy = world.flies(1, &["a"]);
    let mut line: Vec<_> = (0..4).map(|_| world.parks(world.asking(2, &["a", "b"]))).collect();
    drop(line.remove(2));
    drop(line.remove(0));
    assert!(line[0].woken() && line[0].poll().is_none());
    drop(busy);
    assert!(line[0].woken() && !line[1].woken());
    drop(line.remove(0));
    assert!(line[0].woken());
    let _permit = line[0].poll().unwrap().unwrap();
    assert_eq!(world.gate.counters().held, 0);
}

/// Two scopes that others use as soon as they are free: without a guard both never are at once.
#[test]
fn saturated_scopes_that_are_never_free_together_starve_nobody() {
    let world = world(&[("a", spaced(300)), ("b", spaced(700))]);
    let mut busy: Vec<(Held, &str)> = Vec::new();
    for name in ["a", "b"] {
        drop(world.flies(9, &[name]));
        busy.extend((0..3).map(|client| (world.parks(world.asking(client, &[name])), name)));
    }
    let mut held = Some(world.parks(world.asking(5, &["a", "b"])));
    let mut starts: HashMap<&str, Vec<Tick>> = HashMap::new();
    let began = world.now();
    while held.is_some() && world.now() < began + seconds(60) {
        world.pass(Duration::from_millis(10));
        if let Some(Ok(mut permit)) = held.as_mut().filter(|held| held.woken()).and_then(Held::poll)
        {
            permit.mark_used();
            held = None;
            starts.entry("a").or_default().push(world.now());
            starts.entry("b").or_default().push(world.now());
        }
        for (other, name) in &mut busy {
            if other.woken()
                && let Some(permit) = other.poll()
            {
                permit.unwrap().mark_used();
                starts.entry(name).or_default().push(world.now());
                *other = world.parks(world.asking(2, &[name]));
            }
        }
    }
    assert!(held.is_none(), "starved");
    let took = world.now().since(began);
    assert!(took <= seconds(12), "{took:?}");
    for (name, least) in [("a", 300), ("b", 700)] {
        let close = starts[name].windows(2).find(|two| two[1].since(two[0]).as_millis() < least);
        assert_eq!(close, None, "{name}");
    }
    let (used, share) = (300 * starts["a"].len() as u128, took.as_millis());
    assert!(used * 10 > share * 8, "a was used {used} ms of {share}");
}

#[test]
fn of_a_chain_each_has_its_cap_and_no_child_starves() {
    let chain = [("top", slots(32)), ("books.top", slots(24)), ("quotes.top", slots(16))];
    let world = world(&chain);
    let mut dice = crowd::Dice(0x5eed);
    let (mut held, mut flying) = (Vec::new(), Vec::new());
    let mut starts: HashMap<&str, u64> = HashMap::new();
    let mut most = HashMap::new();
    while starts.values().sum::<u64>() < 20_000 {
        while held.len() < 300 {
            let child = ["books.top", "quotes.top"][dice.roll(2) as usize];
            world.hand.advance(Duration::from_nanos(1));
            held.push((world.claim(world.asking(1, &[child, "top"])), child));
        }
        for at in (0..held.len()).rev() {
            if held[at].0.woken()
                && let Some(permit) = held[at].0.poll()
            {
                let mut permit = permit.unwrap();
                permit.mark_used();
                let child = held.swap_remove(at).1;
                *starts.entry(child).or_default() += 1;
                flying.push(permit);
            }
        }
        for row in world.rows().into_values() {
            let most = most.entry(row.scope.as_str().to_owned()).or_insert(0);
            *most = row.in_flight.max(*most);
        }
        let land = dice.roll(flying.len() as u64) as usize;
        drop(flying.swap_remove(land));
        world.pass(Duration::from_millis(1));
    }
    assert_eq!((most["top"], most["books.top"] <= 24, most["quotes.top"] <= 16), (32, true, true));
    assert!(starts.values().all(|count| *count > 5000), "{starts:?}");
}

#[test]
fn past_the_window_the_other_scopes_must_allow_too_but_for_their_ladders() {
    let world = world(&[("b", slots(1))]);
    for name in ["a", "b"] {
        let mut attempt = Permit::plain(scope(name), world.now(), true);
        for _ in 0..5 {
            attempt.learn(&world.gate, stalled(), world.now());
        }
    }
    let mut line: Vec<_> = (0..2).map(|_| world.parks(world.asking(1, &["a", "b"]))).collect();
    world.pass(seconds(10));
    for held in &mut line {
        held.hold.close();
    }
    let permit = line[0].poll().unwrap().unwrap();
    assert!(line[1].poll().is_none());
    world.pass(seconds(3));
    assert!(!line[1].woken() || line[1].poll().is_none(), "only one at a time");
    drop(permit);
    assert!(line[1].woken());
    assert!(line[1].poll().unwrap().is_ok());
}

#[test]
fn what_is_unsent_a_minute_past_the_window_is_refused_in_whatever_scope_it_is() {
    let world = world(&[("a", slots(1)), ("b", slots(1))]);
    let _busy = world.flies(1, &["b"]);
    let mut line: Vec<_> = (0..2).map(|_| world.parks(world.asking(1, &["a", "b"]))).collect();
    line.iter_mut().for_each(|held| held.hold.close());
    line.iter_mut().for_each(|held| assert!(held.poll().is_none()));
    world.pass(seconds(61));
    for held in &mut line {
        assert!(held.woken() && matches!(held.poll(), Some(Err(Refusal::WindowClosed))));
    }
}

#[test]
fn every_scope_that_learns_does_and_the_first_of_them_tells() {
    let world = world(&[]);
    let claims =
        ["a", "b", "c"].map(|name| Asked { learns: name != "a", ..Asked::new(scope(name)) });
    let ticket = Ticket { claims: Claims::new(claims).unwrap(), ..world.ticket(1) };
    let mut permit = world.start(&ticket);
    assert_eq!(permit.scope().as_str(), "b");
    let learned = permit.learn(&world.gate, stalled(), world.now());
    assert_eq!((learned.before, learned.after), (0, 1));
    let rungs: HashMap<_, _> =
        world.rows().into_iter().map(|(name, row)| (name, row.rung)).collect();
    assert_eq!(rungs, [("b".to_owned(), 1), ("c".to_owned(), 1)].into());
}

#[test]
fn a_repeat_on_its_own_ladder_comes_back_to_its_scopes_and_its_evidence() {
    let world = world(&[("b", slots(1))]);
    let failed = world.now();
    let apart = Ticket {
        repeat: true,
        not_before: Some(world.now() + seconds(5)),
        ..world.asking(1, &["a", "b"])
    };
    let mut held = world.parks(apart);
    assert_eq!(held.hold.reason(), Some(Reason::Request));
    world.pass(seconds(1));
    world.flies(2, &["a"]).learn(&world.gate, served(), world.now());
    world.pass(seconds(4));
    assert!(held.woken());
    let permit = held.poll().unwrap().unwrap();
    assert!(permit.evidence(Some(failed), None).served_since);
    assert_eq!(held.hold.waited().of(Reason::Request), seconds(5));
}

#[test]
fn all_attempts_count_a_request_once() {
    let limits = Limits { attempts: Some(2), ..Limits::default() };
    let scopes = [(scope("a"), slots(9)), (scope("b"), slots(1))].into();
    let world = World::with(GateRules { limits, scopes, ..GateRules::default() });
    let first = world.flies(1, &["a", "b"]);
    let mut second = world.parks(world.asking(1, &["b", "a"]));
    let third = world.flies(1, &["c", "d"]);
    let mut fourth = world.parks(world.asking(1, &["c", "d"]));
    drop(first);
    assert!(second.woken() || fourth.woken());
    let permits = [second.poll(), fourth.poll()];
    assert_eq!(permits.iter().flatten().count(), 1);
    drop((third, permits));
    assert!(second.woken() || fourth.woken());
    assert_eq!([second.poll_again(), fourth.poll_again()].iter().flatten().count(), 1);
}

impl Held {
    /// `None` if it is over.
    fn poll_again(&mut self) -> Option<Permit> {
        self.hold.waits().then(|| self.poll()?.ok())?
    }
}
