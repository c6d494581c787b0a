//! Lists whose entries lie in a slab: linked both ways, so that leaving is O(1) from any place.

use slab::Slab;

/// The two ends of a list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ends {
    pub head: Option<usize>,
    pub tail: Option<usize>,
}

/// An entry's neighbours.
#[derive(Clone, Copy, Debug, Default)]
pub struct Links {
    pub before: Option<usize>,
    pub after: Option<usize>,
}

/// What can stand in a list.
pub trait Linked {
    /// Its neighbours.
    fn links(&mut self) -> &mut Links;
}

/// Puts `key` behind `before` (at the head for none).
pub fn link<T: Linked>(ends: &mut Ends, all: &mut Slab<T>, before: Option<usize>, key: usize) {
    let after = match before {
        Some(before) => all[before].links().after.replace(key),
        None => ends.head.replace(key),
    };
    match after {
        Some(after) => all[after].links().before = Some(key),
        None => ends.tail = Some(key),
    }
    *all[key].links() = Links { before, after };
}

/// Takes `key` out of its list.
pub fn unlink<T: Linked>(ends: &mut Ends, all: &mut Slab<T>, key: usize) {
    let Links { before, after } = std::mem::take(all[key].links());
    match before {
        Some(before) => all[before].links().after = after,
        None => ends.head = after,
    }
    match after {
        Some(after) => all[after].links().before = before,
        None => ends.tail = before,
    }
}
