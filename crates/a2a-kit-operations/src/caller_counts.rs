//! Tasks and streams in progress, per caller.

use std::{
    collections::{BTreeSet, HashMap},
    num::NonZeroUsize,
    sync::Arc,
};

use parking_lot::Mutex;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Counted {
    RunningTask,
    /// A new task that is not stored yet.
    Draft,
    Stream,
}

/// A caller, and what is counted of it.
type Key = (Arc<str>, Counted);

/// The counts of all callers; one of zero has no entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallerCounts(Arc<Mutex<HashMap<Key, usize>>>);

/// Something that is counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Count {
    counts: CallerCounts,
    key: Key,
    /// The caller's number of them when it was counted.
    pub(crate) number: usize,
}

impl CallerCounts {
    /// Counts one more; `None` if the caller is at `limit`.
    pub(crate) fn take(
        &self,
        caller: &Arc<str>,
        counted: Counted,
        limit: Option<NonZeroUsize>,
    ) -> Option<Count> {
        let key = (Arc::clone(caller), counted);
        let number = {
            let mut counts = self.0.lock();
            match counts.get_mut(&key) {
                Some(count) if limit.is_some_and(|limit| *count >= limit.get()) => return None,
                Some(count) => {
                    *count += 1;
                    *count
                }
                None => {
                    counts.insert(key.clone(), 1);
                    1
                }
            }
        };
        Some(Count { counts: self.clone(), key, number })
    }

    pub(crate) fn of(&self, caller: &Arc<str>, counted: Counted) -> usize {
        self.0.lock().get(&(Arc::clone(caller), counted)).copied().unwrap_or_default()
    }

    /// The number of callers with an entry.
    pub(crate) fn callers(&self) -> usize {
        self.0.lock().keys().map(|(caller, _)| caller).collect::<BTreeSet<_>>().len()
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        let mut counts = self.counts.0.lock();
        match counts.get_mut(&self.key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => _ = counts.remove(&self.key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_tasks_of_a_caller_are_limited() {
        let counts = CallerCounts::default();
        let (ann, one) = (Arc::from("ann"), NonZeroUsize::new(1));
        let first = counts.take(&ann, Counted::RunningTask, one).unwrap();
        assert!(counts.take(&ann, Counted::RunningTask, one).is_none());
        assert!(counts.take(&ann, Counted::Stream, one).is_some());
        assert!(counts.take(&"bob".into(), Counted::RunningTask, one).is_some());
        let second = counts.take(&ann, Counted::RunningTask, None).unwrap();
        assert_eq!(counts.of(&ann, Counted::RunningTask), 2, "what was accepted goes on");
        drop(first);
        assert!(counts.take(&ann, Counted::RunningTask, one).is_none());
        drop(second);
        assert_eq!(counts.callers(), 0);
    }

    #[test]
    fn drafts_are_counted_until_dropped() {
        let counts = CallerCounts::default();
        let ann = Arc::from("ann");
        let first = counts.take(&ann, Counted::Draft, None).unwrap();
        let second = counts.take(&ann, Counted::Draft, None).unwrap();
        assert_eq!((first.number, second.number), (1, 2));
        assert_eq!(counts.callers(), 1);
        drop((first, second));
        assert_eq!(counts.callers(), 0);
    }
}
