//! A store that publishes its writes.
//!
//! A signal follows each successful write. A failed write may have been applied: the engine
//! retries, and treats a conflict with itself as success. So failures and conflicts are signalled
//! too, without events, and readers reload.

use std::sync::Arc;

use a2a_kit_operations::{
    Event, EventId, Scope, forward_store,
    store::{
        Acquired, Command, Committed, LeaseStore, LeaseUpdate, NewTask, Orphan, PushStore, Signal,
        Signals, StoreError, StoredTask, TaskStore, Transition,
    },
};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::poll_fn;

use super::Clustered;
use crate::Result;

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
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed> {
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

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed> {
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

    forward_store! {
        TaskStore: this => this.store;
        get, load, replay, list, usage, open_tasks, claim_key, take_over_key, release_key, sweep, probe,
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
    async fn acquire(&self, scope: &Scope, task_id: &str) -> Result<Option<Acquired>> {
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

    async fn release(&self, task_id: &str, epoch: u64) -> Result<bool> {
        let result = self.store.release(task_id, epoch).await;
        if !matches!(result, Ok(false)) {
            self.signal_reload(task_id, None);
        }
        result
    }

    async fn abandon(&self, task_id: &str, epoch: u64) -> Result<()> {
        let result = self.store.abandon(task_id, epoch).await;
        self.outbox.enqueue(Signal::Abandoned, "");
        result
    }

    async fn take_over(&self, limit: usize) -> Result<Vec<Orphan>> {
        let orphans = self.store.take_over(limit).await?;
        orphans.iter().for_each(|orphan| self.signal_stored(&orphan.stored));
        Ok(orphans)
    }

    async fn post_command(&self, scope: &Scope, task_id: &str, command: Command) -> Result<bool> {
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

    async fn answer_command(&self, command_id: &str, answer: Bytes) -> Result<()> {
        let result = self.store.answer_command(command_id, answer).await;
        self.outbox.enqueue(Signal::Answered { command_id: command_id.into() }, "");
        result
    }

    forward_store! {
        LeaseStore: this => this.store;
        node, lease, renew, commands, read_answer, delete_answer,
    }

    fn signals(&self) -> Option<Signals> {
        let mut receiver = self.signals.lock().take()?;
        Some(Box::pin(poll_fn(move |context| receiver.poll_recv(context))))
    }
}

impl PushStore for Clustered {
    forward_store!(PushStore: this => this.store);
}
