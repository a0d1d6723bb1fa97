//! Places that are counted for each author or peer, so that no author or peer takes the places of all others.
//!
//! Owns: the count of each key. Never: waits for a place.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places for each key. Clones share them.
#[derive(Debug)]
pub struct KeyedPlaces<K> {
    taken: Arc<Mutex<HashMap<K, usize>>>,
    most: usize,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub struct KeyedPlace<K: Eq + Hash> {
    places: KeyedPlaces<K>,
    key: K,
}

impl<K> Clone for KeyedPlaces<K> {
    fn clone(&self) -> Self {
        Self {
            taken: Arc::clone(&self.taken),
            most: self.most,
        }
    }
}

impl<K: Eq + Hash> KeyedPlaces<K> {
    /// Makes `most` places for each key.
    pub fn new(most: usize) -> Self {
        Self {
            taken: Arc::new(Mutex::new(HashMap::new())),
            most,
        }
    }

    /// Takes a place. `None` if the key has taken all of its places.
    pub fn take(&self, key: K) -> Option<KeyedPlace<K>>
    where
        K: Clone,
    {
        let mut taken = self.lock();
        let count = taken.get(&key).copied().unwrap_or_default();
        if count >= self.most {
            return None;
        }
        taken.insert(key.clone(), count + 1);
        drop(taken);
        let places = self.clone();
        Some(KeyedPlace { places, key })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        // A count is changed in one step, so the table is valid even after a panic of another thread.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> Drop for KeyedPlace<K> {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        match taken.get_mut(&self.key) {
            Some(count) if *count > 1 => *count -= 1,
            // Otherwise the table would keep every key for ever.
            _ => drop(taken.remove(&self.key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_places_that_come_back() {
        let places = KeyedPlaces::new(2);
        let other = places.clone();
        let (one, two) = (places.take("a"), other.take("a"));
        assert!(one.is_some() && two.is_some() && places.take("a").is_none());
        let third = other.take("b");
        assert!(third.is_some());
        drop(one);
        let again = places.take("a");
        assert!(again.is_some() && places.take("a").is_none());
        drop((two, third, again));
        assert_eq!(places.lock().len(), 0);
    }
}
