//! What is remembered for a while, up to a bound.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Values that are forgotten after a while, and earlier where there are too many: what came first
/// goes first.
#[derive(Debug)]
pub(super) struct Remembered<K, V> {
    entries: Mutex<Entries<K, V>>,
    capacity: usize,
}

#[derive(Debug)]
struct Entries<K, V> {
    values: HashMap<K, (Instant, V)>,
    /// Every key that has a value, once.
    order: VecDeque<K>,
}

impl<K: Clone + Eq + Hash, V: Clone> Remembered<K, V> {
    pub(super) fn new(capacity: usize) -> Self {
        let entries = Entries { values: HashMap::new(), order: VecDeque::new() };
        Self { entries: Mutex::new(entries), capacity: capacity.max(1) }
    }

    pub(super) fn get(&self, key: &K) -> Option<V> {
        let entries = self.lock();
        let (end, value) = entries.values.get(key)?;
        (Instant::now() < *end).then(|| value.clone())
    }

    /// Remembers a value, and returns whether there was none.
    pub(super) fn insert(&self, key: K, value: V, lifetime: Duration) -> bool {
        let now = Instant::now();
        let Some(end) = now.checked_add(lifetime) else { return false };
        let mut entries = self.lock();
        let entries = &mut *entries;
        if let Some(known) = entries.values.get_mut(&key) {
            let was_alive = now < known.0;
            *known = (end, value);
            return !was_alive;
        }
        while entries.values.len() >= self.capacity
            && let Some(first) = entries.order.pop_front()
        {
            entries.values.remove(&first);
        }
        entries.order.push_back(key.clone());
        entries.values.insert(key, (end, value));
        true
    }

    fn lock(&self) -> MutexGuard<'_, Entries<K, V>> {
        // No panic can leave it half changed.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_bounded_in_number_and_in_time() {
        let cache = Remembered::new(3);
        let second = Duration::from_secs(1);
        for number in 0..1_000 {
            assert!(cache.insert(number, number, 10 * second));
            assert!(!cache.insert(number, number, 10 * second));
        }
        let lengths = || {
            let entries = cache.lock();
            (entries.values.len(), entries.order.len())
        };
        assert_eq!(lengths(), (3, 3));
        assert_eq!((cache.get(&996), cache.get(&997)), (None, Some(997)));
        advance(10 * second).await;
        assert_eq!(cache.get(&997), None);
        assert!(cache.insert(997, 1, second));
        assert_eq!(cache.get(&997), Some(1));
    }
}
