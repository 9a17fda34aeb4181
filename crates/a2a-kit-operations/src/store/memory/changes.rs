//! Changes that have to be written to a key-value store.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use parking_lot::Mutex;

/// The changes that have not been written yet, by key. A plain memory store records none.
#[derive(Clone, Debug, Default)]
pub(in crate::store) struct Changes(Option<Arc<Mutex<Pending>>>);

#[derive(Debug, Default)]
struct Pending {
    changes: BTreeMap<String, Option<Bytes>>,
    /// The number of the newest change.
    number: u64,
}

/// Changes that are being written. Dropped without [`done`](Self::done), they are pending again,
/// unless their keys have changed since.
#[derive(Debug)]
pub(in crate::store) struct Batch {
    pending: Arc<Mutex<Pending>>,
    changes: Vec<(String, Option<Bytes>)>,
    number: u64,
}

impl Changes {
    pub(super) fn recorded() -> Self {
        Self(Some(Arc::default()))
    }

    pub(super) fn is_recorded(&self) -> bool {
        self.0.is_some()
    }

    /// Records a value.
    pub(super) fn put(&self, key: impl FnOnce() -> String, value: impl FnOnce() -> Vec<u8>) {
        if let Some(pending) = &self.0 {
            pending.lock().change(key(), Some(value().into()));
        }
    }

    /// Records a deletion.
    pub(super) fn delete(&self, key: impl FnOnce() -> String) {
        if let Some(pending) = &self.0 {
            pending.lock().change(key(), None);
        }
    }

    /// The number of the newest change.
    pub(in crate::store) fn number(&self) -> u64 {
        self.0.as_ref().map_or(0, |pending| pending.lock().number)
    }

    /// Takes all pending changes.
    pub(in crate::store) fn take(&self) -> Option<Batch> {
        let pending = Arc::clone(self.0.as_ref()?);
        let (changes, number) = {
            let mut pending = pending.lock();
            (std::mem::take(&mut pending.changes).into_iter().collect(), pending.number)
        };
        Some(Batch { pending, changes, number })
    }
}

impl Pending {
    fn change(&mut self, key: String, value: Option<Bytes>) {
        self.changes.insert(key, value);
        self.number += 1;
    }
}

impl Batch {
    pub(in crate::store) fn changes(&self) -> &[(String, Option<Bytes>)] {
        &self.changes
    }

    /// Ends the batch after it was written, and returns the number of its newest change.
    pub(in crate::store) fn done(mut self) -> u64 {
        self.changes.clear();
        self.number
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let mut pending = self.pending.lock();
        for (key, value) in self.changes.drain(..) {
            pending.changes.entry(key).or_insert(value);
        }
    }
}
