//! A bounded cache whose entries expire.

use std::{
    borrow::Borrow,
    collections::{HashMap, VecDeque},
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// A cache with a lifetime for each entry. When full, it evicts the oldest entry.
#[derive(Debug)]
pub(super) struct ExpiringCache<K, V> {
    entries: Mutex<Entries<K, V>>,
    capacity: usize,
}

#[derive(Debug)]
struct Entries<K, V> {
    values: HashMap<K, (Instant, V)>,
    /// The keys by insertion, each once.
    order: VecDeque<K>,
}

impl<K: Clone + Eq + Hash, V: Clone> ExpiringCache<K, V> {
    pub(super) fn new(capacity: usize) -> Self {
        let entries = Entries { values: HashMap::new(), order: VecDeque::new() };
        Self { entries: Mutex::new(entries), capacity: capacity.max(1) }
    }

    pub(super) fn get(&self, key: &K) -> Option<V> {
        let entries = self.lock();
        let (end, value) = entries.values.get(key)?;
        (Instant::now() < *end).then(|| value.clone())
    }

    /// Extends the lifetime of a value, and returns whether it has not expired.
    pub(super) fn renew<Q: Eq + Hash + ?Sized>(&self, key: &Q, lifetime: Duration) -> bool
    where
        K: Borrow<Q>,
    {
        let now = Instant::now();
        match (self.lock().values.get_mut(key), now.checked_add(lifetime)) {
            (Some((end, _)), Some(later)) if now < *end => {
                *end = later;
                true
            }
            _ => false,
        }
    }

    /// Inserts a value, and returns whether the key was absent or expired.
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
        // A panic can't leave the entries half changed.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn cache_is_bounded_and_entries_expire() {
        let cache = ExpiringCache::new(3);
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
        advance(9 * second).await;
        assert!(cache.renew(&998, 10 * second));
        advance(second).await;
        assert_eq!((cache.get(&997), cache.get(&998)), (None, Some(998)));
        assert!(!cache.renew(&997, second) && !cache.renew(&996, second));
        assert!(cache.insert(997, 1, second));
        assert_eq!(cache.get(&997), Some(1));
    }
}
