//! A queue of items ordered by due time.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Items ordered by due time.
#[derive(Debug)]
pub(super) struct TimerQueue<T>(Mutex<Timers<T>>);

/// The due time of an item, and a unique number.
pub(super) type TimerKey = (Instant, u64);

#[derive(Debug)]
struct Timers<T> {
    items: BTreeMap<TimerKey, T>,
    next: u64,
}

impl<T: Clone> TimerQueue<T> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Timers { items: BTreeMap::new(), next: 0 }))
    }

    /// Adds an item.
    pub(super) fn put(&self, time: Instant, item: T) -> TimerKey {
        let mut timers = self.0.lock();
        let timer = (time, timers.next);
        timers.next += 1;
        timers.items.insert(timer, item);
        timer
    }

    /// Removes an item.
    pub(super) fn remove(&self, timer: TimerKey) {
        self.0.lock().items.remove(&timer);
    }

    /// Returns up to `limit` due items, oldest first, without removing them.
    pub(super) fn due(&self, now: Instant, limit: usize) -> Vec<T> {
        let timers = self.0.lock();
        timers.items.range(..=(now, u64::MAX)).take(limit).map(|(_, item)| item.clone()).collect()
    }

    /// The number of items.
    pub(super) fn len(&self) -> usize {
        self.0.lock().items.len()
    }

    /// Returns the earliest due time.
    pub(super) fn first(&self) -> Option<Instant> {
        self.0.lock().items.first_key_value().map(|((time, _), _)| *time)
    }
}
