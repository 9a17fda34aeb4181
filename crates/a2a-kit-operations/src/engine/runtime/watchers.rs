//! Waiters of a task, and the positions of its readers.

use std::task::Waker;

use slab::Slab;

/// Wakers of those who wait for a task to change.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Slab<Option<Waker>>);

impl Waiters {
    /// Registers a waker in a slot, which the waiter releases when dropped.
    pub(crate) fn register(&mut self, slot: &mut Option<usize>, waker: &Waker) {
        match slot {
            Some(slot) => match &mut self.0[*slot] {
                Some(known) if known.will_wake(waker) => {}
                known => *known = Some(waker.clone()),
            },
            None => *slot = Some(self.0.insert(Some(waker.clone()))),
        }
    }

    /// Releases a slot.
    pub(crate) fn forget(&mut self, slot: usize) {
        self.0.try_remove(slot);
    }

    /// Takes all wakers, to be called after unlocking.
    pub(crate) fn take(&mut self) -> Vec<Waker> {
        self.0.iter_mut().filter_map(|(_, waker)| waker.take()).collect()
    }
}

/// The positions of the readers, to measure their lag.
#[derive(Debug, Default)]
pub(crate) struct Cursors(Slab<u64>);

impl Cursors {
    /// Records the next position of a reader, in a slot that it releases when dropped.
    pub(crate) fn note(&mut self, slot: &mut Option<usize>, next: u64) {
        match slot.and_then(|slot| self.0.get_mut(slot)) {
            Some(known) => *known = next,
            None => *slot = Some(self.0.insert(next)),
        }
    }

    /// Releases a slot.
    pub(crate) fn forget(&mut self, slot: usize) {
        self.0.try_remove(slot);
    }

    /// The next position of the slowest reader.
    pub(crate) fn slowest(&self) -> Option<u64> {
        self.0.iter().map(|(_, next)| *next).min()
    }
}
