use std::{path::PathBuf, sync::Arc};

use a2a_kit_operations::store::StoreError;
use rusqlite::{ErrorCode, ffi};

use crate::codec::CodecError;

/// Why a read or a write failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("the database failed")]
    Sqlite(#[from] rusqlite::Error),
    #[error("the database contains malformed data")]
    Codec(#[from] CodecError),
    #[error("the database contains a number out of range")]
    Number(#[from] std::num::TryFromIntError),
    #[error("the database is locked by another process")]
    Locked(#[source] rusqlite::Error),
    #[error("{} was moved, removed or replaced while it was open: restore it, or restart", path.display())]
    Moved { path: PathBuf },
    #[error("the store is closed")]
    Closed,
}

pub(super) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Whether the file is not writable, and a retry would not help: it is gone or locked, the disk
    /// is full, or a quota or file size limit is reached (which SQLite reports as an I/O error).
    pub(super) fn is_unwritable(&self) -> bool {
        let error = match self {
            Self::Locked(_) | Self::Moved { .. } => return true,
            Self::Sqlite(error) => error,
            Self::Codec(_) | Self::Number(_) | Self::Closed => return false,
        };
        error.sqlite_error().is_some_and(|error| {
            matches!(error.code, ErrorCode::DiskFull | ErrorCode::ReadOnly)
                || matches!(
                    error.extended_code,
                    ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE
                )
        })
    }

    /// Whether a value can never be stored.
    fn is_permanent(&self) -> bool {
        let Self::Sqlite(error) = self else { return false };
        matches!(error, rusqlite::Error::ToSqlConversionFailure(_))
            || matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::TooBig | ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch)
            )
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        Arc::new(failure).into_store_error()
    }
}

/// The same for a failure shared by many writes.
pub(super) trait IntoStoreError {
    fn into_store_error(self) -> StoreError;
}

impl IntoStoreError for Arc<Failure> {
    fn into_store_error(self) -> StoreError {
        if self.is_unwritable() {
            StoreError::Unwritable(self.into())
        } else if self.is_permanent() {
            StoreError::rejected(self)
        } else {
            StoreError::failed(self)
        }
    }
}
