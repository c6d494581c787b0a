//! Slot × lesson × now → the next slot: the law `ladder`.
//!
//! This room must not know who waits. It only says what a verdict does to a scope's state.

use crate::clock::Tick;
use crate::judge::verdict::PaceMove;
use crate::pace::rules::{Climb, PaceRules};
use crate::pace::slot::Slot;
use std::time::Duration;

/// What a scope remembers beside its [`Slot`]: only lessons and lines look at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The last stall of an attempt that began after the climb before it; [`Tick::ZERO`] for none.
    pub last_stall: Tick,
    /// When the rung last rose.
    pub last_climb: Option<Tick>,
    /// Nobody starts before; [`Tick::ZERO`] for no pause.
    pub paused_until: Tick,
}

/// What an attempt taught, as far as the pace is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    pub pace: PaceMove,
    pub pause: Option<Duration>,
    /// When the attempt started.
    pub started: Tick,
}

/// The state after a lesson.
///
/// * A stall climbs one rung ([`Climb::Incident`]: only if the attempt began after the last climb).
/// * It moves the anchor only if its attempt began after the last climb: the echoes of one incident
///   raise the rung but don't push the next start away. The top no longer climbs, so there every
///   such stall moves the anchor.
/// * A page served steps down one rung and leaves the anchor: the next start comes nearer at once.
/// * A pause only ever gets longer.
pub fn learn(
    slot: Slot,
    memory: Memory,
    rules: &PaceRules,
    lesson: Move,
    now: Tick,
) -> (Slot, Memory) {
    let (slot, mut memory) = match lesson.pace {
        PaceMove::Nothing => (slot, memory),
        PaceMove::StepDown => (Slot { rung: slot.rung.saturating_sub(1), ..slot }, memory),
        PaceMove::Climb => climb(slot, memory, rules, lesson.started, now),
    };
    if let Some(pause) = lesson.pause {
        memory.paused_until = memory.paused_until.max(now + pause);
    }
    (slot, memory)
}

fn climb(
    slot: Slot,
    mut memory: Memory,
    rules: &PaceRules,
    started: Tick,
    now: Tick,
) -> (Slot, Memory) {
    let fresh = memory.last_climb.is_none_or(|climbed| started > climbed);
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
        memory.last_climb = memory.last_climb.max(Some(now));
    }
    (Slot { rung: next, ..slot }, memory)
}
