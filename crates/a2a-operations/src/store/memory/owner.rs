//! What each owner has, in all tenants together.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::lock;
use crate::store::Usage;

/// What an owner has.
#[derive(Debug, Default)]
pub(super) struct Owned {
    open: AtomicUsize,
    bytes: AtomicUsize,
}

impl Owned {
    /// Notes that what is kept of a task changed.
    pub(super) fn change(&self, before: Kept, now: Kept) {
        // Each part is added and taken away once, so that a sum never falls below zero for good.
        for (sum, before, now) in [
            (&self.open, usize::from(before.is_open), usize::from(now.is_open)),
            (&self.bytes, before.bytes, now.bytes),
        ] {
            if now > before {
                sum.fetch_add(now - before, Ordering::Relaxed);
            } else if before > now {
                sum.fetch_sub(before - now, Ordering::Relaxed);
            }
        }
    }
}

/// What is kept of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) is_open: bool,
    pub(super) bytes: usize,
}

/// The owners that have tasks.
#[derive(Debug, Default)]
pub(super) struct Owners(Mutex<HashMap<Arc<str>, Used>>);

#[derive(Debug, Default)]
struct Used {
    owned: Arc<Owned>,
    tasks: usize,
}

impl Owners {
    /// Returns an owner that has one more task from now on.
    pub(super) fn acquire(&self, owner: &Arc<str>) -> Arc<Owned> {
        let mut owners = lock(&self.0);
        let used = owners.entry(Arc::clone(owner)).or_default();
        used.tasks += 1;
        Arc::clone(&used.owned)
    }

    /// Notes that an owner has one task less.
    pub(super) fn release(&self, owner: &str) {
        let mut owners = lock(&self.0);
        if let Some(used) = owners.get_mut(owner) {
            used.tasks = used.tasks.saturating_sub(1);
            if used.tasks == 0 {
                owners.remove(owner);
            }
        }
    }

    pub(super) fn usage(&self, owner: &str) -> Usage {
        let owners = lock(&self.0);
        owners.get(owner).map_or_else(Usage::default, |Used { owned, .. }| {
            let bytes = owned.bytes.load(Ordering::Relaxed) as u64;
            Usage::new(owned.open.load(Ordering::Relaxed), bytes)
        })
    }
}
