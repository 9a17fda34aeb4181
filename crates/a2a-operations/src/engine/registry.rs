//! The tasks that are worked on or watched, by id.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
};

use super::entry::Entry;
use crate::Scope;

const SHARDS: usize = 64;

type Shard = HashMap<Arc<str>, Arc<Entry>>;

/// Entries by task id, in shards, so that no one lock stalls them all.
#[derive(Debug)]
pub(super) struct Registry {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
}

impl Registry {
    pub(super) fn new() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, hasher: RandomState::new() }
    }

    fn shard(&self, task_id: &str) -> MutexGuard<'_, Shard> {
        let shards = self.shards.len() as u64;
        let index = usize::try_from(self.hasher.hash_one(task_id) % shards).unwrap_or(0);
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the entry of a task, if it is of this scope, and counts one more handle on it.
    pub(super) fn find(&self, scope: &Scope, task_id: &str) -> Option<Arc<Entry>> {
        let shard = self.shard(task_id);
        let entry = shard.get(task_id).filter(|entry| entry.scope == *scope)?;
        entry.handles.fetch_add(1, Ordering::Relaxed);
        Some(Arc::clone(entry))
    }

    /// Finds the entry of a task of any scope, and counts one more handle on it: for what comes
    /// from other nodes, never for callers.
    pub(super) fn find_any(&self, task_id: &str) -> Option<Arc<Entry>> {
        let shard = self.shard(task_id);
        let entry = shard.get(task_id)?;
        entry.handles.fetch_add(1, Ordering::Relaxed);
        Some(Arc::clone(entry))
    }

    /// Adds an entry, or returns the one that is there already, and counts one more handle on it.
    pub(super) fn insert(&self, entry: Entry) -> Arc<Entry> {
        let mut shard = self.shard(&entry.task_id);
        let key = Arc::clone(&entry.task_id);
        let entry = shard.entry(key).or_insert_with(|| Arc::new(entry));
        entry.handles.fetch_add(1, Ordering::Relaxed);
        Arc::clone(entry)
    }

    /// Counts one handle less, and removes the entry with its last one.
    pub(super) fn release(&self, entry: &Entry) {
        // A count of zero only rises under this lock, and this is where it falls to zero.
        let mut shard = self.shard(&entry.task_id);
        if entry.handles.fetch_sub(1, Ordering::Relaxed) == 1 {
            shard.remove(&entry.task_id);
        }
    }

    /// Every entry there is.
    pub(super) fn all(&self) -> Vec<Arc<Entry>> {
        let lock = |shard: &Mutex<Shard>| {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.values().cloned().collect::<Vec<_>>()
        };
        self.shards.iter().flat_map(lock).collect()
    }

    /// How many entries there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.all().len()
    }
}
