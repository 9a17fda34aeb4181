//! Tasks, their logs, and idempotency keys.

use std::sync::Arc;

use a2a_kit_operations::{
    EventId, Scope, metrics,
    store::{
        Claim, Committed, NewTask, Replay, StoreError, StoredTask, Sweep, TaskPage, TaskQuery,
        TaskStore, Transition, Usage,
    },
};
use async_trait::async_trait;
use rusqlite::Connection;

use super::{
    SqliteStore, idempotency_key, lease, page,
    read::{self, replay, stored_task},
    sweep,
    write::{Change, Insert},
};
use crate::Result;

#[async_trait]
impl TaskStore for SqliteStore {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed> {
        let insert = Insert::encode(new, &self.keys).map_err(StoreError::rejected)?;
        let (scope, node) = (scope.clone(), Arc::clone(&self.node));
        let bytes = insert.bytes();
        self.writer.write_bytes(bytes, move |write| insert.make(write, &scope, &node)).await?
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed> {
        let change = Change::encode(transition).map_err(StoreError::rejected)?;
        let (scope, bytes) = (scope.clone(), change.bytes());
        self.writer.write_bytes(bytes, move |write| change.make(write, &scope)).await?
    }

    async fn get(&self, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>> {
        self.read_task(scope, task_id, stored_task).await
    }

    async fn load(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<(StoredTask, Replay)>> {
        let load = move |db: &Connection, no| Ok((stored_task(db, no)?, replay(db, no, after)?));
        self.read_task(scope, task_id, load).await
    }

    async fn replay(&self, scope: &Scope, task_id: &str, after: EventId) -> Result<Option<Replay>> {
        self.read_task(scope, task_id, move |db, no| replay(db, no, after)).await
    }

    async fn list(&self, scope: &Scope, query: &TaskQuery) -> Result<TaskPage> {
        let (scope, query) = (scope.clone(), query.clone());
        self.readers.read(move |db| page::page(db, &scope, &query)).await
    }

    async fn usage(&self, owner: &str) -> Result<Usage> {
        let owner = owner.to_owned();
        self.readers.read(move |db| read::usage(db, &owner)).await
    }

    async fn open_tasks(&self, owner: &str) -> Result<usize> {
        Ok(self.usage(owner).await?.open_tasks)
    }

    async fn claim_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim> {
        let (scope, key, task_id) = (scope.clone(), key.to_owned(), task_id.to_owned());
        self.writer
            .write(move |db| idempotency_key::claim(db, &scope, &key, fingerprint, &task_id))
            .await
    }

    async fn take_over_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        gone: &str,
        task_id: &str,
    ) -> Result<Claim> {
        let (scope, key, gone) = (scope.clone(), key.to_owned(), gone.to_owned());
        let task_id = task_id.to_owned();
        let take_over = move |db: &_| {
            idempotency_key::take_over(db, &scope, &key, fingerprint, &gone, &task_id)
        };
        self.writer.write(take_over).await
    }

    async fn release_key(&self, scope: &Scope, key: &str, task_id: &str) -> Result<()> {
        let (scope, key, task_id) = (scope.clone(), key.to_owned(), task_id.to_owned());
        self.writer.write(move |db| idempotency_key::release(db, &scope, &key, &task_id)).await
    }

    async fn sweep(&self, sweep: Sweep) -> Result<Vec<Arc<str>>> {
        let Sweep { tasks, parked, claims, limit, .. } = sweep;
        metrics::store_size("sqlite", self.readers.read(sweep::size).await?);
        self.writer.write(move |db| sweep::claims(db, claims, limit)).await?;
        let mut swept = Vec::new();
        for (age, which) in [(tasks, sweep::ENDED), (parked, sweep::PARKED)] {
            let Some(age) = age else { continue };
            while swept.len() < limit {
                let wanted = limit - swept.len();
                let batch =
                    self.writer.write(move |db| sweep::tasks(db, which, age, wanted)).await?;
                let is_last = batch.len() < wanted.min(sweep::BATCH);
                swept.extend(batch);
                if is_last {
                    break;
                }
            }
        }
        Ok(swept)
    }

    async fn probe(&self) -> Result<()> {
        self.readers.read(lease::has_orphans).await?;
        self.writer.probe().await
    }

    async fn close(&self) {
        Self::close(self).await;
    }
}
