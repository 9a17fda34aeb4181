//! The bounds and times of an engine.

use std::time::Duration;

use super::limits::{CallerLimits, RunLimits, TaskLimits};

/// What an [`Engine`](super::Engine) bounds, and how long it waits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EngineConfig {
    /// How long an executor may take to stop after a cancel, before it is dropped, and how long its
    /// `cancel` may run. Default: 5 s.
    pub cancel_grace: Duration,
    /// Silence of an executor after which its task shows as SUBMITTED. Default: 100 ms.
    pub appear_after: Duration,
    /// Messages that wait behind the one that a task works on. One more is refused. Default: 16.
    pub max_queued_messages: usize,
    /// Events kept of a task that is worked on; a reader behind them starts again from a
    /// snapshot. Default: 10,000.
    pub max_log_events: usize,
    /// Bytes of events kept of a task that is worked on, as protobuf. Default: 64 MiB.
    pub max_log_bytes: usize,
    /// Tasks that are worked on at once. One more is refused. The last sixteenth is for callers
    /// of which no task is worked on. Default: 10,000.
    pub max_running: usize,
    /// Tasks whose executor waits in [`ask`](crate::TaskUpdater::ask). One more is dropped and
    /// run again at the next message. Default: 100,000.
    pub max_asking: usize,
    /// How long an executor may wait in [`ask`](crate::TaskUpdater::ask) before it is dropped and
    /// run again at the next message. Default: 1 h.
    pub ask_timeout: Duration,
    /// Size of a page of tasks beyond which it takes no further one, in bytes as protobuf; what is
    /// left is on the next page. Default: 8 MiB.
    pub max_list_bytes: usize,
    /// Parts of a message. Default: 1,000.
    pub max_parts: usize,
    /// Webhooks of a task. Default: 20.
    pub max_push_configs: usize,
    /// Webhooks of a task at one host. Default: 5.
    pub max_push_configs_per_host: usize,
    /// Whether artifact updates go to webhooks too, beside tasks and status updates. Default: no.
    pub push_artifacts: bool,
    /// Webhooks that are called at once. Default: 64.
    pub push_concurrency: usize,
    /// Webhooks of one host that are called at once. Default: 8.
    pub push_concurrency_per_host: usize,
    /// Webhooks of one caller that are called at once. Default: 16.
    pub push_concurrency_per_caller: usize,
    /// Retries that one host gets before it takes a delivery; after those one more a minute. A
    /// retry beyond counts as a failed try without a call. Default: 20.
    pub push_retries_per_host: u32,
    /// Time that a try to deliver an event may take, whatever the sender allows itself. Default:
    /// 20 s; less than the store's claims of webhooks take to end.
    pub push_timeout: Duration,
    /// Tries to deliver an event to a webhook before it is kept as a dead letter. Default: 20,
    /// which takes about half an hour.
    pub push_attempts: u32,
    /// The longest pause after the first failed try, doubled each time; how much of it is waited
    /// is left to chance. Default: 500 ms.
    pub push_backoff: Duration,
    /// The longest pause between two tries, unless the receiver asks for more. Default: 5 min.
    pub push_backoff_max: Duration,
    /// How long a change may wait for a store that fails, before the task is given up here and
    /// its executor dropped. Default: 20 s.
    pub store_patience: Duration,
    /// How often this node says what it works on, and looks for tasks whose node is gone.
    /// Default: 3 s; less than a third of the store's lease.
    pub lease_renewal: Duration,
    /// How often a cut off run for one message is run again before the task is FAILED, where the
    /// executor wants to be run again. Default: 5.
    pub max_reruns: u64,
    /// How long a task that has ended is kept, with its events and webhooks; `None` keeps it for
    /// good. Default: `None`.
    pub retention: Option<Duration>,
    /// How long a task is kept that waits for its user or for an authorization, with its events
    /// and webhooks; `None` keeps it for good. An executor that waits for as long is dropped.
    /// Default: `None`.
    pub parked_retention: Option<Duration>,
    /// How large a task may grow.
    pub task_limits: TaskLimits,
    /// What one caller may have. Default: no bounds.
    pub caller_limits: CallerLimits,
    /// How long an executor may work on one message. Default: no bounds.
    pub run_limits: RunLimits,
    /// Whether a message with the id of an earlier one joins its task. Deployed clients reuse
    /// ids, hence the default: no.
    pub join_by_message_id: bool,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            cancel_grace: Duration::from_secs(5),
            appear_after: Duration::from_millis(100),
            max_queued_messages: 16,
            max_log_events: 10_000,
            max_log_bytes: 64 << 20,
            max_running: 10_000,
            max_asking: 100_000,
            ask_timeout: Duration::from_secs(3600),
            max_list_bytes: 8 << 20,
            max_parts: 1_000,
            max_push_configs: 20,
            max_push_configs_per_host: 5,
            push_artifacts: false,
            push_concurrency: 64,
            push_concurrency_per_host: 8,
            push_concurrency_per_caller: 16,
            push_retries_per_host: 20,
            push_timeout: Duration::from_secs(20),
            push_attempts: 20,
            push_backoff: Duration::from_millis(500),
            push_backoff_max: Duration::from_secs(300),
            store_patience: Duration::from_secs(20),
            lease_renewal: Duration::from_secs(3),
            max_reruns: 5,
            retention: None,
            parked_retention: None,
            task_limits: TaskLimits::default(),
            caller_limits: CallerLimits::default(),
            run_limits: RunLimits::default(),
            join_by_message_id: false,
        }
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $with:ident: $field:ident: $type:ty,)*) => {
        impl EngineConfig {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $with(mut self, value: $type) -> Self {
                    self.$field = value;
                    self
                }
            )*
        }
    };
}

setters! {
    /// Sets [`cancel_grace`](Self::cancel_grace).
    with_cancel_grace: cancel_grace: Duration,
    /// Sets [`appear_after`](Self::appear_after).
    with_appear_after: appear_after: Duration,
    /// Sets [`max_queued_messages`](Self::max_queued_messages).
    with_max_queued_messages: max_queued_messages: usize,
    /// Sets [`max_log_events`](Self::max_log_events).
    with_max_log_events: max_log_events: usize,
    /// Sets [`max_log_bytes`](Self::max_log_bytes).
    with_max_log_bytes: max_log_bytes: usize,
    /// Sets [`max_running`](Self::max_running).
    with_max_running: max_running: usize,
    /// Sets [`max_asking`](Self::max_asking).
    with_max_asking: max_asking: usize,
    /// Sets [`ask_timeout`](Self::ask_timeout).
    with_ask_timeout: ask_timeout: Duration,
    /// Sets [`max_list_bytes`](Self::max_list_bytes).
    with_max_list_bytes: max_list_bytes: usize,
    /// Sets [`max_parts`](Self::max_parts).
    with_max_parts: max_parts: usize,
    /// Sets [`max_push_configs`](Self::max_push_configs).
    with_max_push_configs: max_push_configs: usize,
    /// Sets [`max_push_configs_per_host`](Self::max_push_configs_per_host).
    with_max_push_configs_per_host: max_push_configs_per_host: usize,
    /// Sets [`push_artifacts`](Self::push_artifacts).
    with_push_artifacts: push_artifacts: bool,
    /// Sets [`push_concurrency`](Self::push_concurrency).
    with_push_concurrency: push_concurrency: usize,
    /// Sets [`push_concurrency_per_host`](Self::push_concurrency_per_host).
    with_push_concurrency_per_host: push_concurrency_per_host: usize,
    /// Sets [`push_concurrency_per_caller`](Self::push_concurrency_per_caller).
    with_push_concurrency_per_caller: push_concurrency_per_caller: usize,
    /// Sets [`push_retries_per_host`](Self::push_retries_per_host).
    with_push_retries_per_host: push_retries_per_host: u32,
    /// Sets [`push_timeout`](Self::push_timeout).
    with_push_timeout: push_timeout: Duration,
    /// Sets [`push_attempts`](Self::push_attempts).
    with_push_attempts: push_attempts: u32,
    /// Sets [`push_backoff`](Self::push_backoff).
    with_push_backoff: push_backoff: Duration,
    /// Sets [`push_backoff_max`](Self::push_backoff_max).
    with_push_backoff_max: push_backoff_max: Duration,
    /// Sets [`store_patience`](Self::store_patience).
    with_store_patience: store_patience: Duration,
    /// Sets [`lease_renewal`](Self::lease_renewal).
    with_lease_renewal: lease_renewal: Duration,
    /// Sets [`max_reruns`](Self::max_reruns).
    with_max_reruns: max_reruns: u64,
    /// Sets [`retention`](Self::retention).
    with_retention: retention: Option<Duration>,
    /// Sets [`parked_retention`](Self::parked_retention).
    with_parked_retention: parked_retention: Option<Duration>,
    /// Sets [`task_limits`](Self::task_limits).
    with_task_limits: task_limits: TaskLimits,
    /// Sets [`caller_limits`](Self::caller_limits).
    with_caller_limits: caller_limits: CallerLimits,
    /// Sets [`run_limits`](Self::run_limits).
    with_run_limits: run_limits: RunLimits,
    /// Sets [`join_by_message_id`](Self::join_by_message_id).
    with_join_by_message_id: join_by_message_id: bool,
}
