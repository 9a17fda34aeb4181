//! Those who wait for a task to change, and how far its readers are.

use std::task::Waker;

use slab::Slab;

/// Those who wait for a task to change.
#[derive(Debug, Default)]
pub(in crate::engine) struct Waiters(Slab<Option<Waker>>);

impl Waiters {
    /// Keeps a waker under a slot, which the waiter gives back when it goes.
    pub(in crate::engine) fn register(&mut self, slot: &mut Option<usize>, waker: &Waker) {
        match slot {
            Some(slot) => match &mut self.0[*slot] {
                Some(known) if known.will_wake(waker) => {}
                known => *known = Some(waker.clone()),
            },
            None => *slot = Some(self.0.insert(Some(waker.clone()))),
        }
    }

    /// Gives a slot back.
    pub(in crate::engine) fn forget(&mut self, slot: usize) {
        self.0.try_remove(slot);
    }

    /// Takes every waker out, to be called when the lock is gone.
    pub(in crate::engine) fn take(&mut self) -> Vec<Waker> {
        self.0.iter_mut().filter_map(|(_, waker)| waker.take()).collect()
    }
}

/// How far readers have come, for those who watch how far they are behind.
#[derive(Debug, Default)]
pub(in crate::engine) struct Cursors(Slab<u64>);

impl Cursors {
    /// Notes the next position of a reader, under a slot that it gives back when it goes.
    pub(in crate::engine) fn note(&mut self, slot: &mut Option<usize>, next: u64) {
        match slot.and_then(|slot| self.0.get_mut(slot)) {
            Some(known) => *known = next,
            None => *slot = Some(self.0.insert(next)),
        }
    }

    /// Gives a slot back.
    pub(in crate::engine) fn forget(&mut self, slot: usize) {
        self.0.try_remove(slot);
    }

    /// The next position of the slowest reader.
    pub(in crate::engine) fn slowest(&self) -> Option<u64> {
        self.0.iter().map(|(_, next)| *next).min()
    }
}
