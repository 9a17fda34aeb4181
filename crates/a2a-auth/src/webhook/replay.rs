//! Which calls came before.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// The ids of calls, each for as long as the call would be believed if it came again.
#[derive(Debug)]
pub(super) struct Replays {
    seen: Mutex<Seen>,
    capacity: usize,
}

#[derive(Debug, Default)]
struct Seen {
    ids: HashSet<Arc<str>>,
    /// When each can be forgotten, the earliest first.
    ends: BinaryHeap<Reverse<(Duration, Arc<str>)>>,
}

/// What is known of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sighting {
    First,
    Again,
    /// Nothing, as no more can be remembered. To forget one would be to let it in again.
    Full,
}

impl Replays {
    pub(super) fn new(capacity: usize) -> Self {
        Self { seen: Mutex::default(), capacity }
    }

    /// Notes an id until a time, both counted from 1970.
    pub(super) fn note(&self, id: &str, until: Duration, now: Duration) -> Sighting {
        // No panic can leave it half changed.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(Reverse((end, id))) = seen.ends.peek()
            && *end < now
        {
            let id = Arc::clone(id);
            seen.ids.remove(&id);
            seen.ends.pop();
        }
        if seen.ids.contains(id) {
            return Sighting::Again;
        }
        if seen.ids.len() >= self.capacity {
            return Sighting::Full;
        }
        let id = Arc::<str>::from(id);
        seen.ids.insert(Arc::clone(&id));
        seen.ends.push(Reverse((until, id)));
        Sighting::First
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_remembered_until_it_is_too_old_anyway() {
        let replays = Replays::new(2);
        let second = Duration::from_secs;
        assert_eq!(replays.note("a", second(10), second(0)), Sighting::First);
        assert_eq!(replays.note("a", second(10), second(10)), Sighting::Again);
        assert_eq!(replays.note("b", second(20), second(10)), Sighting::First);
        assert_eq!(replays.note("c", second(20), second(10)), Sighting::Full);
        assert_eq!(replays.note("c", second(20), second(11)), Sighting::First);
        assert_eq!(replays.note("b", second(20), second(11)), Sighting::Again);
    }
}
