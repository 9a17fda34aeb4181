//! Webhook operations of the store.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::Instant;

use super::{
    MemoryStore,
    data::conflict,
    entry::{Entry, Record},
    outbox::{Dispatch, HookRef},
    saved::hook_key,
};
use crate::{
    EventId, Scope, Webhook,
    store::{
        Backlog, ClaimedDeliveries, DeadLetter, DeadLetterQuery, DeliveryKey, DeliveryOutcome,
        PushStore, Redelivery, StoreError,
    },
};

#[async_trait]
impl PushStore for MemoryStore {
    async fn put_config(&self, scope: &Scope, webhook: Webhook) -> Result<(), StoreError> {
        let task_id = webhook.config.task_id.as_str();
        let entry = self.find(scope, task_id).ok_or_else(|| conflict(task_id))?;
        let mut record = entry.lock();
        if record.gone {
            return Err(conflict(task_id));
        }
        let last = record.last_event.get();
        let is_known = record
            .outbox
            .as_ref()
            .is_some_and(|outbox| outbox.hooks.contains_key(&*webhook.config.id));
        if !is_known && !self.add_webhooks(&entry, 1) {
            return Err(StoreError::Full);
        }
        let outbox = record.outbox.get_or_insert_default();
        outbox.put(webhook, last, 0);
        outbox.save(&self.dispatch, &entry);
        Ok(())
    }

    async fn configs(&self, scope: &Scope, task_id: &str) -> Result<Vec<Webhook>, StoreError> {
        let Some(entry) = self.find(scope, task_id) else { return Ok(Vec::new()) };
        let record = entry.lock();
        Ok(record.outbox.as_ref().map(|outbox| outbox.webhooks()).unwrap_or_default())
    }

    async fn delete_config(
        &self,
        scope: &Scope,
        task_id: &str,
        id: &str,
    ) -> Result<(), StoreError> {
        let Some(entry) = self.find(scope, task_id) else { return Ok(()) };
        let mut record = entry.lock();
        let Some(outbox) = &mut record.outbox else { return Ok(()) };
        if outbox.delete(&self.dispatch, id) {
            entry.scoped.webhooks.fetch_sub(1, Ordering::Relaxed);
            self.changes.delete(|| hook_key(task_id, id));
        }
        if outbox.hooks.is_empty() {
            record.outbox = None;
        }
        Ok(())
    }

    async fn claim_deliveries(&self, limit: usize) -> Result<ClaimedDeliveries, StoreError> {
        let now = Instant::now();
        let mut due = ClaimedDeliveries::default();
        loop {
            let webhooks = self.dispatch.timers.due(now, limit - due.deliveries.len());
            if webhooks.is_empty() {
                let first = self.dispatch.timers.first();
                due.next = first.map(|first| first.saturating_duration_since(now));
                return Ok(due);
            }
            for (entry, config_id) in webhooks {
                let mut record = entry.lock();
                let task = record.task(&entry)?;
                let hook_ref = self.hook(&entry, &config_id);
                let claimed = record.outbox.as_mut();
                due.deliveries.extend(claimed.and_then(|outbox| outbox.claim(hook_ref, task, now)));
            }
        }
    }

    async fn record_delivery(
        &self,
        key: &DeliveryKey,
        outcome: DeliveryOutcome,
    ) -> Result<bool, StoreError> {
        let Some(entry) = self.by_id(&key.task_id) else { return Ok(false) };
        let mut record = entry.lock();
        let Some(outbox) = &mut record.outbox else { return Ok(false) };
        Ok(outbox.record(self.hook(&entry, &key.config_id), key.claim, outcome))
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        let Dispatch { timers, .. } = &self.dispatch;
        let overdue = timers.first().map_or(Duration::ZERO, |first| Instant::now() - first);
        Ok(Backlog::new(u64::try_from(timers.len()).unwrap_or(u64::MAX), overdue))
    }

    async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>, StoreError> {
        Ok(self.dispatch.dead_letters(query))
    }

    async fn redeliver(&self, query: &DeadLetterQuery) -> Result<Redelivery, StoreError> {
        let letters = self.dispatch.dead_letters(query);
        let mut webhooks: BTreeMap<(&str, &str), Vec<EventId>> = BTreeMap::new();
        for letter in &letters {
            webhooks.entry((&letter.task_id, &letter.config_id)).or_default().push(letter.event);
        }
        let mut done = Redelivery::default();
        for ((task_id, config_id), mut events) in webhooks {
            let count = u64::try_from(events.len()).unwrap_or(u64::MAX);
            events.sort_unstable();
            if self.rewind(task_id, config_id, &events) {
                events.iter().take(1).for_each(|first| {
                    self.dispatch.remove_dead_letters(task_id, config_id, *first);
                });
                done.queued += count;
            } else {
                done.lost += count;
            }
        }
        Ok(done)
    }

    async fn purge_dead_letters(&self, query: &DeadLetterQuery) -> Result<u64, StoreError> {
        Ok(self.dispatch.purge(query))
    }
}

impl MemoryStore {
    /// Counts new webhooks, unless the scope would exceed its limit.
    pub(super) fn add_webhooks(&self, entry: &Entry, count: usize) -> bool {
        let total = &entry.scoped.webhooks;
        let is_full = count > 0
            && total.fetch_add(count, Ordering::Relaxed) + count > self.limits.max_push_configs;
        if is_full {
            total.fetch_sub(count, Ordering::Relaxed);
        }
        !is_full
    }

    /// Removes the webhooks of a removed task.
    pub(super) fn remove_outbox(&self, entry: &Entry, record: &mut Record) {
        if let Some(mut outbox) = record.outbox.take() {
            for webhook in outbox.webhooks() {
                self.changes.delete(|| hook_key(entry.task_id(), &webhook.config.id));
            }
            entry.scoped.webhooks.fetch_sub(outbox.hooks.len(), Ordering::Relaxed);
            outbox.clear(&self.dispatch);
        }
    }

    /// Enqueues events for the webhooks of a task, and returns whether any are pending.
    pub(super) fn push(
        &self,
        entry: &Arc<Entry>,
        record: &mut Record,
        positions: &[EventId],
    ) -> bool {
        if record.outbox.is_none() || positions.is_empty() {
            return false;
        }
        let events = record.events_at(positions);
        let max = self.limits.max_waiting_pushes;
        if let Some(outbox) = &mut record.outbox {
            outbox.push(&self.dispatch, entry, events, max);
        }
        true
    }

    fn hook<'a>(&'a self, entry: &'a Arc<Entry>, config_id: &'a Arc<str>) -> HookRef<'a> {
        HookRef { dispatch: &self.dispatch, entry, config_id }
    }

    /// Rewinds a webhook to earlier events, unless one of them was trimmed.
    fn rewind(&self, task_id: &str, config_id: &str, positions: &[EventId]) -> bool {
        let Some(entry) = self.by_id(task_id) else { return false };
        let mut record = entry.lock();
        let events = record.events_at(positions);
        let Some(outbox) = &mut record.outbox else { return false };
        events.len() == positions.len()
            && outbox.rewind(self.hook(&entry, &config_id.into()), events)
    }
}
