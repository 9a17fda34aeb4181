use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use derive_setters::Setters;
use rusqlite::Connection;

use super::{
    connection::{open_reader, open_writer},
    lock::{DatabaseLock, Placement},
    migration::{check_owner, migrate},
    open_error::{OpenError, not_a_store, refused, unusable},
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
    let db = open_reader(path).map_err(|error| refused(path, error))?;
    check_owner(path, &db)?;
    Ok(db)
}

/// Opens a file, creating it if it is missing.
pub(super) fn open(given: &Path, options: &SqliteOptions) -> Result<OpenFiles, OpenError> {
    let path = &resolve(given)?;
    if path.is_dir() {
        return Err(not_a_store(path, io::Error::from(io::ErrorKind::IsADirectory)));
    }
    let lock = DatabaseLock::acquire(path)?;
    let failed = |error| refused(path, error);
    let mut writer = open_writer(path).map_err(failed)?;
    if writer.is_readonly("main").map_err(failed)? {
        return Err(unusable(path, io::ErrorKind::PermissionDenied.into()));
    }
    migrate(path, &mut writer)?;
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
    DELETE FROM journal_parts WHERE task < 0;
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
