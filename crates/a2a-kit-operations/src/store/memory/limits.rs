//! Limits of the memory store.

use std::time::Duration;

use derive_setters::Setters;

/// Limits of a [`MemoryStore`](crate::MemoryStore).
///
/// The weight of an event is the length of its protobuf encoding plus 512 bytes of overhead. The
/// events of an ended task are packed to their encodings alone, unless these are longer than 256
/// KiB together or lossy.
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct MemoryLimits {
    /// Maximum number of tasks. At the limit, a new task evicts the oldest ended one; if none has
    /// ended, the store is full. Default: 1,000,000.
    pub max_tasks: usize,
    /// Maximum number of events in the log of a task; older ones are trimmed. Default: 10,000.
    #[setters(skip)]
    pub max_log_events: usize,
    /// Maximum bytes of events in the log of a task. Default: 64 MiB.
    #[setters(skip)]
    pub max_log_bytes: usize,
    /// Maximum number of events of all ended tasks together; beyond it the log of the task that
    /// ended first is dropped. Default: 100,000.
    #[setters(skip)]
    pub max_ended_events: usize,
    /// Maximum bytes of events of all ended tasks together. Default: 32 MiB.
    #[setters(skip)]
    pub max_ended_bytes: usize,
    /// Maximum number of idempotency keys; beyond it the oldest is evicted. Default: 100,000.
    #[setters(skip)]
    pub max_idempotency_keys: usize,
    /// How long an idempotency key is kept. Default: 24 h.
    #[setters(skip)]
    pub max_idempotency_age: Duration,
    /// Maximum number of webhooks per scope; beyond it the store is full. Default: 10,000.
    pub max_push_configs: usize,
    /// Maximum number of pending webhook events of a task; beyond it the oldest is dead-lettered.
    /// Default: 10,000.
    #[setters(skip)]
    pub max_waiting_pushes: usize,
    /// Maximum number of dead letters. Default: 10,000.
    #[setters(skip)]
    pub max_dead_letters: usize,
    /// Maximum number of pending commands, and of unread answers. Beyond it the store is full, or
    /// the oldest answer is evicted. Default: 10,000.
    pub max_commands: usize,
    /// Duration of a delivery claim without an outcome. Default: 30 s.
    pub push_claim: Duration,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self {
            max_tasks: 1_000_000,
            max_log_events: 10_000,
            max_log_bytes: 64 << 20,
            max_ended_events: 100_000,
            max_ended_bytes: 32 << 20,
            max_idempotency_keys: 100_000,
            max_idempotency_age: Duration::from_secs(24 * 60 * 60),
            max_push_configs: 10_000,
            max_waiting_pushes: 10_000,
            max_dead_letters: 10_000,
            max_commands: 10_000,
            push_claim: Duration::from_secs(30),
        }
    }
}

impl MemoryLimits {
    /// Sets the maximum number and bytes of events per task.
    #[must_use]
    pub fn with_max_log(mut self, events: usize, bytes: usize) -> Self {
        self.max_log_events = events;
        self.max_log_bytes = bytes;
        self
    }

    /// Sets the maximum number and bytes of events of all ended tasks together.
    #[must_use]
    pub fn with_max_ended(mut self, events: usize, bytes: usize) -> Self {
        self.max_ended_events = events;
        self.max_ended_bytes = bytes;
        self
    }

    /// Sets the maximum number and age of idempotency keys.
    #[must_use]
    pub fn with_max_idempotency(mut self, keys: usize, age: Duration) -> Self {
        self.max_idempotency_keys = keys;
        self.max_idempotency_age = age;
        self
    }

    /// Sets the maximum number of pending events per task, and of dead letters.
    #[must_use]
    pub fn with_max_pushes(mut self, waiting: usize, dead: usize) -> Self {
        self.max_waiting_pushes = waiting;
        self.max_dead_letters = dead;
        self
    }
}
