//! Metrics through the `metrics` facade. Without a recorder, nothing is recorded.
//!
//! Label values are few and known at compile time, apart from [`AgentLabel`]: never ids, tenants or
//! subjects. All metrics are listed in `docs/observability.md`.

mod series;

use std::time::{Duration, Instant, SystemTime};

use a2a_core::{Operation, TaskState};
use metrics::{
    Gauge, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};

use self::series::{count, record};
use crate::AgentLabel;
#[cfg(feature = "engine")]
use crate::store::Backlog;
pub(crate) use crate::trace::{DROPPED, OK};

#[doc(hidden)]
pub use self::series::keep_handles;

pub(crate) fn served(
    agent: AgentLabel,
    operation: Operation,
    binding: &'static str,
    revision: &'static str,
    outcome: &'static str,
    time: Duration,
) {
    let operation = operation.name();
    count!(
        agent,
        "a2a_operations_total",
        "operation" => operation,
        "binding" => binding,
        "revision" => revision,
        "outcome" => outcome
    );
    record!(
        time,
        agent,
        "a2a_operation_duration_seconds",
        "operation" => operation,
        "binding" => binding,
        "revision" => revision
    );
}

pub(crate) fn called(
    operation: Operation,
    binding: &'static str,
    outcome: &'static str,
    time: Duration,
) {
    let operation = operation.name();
    count!(
        AgentLabel::NONE,
        "a2a_client_calls_total",
        "operation" => operation,
        "binding" => binding,
        "outcome" => outcome
    );
    record!(
        time,
        AgentLabel::NONE,
        "a2a_client_call_duration_seconds",
        "operation" => operation,
        "binding" => binding
    );
}

/// The reasons of [`refused`].
const REFUSALS: [&str; 11] = [
    "unauthenticated",
    "forbidden",
    "throttled",
    "rate",
    "quota",
    "flood",
    "bodies",
    "responses",
    "connections",
    "handshake",
    "site",
];

/// Counts a request or a connection that was rejected before it reached an operation. `reason` is
/// one of a few fixed words, such as `unauthenticated` or `rate`.
pub fn refused(reason: &'static str) {
    counter!("a2a_refused_total", "reason" => reason).increment(1);
}

/// Counts a request that failed to authenticate. `reason` is one of a few fixed texts, such as
/// `wrong audience`.
pub fn authentication_failed(reason: &'static str) {
    counter!("a2a_authentication_failures_total", "reason" => reason).increment(1);
}

/// Shows when the certificate of the server expires.
pub fn certificate_expiry(not_after: SystemTime) {
    let since = not_after.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    gauge!("a2a_tls_certificate_expiry_seconds").set(since.as_secs_f64());
}

/// Shows whether the server was ready when `/readyz` was last asked.
pub fn ready(is_ready: bool) {
    gauge!("a2a_ready").set(f64::from(u8::from(is_ready)));
}

/// Counts something in a gauge, until dropped.
#[derive(Debug)]
#[must_use]
pub struct Counted(Gauge);

impl Counted {
    fn begin(gauge: Gauge) -> Self {
        gauge.increment(1);
        Self(gauge)
    }

    /// Counts an open connection.
    pub fn connection() -> Self {
        counter!("a2a_connections_total").increment(1);
        Self::begin(gauge!("a2a_connections"))
    }

    /// Counts a command of a wrapped program in a state: `running`, `waiting` for its turn, or
    /// `asking` its caller.
    pub fn command(state: &'static str) -> Self {
        Self::begin(gauge!("a2a_commands", "state" => state))
    }

    /// Counts an open event stream.
    #[cfg(feature = "engine")]
    pub(crate) fn reader(agent: AgentLabel) -> Self {
        Self::begin(gauge!("a2a_stream_readers", agent.labels([])))
    }

    /// Counts a database connection in use.
    pub fn pool_connection() -> Self {
        Self::begin(gauge!("a2a_store_pool_connections_in_use"))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

/// Shows the size of a store, in bytes: of its files or tables, and of what a store in memory keeps.
/// `kind` is a fixed word, such as `sqlite`.
pub fn store_size(kind: &'static str, bytes: u64) {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    gauge!("a2a_store_bytes", "store" => kind).set(number(bytes));
}

/// Counts a call that waits for a database connection, until dropped, and measures the wait.
#[derive(Debug)]
#[must_use]
pub struct PoolWait {
    since: Instant,
    outcome: &'static str,
}

impl PoolWait {
    /// Starts to wait.
    pub fn begin() -> Self {
        gauge!("a2a_store_pool_waiting").increment(1);
        Self { since: Instant::now(), outcome: "abandoned" }
    }

    /// Ends the wait with a connection; if dropped instead, the outcome is `abandoned`.
    pub fn end(mut self) {
        self.outcome = OK;
    }
}

impl Drop for PoolWait {
    fn drop(&mut self) {
        gauge!("a2a_store_pool_waiting").decrement(1);
        histogram!("a2a_store_pool_wait_seconds", "outcome" => self.outcome)
            .record(self.since.elapsed());
    }
}

/// The gauges of a node.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    /// Number of tasks by state.
    pub(crate) states: [usize; STATES.len()],
    /// Tasks leased to this node.
    pub(crate) held: usize,
    /// Queued messages.
    pub(crate) queued: usize,
    /// Lag of the slowest reader, in events.
    pub(crate) lag: u64,
    /// Running and waiting executors.
    pub(crate) running: usize,
    pub(crate) asking: usize,
}

/// Task states as label values.
const STATES: [(TaskState, &str); 9] = [
    (TaskState::Unspecified, "unspecified"),
    (TaskState::Submitted, "submitted"),
    (TaskState::Working, "working"),
    (TaskState::Completed, "completed"),
    (TaskState::Failed, "failed"),
    (TaskState::Canceled, "canceled"),
    (TaskState::InputRequired, "input_required"),
    (TaskState::Rejected, "rejected"),
    (TaskState::AuthRequired, "auth_required"),
];

fn place(state: TaskState) -> usize {
    STATES.iter().position(|(known, _)| *known == state).unwrap_or(0)
}

impl Sample {
    pub(crate) fn count(&mut self, state: TaskState) {
        self.states[place(state)] += 1;
    }

    pub(crate) fn show(&self, agent: AgentLabel) {
        for ((_, state), count) in STATES.iter().zip(self.states) {
            gauge!("a2a_tasks", agent.labels([("state", *state)])).set(number(count));
        }
        gauge!("a2a_tasks_held", agent.labels([])).set(number(self.held));
        gauge!("a2a_messages_queued", agent.labels([])).set(number(self.queued));
        for (state, count) in [("running", self.running), ("asking", self.asking)] {
            gauge!("a2a_executors", agent.labels([("state", state)])).set(number(count));
        }
        let lag = number(usize::try_from(self.lag).unwrap_or(usize::MAX));
        gauge!("a2a_log_lag_events", agent.labels([])).set(lag);
    }
}

pub(crate) fn changed_state(agent: AgentLabel, state: TaskState) {
    let state = STATES[place(state)].1;
    count!(agent, "a2a_task_transitions_total", "state" => state);
}

pub(crate) fn executed(agent: AgentLabel, outcome: &'static str, time: Duration) {
    count!(agent, "a2a_executions_total", "outcome" => outcome);
    record!(time, agent, "a2a_execution_duration_seconds");
}

/// Counts a task that was taken over; `next` is what happens to it.
pub(crate) fn took_over(agent: AgentLabel, next: &'static str) {
    counter!("a2a_lease_takeovers_total", agent.labels([("next", next)])).increment(1);
}

pub(crate) fn lost_lease(agent: AgentLabel) {
    counter!("a2a_leases_lost_total", agent.labels([])).increment(1);
}

pub(crate) fn delivered(agent: AgentLabel, outcome: &'static str, time: Duration) {
    count!(agent, "a2a_webhook_deliveries_total", "outcome" => outcome);
    record!(time, agent, "a2a_webhook_delivery_duration_seconds");
}

/// Counts a delivery postponed by a concurrency limit.
pub(crate) fn postponed(agent: AgentLabel) {
    count!(agent, "a2a_webhook_deliveries_total", "outcome" => "postponed");
}

#[cfg(feature = "engine")]
pub(crate) fn outbox(agent: AgentLabel, backlog: Backlog) {
    let webhooks = usize::try_from(backlog.webhooks).unwrap_or(usize::MAX);
    gauge!("a2a_outbox_webhooks", agent.labels([])).set(number(webhooks));
    gauge!("a2a_outbox_overdue_seconds", agent.labels([])).set(backlog.overdue);
}

pub(crate) fn stored(call: &'static str, outcome: &'static str, time: Duration) {
    if outcome != OK {
        count!(AgentLabel::NONE, "a2a_store_errors_total", "call" => call, "kind" => outcome);
    }
    record!(time, AgentLabel::NONE, "a2a_store_call_duration_seconds", "call" => call);
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
fn number(count: usize) -> f64 {
    count as f64
}

/// Describes all metrics to the recorder. Call it once, after installing the recorder.
pub fn describe() {
    let counters = [
        ("a2a_operations_total", "Operations served"),
        ("a2a_client_calls_total", "Attempts to call operations of other agents"),
        ("a2a_connections_total", "Connections accepted"),
        ("a2a_refused_total", "Requests and connections rejected before an operation"),
        ("a2a_authentication_failures_total", "Requests that failed to authenticate, by reason"),
        ("a2a_task_transitions_total", "Task state transitions, by new state"),
        ("a2a_executions_total", "Executor runs, by outcome"),
        ("a2a_lease_takeovers_total", "Tasks taken over from other nodes"),
        ("a2a_leases_lost_total", "Leases lost to other nodes"),
        ("a2a_webhook_deliveries_total", "Webhook delivery attempts"),
        ("a2a_store_errors_total", "Failed store calls"),
    ];
    for (name, text) in counters {
        describe_counter!(name, text);
    }
    // From the start, so that the rate of a counter has its first event.
    counter!("a2a_connections_total").increment(0);
    counter!("a2a_leases_lost_total").increment(0);
    let series: [(&'static str, &'static str, &[&'static str]); 5] = [
        ("a2a_refused_total", "reason", &REFUSALS),
        (
            "a2a_executions_total",
            "outcome",
            &["returned", "failed", "panicked", "expired", DROPPED],
        ),
        ("a2a_lease_takeovers_total", "next", &["rerun", "failed", "left"]),
        ("a2a_webhook_deliveries_total", "outcome", &["delivered", "retried", "dead", "postponed"]),
        ("a2a_task_transitions_total", "state", &STATES.map(|(_, state)| state)),
    ];
    for (name, label, values) in series {
        for value in values {
            counter!(name, label => *value).increment(0);
        }
    }
    gauge!("a2a_connections").increment(0);
    gauge!("a2a_stream_readers").increment(0);
    let histograms = [
        ("a2a_operation_duration_seconds", "Duration of served operations"),
        ("a2a_client_call_duration_seconds", "Duration of client calls"),
        ("a2a_execution_duration_seconds", "Duration of executor runs"),
        ("a2a_webhook_delivery_duration_seconds", "Duration of webhook delivery attempts"),
        ("a2a_store_call_duration_seconds", "Duration of store calls"),
        ("a2a_store_pool_wait_seconds", "Wait for a pooled connection"),
    ];
    for (name, text) in histograms {
        describe_histogram!(name, Unit::Seconds, text);
    }
    let gauges = [
        ("a2a_connections", Unit::Count, "Open connections"),
        (
            "a2a_tls_certificate_expiry_seconds",
            Unit::Seconds,
            "Expiry of the server certificate, since the Unix epoch",
        ),
        ("a2a_ready", Unit::Count, "Whether the server was ready at the last check of /readyz"),
        ("a2a_stream_readers", Unit::Count, "Open event streams"),
        ("a2a_tasks", Unit::Count, "Active tasks, by state"),
        ("a2a_tasks_held", Unit::Count, "Tasks leased to this node"),
        ("a2a_messages_queued", Unit::Count, "Queued messages"),
        ("a2a_executors", Unit::Count, "Executors, running or waiting for input"),
        ("a2a_log_lag_events", Unit::Count, "Lag of the slowest reader"),
        ("a2a_commands", Unit::Count, "Commands of wrapped programs, by state"),
        ("a2a_store_bytes", Unit::Bytes, "Size of the store"),
        ("a2a_store_pool_connections_in_use", Unit::Count, "Pooled connections in use"),
        ("a2a_store_pool_waiting", Unit::Count, "Calls waiting for a pooled connection"),
        ("a2a_outbox_webhooks", Unit::Count, "Webhooks with pending events"),
        ("a2a_outbox_overdue_seconds", Unit::Seconds, "Age of the oldest due webhook delivery"),
    ];
    for (name, unit, text) in gauges {
        describe_gauge!(name, unit, text);
    }
}
