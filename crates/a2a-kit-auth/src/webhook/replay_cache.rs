//! Replay detection.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// The ids of accepted deliveries, each until its delivery would be too old to be accepted.
#[derive(Debug)]
pub(super) struct ReplayCache {
    seen: Mutex<Seen>,
    capacity: usize,
}

#[derive(Debug, Default)]
struct Seen {
    ids: HashSet<Arc<str>>,
    /// When each expires, the earliest first.
    ends: BinaryHeap<Reverse<(Duration, Arc<str>)>>,
}

/// The result of recording an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replay {
    First,
    Seen,
    /// The cache is full. Evicting an id would allow its replay.
    Full,
}

impl ReplayCache {
    pub(super) fn new(capacity: usize) -> Self {
        Self { seen: Mutex::default(), capacity }
    }

    /// Records an id until a time; times are since the Unix epoch.
    pub(super) fn record(&self, id: &str, until: Duration, now: Duration) -> Replay {
        // A panic can't leave it half changed.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(Reverse((end, id))) = seen.ends.peek()
            && *end < now
        {
            let id = Arc::clone(id);
            seen.ids.remove(&id);
            seen.ends.pop();
        }
        if seen.ids.contains(id) {
            return Replay::Seen;
        }
        if seen.ids.len() >= self.capacity {
            return Replay::Full;
        }
        let id = Arc::<str>::from(id);
        seen.ids.insert(Arc::clone(&id));
        seen.ends.push(Reverse((until, id)));
        Replay::First
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_a_replay_until_it_expires() {
        let replays = ReplayCache::new(2);
        let second = Duration::from_secs;
        assert_eq!(replays.record("a", second(10), second(0)), Replay::First);
        assert_eq!(replays.record("a", second(10), second(10)), Replay::Seen);
        assert_eq!(replays.record("b", second(20), second(10)), Replay::First);
        assert_eq!(replays.record("c", second(20), second(10)), Replay::Full);
        assert_eq!(replays.record("c", second(20), second(11)), Replay::First);
        assert_eq!(replays.record("b", second(20), second(11)), Replay::Seen);
    }
}
