use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode};

use super::{
    connection::{SchemaError, migrate, open_reader, open_writer},
    lock::{DatabaseLock, LockError},
};
use crate::seal::SecretKeys;

/// How a [`SqliteStore`](super::SqliteStore) works.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// What the secrets of webhooks are sealed with. Default: no key.
    pub keys: SecretKeys,
    /// How many reads go on at once. Default: 4.
    pub readers: usize,
    /// How many writes become one transaction at most. Default: 256.
    pub group: usize,
    /// How long a webhook stays claimed without a word of it. Default: 30 s.
    pub push_claim: Duration,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            keys: SecretKeys::default(),
            readers: 4,
            group: 256,
            push_claim: Duration::from_secs(30),
        }
    }
}

impl SqliteOptions {
    /// Sets what the secrets of webhooks are sealed with.
    #[must_use]
    pub fn with_keys(mut self, keys: SecretKeys) -> Self {
        self.keys = keys;
        self
    }

    /// Sets how many reads go on at once.
    #[must_use]
    pub fn with_readers(mut self, readers: usize) -> Self {
        self.readers = readers;
        self
    }

    /// Sets how many writes become one transaction at most.
    #[must_use]
    pub fn with_group(mut self, group: usize) -> Self {
        self.group = group;
        self
    }

    /// Sets how long a webhook stays claimed without a word of it.
    #[must_use]
    pub fn with_push_claim(mut self, claim: Duration) -> Self {
        self.push_claim = claim;
        self
    }
}

/// Why a file could not be opened as a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder of the file is not there.
    #[error("the folder of {} does not exist", path.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
    },
    /// The file or its folder can't be written to.
    #[error("{} can't be written to", path.display())]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another process has the file open.
    #[error("{} is in use by another process ({holder})", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
        /// The process, by its number, where that is known.
        holder: String,
    },
    /// The file has several names, and this system can't lock it under all of them.
    #[error("{} has other hard links, under which another process could open it", path.display())]
    Linked {
        /// The file.
        path: PathBuf,
    },
    /// The file is no database, or the database of another program.
    #[error("{} is not a task store", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What it is.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A newer version of this program has written the file.
    #[error(
        "{} has schema version {found}, but this program knows versions up to {known}: \
         a newer one has written it",
        path.display()
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// The version of its schema.
        found: i64,
        /// The newest version that is known.
        known: i64,
    },
    /// The file could not be opened for another reason.
    #[error("{} could not be opened", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What an open file comes to.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) lock: DatabaseLock,
    pub(super) writer: Connection,
    pub(super) readers: Vec<Connection>,
}

/// Opens a file, or makes it.
pub(super) fn open(path: &Path, options: &SqliteOptions) -> Result<Opened, OpenError> {
    let path = &resolve(path)?;
    if path.is_dir() {
        return Err(not_a_store(path, io::Error::from(io::ErrorKind::IsADirectory)));
    }
    let lock = DatabaseLock::acquire(path).map_err(|error| match error {
        LockError::Taken(holder) => OpenError::InUse { path: path.clone(), holder },
        LockError::Linked => OpenError::Linked { path: path.clone() },
        LockError::Io(error) => unusable(path, error),
    })?;
    let failed = |error| refused(path, error);
    let mut writer = open_writer(path).map_err(failed)?;
    if writer.is_readonly("main").map_err(failed)? {
        return Err(unusable(path, io::ErrorKind::PermissionDenied.into()));
    }
    migrate(&mut writer).map_err(|error| match error {
        SchemaError::Foreign => not_a_store(path, error),
        SchemaError::Newer { found, known } => {
            OpenError::NewerSchema { path: path.clone(), found, known }
        }
        SchemaError::Sqlite(error) => failed(error),
        SchemaError::Migration(error) => {
            OpenError::Failed { path: path.clone(), source: error.into() }
        }
    })?;
    writer.execute_batch(VOID).map_err(failed)?;
    let readers = (0..options.readers.max(1)).map(|_| open_reader(path));
    let readers = readers.collect::<rusqlite::Result<_>>().map_err(failed)?;
    Ok(Opened { lock, writer, readers })
}

/// What an earlier process has left is void: its leases, its claims, and answers to it.
const VOID: &str = "
    BEGIN IMMEDIATE;
    UPDATE holds SET lost = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE lost IS NULL;
    UPDATE webhooks SET claim = NULL, due = 0 WHERE due IS NOT NULL AND claim IS NOT NULL;
    DELETE FROM commands WHERE answer IS NOT NULL;
    COMMIT;
";

/// Finds the one name that a file has, so that it can't be locked under two.
fn resolve(path: &Path) -> Result<PathBuf, OpenError> {
    if let Ok(known) = path.canonicalize() {
        return Ok(known);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match (folder.unwrap_or(Path::new(".")).canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => Ok(folder.join(name)),
        (Err(error), _) => Err(unusable(path, error)),
        (_, None) => Err(not_a_store(path, io::Error::from(io::ErrorKind::IsADirectory))),
    }
}

fn unusable(path: &Path, error: io::Error) -> OpenError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound => OpenError::NoFolder { path },
        _ => OpenError::NotWritable { path, source: error.into() },
    }
}

fn not_a_store(
    path: &Path,
    cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> OpenError {
    OpenError::NotAStore { path: path.to_owned(), source: cause.into() }
}

fn refused(path: &Path, error: rusqlite::Error) -> OpenError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => not_a_store(path, error),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            OpenError::NotWritable { path: path.to_owned(), source: error.into() }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            OpenError::InUse { path: path.to_owned(), holder: "unknown".to_owned() }
        }
        _ => OpenError::Failed { path: path.to_owned(), source: error.into() },
    }
}
