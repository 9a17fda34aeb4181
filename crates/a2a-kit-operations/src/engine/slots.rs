//! Execution slots: running tasks per caller.

use std::{collections::HashMap, num::NonZeroUsize, sync::Arc};

use parking_lot::Mutex;

/// The slots in use, by caller. A caller with no running task and no draft has no entry.
#[derive(Debug, Default)]
pub(super) struct Slots(Mutex<HashMap<Arc<str>, Used>>);

#[derive(Clone, Copy, Debug, Default)]
struct Used {
    /// Running tasks.
    running: usize,
    /// New tasks that are not stored yet.
    drafts: usize,
}

impl Slots {
    /// Changes the usage of a caller. The change rejects by returning `false`.
    fn update(&self, owner: &Arc<str>, change: impl FnOnce(&mut Used) -> bool) -> bool {
        let mut callers = self.0.lock();
        let mut used = callers.get(owner).copied().unwrap_or_default();
        if !change(&mut used) {
            return false;
        }
        if used.running == 0 && used.drafts == 0 {
            callers.remove(owner);
        } else {
            callers.insert(Arc::clone(owner), used);
        }
        true
    }

    /// The number of running tasks of a caller.
    pub(super) fn running(&self, owner: &str) -> usize {
        self.0.lock().get(owner).map_or(0, |used| used.running)
    }

    /// The number of callers with an entry.
    #[cfg(test)]
    pub(super) fn callers(&self) -> usize {
        self.0.lock().len()
    }

    /// Counts a running task; `None` if the caller is at `limit`.
    pub(super) fn take(
        self: &Arc<Self>,
        owner: &Arc<str>,
        limit: Option<NonZeroUsize>,
    ) -> Option<Count> {
        let is_taken = self.update(owner, |used| {
            let fits = limit.is_none_or(|limit| used.running < limit.get());
            used.running += usize::from(fits);
            fits
        });
        let (slots, owner) = (Arc::clone(self), Arc::clone(owner));
        is_taken.then(|| Count { slots, owner, of: |used| &mut used.running })
    }

    /// Counts a new task until it is stored, and returns the caller's number of them.
    pub(super) fn draft(self: &Arc<Self>, owner: &Arc<str>) -> (Count, usize) {
        let mut drafts = 0;
        self.update(owner, |used| {
            used.drafts += 1;
            drafts = used.drafts;
            true
        });
        let (slots, owner) = (Arc::clone(self), Arc::clone(owner));
        (Count { slots, owner, of: |used| &mut used.drafts }, drafts)
    }
}

/// A task that is counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Count {
    slots: Arc<Slots>,
    owner: Arc<str>,
    of: fn(&mut Used) -> &mut usize,
}

impl Drop for Count {
    fn drop(&mut self) {
        self.slots.update(&self.owner, |used| {
            let count = (self.of)(used);
            *count = count.saturating_sub(1);
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_tasks_of_a_caller_are_limited() {
        let slots = Arc::new(Slots::default());
        let (ann, one) = (Arc::from("ann"), NonZeroUsize::new(1));
        let first = slots.take(&ann, one).unwrap();
        assert!(slots.take(&ann, one).is_none());
        assert!(slots.take(&"bob".into(), one).is_some());
        let second = slots.take(&ann, None).unwrap();
        assert_eq!(slots.running("ann"), 2, "what was accepted goes on");
        drop(first);
        assert!(slots.take(&ann, one).is_none());
        drop(second);
        assert_eq!(slots.callers(), 0);
    }

    #[test]
    fn drafts_are_counted_until_dropped() {
        let slots = Arc::new(Slots::default());
        let ann = Arc::from("ann");
        let (first, one) = slots.draft(&ann);
        let (second, two) = slots.draft(&ann);
        assert_eq!((one, two), (1, 2));
        drop((first, second));
        assert_eq!(slots.callers(), 0);
    }
}
