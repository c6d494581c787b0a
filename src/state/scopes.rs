//! Scope → row. A healthy host has none, and finding that out must cost next to nothing: first how
//! many rows there are at all, then a counting filter by the scope's hash, and only then the map.
//!
//! This room must not know what a row is good for. No guard of the map is held over anything else.

use crate::pace::scope::Scope;
use crate::state::cell::Cell;
use crate::sync::{AtomicU32, AtomicUsize, Mutex, Ordering, lock};
use dashmap::DashMap;
use std::borrow::Borrow;
use std::collections::VecDeque;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::{Arc, Weak};

/// A row, found by its scope: the name is not kept twice.
#[derive(Debug)]
struct Row(Arc<Cell>);

/// All rows.
#[derive(Debug)]
pub struct Scopes {
    /// Rows, and hosts that always want to be looked up.
    marks: AtomicUsize,
    filter: Box<[AtomicU32]>,
    rows: DashMap<Row, (), BuildHasherDefault<Ready>>,
    /// The rows to look at first when one must go; some are gone already.
    order: Mutex<VecDeque<Weak<Cell>>>,
    most: usize,
    /// Whose row newcomers share once `most` rows are active.
    shared: Scope,
}

impl Scopes {
    /// No rows yet; at most `most`, and one shared by all that come after.
    pub fn new(most: usize) -> Scopes {
        let filter = (0..FILTER).map(|_| AtomicU32::new(0)).collect();
        let shared = Scope::named(SHARED).expect("an underscore and letters are a name");
        let rows = DashMap::default();
        let order = Mutex::new(VecDeque::new());
        Scopes { marks: AtomicUsize::new(0), filter, rows, order, most, shared }
    }

    /// Makes a scope be looked up even without a row.
    pub fn mark(&self, scope: &Scope) {
        self.bucket(scope).fetch_add(1, Ordering::Relaxed);
        self.marks.fetch_add(1, Ordering::Release);
    }

    /// Whether the host has no row, by the cheap tests alone. `false` means: look it up.
    #[inline]
    pub fn is_plain(&self, scope: &Scope) -> bool {
        let marks = self.marks.load(Ordering::Acquire);
        marks == 0 || (marks < self.most && self.bucket(scope).load(Ordering::Relaxed) == 0)
    }

    /// The row of a scope, or the shared one if there are too many.
    pub fn find(&self, scope: &Scope) -> Option<Arc<Cell>> {
        if self.is_plain(scope) {
            return None;
        }
        let row = |scope: &Scope| self.rows.get(scope).map(|row| row.key().0.clone());
        row(scope).or_else(|| self.is_full().then(|| row(&self.shared)).flatten())
    }

    /// The row of a scope; made if it has none. The maker is told whose row to make.
    pub fn find_or_make(&self, scope: &Scope, make: impl Fn(&Scope) -> Arc<Cell>) -> Arc<Cell> {
        loop {
            if let Some(cell) = self.find(scope) {
                if !cell.slot().dead {
                    return cell;
                }
                self.remove(&cell);
            }
            let scope = if self.is_full() { &self.shared } else { scope };
            let made = make(scope);
            self.mark(scope);
            match self.rows.entry(Row(made.clone())) {
                dashmap::Entry::Vacant(vacant) => {
                    drop(vacant.insert(()));
                    self.line_up(&made);
                    return made;
                }
                dashmap::Entry::Occupied(_) => {}
            }
            self.unmark(scope);
        }
    }

    /// Whether there is no row left for this scope, which has none.
    pub fn lacks_room(&self, scope: &Scope) -> bool {
        self.is_full() && !self.rows.contains_key(scope)
    }

    /// Some rows that might make way, others every time: the longest not looked at.
    pub fn candidates(&self) -> Vec<Arc<Cell>> {
        let mut order = lock(&self.order);
        let count = order.len().min(CANDIDATES);
        let rows: Vec<_> = order.drain(..count).filter_map(|row| row.upgrade()).collect();
        order.extend(rows.iter().map(Arc::downgrade));
        rows
    }

    fn line_up(&self, made: &Arc<Cell>) {
        let mut order = lock(&self.order);
        order.push_back(Arc::downgrade(made));
        if order.len() > 2 * self.rows.len() + FILTER {
            order.retain(|row| row.strong_count() > 0);
        }
    }

    /// Takes a removed row out of the map, if it is still there. True if it was.
    pub fn remove(&self, cell: &Arc<Cell>) -> bool {
        let removed =
            self.rows.remove_if(cell.scope(), |row, ()| Arc::ptr_eq(&row.0, cell)).is_some();
        if removed {
            self.unmark(cell.scope());
        }
        removed
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All rows, as they are now.
    pub fn all(&self) -> Vec<Arc<Cell>> {
        self.rows.iter().map(|row| row.key().0.clone()).collect()
    }

    fn is_full(&self) -> bool {
        self.marks.load(Ordering::Relaxed) >= self.most
    }

    /// Takes back a [`mark`](Scopes::mark).
    pub fn unmark(&self, scope: &Scope) {
        self.marks.fetch_sub(1, Ordering::Release);
        self.bucket(scope).fetch_sub(1, Ordering::Relaxed);
    }

    #[inline]
    fn bucket(&self, scope: &Scope) -> &AtomicU32 {
        &self.filter[(scope.hash() >> 20) as usize & (FILTER - 1)]
    }
}

impl Borrow<Scope> for Row {
    fn borrow(&self) -> &Scope {
        self.0.scope()
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        self.0.scope() == other.0.scope()
    }
}

impl Eq for Row {}

impl Hash for Row {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.scope().hash());
    }
}

/// The scope's hash was computed when it was made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ready(u64);

impl Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
    fn write(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.is_empty(), "a scope writes its hash only");
    }
}

/// Buckets of the filter: at 1,000 rows 3 % of healthy hosts go on to the map.
const FILTER: usize = 1 << 15;
/// So many are looked at for one that makes way: some microseconds.
const CANDIDATES: usize = 8;
/// Not a name that DNS would resolve, nor one that is lent out otherwise.
const SHARED: &str = "_other";
