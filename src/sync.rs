//! The only namer of the atomics and locks that the model checker has to see: std's, or loom's.
//!
//! A lock is never poisoned for its users: what it guards is left consistent at every step, so a
//! panic in one request must not take its whole host down.

#[cfg(loom)]
pub use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
};
#[cfg(not(loom))]
pub use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
};

/// Locks; a lock left by a panic is taken over.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.lock() {
        Ok(guard) => guard,
        Err(left) => left.into_inner(),
    }
}
