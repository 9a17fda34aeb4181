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

/// The counts of all callers: the references to each value besides that in the map. Values without
/// any are removed before the map grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallerCounts(Arc<Mutex<HashMap<Key, Arc<()>>>>);

/// Something that is counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Count {
    _counted: Arc<()>,
    /// The caller's number of them when it was counted.
    pub(crate) number: usize,
}

fn number(known: &Arc<()>) -> usize {
    Arc::strong_count(known) - 1
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
        let mut counts = self.0.lock();
        if let Some(known) = counts.get(&key) {
            let number = number(known);
            let is_admitted = limit.is_none_or(|limit| number < limit.get());
            return is_admitted.then(|| Count { _counted: Arc::clone(known), number: number + 1 });
        }
        if counts.len() == counts.capacity() {
            counts.retain(|_, known| number(known) > 0);
            let more = counts.len() + 1;
            counts.reserve(more);
        }
        let known = counts.entry(key).or_default();
        Some(Count { _counted: Arc::clone(known), number: 1 })
    }

    pub(crate) fn of(&self, caller: &Arc<str>, counted: Counted) -> usize {
        self.0.lock().get(&(Arc::clone(caller), counted)).map_or(0, number)
    }

    /// The number of callers with a count.
    pub(crate) fn callers(&self) -> usize {
        let counts = self.0.lock();
        let counted = counts.iter().filter(|(_, known)| number(known) > 0);
        counted.map(|((caller, _), _)| caller).collect::<BTreeSet<_>>().len()
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

    #[test]
    fn callers_without_a_count_are_forgotten_before_the_map_grows() {
        let counts = CallerCounts::default();
        let ann = Arc::from("ann");
        let _first = counts.take(&ann, Counted::Stream, None).unwrap();
        for number in 0..10_000 {
            let caller = Arc::from(number.to_string());
            drop(counts.take(&caller, Counted::RunningTask, None).unwrap());
        }
        assert!(counts.0.lock().len() < 100);
        assert_eq!((counts.callers(), counts.of(&ann, Counted::Stream)), (1, 1));
    }
}
