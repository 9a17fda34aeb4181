//! Replay detection.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::ReceiveError;

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

impl ReplayCache {
    pub(super) fn new(capacity: usize) -> Self {
        Self { seen: Mutex::default(), capacity }
    }

    /// Records an id until a time; times are since the Unix epoch. One that is recorded already is
    /// [`Replayed`](ReceiveError::Replayed), and a full cache
    /// [`Overloaded`](ReceiveError::Overloaded): evicting an id would allow its replay.
    pub(super) fn record(
        &self,
        id: &str,
        until: Duration,
        now: Duration,
    ) -> Result<(), ReceiveError> {
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
            return Err(ReceiveError::Replayed);
        }
        if seen.ids.len() >= self.capacity {
            return Err(ReceiveError::Overloaded);
        }
        let id = Arc::<str>::from(id);
        seen.ids.insert(Arc::clone(&id));
        seen.ends.push(Reverse((until, id)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_a_replay_until_it_expires() {
        let replays = ReplayCache::new(2);
        let second = Duration::from_secs;
        let record = |id, until, now| replays.record(id, second(until), second(now));
        assert!(record("a", 10, 0).is_ok());
        assert!(matches!(record("a", 10, 10), Err(ReceiveError::Replayed)));
        assert!(record("b", 20, 10).is_ok());
        assert!(matches!(record("c", 20, 10), Err(ReceiveError::Overloaded)));
        assert!(record("c", 20, 11).is_ok());
        assert!(matches!(record("b", 20, 11), Err(ReceiveError::Replayed)));
    }
}
