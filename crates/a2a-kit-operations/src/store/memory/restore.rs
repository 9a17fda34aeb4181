//! Restores a store from what it saved.

use std::{collections::HashMap, sync::Arc, time::Duration};

use a2a_core::well_known::Timestamp;
use bytes::Bytes;
use tokio::time::Instant;

use super::{
    MemoryStore,
    changes::Changes,
    entry::{Entry, Lease, Outbox},
    limits::MemoryLimits,
    saved::{SavedDeadLetter, SavedKey, TaskParts, decode, decode_event, position, split, unknown},
};
use crate::{
    EventId,
    store::{JournalUpdate, StoreError},
};

impl MemoryStore {
    /// Restores a store from its pairs. Leases of the earlier process are orphaned, so that
    /// its unfinished work is taken over.
    pub(in crate::store) fn restore(
        limits: MemoryLimits,
        pairs: Vec<(String, Bytes)>,
    ) -> Result<Self, StoreError> {
        let store = Self::with_changes(limits, Changes::recorded());
        let mut tasks: HashMap<String, TaskParts> = HashMap::new();
        let (mut keys, mut letters) = (Vec::new(), Vec::new());
        for (key, value) in pairs {
            let (kind, task_id, rest) = split(&key)?;
            match kind {
                "task" => tasks.entry(task_id).or_default().task = Some(decode(&value)?),
                "lease" => tasks.entry(task_id).or_default().lease = decode(&value)?,
                "hook" => tasks.entry(task_id).or_default().hooks.push(decode(&value)?),
                "event" => {
                    let at = position(rest.parse().map_err(StoreError::failed)?)?;
                    let (event, is_pushed) = decode_event(at, &value)?;
                    let parts = tasks.entry(task_id).or_default();
                    parts.events.push((at.get(), event, is_pushed));
                }
                "dead" => letters.push(decode::<SavedDeadLetter<'static>>(&value)?),
                "key" => keys.push(decode::<SavedKey<'static>>(&value)?),
                _ => return Err(unknown(&key)),
            }
        }
        keys.sort_by_key(|saved| saved.millis);
        keys.into_iter().for_each(|saved| store.idempotency_keys.restore(saved));
        letters.sort_by_key(|saved| saved.millis);
        for saved in letters {
            store.dispatch.dead_letter(saved.letter()?);
        }
        let mut tasks: Vec<_> = tasks.into_values().collect();
        // Ended tasks are retained in the order in which they ended.
        tasks.sort_by_key(TaskParts::millis);
        tasks.into_iter().try_for_each(|parts| store.restore_task(parts))?;
        Ok(store)
    }

    fn restore_task(&self, mut parts: TaskParts) -> Result<(), StoreError> {
        parts.events.sort_by_key(|(position, ..)| *position);
        let age = u64::try_from(Timestamp::now().as_millis() - parts.millis()).unwrap_or_default();
        let age = Duration::from_millis(age);
        let TaskParts { task, lease, events, hooks } = parts;
        // Everything of a task is written and deleted together.
        let saved = task.ok_or_else(|| StoreError::failed("parts of a task without the task"))?;
        let scope = super::saved::scope(&saved.tenant, &saved.owner);
        let scoped = self.scopes.acquire(&scope);
        self.count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let entry = Arc::new(Entry::new(scoped, Arc::new(saved.task.into_owned()), Vec::new()));
        let mut record = entry.lock();
        let pushes: Vec<EventId> = events
            .iter()
            .filter(|(.., is_pushed)| *is_pushed)
            .filter_map(|(.., event, _)| event.id())
            .collect();
        let events = events.into_iter().map(|(_, event, _)| event).collect();
        record.restore(position(saved.position)?, events, saved.version, lease.epoch);
        record.update_journal(JournalUpdate::Replace(lease.journal()?.into()));
        self.insert_entry(&entry);
        self.index(&entry, &record);
        if lease.is_held {
            let timer = self.orphans.put(Instant::now(), Arc::clone(&entry));
            let checkpoint = lease.checkpoint()?.into();
            let orphaned = Lease::orphaned(timer, checkpoint, lease.checkpoint_epoch);
            record.lease = Some(Box::new(orphaned));
        }
        if !hooks.is_empty() {
            self.add_webhooks(&entry, hooks.len());
            let mut outbox = Box::<Outbox>::default();
            for hook in hooks {
                let (cursor, attempts) = (hook.cursor, hook.attempts);
                outbox.put(hook.webhook()?, cursor, attempts);
            }
            let first = outbox.cursor();
            record.outbox = Some(outbox);
            let pushes: Vec<_> = pushes.into_iter().filter(|pushed| pushed.get() > first).collect();
            self.push(&entry, &mut record, &pushes);
        }
        self.park(&entry, &mut record, age);
        self.finish_write(&entry, record, age);
        Ok(())
    }
}
