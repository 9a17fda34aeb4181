//! Usage of each owner, across all tenants.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;

use crate::store::Usage;

/// The usage of an owner.
#[derive(Debug, Default)]
pub(super) struct OwnerUsage {
    open: AtomicUsize,
    bytes: AtomicUsize,
}

impl OwnerUsage {
    /// Replaces the contribution of a task.
    pub(super) fn change(&self, before: TaskUsage, now: TaskUsage) {
        // Each contribution is added and subtracted exactly once, so no sum stays negative.
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

/// The contribution of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TaskUsage {
    pub(super) is_open: bool,
    pub(super) bytes: usize,
}

/// The owners that have scopes with tasks.
#[derive(Debug, Default)]
pub(super) struct Owners(Mutex<HashMap<Arc<str>, Used>>);

#[derive(Debug, Default)]
struct Used {
    owner_usage: Arc<OwnerUsage>,
    scopes: usize,
}

impl Owners {
    /// Returns the usage of an owner, and counts one more scope.
    pub(super) fn acquire(&self, owner: &Arc<str>) -> Arc<OwnerUsage> {
        let mut owners = self.0.lock();
        let used = owners.entry(Arc::clone(owner)).or_default();
        used.scopes += 1;
        Arc::clone(&used.owner_usage)
    }

    /// Counts one scope less.
    pub(super) fn release(&self, owner: &str) {
        let mut owners = self.0.lock();
        if let Some(used) = owners.get_mut(owner) {
            used.scopes = used.scopes.saturating_sub(1);
            if used.scopes == 0 {
                owners.remove(owner);
            }
        }
    }

    /// The bytes of all owners.
    pub(super) fn bytes(&self) -> u64 {
        let of = |used: &Used| used.owner_usage.bytes.load(Ordering::Relaxed) as u64;
        self.0.lock().values().map(of).sum()
    }

    pub(super) fn usage(&self, owner: &str) -> Usage {
        let owners = self.0.lock();
        owners.get(owner).map_or_else(Usage::default, |Used { owner_usage, .. }| {
            let bytes = owner_usage.bytes.load(Ordering::Relaxed) as u64;
            Usage::new(owner_usage.open.load(Ordering::Relaxed), bytes)
        })
    }
}
