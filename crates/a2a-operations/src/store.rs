//! Where tasks, their events and their webhooks are kept, and how nodes share them.

mod error;
mod lease;
mod measured;
mod memory;
mod outbox;
mod page;
mod signal;
mod task;

pub use error::StoreError;
pub use lease::{Acquired, Command, LeaseStore, Orphan};
pub use measured::Measured;
pub use memory::{MemoryLimits, MemoryStore};
pub use outbox::{
    Backlog, DeadLetter, DeadLetterQuery, Due, DuePush, PushKey, PushOutcome, PushStore, Redelivery,
};
pub use page::{PageKey, Shown, TaskPage, TaskQuery};
pub use signal::{Signal, Signals};
pub use task::{
    Claim, Committed, Hold, NewTask, Replay, StoredTask, Sweep, TaskStore, Transition, Usage,
};

/// Everything that an [`Engine`](crate::Engine) keeps.
///
/// A store belongs to one node: what [`LeaseStore`] acquires, it acquires in the name of that
/// node. Many nodes serve one agent by opening the same database each.
pub trait Store: TaskStore + LeaseStore + PushStore {}

impl<S: TaskStore + LeaseStore + PushStore + ?Sized> Store for S {}
