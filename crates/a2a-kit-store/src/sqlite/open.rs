use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use derive_setters::Setters;
use rusqlite::{Connection, ErrorCode};

use super::{
    connection::{open_reader, open_writer},
    lock::{DatabaseLock, LockError},
    migration::{SchemaError, check_owner, migrate},
    placement::Placement,
};
use crate::seal::SecretKeys;

/// Options of a [`SqliteStore`](super::SqliteStore).
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct SqliteOptions {
    /// Keys to encrypt the secrets of webhooks. Default: none.
    pub secret_keys: SecretKeys,
    /// Number of concurrent reads. Default: 4.
    pub readers: usize,
    /// Maximum number of writes in a transaction. Default: 256.
    pub group: usize,
    /// Duration of a delivery claim without an outcome. Default: 30 s.
    pub push_claim: Duration,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            secret_keys: SecretKeys::default(),
            readers: 4,
            group: 256,
            push_claim: Duration::from_secs(30),
        }
    }
}

/// Why a file could not be opened as a store.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The directory of the file does not exist.
    #[error("the directory of {} does not exist", path.display())]
    NoDirectory {
        /// The file.
        path: PathBuf,
    },
    /// The file or its directory is not writable.
    #[error("{} is not writable", path.display())]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another process has the file open.
    #[error("{} is in use by another process ({holder})", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
        /// The process id, if known.
        holder: String,
    },
    /// The file has several names, which this system cannot lock together.
    #[error("{} has other hard links, under which another process could open it", path.display())]
    Linked {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a database, or belongs to another program.
    #[error("{} is not a task store", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file was written by a newer version of this program.
    #[error(
        "{} has schema version {found}, but this program supports at most {known}: upgrade the \
         program",
        path.display()
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// The schema version of the file.
        found: i64,
        /// The newest supported version.
        known: i64,
    },
    /// The file could not be opened for another reason.
    #[error("failed to open {}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

a2a_core::debug_as_chain!(OpenError);

/// The lock and the connections of an open file.
#[derive(Debug)]
pub(super) struct OpenFiles {
    pub(super) lock: DatabaseLock,
    pub(super) placement: Placement,
    pub(super) writer: Connection,
    pub(super) readers: Vec<Connection>,
}

/// Opens a connection for reading a file that a server may have open.
pub(super) fn open_beside(given: &Path) -> Result<Connection, OpenError> {
    let path = &resolve(given)?;
    let failed = |error| refused(path, error);
    let db = open_reader(path).map_err(failed)?;
    check_owner(&db).map_err(|error| match error {
        SchemaError::Foreign => not_a_store(path, error),
        error => OpenError::Failed { path: path.clone(), source: error.into() },
    })?;
    Ok(db)
}

/// Opens a file, creating it if it is missing.
pub(super) fn open(given: &Path, options: &SqliteOptions) -> Result<OpenFiles, OpenError> {
    let path = &resolve(given)?;
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
    writer.execute_batch(RESET).map_err(failed)?;
    let readers = (0..options.readers.max(1)).map(|_| open_reader(path));
    let readers = readers.collect::<rusqlite::Result<_>>().map_err(failed)?;
    // The log exists since the reset.
    let placement = Placement::record(given, path).map_err(|error| unusable(path, error))?;
    Ok(OpenFiles { lock, placement, writer, readers })
}

/// Voids the leases and claims of an earlier process, and the answers to it; removes a test write.
const RESET: &str = "
    BEGIN IMMEDIATE;
    UPDATE holds SET lost = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE lost IS NULL;
    UPDATE webhooks SET claim = NULL, due = 0 WHERE due IS NOT NULL AND claim IS NOT NULL;
    DELETE FROM commands WHERE answer IS NOT NULL;
    DELETE FROM journals WHERE task < 0;
    COMMIT;
";

/// Resolves the canonical path of a file, so that it is not locked under two names.
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
        io::ErrorKind::NotFound => OpenError::NoDirectory { path },
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
