//! How much a store in memory keeps.

use std::time::Duration;

/// The bounds of a [`MemoryStore`](crate::MemoryStore).
///
/// Events are weighed by the length of their protobuf encoding, plus 512 bytes for what holds
/// an event in memory.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MemoryLimits {
    /// The most tasks. Beyond them the one that ended first makes room for a new one; if none
    /// has ended, the store is full. Default: 1,000,000.
    pub max_tasks: usize,
    /// The most events that are kept of a task; older ones are trimmed. Default: 10,000.
    pub max_log_events: usize,
    /// The most bytes of events that are kept of a task. Default: 64 MiB.
    pub max_log_bytes: usize,
    /// The most events that are kept of all tasks that have ended, together; beyond them the
    /// whole log of the one that ended first is dropped. Default: 100,000.
    pub max_ended_events: usize,
    /// The most bytes of events that are kept of all tasks that have ended, together.
    /// Default: 32 MiB.
    pub max_ended_bytes: usize,
    /// The most idempotency keys; beyond them the oldest is forgotten. Default: 100,000.
    pub max_idempotency_keys: usize,
    /// How long an idempotency key is remembered. Default: 24 hours.
    pub max_idempotency_age: Duration,
    /// The most webhooks of one scope; beyond them the store is full. Default: 10,000.
    pub max_push_configs: usize,
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
        }
    }
}

impl MemoryLimits {
    /// Sets the most tasks.
    #[must_use]
    pub fn with_max_tasks(mut self, tasks: usize) -> Self {
        self.max_tasks = tasks;
        self
    }

    /// Sets the most events and bytes of events that are kept of a task.
    #[must_use]
    pub fn with_max_log(mut self, events: usize, bytes: usize) -> Self {
        self.max_log_events = events;
        self.max_log_bytes = bytes;
        self
    }

    /// Sets the most events and bytes of events that are kept of all ended tasks together.
    #[must_use]
    pub fn with_max_ended(mut self, events: usize, bytes: usize) -> Self {
        self.max_ended_events = events;
        self.max_ended_bytes = bytes;
        self
    }

    /// Sets the most idempotency keys, and how long each is remembered.
    #[must_use]
    pub fn with_max_idempotency(mut self, keys: usize, age: Duration) -> Self {
        self.max_idempotency_keys = keys;
        self.max_idempotency_age = age;
        self
    }

    /// Sets the most webhooks of one scope.
    #[must_use]
    pub fn with_max_push_configs(mut self, configs: usize) -> Self {
        self.max_push_configs = configs;
        self
    }
}
