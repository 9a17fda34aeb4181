//! Stores for tasks, events, leases and webhooks.

mod error;
#[doc(hidden)]
pub mod forward;
mod lease;
mod measured;
mod memory;
mod outbox;
mod page;
mod single_node;
mod task;

pub use error::StoreError;
pub use lease::{Acquired, Command, LeaseStore, Orphan, Signal, Signals};
pub use measured::Measured;
pub use memory::{MemoryLimits, MemoryStore};
pub use outbox::{
    Backlog, ClaimedDeliveries, ClaimedDelivery, DeadLetter, DeadLetterQuery, DeliveryKey,
    DeliveryOutcome, PushStore, Redelivery,
};
pub(crate) use page::framed_len;
pub use page::{PageKey, TaskPage, TaskQuery, TaskView};
pub use single_node::{KeyValue, SingleNode};
pub use task::{
    Claim, Committed, JournalUpdate, LeaseUpdate, NewTask, Replay, StoredTask, Sweep, TaskStore,
    Transition, Usage,
};

/// Maximum length of an id that a store keeps, in bytes: of contexts, messages, webhooks,
/// idempotency keys and owners. An [`Engine`](crate::Engine) rejects longer ones, and those that
/// contain NUL.
pub const MAX_ID_BYTES: usize = 1_024;

/// Maximum length of the id of a stored task, in bytes, likewise without NUL. Engines make them.
pub const MAX_TASK_ID_BYTES: usize = 512;

/// Maximum length of a tenant, in bytes, likewise without NUL.
pub const MAX_TENANT_BYTES: usize = 512;

/// Everything that an [`Engine`](crate::Engine) persists.
///
/// A store belongs to one node: leases that it acquires are held in the name of that node. To serve
/// one agent from many nodes, each node opens the same database.
pub trait Store: TaskStore + LeaseStore + PushStore {}

impl<S: TaskStore + LeaseStore + PushStore + ?Sized> Store for S {}
