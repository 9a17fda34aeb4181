use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicI64},
    time::Duration,
};

use a2a_kit_operations::{
    EventId, Scope, metrics,
    store::{
        Claim, Committed, DeadLetter, DeadLetterQuery, NewTask, Replay, StoreError, StoredTask,
        Sweep, TaskPage, TaskQuery, TaskStore, Transition, Usage,
    },
};
use async_trait::async_trait;
use rusqlite::Connection;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::{
    dead_letter, failure, idempotency_key, lease,
    open::{OpenError, OpenFiles, SqliteOptions, open, open_beside},
    page,
    read::{self, replay, stored_task, task_no},
    reader::Readers,
    sweep,
    write::{Change, Insert},
    writer::Writer,
};
use crate::seal::SecretKeys;

type Result<T, E = StoreError> = std::result::Result<T, E>;

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
    pub(super) node: Arc<str>,
    pub(super) writer: Writer,
    pub(super) readers: Readers,
    pub(super) keys: SecretKeys,
    pub(super) push_claim: Duration,
    /// Numbers delivery claims; those of an earlier process are void.
    pub(super) next_claim: Arc<AtomicI64>,
}

impl SqliteStore {
    /// Opens or creates a file with the default options.
    ///
    /// # Errors
    ///
    /// An [`OpenError`] that names the file, if it is in use, not a store, or not readable and
    /// writable.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
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
    ) -> Result<Self, OpenError> {
        blocking(path.as_ref(), move |path| Self::open_blocking(path, options)).await
    }

    fn open_blocking(path: PathBuf, options: SqliteOptions) -> Result<Self, OpenError> {
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
    ) -> Result<Vec<DeadLetter>, OpenError> {
        let query = query.clone();
        let read = move |path: PathBuf| {
            let letters = dead_letter::list(&open_beside(&path)?, &query);
            letters.map_err(|error| OpenError::Failed { path, source: error.into() })
        };
        blocking(path.as_ref(), read).await
    }

    /// Waits for calls in progress, checkpoints the write-ahead log, and closes the file. Later
    /// calls fail. Dropping the store does the same at an undefined time.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    /// Reads a task, if it exists in the scope; `read` gets its row number.
    pub(super) async fn read_task<T: Send + 'static>(
        &self,
        scope: &Scope,
        task_id: &str,
        read: impl FnOnce(&Connection, i64) -> failure::Result<T> + Send + 'static,
    ) -> Result<Option<T>> {
        let (scope, task_id) = (scope.clone(), task_id.to_owned());
        let find = move |db: &Connection| {
            task_no(db, &scope, &task_id)?.map(|no| read(db, no)).transpose()
        };
        self.readers.read(find).await
    }

    /// Changes a task, if it exists in the scope; `change` gets its row number.
    pub(super) async fn change_task<T: Send + 'static>(
        &self,
        scope: &Scope,
        task_id: &str,
        mut change: impl FnMut(&Connection, i64) -> failure::Result<T> + Send + 'static,
    ) -> Result<Option<T>> {
        let (scope, task_id) = (scope.clone(), task_id.to_owned());
        let find = move |db: &Connection| {
            task_no(db, &scope, &task_id)?.map(|no| change(db, no)).transpose()
        };
        self.writer.write(find).await
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

/// Opens a file on a blocking thread.
async fn blocking<T: Send + 'static>(
    path: &Path,
    open: impl FnOnce(PathBuf) -> Result<T, OpenError> + Send + 'static,
) -> Result<T, OpenError> {
    let given = path.to_owned();
    let opened = spawn_blocking(move || open(given)).await;
    opened.map_err(|error| OpenError::Failed { path: path.to_owned(), source: error.into() })?
}

#[async_trait]
impl TaskStore for SqliteStore {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed> {
        let insert = Insert::encode(new, &self.keys).map_err(StoreError::rejected)?;
        let (scope, node) = (scope.clone(), Arc::clone(&self.node));
        let bytes = insert.bytes();
        self.writer.write_bytes(bytes, move |db| insert.make(db, &scope, &node)).await?
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed> {
        let change = Change::encode(transition).map_err(StoreError::rejected)?;
        let (scope, bytes) = (scope.clone(), change.bytes());
        self.writer.write_bytes(bytes, move |db| change.make(db, &scope)).await?
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
