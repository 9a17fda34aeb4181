//! A store that publishes its writes.
//!
//! A signal follows each successful write. A failed write may have been applied: the engine
//! retries, and treats a conflict with itself as success. So failures and conflicts are signalled
//! too, without events, and readers reload.

use std::{sync::Arc, time::Duration};

use a2a_kit_operations::{
    Event, EventId, Scope, Webhook,
    store::{
        Acquired, Backlog, Claim, ClaimedDeliveries, Command, Committed, DeadLetter,
        DeadLetterQuery, DeliveryKey, DeliveryOutcome, LeaseStore, LeaseUpdate, NewTask, Orphan,
        PushStore, Redelivery, Replay, Signal, Signals, StoreError, StoredTask, Sweep, TaskPage,
        TaskQuery, TaskStore, Transition, Usage,
    },
};
use async_trait::async_trait;
use bytes::Bytes;

use super::Clustered;

impl Clustered {
    /// Signals other nodes to reload a task.
    fn signal_reload(&self, task_id: &str, last_event: Option<EventId>) {
        let last_event = last_event.unwrap_or(EventId::FIRST);
        self.outbox.written(&task_id.into(), last_event, Vec::new());
    }

    fn signal_stored(&self, stored: &StoredTask) {
        self.signal_reload(&stored.task.id, Some(stored.last_event));
    }
}

#[async_trait]
impl TaskStore for Clustered {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed, StoreError> {
        let task_id: Arc<str> = new.task.id.as_str().into();
        let events = new.events.clone();
        let last_event = events.last().and_then(Event::id);
        let result = self.store.insert(scope, new).await;
        match (&result, last_event) {
            (Ok(_), Some(last_event)) => self.outbox.written(&task_id, last_event, events),
            (Err(StoreError::Full | StoreError::Unwritable(_) | StoreError::Claimed { .. }), _) => {
            }
            _ => self.signal_reload(&task_id, last_event),
        }
        result
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed, StoreError> {
        let Transition { task_id, events, lease, answers, .. } = &transition;
        let task_id = Arc::clone(task_id);
        let last_event = events.last().and_then(Event::id);
        // Events alone do not tell readers that the lease changed.
        let events = if *lease == LeaseUpdate::Keep { events.clone() } else { Vec::new() };
        let answered: Vec<Arc<str>> = answers.iter().map(|(id, _)| Arc::clone(id)).collect();
        let result = self.store.commit(scope, transition).await;
        match (&result, last_event) {
            (Ok(_), Some(last_event)) => self.outbox.written(&task_id, last_event, events),
            (Err(StoreError::Full | StoreError::Unwritable(_)), _) => return result,
            _ => self.signal_reload(&task_id, last_event),
        }
        for command_id in answered {
            self.outbox.enqueue(Signal::Answered { command_id }, "");
        }
        result
    }

    async fn get(&self, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>, StoreError> {
        self.store.get(scope, task_id).await
    }

    async fn load(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<(StoredTask, Replay)>, StoreError> {
        self.store.load(scope, task_id, after).await
    }

    async fn replay(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<Replay>, StoreError> {
        self.store.replay(scope, task_id, after).await
    }

    async fn list(&self, scope: &Scope, query: &TaskQuery) -> Result<TaskPage, StoreError> {
        self.store.list(scope, query).await
    }

    async fn usage(&self, owner: &str) -> Result<Usage, StoreError> {
        self.store.usage(owner).await
    }

    async fn open_tasks(&self, owner: &str) -> Result<usize, StoreError> {
        self.store.open_tasks(owner).await
    }

    async fn claim_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        self.store.claim_key(scope, key, fingerprint, task_id).await
    }

    async fn take_over_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        gone: &str,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        self.store.take_over_key(scope, key, fingerprint, gone, task_id).await
    }

    async fn release_key(&self, scope: &Scope, key: &str, task_id: &str) -> Result<(), StoreError> {
        self.store.release_key(scope, key, task_id).await
    }

    async fn sweep(&self, sweep: Sweep) -> Result<Vec<Arc<str>>, StoreError> {
        self.store.sweep(sweep).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.store.probe().await
    }

    async fn close(&self) {
        self.outbox.close();
        let publisher = self.publisher.lock().take();
        if let Some(publisher) = publisher {
            // Other nodes wait for the last signals.
            let _ended = publisher.await;
        }
        self.store.close().await;
    }
}

#[async_trait]
impl LeaseStore for Clustered {
    fn node(&self) -> &str {
        self.store.node()
    }

    fn lease(&self) -> Option<Duration> {
        self.store.lease()
    }

    async fn acquire(&self, scope: &Scope, task_id: &str) -> Result<Option<Acquired>, StoreError> {
        let result = self.store.acquire(scope, task_id).await;
        match &result {
            Ok(Some(Acquired::Here(stored) | Acquired::Reacquired(Orphan { stored, .. }))) => {
                self.signal_stored(stored);
            }
            Err(_) => self.signal_reload(task_id, None),
            Ok(Some(Acquired::Elsewhere(_)) | None) => {}
        }
        result
    }

    async fn renew(&self, held: &[(Arc<str>, u64)]) -> Result<Vec<Arc<str>>, StoreError> {
        self.store.renew(held).await
    }

    async fn release(&self, task_id: &str, epoch: u64) -> Result<bool, StoreError> {
        let result = self.store.release(task_id, epoch).await;
        if !matches!(result, Ok(false)) {
            self.signal_reload(task_id, None);
        }
        result
    }

    async fn abandon(&self, task_id: &str, epoch: u64) -> Result<(), StoreError> {
        let result = self.store.abandon(task_id, epoch).await;
        self.outbox.enqueue(Signal::Abandoned, "");
        result
    }

    async fn take_over(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        let orphans = self.store.take_over(limit).await?;
        orphans.iter().for_each(|orphan| self.signal_stored(&orphan.stored));
        Ok(orphans)
    }

    async fn post_command(
        &self,
        scope: &Scope,
        task_id: &str,
        command: Command,
    ) -> Result<bool, StoreError> {
        let result = self.store.post_command(scope, task_id, command).await;
        if !matches!(result, Ok(false)) {
            // The next holder reads the commands of the task by itself.
            let stored = self.store.get(scope, task_id).await.ok().flatten();
            let holder = stored.and_then(|stored| stored.node);
            let to = holder.as_deref().unwrap_or_default();
            self.outbox.enqueue(Signal::Posted { task_id: task_id.into() }, to);
        }
        result
    }

    async fn commands(&self, task_id: &str) -> Result<Vec<Command>, StoreError> {
        self.store.commands(task_id).await
    }

    async fn answer_command(&self, command_id: &str, answer: Bytes) -> Result<(), StoreError> {
        let result = self.store.answer_command(command_id, answer).await;
        self.outbox.enqueue(Signal::Answered { command_id: command_id.into() }, "");
        result
    }

    async fn read_answer(&self, command_id: &str) -> Result<Option<Bytes>, StoreError> {
        self.store.read_answer(command_id).await
    }

    async fn delete_answer(&self, command_id: &str) -> Result<(), StoreError> {
        self.store.delete_answer(command_id).await
    }

    fn signals(&self) -> Option<Signals> {
        self.take_signals()
    }
}

#[async_trait]
impl PushStore for Clustered {
    async fn put_config(&self, scope: &Scope, webhook: Webhook) -> Result<(), StoreError> {
        self.store.put_config(scope, webhook).await
    }

    async fn configs(&self, scope: &Scope, task_id: &str) -> Result<Vec<Webhook>, StoreError> {
        self.store.configs(scope, task_id).await
    }

    async fn delete_config(
        &self,
        scope: &Scope,
        task_id: &str,
        id: &str,
    ) -> Result<(), StoreError> {
        self.store.delete_config(scope, task_id, id).await
    }

    async fn claim_deliveries(&self, limit: usize) -> Result<ClaimedDeliveries, StoreError> {
        self.store.claim_deliveries(limit).await
    }

    async fn record_delivery(
        &self,
        key: &DeliveryKey,
        outcome: DeliveryOutcome,
    ) -> Result<bool, StoreError> {
        self.store.record_delivery(key, outcome).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.store.backlog().await
    }

    async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>, StoreError> {
        self.store.dead_letters(query).await
    }

    async fn redeliver(&self, query: &DeadLetterQuery) -> Result<Redelivery, StoreError> {
        self.store.redeliver(query).await
    }

    async fn purge_dead_letters(&self, query: &DeadLetterQuery) -> Result<u64, StoreError> {
        self.store.purge_dead_letters(query).await
    }
}
