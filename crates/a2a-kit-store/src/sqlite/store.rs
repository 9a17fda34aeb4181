use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicI64},
    time::Duration,
};

use a2a_kit_operations::{
    Scope,
    store::{DeadLetter, DeadLetterQuery, StoreError},
};
use rusqlite::Connection;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::{
    dead_letter,
    failure::Result,
    open::{OpenFiles, SqliteOptions, open, open_beside},
    open_error::OpenError,
    read::task_no,
    reader::Readers,
    writer::Writer,
};
use crate::seal::SecretKeys;

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
        read: impl FnOnce(&Connection, i64) -> Result<T> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
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
        mut change: impl FnMut(&Connection, i64) -> Result<T> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
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
