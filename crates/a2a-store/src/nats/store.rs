//! The store of a node, which tells the others what it has done.
//!
//! A signal follows a write that was made. One that failed may have been made, too: the engine
//! tries again and takes a conflict with itself for success. So a failure and a conflict are
//! told as well, but without events, and readers look.

use std::sync::Arc;

use a2a_operations::{
    Event, EventId, Scope, Webhook,
    store::{
        Acquired, Backlog, Claim, Command, Committed, DeadLetter, DeadLetterQuery, Due, Hold,
        LeaseStore, NewTask, Orphan, PushKey, PushOutcome, PushStore, Redelivery, Replay, Signal,
        Signals, StoreError, StoredTask, Sweep, TaskPage, TaskQuery, TaskStore, Transition, Usage,
    },
};
use async_trait::async_trait;
use bytes::Bytes;

use super::Clustered;

impl Clustered {
    /// Says that others have to look at a task.
    fn look(&self, task_id: &str, last_event: Option<EventId>) {
        let last_event = last_event.unwrap_or(EventId::FIRST);
        self.outbox.written(&task_id.into(), last_event, Vec::new());
    }

    fn look_at(&self, stored: &StoredTask) {
        self.look(&stored.task.id, Some(stored.last_event));
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
            _ => self.look(&task_id, last_event),
        }
        result
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed, StoreError> {
        let Transition { task_id, events, hold, answers, .. } = &transition;
        let task_id = Arc::clone(task_id);
        let last_event = events.last().and_then(Event::id);
        // Whether another node may go on can't be told by events.
        let events = if *hold == Hold::Keep { events.clone() } else { Vec::new() };
        let answered: Vec<Arc<str>> = answers.iter().map(|(id, _)| Arc::clone(id)).collect();
        let result = self.store.commit(scope, transition).await;
        match (&result, last_event) {
            (Ok(_), Some(last_event)) => self.outbox.written(&task_id, last_event, events),
            (Err(StoreError::Full | StoreError::Unwritable(_)), _) => return result,
            _ => self.look(&task_id, last_event),
        }
        for command_id in answered {
            self.outbox.say(Signal::Answered { command_id }, "");
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

    async fn claim(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        self.store.claim(scope, key, fingerprint, task_id).await
    }

    async fn reclaim(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        gone: &str,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        self.store.reclaim(scope, key, fingerprint, gone, task_id).await
    }

    async fn unclaim(&self, scope: &Scope, key: &str, task_id: &str) -> Result<(), StoreError> {
        self.store.unclaim(scope, key, task_id).await
    }

    async fn sweep(&self, sweep: Sweep) -> Result<usize, StoreError> {
        self.store.sweep(sweep).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.store.probe().await
    }
}

#[async_trait]
impl LeaseStore for Clustered {
    fn node(&self) -> &str {
        self.store.node()
    }

    async fn acquire(&self, scope: &Scope, task_id: &str) -> Result<Option<Acquired>, StoreError> {
        let result = self.store.acquire(scope, task_id).await;
        match &result {
            Ok(Some(Acquired::Here(stored) | Acquired::Again(Orphan { stored, .. }))) => {
                self.look_at(stored);
            }
            Err(_) => self.look(task_id, None),
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
            self.look(task_id, None);
        }
        result
    }

    async fn abandon(&self, task_id: &str, epoch: u64) -> Result<(), StoreError> {
        let result = self.store.abandon(task_id, epoch).await;
        self.outbox.say(Signal::Abandoned, "");
        result
    }

    async fn take_over(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        let orphans = self.store.take_over(limit).await?;
        orphans.iter().for_each(|orphan| self.look_at(&orphan.stored));
        Ok(orphans)
    }

    async fn post(
        &self,
        scope: &Scope,
        task_id: &str,
        command: Command,
    ) -> Result<bool, StoreError> {
        let result = self.store.post(scope, task_id, command).await;
        if !matches!(result, Ok(false)) {
            // Whoever takes the task after this looks at its commands by itself.
            let stored = self.store.get(scope, task_id).await.ok().flatten();
            let holder = stored.and_then(|stored| stored.node);
            let to = holder.as_deref().unwrap_or_default();
            self.outbox.say(Signal::Posted { task_id: task_id.into() }, to);
        }
        result
    }

    async fn commands(&self, task_id: &str) -> Result<Vec<Command>, StoreError> {
        self.store.commands(task_id).await
    }

    async fn answer(&self, command_id: &str, answer: Bytes) -> Result<(), StoreError> {
        let result = self.store.answer(command_id, answer).await;
        self.outbox.say(Signal::Answered { command_id: command_id.into() }, "");
        result
    }

    async fn read_answer(&self, command_id: &str) -> Result<Option<Bytes>, StoreError> {
        self.store.read_answer(command_id).await
    }

    async fn forget_answer(&self, command_id: &str) -> Result<(), StoreError> {
        self.store.forget_answer(command_id).await
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

    async fn due(&self, limit: usize) -> Result<Due, StoreError> {
        self.store.due(limit).await
    }

    async fn pushed(&self, key: &PushKey, outcome: PushOutcome) -> Result<bool, StoreError> {
        self.store.pushed(key, outcome).await
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
