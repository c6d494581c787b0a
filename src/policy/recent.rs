//! The latest of something, by key: what is known of more is forgotten.

use std::collections::{HashMap, VecDeque};

/// So many entries at most; the oldest goes first.
#[derive(Debug)]
pub struct Recent<T> {
    entries: HashMap<u64, T>,
    /// Keys as they came, with some that have been taken out since.
    order: VecDeque<u64>,
    most: usize,
}

impl<T> Recent<T> {
    /// Nothing yet.
    pub fn new(most: usize) -> Recent<T> {
        Recent { entries: HashMap::new(), order: VecDeque::new(), most }
    }

    /// The entry of a key.
    pub fn get(&self, key: u64) -> Option<&T> {
        self.entries.get(&key)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, key: u64) -> Option<&mut T> {
        self.entries.get_mut(&key)
    }

    /// Puts one in, in place of the key's last.
    pub fn put(&mut self, key: u64, entry: T) {
        if self.entries.insert(key, entry).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > self.most {
            let oldest = self.order.pop_front();
            oldest.map(|oldest| self.entries.remove(&oldest));
        }
    }

    /// Takes one out.
    pub fn take(&mut self, key: u64) -> Option<T> {
        self.entries.remove(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_are_known() {
        let mut recent = Recent::new(3);
        (0..5).for_each(|key| recent.put(key, key * 10));
        let known: Vec<_> = (0..5).filter_map(|key| recent.get(key)).collect();
        assert_eq!(known, [&20, &30, &40]);
        recent.put(3, 31);
        assert_eq!((recent.take(3), recent.take(3)), (Some(31), None));
        // Coming and going fills nothing.
        for key in 0..1000 {
            recent.put(key, key);
            recent.take(key);
        }
        assert!(recent.entries.len() <= 3 && recent.order.len() <= 3);
    }
}
