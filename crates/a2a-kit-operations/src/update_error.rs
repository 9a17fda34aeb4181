//! Why an update was rejected.

use crate::engine::ExceededLimit;

/// Why an update was rejected.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// The task has ended, or was answered with a message.
    #[error("the task has ended")]
    Ended,
    /// The client has canceled, so no further message will come.
    #[error("the task is being canceled")]
    Canceled,
    /// The task has reached a size limit; it is FAILED with that reason.
    #[error("the task reached its limit {0}")]
    Limit(ExceededLimit),
    /// The executor was run again to continue a conversation, and did not repeat what it had done
    /// before; the task is FAILED with that reason. See [`ask`](crate::TaskUpdater::ask).
    #[error("replay diverged from the recorded run")]
    Diverged,
    /// The update could not be stored.
    #[error("the task could not be stored")]
    Store,
    /// Another run has taken over the task, on this or another node: this one was presumed dead.
    #[error("another run has taken over the task")]
    Superseded,
}

a2a_core::debug_as_chain!(UpdateError);
