use a2a_core::{Error, ErrorKind};

/// Why a store could not do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody else wrote to the task since it was read, or holds it now. Nothing was written.
    #[error("task {task_id} was written by somebody else")]
    Conflict {
        /// The task.
        task_id: String,
    },
    /// The idempotency key of a new task is tied to another one: whoever did so took the first
    /// for lost. Nothing was written.
    #[error("the idempotency key names task {task_id}")]
    Claimed {
        /// The other task. It may not be there yet.
        task_id: String,
    },
    /// The store does not take more. Nothing was written.
    #[error("the store is full")]
    Full,
    /// The store can't write, and won't until an operator helps: its disk is full, a quota or a
    /// limit of file sizes is reached, or it is mounted read-only. Nothing was written.
    #[error("the store cannot write")]
    Unwritable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store does not answer, or answers with a fault. A write may have been made or not: a
    /// second try finds out.
    #[error("the store failed")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// The failure of whatever the store stands on.
    pub fn failed(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Failed(cause.into())
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full => {
                Self::new(ErrorKind::ResourceExhausted, "the agent keeps no more tasks")
            }
            StoreError::Failed(_) => {
                Self::unavailable("the agent cannot reach its store").with_source(error)
            }
            StoreError::Unwritable(_) => {
                Self::unavailable("the agent cannot write to its store").with_source(error)
            }
            StoreError::Claimed { .. } => {
                Self::unavailable("another node works on this message; send again")
                    .with_source(error)
            }
            StoreError::Conflict { .. } => Self::internal(error),
        }
    }
}
