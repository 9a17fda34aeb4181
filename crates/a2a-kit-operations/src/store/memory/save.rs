//! Records changes of tasks; see [`saved`](super::saved) for their form.

use std::{borrow::Cow, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{
    MemoryStore,
    entry::{Entry, Record},
    saved::{SavedLease, SavedTask, encode, encode_event, event_key, lease_key, task_key},
};
use crate::EventId;

/// Saved events are deleted in groups of this many, because the task is rewritten with each.
const TRIM: u64 = 1_000;

impl MemoryStore {
    /// Saves a new task.
    pub(super) fn save_insert(&self, entry: &Arc<Entry>, record: &mut Record, pushes: &[EventId]) {
        self.save_task(entry, record);
        self.save_events(entry, record, 0, pushes);
        self.save_lease(entry, record);
        if let Some(outbox) = &record.outbox {
            outbox.save(&self.dispatch, entry);
        }
    }

    /// Saves the task with all its events applied.
    pub(super) fn save_task(&self, entry: &Entry, record: &mut Record) {
        if !self.changes.is_recorded() {
            return;
        }
        // A packed task is decoded; its encoding is our own.
        let Ok(task) = record.task(entry) else { return };
        let scope = &entry.scoped.scope;
        let saved = SavedTask {
            tenant: Cow::Borrowed(&scope.tenant),
            owner: Cow::Borrowed(&scope.owner),
            version: record.version,
            position: record.last_event.get(),
            task: Cow::Borrowed(&task),
        };
        self.changes.put(|| task_key(entry.task_id()), || encode(&saved));
    }

    /// Saves the events after a position.
    pub(super) fn save_events(
        &self,
        entry: &Entry,
        record: &Record,
        after: u64,
        pushes: &[EventId],
    ) {
        if !self.changes.is_recorded() {
            return;
        }
        for (position, event) in record.log.behind(after) {
            let is_pushed = pushes.iter().any(|pushed| pushed.get() == position);
            self.changes
                .put(|| event_key(entry.task_id(), position), || encode_event(&event, is_pushed));
        }
    }

    /// Saves the lease, its checkpoint and the journal, also of an unleased task, for its epoch.
    pub(super) fn save_lease(&self, entry: &Entry, record: &Record) {
        self.changes.put(
            || lease_key(entry.task_id()),
            || {
                let held = record.lease.as_ref().filter(|lease| lease.node.is_some());
                let (checkpoint, checkpoint_epoch) =
                    held.map(|lease| lease.checkpoint()).unwrap_or_default();
                encode(&SavedLease {
                    epoch: record.epoch,
                    is_held: held.is_some(),
                    checkpoint: STANDARD.encode(checkpoint),
                    checkpoint_epoch,
                    journal: STANDARD.encode(record.journal()),
                })
            },
        );
    }

    /// Deletes trimmed events.
    pub(super) fn save_trim(&self, entry: &Entry, record: &mut Record) {
        let trimmed = record.log.trimmed;
        if self.changes.is_recorded() && trimmed >= record.saved_from + TRIM {
            self.save_task(entry, record);
            self.delete_events(entry, record.saved_from, trimmed);
            record.saved_from = trimmed + 1;
        }
    }

    /// Deletes a removed task; its webhooks are deleted with the outbox.
    pub(super) fn save_removal(&self, entry: &Entry, record: &Record) {
        if self.changes.is_recorded() {
            self.changes.delete(|| task_key(entry.task_id()));
            self.changes.delete(|| lease_key(entry.task_id()));
            self.delete_events(entry, record.saved_from, record.last_event.get());
        }
    }

    fn delete_events(&self, entry: &Entry, first: u64, last: u64) {
        for position in first..=last {
            self.changes.delete(|| event_key(entry.task_id(), position));
        }
    }
}
