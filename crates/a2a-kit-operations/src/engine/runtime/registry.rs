//! The active tasks, by id.

use std::sync::{Arc, atomic::Ordering};

use crate::{
    Scope,
    engine::runtime::Entry,
    sharded_map::{Keyed, TrustedMap},
};

/// Entries by task id.
#[derive(Debug)]
pub(crate) struct Registry(TrustedMap<Arc<Entry>>);

impl Keyed for Arc<Entry> {
    type Key<'a> = &'a str;

    fn has_key(&self, task_id: &str) -> bool {
        *self.task_id == *task_id
    }
}

impl Registry {
    pub(crate) fn new() -> Self {
        Self(TrustedMap::new())
    }

    /// Finds the entry of a task in this scope, and counts a handle.
    pub(crate) fn find(&self, scope: &Scope, task_id: &str) -> Option<Arc<Entry>> {
        let place = self.0.at(task_id);
        place.get().filter(|entry| entry.scope == *scope).map(counted)
    }

    /// Finds the entry of a task in any scope, and counts a handle.
    pub(crate) fn find_any(&self, task_id: &str) -> Option<Arc<Entry>> {
        self.0.at(task_id).get().map(counted)
    }

    /// Adds an entry, or returns the existing one, and counts a handle.
    pub(crate) fn insert(&self, entry: Arc<Entry>) -> Arc<Entry> {
        let mut place = self.0.at(&entry.task_id);
        counted(place.get_or_insert_with(|| Arc::clone(&entry)))
    }

    /// Releases a handle, and removes the entry with its last one.
    pub(crate) fn release(&self, entry: &Entry) {
        let less = |count: usize| (count > 1).then(|| count - 1);
        if entry.handles.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            return;
        }
        // The count leaves zero only under this lock, and this is where it reaches zero.
        let mut place = self.0.at(&entry.task_id);
        if entry.handles.fetch_sub(1, Ordering::Relaxed) == 1 {
            place.remove();
        }
    }

    /// All entries; counts a handle of each.
    pub(crate) fn all(&self) -> Vec<Arc<Entry>> {
        let mut all = Vec::new();
        self.0.for_each(|entry| all.push(counted(entry)));
        all
    }

    /// The number of entries.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let mut len = 0;
        self.0.for_each(|_| len += 1);
        len
    }
}

/// Counts a handle of an entry whose shard is locked.
fn counted(entry: &Arc<Entry>) -> Arc<Entry> {
    entry.handles.fetch_add(1, Ordering::Relaxed);
    Arc::clone(entry)
}
