//! Why a statement failed, and what that means for its connection and for a retry.

use std::{sync::Arc, time::Duration};

use a2a_kit_operations::store::StoreError;
use tokio_postgres::error::{Severity, SqlState};

/// Timeout of a statement, after which its connection is considered dead. It includes lock waits,
/// which are short here.
pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a statement failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error("the database did not respond within {} s", STATEMENT_TIMEOUT.as_secs())]
    Timeout,
    #[error("no pooled connection became available within {0:?}")]
    PoolExhausted(Duration),
    #[error(transparent)]
    Postgres(#[from] tokio_postgres::Error),
}

impl LinkError {
    /// Whether the server rejected the statement, so that nothing was done, over a session that
    /// remains usable.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Timeout | Self::PoolExhausted(_) => false,
            Self::Postgres(error) => match error.as_db_error() {
                // A terminated backend also reports an error, but its connection is gone.
                Some(_) => !self.is_fatal() && !self.is_read_only() && !self.is_lost(),
                None => !error.is_closed() && error.code().is_some(),
            },
        }
    }

    /// Whether the session cannot write, though another one may.
    pub(super) fn is_read_only(&self) -> bool {
        self.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION)
    }

    /// Whether nothing was written, and another session may succeed. A backend reports that it was
    /// terminated only if it had not committed.
    pub(super) fn is_undone(&self) -> bool {
        let is_terminated = self.is_fatal() && self.code() == Some(&SqlState::ADMIN_SHUTDOWN);
        self.is_read_only() || is_terminated || self.code() == Some(&SqlState::CANNOT_CONNECT_NOW)
    }

    /// Whether the session is gone, so that a write may have been made or not.
    pub(super) fn is_disconnect(&self) -> bool {
        match self {
            Self::Timeout | Self::PoolExhausted(_) => false,
            Self::Postgres(_) => !self.is_refusal(),
        }
    }

    /// Whether the failure of a write says that writes fail, and not only this one.
    pub(super) fn is_failed_write(&self) -> bool {
        !self.is_permanent() && !matches!(self, Self::PoolExhausted(_))
    }

    /// The error of a read, or of anything but a write.
    pub(super) fn into_store(self) -> StoreError {
        if self.is_permanent() { StoreError::rejected(self) } else { StoreError::failed(self) }
    }

    /// The error of a write.
    pub(super) fn into_write_store(self) -> StoreError {
        let shared = Arc::new(self);
        Self::store_error(&Arc::clone(&shared), shared)
    }

    /// The error of a write; `cause` is this error or has it as a source.
    pub(super) fn store_error(
        &self,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> StoreError {
        if self.is_permanent() {
            StoreError::rejected(cause)
        } else if self.needs_operator() {
            StoreError::Unwritable(cause.into())
        } else {
            StoreError::failed(cause)
        }
    }

    /// Whether a value can never be stored: data exceptions, violated constraints, and limits of
    /// the server, such as the size of an index row (SQLSTATE classes 22, 23 and 54).
    fn is_permanent(&self) -> bool {
        self.class().is_some_and(|class| matches!(class, "22" | "23" | "54"))
    }

    /// Whether writes fail until an operator frees space, removes a lock, or restores the schema or a
    /// privilege.
    pub(super) fn needs_operator(&self) -> bool {
        self.class().is_some_and(|class| matches!(class, "42" | "3F"))
            || self.code().is_some_and(|code| {
                [SqlState::DISK_FULL, SqlState::LOCK_NOT_AVAILABLE].contains(code)
            })
    }

    /// A connection exception (class 08), or a server that stops or starts.
    fn is_lost(&self) -> bool {
        self.class() == Some("08")
            || self.code().is_some_and(|code| {
                [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW]
                    .contains(code)
            })
    }

    fn is_fatal(&self) -> bool {
        let Self::Postgres(error) = self else { return false };
        let severity = error.as_db_error().and_then(|error| error.parsed_severity());
        matches!(severity, Some(Severity::Fatal | Severity::Panic))
    }

    fn code(&self) -> Option<&SqlState> {
        let Self::Postgres(error) = self else { return None };
        error.code()
    }

    fn class(&self) -> Option<&str> {
        self.code()?.code().get(..2)
    }
}
