//! Slot × lesson × now → the next slot, by the law of the scope.
//!
//! This room must not know who waits. It only says what a verdict does to a scope's state.

use crate::clock::Tick;
use crate::judge::verdict::{Class, PaceMove};
use crate::pace::memory::Memory;
use crate::pace::rules::{Climb, Law, PaceRules};
use crate::pace::slot::Slot;
use std::time::Duration;

/// What an attempt taught, as far as the pace is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    pub pace: PaceMove,
    pub pause: Option<Duration>,
    /// When the attempt started.
    pub started: Tick,
    pub class: Class,
    /// The answer's status, as what it was judged.
    pub status: Option<u16>,
    /// A failure of one page's own, or of ours: it triggers nothing.
    pub excused: bool,
}

/// The state after a lesson.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learnt {
    pub slot: Slot,
    pub memory: Memory,
    /// The scope holds its requests back for it.
    pub slows: bool,
}

/// Learns by the law of the scope. Under every law a pause only ever gets longer.
pub fn learn(slot: Slot, memory: Memory, rules: &PaceRules, lesson: Move, now: Tick) -> Learnt {
    let (slot, mut memory, slows) = match rules.law {
        Law::Ladder => {
            let (slot, memory) = by_ladder(slot, memory, rules, lesson, now);
            (slot, memory, lesson.pace == PaceMove::Climb)
        }
        Law::Backoff => by_backoff(slot, memory, rules, lesson, now),
        Law::Fixed => (Slot { rung: 0, ..slot }, memory, false),
    };
    let pause = lesson.pause.map(|pause| match rules.law {
        Law::Backoff => pause.min(rules.backoff.max),
        Law::Ladder | Law::Fixed => pause,
    });
    if let Some(pause) = pause {
        memory.paused_until = memory.paused_until.max(now + pause);
    }
    Learnt { slot, memory, slows: slows || lesson.pause.is_some() }
}

/// Whether there is something to remember of it, in a scope without a row.
pub fn lasts(rules: &PaceRules, lesson: &Move) -> bool {
    lesson.pause.is_some() || lesson.pace == PaceMove::Climb || triggers(rules, lesson)
}

fn triggers(rules: &PaceRules, lesson: &Move) -> bool {
    let waits = lesson.pause.is_some() && lesson.pace == PaceMove::Climb;
    rules.law == Law::Backoff
        && !lesson.excused
        && (waits || rules.backoff.is_trigger(lesson.class, lesson.status))
}

/// A trigger is a status or a failure that the rules name, or a failure that names a wait. What is
/// served changes nothing: only time brings the delay back.
fn by_backoff(
    slot: Slot,
    mut memory: Memory,
    rules: &PaceRules,
    lesson: Move,
    now: Tick,
) -> (Slot, Memory, bool) {
    let (backoff, base) = (&rules.backoff, rules.base());
    if !triggers(rules, &lesson) {
        return (slot, memory, false);
    }
    let waits = lesson.pause.is_some();
    let (pressure, slows) = memory.more.pressure.triggered(backoff, &base, waits, now);
    if slows {
        memory.last_stall = memory.last_stall.max(now);
    }
    memory.more.pressure = pressure;
    (Slot { rung: pressure.steps(backoff, &base), ..slot }, memory, slows)
}

/// The law `ladder`.
///
/// * A stall climbs one rung ([`Climb::Incident`]: only if the attempt began after the last climb).
/// * It moves the anchor only if its attempt began after the last climb: the echoes of one incident
///   raise the rung but don't push the next start away. The top no longer climbs, so there every
///   such stall moves the anchor.
/// * A page served steps down one rung and leaves the anchor: the next start comes nearer at once.
fn by_ladder(
    slot: Slot,
    memory: Memory,
    rules: &PaceRules,
    lesson: Move,
    now: Tick,
) -> (Slot, Memory) {
    match lesson.pace {
        PaceMove::Nothing => (slot, memory),
        PaceMove::StepDown => (Slot { rung: slot.rung.saturating_sub(1), ..slot }, memory),
        PaceMove::Climb => climb(slot, memory, rules, lesson.started, now),
    }
}

fn climb(
    slot: Slot,
    mut memory: Memory,
    rules: &PaceRules,
    started: Tick,
    now: Tick,
) -> (Slot, Memory) {
    let fresh = started > memory.last_climb;
    if fresh {
        memory.last_stall = memory.last_stall.max(now);
    }
    let climbs = match rules.climb {
        Climb::Stall => true,
        Climb::Incident => fresh,
    };
    let rung = slot.rung.min(rules.ladder.top());
    let next = if climbs { (rung + 1).min(rules.ladder.top()) } else { rung };
    if next > rung {
        memory.last_climb = memory.last_climb.max(now);
    }
    (Slot { rung: next, ..slot }, memory)
}
