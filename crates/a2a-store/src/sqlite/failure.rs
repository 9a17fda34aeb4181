use std::sync::Arc;

use a2a_operations::store::StoreError;
use rusqlite::ErrorCode;

use crate::codec::CodecError;

/// Why something could not be read from or written to the file.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("the database failed")]
    Sqlite(#[from] rusqlite::Error),
    #[error("the database holds something unreadable")]
    Codec(#[from] CodecError),
    #[error("the database holds an impossible number")]
    Number(#[from] std::num::TryFromIntError),
    #[error("the store is closed")]
    Closed,
}

pub(super) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    fn is_full(&self) -> bool {
        matches!(self, Self::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull))
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        Arc::new(failure).into_store_error()
    }
}

/// The same, where one failure concerns many.
pub(super) trait IntoStoreError {
    fn into_store_error(self) -> StoreError;
}

impl IntoStoreError for Arc<Failure> {
    fn into_store_error(self) -> StoreError {
        // A full disk takes nothing of a transaction.
        if self.is_full() { StoreError::Full } else { StoreError::failed(self) }
    }
}
