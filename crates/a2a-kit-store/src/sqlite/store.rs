use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use a2a_kit_operations::{
    EventId, Scope, Webhook, metrics,
    store::{
        Acquired, Backlog, Claim, ClaimedDeliveries, Command, Committed, DeadLetter,
        DeadLetterQuery, DeliveryKey, DeliveryOutcome, LeaseStore, NewTask, Orphan, PushStore,
        Redelivery, Replay, Signals, StoreError, StoredTask, Sweep, TaskPage, TaskQuery, TaskStore,
        Transition, Usage,
    },
};
use async_trait::async_trait;
use bytes::Bytes;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::{
    dead_letter,
    failure::Failure,
    idempotency_key, lease,
    open::{OpenError, OpenFiles, SqliteOptions, open, open_beside},
    page, push, read,
    reader::Readers,
    sweep,
    write::{Change, Conflict, Insert, Refused},
    writer::Writer,
};
use crate::seal::SecretKeys;

type Result<T> = std::result::Result<T, StoreError>;

/// Stores tasks in a SQLite file that survives crashes and power failures.
///
/// Completed writes are on disk. The file belongs to one process at a time, so leases do not
/// expire, and those of an earlier process are taken over at once. Next to the file are its
/// write-ahead log (`-wal`, `-shm`) and a lock file (`.lock`), which stays and is meaningless once
/// its process has ended.
///
/// ```
/// # async fn open() -> Result<(), a2a_kit_store::sqlite::OpenError> {
/// use a2a_kit_store::sqlite::SqliteStore;
///
/// let store = SqliteStore::open("a2a.db").await?;
/// # store.close().await;
/// # Ok(())
/// # }
/// ```
pub struct SqliteStore {
    path: PathBuf,
    node: Arc<str>,
    writer: Writer,
    readers: Readers,
    keys: SecretKeys,
    push_claim: Duration,
    /// Numbers delivery claims; those of an earlier process are void.
    next_claim: Arc<AtomicI64>,
}

impl SqliteStore {
    /// Opens or creates a file with the default options.
    ///
    /// # Errors
    ///
    /// An [`OpenError`] that names the file, if it is in use, not a store, or not readable and
    /// writable.
    pub async fn open(path: impl AsRef<Path>) -> std::result::Result<Self, OpenError> {
        Self::open_with(path, SqliteOptions::default()).await
    }

    /// Opens or creates a file.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub async fn open_with(
        path: impl AsRef<Path>,
        options: SqliteOptions,
    ) -> std::result::Result<Self, OpenError> {
        let path = path.as_ref().to_owned();
        let failed = {
            let path = path.clone();
            move |source| OpenError::Failed { path, source }
        };
        match spawn_blocking(move || Self::open_blocking(path, options)).await {
            Ok(opened) => opened,
            Err(error) => Err(failed(error.into())),
        }
    }

    fn open_blocking(
        path: PathBuf,
        options: SqliteOptions,
    ) -> std::result::Result<Self, OpenError> {
        let OpenFiles { lock, placement, writer, readers } = open(&path, &options)?;
        let writer = Writer::start(writer, lock, placement, options.group)
            .map_err(|error| OpenError::Failed { path: path.clone(), source: error.into() })?;
        Ok(Self {
            path,
            node: Uuid::now_v7().to_string().into(),
            writer,
            readers: Readers::new(readers),
            keys: options.secret_keys,
            push_claim: options.push_claim,
            next_claim: Arc::new(AtomicI64::new(1)),
        })
    }

    /// Reads dead letters from a file that a server may have open. It is not locked, and nothing in
    /// it is changed.
    ///
    /// # Errors
    ///
    /// [`OpenError`] if the file can't be read, or is not a store.
    pub async fn read_dead_letters(
        path: impl AsRef<Path>,
        query: &DeadLetterQuery,
    ) -> std::result::Result<Vec<DeadLetter>, OpenError> {
        let (path, query) = (path.as_ref().to_owned(), query.clone());
        let failed = {
            let path = path.clone();
            move |source| OpenError::Failed { path, source }
        };
        let read = move || {
            let letters = dead_letter::list(&open_beside(&path)?, &query);
            letters.map_err(|error| OpenError::Failed { path, source: error.into() })
        };
        match spawn_blocking(read).await {
            Ok(letters) => letters,
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Waits for calls in progress, checkpoints the write-ahead log, and closes the file. Later
    /// calls fail. Dropping the store does the same at an undefined time.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    /// The path as given to `open`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of transactions since the file was opened: under load far fewer than writes.
    pub fn transactions(&self) -> u64 {
        self.writer.transactions()
    }
}

a2a_core::debug_fields!(SqliteStore { path, node, .. });

#[async_trait]
impl TaskStore for SqliteStore {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed> {
        let task_id = new.task.id.clone();
        let insert = Insert::encode(new, &self.keys).map_err(StoreError::rejected)?;
        let (scope, node) = (scope.clone(), Arc::clone(&self.node));
        let bytes = insert.bytes();
        let insert = move |db: &_| insert.make(db, &scope, &node);
        let made = self.writer.write_bytes(bytes, insert).await?;
        made.map_err(|refused| match refused {
            Refused::Conflict => StoreError::Conflict { task_id },
            Refused::Claimed { task_id } => StoreError::Claimed { task_id },
        })
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed> {
        let task_id = Arc::clone(&transition.task_id);
        let change = Change::encode(transition).map_err(StoreError::rejected)?;
        let (scope, bytes) = (scope.clone(), change.bytes());
        let made = self.writer.write_bytes(bytes, move |db| change.make(db, &scope)).await?;
        made.map_err(|Conflict| StoreError::Conflict { task_id: task_id.as_ref().to_owned() })
    }

    async fn get(&self, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>> {
        let (scope, task_id) = (scope.clone(), task_id.to_owned());
        self.readers.read(move |db| read::get(db, &scope, &task_id)).await
    }

    async fn load(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<(StoredTask, Replay)>> {
        let (scope, task_id) = (scope.clone(), task_id.to_owned());
        let load = move |db: &rusqlite::Connection| {
            let stored = read::get(db, &scope, &task_id)?;
            Ok(stored.zip(read::replay(db, &scope, &task_id, after)?))
        };
        self.readers.read(load).await
    }

    async fn replay(&self, scope: &Scope, task_id: &str, after: EventId) -> Result<Option<Replay>> {
        let (scope, task_id) = (scope.clone(), task_id.to_owned());
        self.readers.read(move |db| read::replay(db, &scope, &task_id, after)).await
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
        for (age, forget) in [(tasks, sweep::tasks as sweep::SweepFn), (parked, sweep::parked)] {
            let Some(age) = age else { continue };
            while swept.len() < limit {
                let wanted = limit - swept.len();
                let batch = self.writer.write(move |db| forget(db, age, wanted)).await?;
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

#[async_trait]
impl LeaseStore for SqliteStore {
    fn node(&self) -> &str {
        &self.node
    }

    fn lease(&self) -> Option<Duration> {
        None
    }

    async fn acquire(&self, scope: &Scope, task_id: &str) -> Result<Option<Acquired>> {
        let (scope, task_id, node) = (scope.clone(), task_id.to_owned(), Arc::clone(&self.node));
        let acquire = move |db: &_| lease::acquire(db, &scope, &task_id, &node);
        self.writer.write(acquire).await
    }

    async fn renew(&self, _held: &[(Arc<str>, u64)]) -> Result<Vec<Arc<str>>> {
        // No other node can take over a lease.
        Ok(Vec::new())
    }

    async fn release(&self, task_id: &str, epoch: u64) -> Result<bool> {
        let task_id = task_id.to_owned();
        self.writer.write(move |db| lease::release(db, &task_id, epoch)).await
    }

    async fn abandon(&self, task_id: &str, epoch: u64) -> Result<()> {
        let task_id = task_id.to_owned();
        self.writer.write(move |db| lease::abandon(db, &task_id, epoch)).await
    }

    async fn take_over(&self, limit: usize) -> Result<Vec<Orphan>> {
        // Usually nothing is due, which a read connection can tell.
        if !self.readers.read(lease::has_orphans).await? {
            return Ok(Vec::new());
        }
        let node = Arc::clone(&self.node);
        self.writer.write(move |db| lease::take_over(db, &node, limit)).await
    }

    async fn post_command(&self, scope: &Scope, task_id: &str, command: Command) -> Result<bool> {
        let (scope, task_id, node) = (scope.clone(), task_id.to_owned(), Arc::clone(&self.node));
        self.writer.write(move |db| lease::post(db, &scope, &task_id, &node, &command)).await
    }

    async fn commands(&self, task_id: &str) -> Result<Vec<Command>> {
        let task_id = task_id.to_owned();
        self.readers.read(move |db| lease::commands(db, &task_id)).await
    }

    async fn answer_command(&self, command_id: &str, answer: Bytes) -> Result<()> {
        let command_id = command_id.to_owned();
        self.writer.write(move |db| lease::answer(db, &command_id, &answer)).await
    }

    async fn read_answer(&self, command_id: &str) -> Result<Option<Bytes>> {
        let (command_id, node) = (command_id.to_owned(), Arc::clone(&self.node));
        self.readers.read(move |db| lease::read_answer(db, &command_id, &node)).await
    }

    async fn delete_answer(&self, command_id: &str) -> Result<()> {
        let (command_id, node) = (command_id.to_owned(), Arc::clone(&self.node));
        self.writer.write(move |db| lease::delete_answer(db, &command_id, &node)).await
    }

    fn signals(&self) -> Option<Signals> {
        None
    }
}

#[async_trait]
impl PushStore for SqliteStore {
    async fn put_config(&self, scope: &Scope, webhook: Webhook) -> Result<()> {
        let body = push::encode(&webhook, &self.keys).map_err(Failure::from)?;
        let (scope, config) = (scope.clone(), webhook.config);
        let task_id = config.task_id.clone();
        let put = move |db: &_| push::put(db, &scope, (&config.task_id, &config.id), &body);
        let is_put = self.writer.write(put).await?;
        if is_put { Ok(()) } else { Err(StoreError::Conflict { task_id }) }
    }

    async fn configs(&self, scope: &Scope, task_id: &str) -> Result<Vec<Webhook>> {
        let (scope, task_id, keys) = (scope.clone(), task_id.to_owned(), self.keys.clone());
        self.readers.read(move |db| push::all(db, &scope, &task_id, &keys)).await
    }

    async fn delete_config(&self, scope: &Scope, task_id: &str, id: &str) -> Result<()> {
        let (scope, task_id, id) = (scope.clone(), task_id.to_owned(), id.to_owned());
        self.writer.write(move |db| push::delete(db, &scope, &task_id, &id)).await
    }

    async fn claim_deliveries(&self, limit: usize) -> Result<ClaimedDeliveries> {
        let next = self.readers.read(push::next).await?;
        if limit == 0 || next.is_none_or(|next| !next.is_zero()) {
            return Ok(ClaimedDeliveries { deliveries: Vec::new(), next });
        }
        let (hold, numbers) = (self.push_claim, Arc::clone(&self.next_claim));
        let number = move || numbers.fetch_add(1, Ordering::Relaxed);
        let claims = self.writer.write(move |db| push::claim(db, limit, hold, &number)).await?;
        let keys = self.keys.clone();
        let read = move |db: &_| Ok((push::claimed(db, &claims, &keys)?, push::next(db)?));
        let (deliveries, next) = self.readers.read(read).await?;
        Ok(ClaimedDeliveries { deliveries, next })
    }

    async fn record_delivery(&self, key: &DeliveryKey, outcome: DeliveryOutcome) -> Result<bool> {
        let (key, keys, hold) = (key.clone(), self.keys.clone(), self.push_claim);
        self.writer.write(move |db| push::record(db, &key, &outcome, hold, &keys)).await
    }

    async fn backlog(&self) -> Result<Backlog> {
        self.readers.read(push::backlog).await
    }

    async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>> {
        let query = query.clone();
        self.readers.read(move |db| dead_letter::list(db, &query)).await
    }

    async fn redeliver(&self, query: &DeadLetterQuery) -> Result<Redelivery> {
        let query = query.clone();
        self.writer.write(move |db| dead_letter::redeliver(db, &query)).await
    }

    async fn purge_dead_letters(&self, query: &DeadLetterQuery) -> Result<u64> {
        let query = query.clone();
        self.writer.write(move |db| dead_letter::purge(db, &query)).await
    }
}
