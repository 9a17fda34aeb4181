use a2a_core::{Error, ErrorKind};

/// Why a store operation failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another writer modified the task since it was read, or another node holds its lease. Nothing
    /// was written.
    #[error("task {task_id} was modified concurrently")]
    Conflict {
        /// The task.
        task_id: String,
    },
    /// The idempotency key of a new task has been claimed by another task, because this one was
    /// presumed lost. Nothing was written.
    #[error("the idempotency key is claimed by task {task_id}")]
    Claimed {
        /// The other task. It may not be stored yet.
        task_id: String,
    },
    /// The store is at capacity. Nothing was written.
    #[error("the store is full")]
    Full,
    /// Writes fail until an operator intervenes: the disk is full, a quota or file size limit is
    /// reached, the file system is read-only, the file was removed or replaced, or another user holds a
    /// lock for longer than a few seconds. Nothing was written.
    #[error("the store cannot write")]
    Unwritable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store can never apply this write: a value is too long for it, or out of range. Nothing was
    /// written, and a retry fails the same way.
    #[error("the store rejected the write")]
    Rejected(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store did not respond, or returned an error. A write may or may not have been applied; a
    /// retry finds out.
    #[error("the store failed")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

a2a_core::debug_as_chain!(StoreError);

impl StoreError {
    /// Wraps the reason why a write can never be applied.
    pub fn rejected(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Rejected(cause.into())
    }

    /// Wraps an error of the underlying storage.
    pub fn failed(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Failed(cause.into())
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full => {
                Self::new(ErrorKind::ResourceExhausted, "the agent has no capacity for more tasks")
            }
            StoreError::Failed(_) => {
                Self::unavailable("the agent cannot reach its store").with_source(error)
            }
            StoreError::Unwritable(_) => {
                Self::unavailable("the agent cannot write to its store").with_source(error)
            }
            StoreError::Claimed { .. } => {
                Self::unavailable("another node is processing this message; retry the request")
                    .with_source(error)
            }
            StoreError::Conflict { .. } | StoreError::Rejected(_) => Self::internal(error),
        }
    }
}
