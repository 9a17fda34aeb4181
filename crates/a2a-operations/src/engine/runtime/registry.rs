//! The tasks that are worked on or watched, by id.

use std::sync::{Arc, atomic::Ordering};

use crate::{
    Scope,
    engine::runtime::Entry,
    table::{Named, OwnNames, Slot},
};

/// Entries by task id.
#[derive(Debug)]
pub(in crate::engine) struct Registry(OwnNames<Arc<Entry>>);

impl Named for Arc<Entry> {
    type Name<'a> = &'a str;

    fn is_named(&self, task_id: &str) -> bool {
        *self.task_id == *task_id
    }
}

impl Registry {
    pub(in crate::engine) fn new() -> Self {
        Self(OwnNames::new())
    }

    /// Finds the entry of a task, if it is of this scope, and counts one more handle on it.
    pub(in crate::engine) fn find(&self, scope: &Scope, task_id: &str) -> Option<Arc<Entry>> {
        let place = self.0.at(task_id);
        place.get().filter(|entry| entry.scope == *scope).map(counted)
    }

    /// Finds the entry of a task of any scope, and counts one more handle on it: for what comes
    /// from other nodes, never for callers.
    pub(in crate::engine) fn find_any(&self, task_id: &str) -> Option<Arc<Entry>> {
        self.0.at(task_id).get().map(counted)
    }

    /// Adds an entry, or returns the one that is there already, and counts one more handle on it.
    pub(in crate::engine) fn insert(&self, entry: Entry) -> Arc<Entry> {
        let task_id = Arc::clone(&entry.task_id);
        let mut place = self.0.at(&task_id);
        let entry = place.slot().or_insert_with(|| Arc::new(entry));
        counted(entry)
    }

    /// Counts one handle less, and removes the entry with its last one.
    pub(in crate::engine) fn release(&self, entry: &Entry) {
        let less = |count: usize| (count > 1).then(|| count - 1);
        if entry.handles.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            return;
        }
        // A count of zero only rises under this lock, and this is where it falls to zero.
        let mut place = self.0.at(&entry.task_id);
        if entry.handles.fetch_sub(1, Ordering::Relaxed) == 1
            && let Slot::Occupied(slot) = place.slot()
        {
            slot.remove();
        }
    }

    /// Every entry there is.
    pub(in crate::engine) fn all(&self) -> Vec<Arc<Entry>> {
        let mut all = Vec::new();
        self.0.for_each(|entry| all.push(Arc::clone(entry)));
        all
    }

    /// How many entries there are.
    #[cfg(test)]
    pub(in crate::engine) fn len(&self) -> usize {
        self.all().len()
    }
}

/// Counts one more handle on an entry, whose shard is locked.
fn counted(entry: &Arc<Entry>) -> Arc<Entry> {
    entry.handles.fetch_add(1, Ordering::Relaxed);
    Arc::clone(entry)
}
