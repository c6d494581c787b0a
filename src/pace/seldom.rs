//! A part of a state that is nearly always as it began: then it takes a pointer's room and no more.

use std::ops::{Deref, DerefMut};

/// What is as it began, or in a box. Writing makes the box; [`Seldom::fold`] takes it away.
#[derive(Clone, Debug)]
pub struct Seldom<T>(Option<Box<T>>);

/// What has a beginning to be looked at without making one.
pub trait Blank: Default + 'static {
    /// As it began.
    fn blank() -> &'static Self;
}

impl<T> Seldom<T> {
    /// As it began.
    pub const NONE: Seldom<T> = Seldom(None);

    /// Gives the box back if what is in it says nothing.
    pub fn fold(&mut self, says_nothing: impl FnOnce(&T) -> bool) {
        if self.0.as_deref().is_some_and(says_nothing) {
            self.0 = None;
        }
    }
}

impl<T> Default for Seldom<T> {
    fn default() -> Seldom<T> {
        Seldom::NONE
    }
}

impl<T: Blank> Deref for Seldom<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or_else(|| T::blank())
    }
}

impl<T: Blank> DerefMut for Seldom<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

impl<T: Blank + PartialEq> PartialEq for Seldom<T> {
    fn eq(&self, other: &Seldom<T>) -> bool {
        **self == **other
    }
}

impl<T: Blank + Eq> Eq for Seldom<T> {}
