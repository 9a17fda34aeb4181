//! Waiters of a task, and the positions of its readers.

use std::task::Waker;

use slab::Slab;

/// Wakers of those who wait for a task to change.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    /// Whether the first slot is in use, and its waker. Most tasks have one waiter at a time.
    has_first: bool,
    first: Option<Waker>,
    /// The slots from 1.
    more: Slab<Option<Waker>>,
}

/// Wakers to be called.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    first: Option<Waker>,
    more: Vec<Waker>,
}

impl Waiters {
    /// Registers a waker in a slot, which the waiter releases when dropped.
    pub(crate) fn register(&mut self, slot: &mut Option<usize>, waker: &Waker) {
        let known = match *slot {
            Some(0) => &mut self.first,
            Some(place) => &mut self.more[place - 1],
            None if !self.has_first => {
                self.has_first = true;
                *slot = Some(0);
                &mut self.first
            }
            None => {
                let free = self.more.vacant_entry();
                *slot = Some(free.key() + 1);
                free.insert(None)
            }
        };
        match known {
            Some(known) if known.will_wake(waker) => {}
            known => *known = Some(waker.clone()),
        }
    }

    /// Releases a slot.
    pub(crate) fn forget(&mut self, slot: usize) {
        match slot.checked_sub(1) {
            None => (self.has_first, self.first) = (false, None),
            Some(place) => _ = self.more.try_remove(place),
        }
    }

    /// Takes all wakers, to be called after unlocking.
    pub(crate) fn take(&mut self) -> Wakers {
        let mut wakers = Wakers { first: self.first.take(), more: Vec::new() };
        if !self.more.is_empty() {
            wakers.more = self.more.iter_mut().filter_map(|(_, waker)| waker.take()).collect();
        }
        wakers
    }
}

impl Wakers {
    pub(crate) fn wake(self) {
        if let Some(first) = self.first {
            first.wake();
        }
        self.more.into_iter().for_each(Waker::wake);
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
