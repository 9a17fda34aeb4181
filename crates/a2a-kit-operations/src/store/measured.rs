//! A store wrapper that measures calls.

use std::{future::Future, sync::Arc, time::Instant};

use async_trait::async_trait;
use bytes::Bytes;

use super::{
    Acquired, Backlog, Claim, ClaimedDeliveries, Command, Committed, DeadLetter, DeadLetterQuery,
    DeliveryKey, DeliveryOutcome, LeaseStore, NewTask, Orphan, PushStore, Redelivery, Replay,
    Signals, Store, StoreError, StoredTask, Sweep, TaskPage, TaskQuery, TaskStore, Transition,
    Usage,
};
use crate::{EventId, Scope, Webhook, metrics};

/// Measures the duration and the errors of store calls (`a2a_store_call_duration_seconds`,
/// `a2a_store_errors_total`). Pointless around a [`MemoryStore`](super::MemoryStore), whose calls
/// are faster than the measurement.
#[derive(Clone, Debug)]
pub struct Measured {
    store: Arc<dyn Store>,
}

impl Measured {
    /// Wraps a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }
}

async fn measure<T>(
    call: &'static str,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let begun = Instant::now();
    let result = work.await;
    let outcome = match &result {
        Ok(_) => metrics::OK,
        Err(StoreError::Conflict { .. }) => "conflict",
        Err(StoreError::Claimed { .. }) => "claimed",
        Err(StoreError::Full) => "full",
        Err(StoreError::Unwritable(_)) => "unwritable",
        Err(StoreError::Failed(_)) => "failed",
    };
    metrics::stored(call, outcome, begun.elapsed());
    result
}

#[async_trait]
impl TaskStore for Measured {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed, StoreError> {
        measure("insert", self.store.insert(scope, new)).await
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed, StoreError> {
        measure("commit", self.store.commit(scope, transition)).await
    }

    async fn get(&self, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>, StoreError> {
        measure("get", self.store.get(scope, task_id)).await
    }

    async fn load(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<(StoredTask, Replay)>, StoreError> {
        measure("load", self.store.load(scope, task_id, after)).await
    }

    async fn replay(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<Replay>, StoreError> {
        measure("replay", self.store.replay(scope, task_id, after)).await
    }

    async fn list(&self, scope: &Scope, query: &TaskQuery) -> Result<TaskPage, StoreError> {
        measure("list", self.store.list(scope, query)).await
    }

    async fn usage(&self, owner: &str) -> Result<Usage, StoreError> {
        measure("usage", self.store.usage(owner)).await
    }

    async fn claim_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        measure("claim_key", self.store.claim_key(scope, key, fingerprint, task_id)).await
    }

    async fn take_over_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        gone: &str,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        let reclaimed = self.store.take_over_key(scope, key, fingerprint, gone, task_id);
        measure("take_over_key", reclaimed).await
    }

    async fn release_key(&self, scope: &Scope, key: &str, task_id: &str) -> Result<(), StoreError> {
        measure("release_key", self.store.release_key(scope, key, task_id)).await
    }

    async fn sweep(&self, sweep: Sweep) -> Result<usize, StoreError> {
        measure("sweep", self.store.sweep(sweep)).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        measure("probe", self.store.probe()).await
    }

    async fn close(&self) {
        self.store.close().await;
    }
}

#[async_trait]
impl LeaseStore for Measured {
    fn node(&self) -> &str {
        self.store.node()
    }

    fn signals(&self) -> Option<Signals> {
        self.store.signals()
    }

    async fn acquire(&self, scope: &Scope, task_id: &str) -> Result<Option<Acquired>, StoreError> {
        measure("acquire", self.store.acquire(scope, task_id)).await
    }

    async fn renew(&self, held: &[(Arc<str>, u64)]) -> Result<Vec<Arc<str>>, StoreError> {
        measure("renew", self.store.renew(held)).await
    }

    async fn release(&self, task_id: &str, epoch: u64) -> Result<bool, StoreError> {
        measure("release", self.store.release(task_id, epoch)).await
    }

    async fn abandon(&self, task_id: &str, epoch: u64) -> Result<(), StoreError> {
        measure("abandon", self.store.abandon(task_id, epoch)).await
    }

    async fn take_over(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        measure("take_over", self.store.take_over(limit)).await
    }

    async fn post_command(
        &self,
        scope: &Scope,
        task_id: &str,
        command: Command,
    ) -> Result<bool, StoreError> {
        measure("post_command", self.store.post_command(scope, task_id, command)).await
    }

    async fn commands(&self, task_id: &str) -> Result<Vec<Command>, StoreError> {
        measure("commands", self.store.commands(task_id)).await
    }

    async fn answer_command(&self, command_id: &str, answer: Bytes) -> Result<(), StoreError> {
        measure("answer_command", self.store.answer_command(command_id, answer)).await
    }

    async fn read_answer(&self, command_id: &str) -> Result<Option<Bytes>, StoreError> {
        measure("read_answer", self.store.read_answer(command_id)).await
    }

    async fn delete_answer(&self, command_id: &str) -> Result<(), StoreError> {
        measure("delete_answer", self.store.delete_answer(command_id)).await
    }
}

#[async_trait]
impl PushStore for Measured {
    async fn put_config(&self, scope: &Scope, webhook: Webhook) -> Result<(), StoreError> {
        measure("put_config", self.store.put_config(scope, webhook)).await
    }

    async fn configs(&self, scope: &Scope, task_id: &str) -> Result<Vec<Webhook>, StoreError> {
        measure("configs", self.store.configs(scope, task_id)).await
    }

    async fn delete_config(
        &self,
        scope: &Scope,
        task_id: &str,
        id: &str,
    ) -> Result<(), StoreError> {
        measure("delete_config", self.store.delete_config(scope, task_id, id)).await
    }

    async fn claim_deliveries(&self, limit: usize) -> Result<ClaimedDeliveries, StoreError> {
        measure("claim_deliveries", self.store.claim_deliveries(limit)).await
    }

    async fn record_delivery(
        &self,
        key: &DeliveryKey,
        outcome: DeliveryOutcome,
    ) -> Result<bool, StoreError> {
        measure("record_delivery", self.store.record_delivery(key, outcome)).await
    }

    async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>, StoreError> {
        measure("dead_letters", self.store.dead_letters(query)).await
    }

    async fn redeliver(&self, query: &DeadLetterQuery) -> Result<Redelivery, StoreError> {
        measure("redeliver", self.store.redeliver(query)).await
    }

    async fn purge_dead_letters(&self, query: &DeadLetterQuery) -> Result<u64, StoreError> {
        measure("purge_dead_letters", self.store.purge_dead_letters(query)).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        measure("backlog", self.store.backlog()).await
    }
}
