//! A store in memory.

mod changes;
mod command;
mod context;
mod data;
mod entry;
mod idempotency_key;
mod lease;
mod limits;
mod log;
mod lossless;
mod outbox;
mod packed_task;
mod push;
mod restore;
mod retention;
mod save;
mod saved;
mod scope;
mod status_index;
mod timer_queue;
mod usage;

use std::sync::{Arc, atomic::AtomicUsize};

use a2a_core::fresh_id;

pub use self::limits::MemoryLimits;
use self::{
    changes::Changes, command::Commands, context::Contexts, entry::Entry,
    idempotency_key::IdempotencyKeys, log::Weight, outbox::Dispatch, retention::Retention,
    scope::Scopes, timer_queue::TimerQueue,
};
use crate::{Scope, sharded_map::TrustedMap};

/// Stores tasks in memory, for tests and for agents whose tasks may be lost on a restart.
///
/// Bounded by [`MemoryLimits`]. No method waits: locks are held only for the work on one task or
/// one page, and the tables grow incrementally. Ended tasks are packed to their encoding.
///
/// ```
/// use a2a_kit_operations::store::{MemoryLimits, MemoryStore};
///
/// let store = MemoryStore::with_limits(MemoryLimits::default().with_max_tasks(10_000));
/// ```
pub struct MemoryStore {
    tasks: TrustedMap<Arc<Entry>>,
    contexts: Contexts,
    scopes: Scopes,
    retention: Retention,
    idempotency_keys: IdempotencyKeys,
    /// Tasks waiting for user input or authorization, by the time they started to wait.
    parked: TimerQueue<Arc<Entry>>,
    /// The name of this process.
    node: Arc<str>,
    /// Tasks whose leases are to be taken over, by the time at which they were given up.
    orphans: TimerQueue<Arc<Entry>>,
    commands: Commands,
    dispatch: Dispatch,
    /// The number of tasks, including those being inserted.
    count: AtomicUsize,
    limits: MemoryLimits,
    /// The changes that have not been written.
    pub(super) changes: Changes,
}

impl MemoryStore {
    /// Creates an empty store with the default limits.
    pub fn new() -> Self {
        Self::with_limits(MemoryLimits::default())
    }

    /// Creates an empty store.
    pub fn with_limits(limits: MemoryLimits) -> Self {
        Self::with_changes(limits, Changes::default())
    }

    fn with_changes(limits: MemoryLimits, changes: Changes) -> Self {
        let max_ended = Weight { events: limits.max_ended_events, bytes: limits.max_ended_bytes };
        Self {
            tasks: TrustedMap::new(),
            contexts: Contexts::new(),
            scopes: Scopes::new(),
            retention: Retention::new(max_ended),
            idempotency_keys: IdempotencyKeys::new(
                limits.max_idempotency_keys,
                limits.max_idempotency_age,
                changes.clone(),
            ),
            parked: TimerQueue::new(),
            node: fresh_id().into(),
            orphans: TimerQueue::new(),
            commands: Commands::new(limits.max_commands),
            dispatch: Dispatch::new(limits.push_claim, limits.max_dead_letters, changes.clone()),
            count: AtomicUsize::new(0),
            limits,
            changes,
        }
    }

    /// Returns a task, whatever its scope.
    fn by_id(&self, task_id: &str) -> Option<Arc<Entry>> {
        self.tasks.at(task_id).get().cloned()
    }

    fn find(&self, scope: &Scope, task_id: &str) -> Option<Arc<Entry>> {
        self.by_id(task_id).filter(|entry| entry.scoped.scope == *scope)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

a2a_core::debug_fields!(MemoryStore { node, count, limits, .. });
