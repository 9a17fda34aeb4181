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

    /// Acquires a slot for a task; `None` if the caller is at `limit`.
    pub(super) fn take(
        self: &Arc<Self>,
        owner: &Arc<str>,
        limit: Option<NonZeroUsize>,
    ) -> Option<Slot> {
        let mut slot = Slot { slots: Arc::clone(self), owner: Arc::clone(owner), held: false };
        slot.try_resume(limit).then_some(slot)
    }

    /// Counts a new task until it is stored, and returns the caller's number of them.
    pub(super) fn draft(self: &Arc<Self>, owner: &Arc<str>) -> (Draft, usize) {
        let mut drafts = 0;
        self.update(owner, |used| {
            used.drafts += 1;
            drafts = used.drafts;
            true
        });
        (Draft { slots: Arc::clone(self), owner: Arc::clone(owner) }, drafts)
    }
}

/// The slot of a running task, released while the task waits for its user, and when dropped.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Arc<Slots>,
    owner: Arc<str>,
    held: bool,
}

impl Slot {
    /// Acquires the slot again; returns `false` if the caller is at `limit`.
    pub(super) fn try_resume(&mut self, limit: Option<NonZeroUsize>) -> bool {
        if !self.held {
            self.held = self.slots.update(&self.owner, |used| {
                let fits = limit.is_none_or(|limit| used.running < limit.get());
                used.running += usize::from(fits);
                fits
            });
        }
        self.held
    }

    /// Releases the slot temporarily.
    pub(super) fn pause(&mut self) {
        if std::mem::take(&mut self.held) {
            self.slots.update(&self.owner, |used| {
                used.running = used.running.saturating_sub(1);
                true
            });
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.pause();
    }
}

/// A new task that is not stored yet.
#[derive(Debug)]
pub(super) struct Draft {
    slots: Arc<Slots>,
    owner: Arc<str>,
}

impl Drop for Draft {
    fn drop(&mut self) {
        self.slots.update(&self.owner, |used| {
            used.drafts = used.drafts.saturating_sub(1);
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paused_slots_are_free_for_other_tasks_of_the_caller() {
        let slots = Arc::new(Slots::default());
        let (ann, one) = (Arc::from("ann"), NonZeroUsize::new(1));
        let mut first = slots.take(&ann, one).unwrap();
        assert!(slots.take(&ann, one).is_none());
        assert!(slots.take(&"bob".into(), one).is_some());
        first.pause();
        let second = slots.take(&ann, one).unwrap();
        assert!(!first.try_resume(one));
        assert!(first.try_resume(None), "what was accepted goes on");
        assert_eq!(slots.running("ann"), 2);
        drop((first, second));
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
