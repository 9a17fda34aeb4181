//! How much a store in memory keeps.

use std::time::Duration;

/// The bounds of a [`MemoryStore`](crate::MemoryStore).
///
/// Events are weighed by the length of their protobuf encoding, plus 512 bytes for what holds
/// an event in memory. Once a task has ended, its events are kept as their encodings alone, and
/// weighed by those, unless they are longer than 256 KiB together or can't represent the events
/// exactly.
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
    /// The most events that wait for the webhooks of a task; beyond them the oldest is given up.
    /// Default: 10,000.
    pub max_waiting_pushes: usize,
    /// The most events that are kept after they were given up. Default: 10,000.
    pub max_dead_letters: usize,
    /// The most commands that wait, and the most answers that nobody has taken yet. Beyond them
    /// the store is full, and the oldest answer is forgotten. Default: 10,000.
    pub max_commands: usize,
    /// How long a node holds a task without saying so again, where nodes share a store.
    /// Default: 10 s.
    pub lease: Duration,
    /// How long a webhook stays claimed without a word of it. Default: 30 s.
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
            lease: Duration::from_secs(10),
            push_claim: Duration::from_secs(30),
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

    /// Sets the most events that wait for the webhooks of a task, and the most dead letters.
    #[must_use]
    pub fn with_max_pushes(mut self, waiting: usize, dead: usize) -> Self {
        self.max_waiting_pushes = waiting;
        self.max_dead_letters = dead;
        self
    }

    /// Sets the most commands that wait, and the most answers.
    #[must_use]
    pub fn with_max_commands(mut self, commands: usize) -> Self {
        self.max_commands = commands;
        self
    }

    /// Sets how long a node holds a task without saying so again.
    #[must_use]
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sets how long a webhook stays claimed without a word of it.
    #[must_use]
    pub fn with_push_claim(mut self, claim: Duration) -> Self {
        self.push_claim = claim;
        self
    }
}
