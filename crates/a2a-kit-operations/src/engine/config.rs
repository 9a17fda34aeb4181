//! Limits and timeouts of an engine.

use std::time::Duration;

use derive_setters::Setters;

use super::limits::{CallerLimits, LogLimits, RunLimits, TaskLimits};
use crate::AgentLabel;

/// Limits and timeouts of an [`Engine`](super::Engine).
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct EngineConfig {
    /// Grace period of an executor that [can notice a cancel](crate::AgentExecutor#cancellation),
    /// before it is dropped; also the time limit of its `cancel`. Default: 5 s.
    pub cancel_grace: Duration,
    /// How long an executor may be silent before its task becomes visible as SUBMITTED. Default:
    /// 100 ms.
    pub submitted_after: Duration,
    /// Maximum number of queued messages per task; further ones are rejected. Default: 16.
    pub max_queued_messages: usize,
    /// Maximum number of running tasks; further ones are rejected. The last sixteenth is reserved
    /// for callers with no running task. Default: 10,000.
    pub max_running: usize,
    /// Maximum number of executors waiting in [`ask`](crate::TaskUpdater::ask). Beyond it an
    /// executor is dropped, and resumed by the next message. Default: 100,000.
    pub max_input_waiters: usize,
    /// How long an executor may wait in [`ask`](crate::TaskUpdater::ask) before it is dropped, and
    /// resumed by the next message. Default: 1 h.
    pub ask_timeout: Duration,
    /// Maximum size of a page of tasks, in bytes as protobuf; the rest is on the next page.
    /// Default: 8 MiB.
    pub max_list_bytes: usize,
    /// Maximum number of parts per message. Default: 1,000.
    pub max_parts: usize,
    /// Maximum number of webhooks per task. Default: 20.
    pub max_push_configs: usize,
    /// Maximum number of webhooks per task at one host. Default: 5.
    pub max_push_configs_per_host: usize,
    /// Webhook delivery.
    pub push: PushConfig,
    /// How long a write is retried while the store fails, before the task is given up on this node
    /// and its executor dropped. Default: 20 s.
    pub store_retry_timeout: Duration,
    /// Interval of lease renewal and takeover. Must be less than a third of the store's lease.
    /// Default: 3 s.
    pub lease_renewal: Duration,
    /// Maximum number of reruns of an interrupted message before the task is FAILED, if the
    /// executor declares `Recovery::Rerun`. Default: 5.
    pub max_reruns: u64,
    /// Retention of ended tasks, with their events and webhooks; `None` keeps them indefinitely.
    /// Default: `None`.
    pub retention: Option<Duration>,
    /// Retention of tasks waiting for user input or authorization, with their events and webhooks;
    /// `None` keeps them indefinitely. Their executors are dropped after the same time. Default:
    /// `None`.
    pub parked_retention: Option<Duration>,
    /// Limits of the log of an active task.
    pub log_limits: LogLimits,
    /// Limits per task.
    pub task_limits: TaskLimits,
    /// Limits per caller. Default: none.
    pub caller_limits: CallerLimits,
    /// Limits per run of the executor. Default: none.
    pub run_limits: RunLimits,
    /// The label of this engine's metrics. Default: none.
    pub metrics_label: AgentLabel,
    /// Whether a message with a known `messageId` joins the task of the first one. Deployed clients
    /// reuse ids. Default: no.
    pub dedupe_by_message_id: bool,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            cancel_grace: Duration::from_secs(5),
            submitted_after: Duration::from_millis(100),
            max_queued_messages: 16,
            max_running: 10_000,
            max_input_waiters: 100_000,
            ask_timeout: Duration::from_secs(3600),
            max_list_bytes: 8 << 20,
            max_parts: 1_000,
            max_push_configs: 20,
            max_push_configs_per_host: 5,
            push: PushConfig::default(),
            store_retry_timeout: Duration::from_secs(20),
            lease_renewal: Duration::from_secs(3),
            max_reruns: 5,
            retention: None,
            parked_retention: None,
            log_limits: LogLimits::default(),
            task_limits: TaskLimits::default(),
            caller_limits: CallerLimits::default(),
            run_limits: RunLimits::default(),
            metrics_label: AgentLabel::NONE,
            dedupe_by_message_id: false,
        }
    }
}

/// Limits and timeouts of webhook delivery.
#[derive(Clone, Copy, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct PushConfig {
    /// Whether webhooks receive artifact updates too. Default: no.
    pub artifacts: bool,
    /// Maximum number of concurrent webhook deliveries. Default: 64.
    pub concurrency: usize,
    /// Maximum number of concurrent deliveries per host. Default: 8.
    pub concurrency_per_host: usize,
    /// Maximum number of concurrent deliveries per caller. Default: 16.
    pub concurrency_per_caller: usize,
    /// Retry budget of a host, restored by a successful delivery and refilled by one per minute. A
    /// retry beyond it is postponed, which is not an attempt. Default: 20.
    pub retries_per_host: u32,
    /// Timeout of one delivery attempt, whatever the sender's own. Must be shorter than the store's
    /// delivery claims. Default: 20 s.
    pub timeout: Duration,
    /// Maximum number of attempts before an event becomes a dead letter. Default: 20, which takes
    /// about half an hour.
    pub attempts: u32,
    /// Maximum backoff after the first failed attempt, doubled each time; the actual delay is
    /// random below it. Default: 500 ms.
    pub backoff: Duration,
    /// Maximum backoff, unless the receiver asks for more. Default: 5 min.
    pub backoff_max: Duration,
}

impl Default for PushConfig {
    fn default() -> Self {
        Self {
            artifacts: false,
            concurrency: 64,
            concurrency_per_host: 8,
            concurrency_per_caller: 16,
            retries_per_host: 20,
            timeout: Duration::from_secs(20),
            attempts: 20,
            backoff: Duration::from_millis(500),
            backoff_max: Duration::from_secs(300),
        }
    }
}
