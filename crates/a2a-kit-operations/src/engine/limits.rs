//! Limits per task, per caller and per run.

use std::{fmt, num::NonZeroUsize, time::Duration};

use a2a_core::{Error, ErrorKind, Result};
use derive_setters::Setters;

use crate::{metrics, store::TaskStore};

/// Limits on the size of a task.
///
/// A client message that exceeds a limit is rejected with `ResourceExhausted`. An executor gets
/// [`UpdateError::Limit`](crate::UpdateError::Limit), and the task is FAILED with that reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct TaskLimits {
    /// Maximum number of messages in the history, of both sides. Default: 10,000.
    pub max_messages: usize,
    /// Maximum bytes of the history, the status message and the metadata of the task, as protobuf.
    /// Default: 64 MiB.
    pub max_history_bytes: usize,
    /// Maximum bytes of all artifacts, as protobuf. Default: 256 MiB.
    pub max_artifact_bytes: usize,
    /// Maximum number of client messages. Default: 1,000.
    pub max_turns: usize,
    /// Maximum bytes of what one run [records](crate::TaskUpdater::once): names and results, as
    /// JSON, and 16 bytes for each of them and for each question. Default: 1 MiB.
    pub max_journal_bytes: usize,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            max_messages: 10_000,
            max_history_bytes: 64 << 20,
            max_artifact_bytes: 256 << 20,
            max_turns: 1_000,
            max_journal_bytes: 1 << 20,
        }
    }
}

/// Limits of the log of an active task. A reader that falls behind restarts from a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct LogLimits {
    /// Maximum number of events. Default: 10,000.
    pub max_events: usize,
    /// Maximum bytes of events, as protobuf. Default: 64 MiB.
    pub max_bytes: usize,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self { max_events: 10_000, max_bytes: 64 << 20 }
    }
}

/// Limits of one caller. Callers are identified by their [subject](crate::Caller::subject),
/// whatever the tenant; all unauthenticated callers count as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_", into)]
pub struct CallerLimits {
    /// Maximum number of running tasks on this node. A task that waits for user input or
    /// authorization does not count. Default: none.
    pub running_tasks: Option<NonZeroUsize>,
    /// Maximum number of unfinished tasks. Default: none.
    pub open_tasks: Option<NonZeroUsize>,
    /// Maximum stored bytes of the caller's tasks and events, checked when a message arrives.
    /// Default: none.
    pub stored_bytes: Option<u64>,
    /// Whether unauthenticated callers are exempt. Default: no.
    #[setters(rename = "with_anonymous_exempt", into = false)]
    pub exempts_anonymous: bool,
}

impl CallerLimits {
    /// The limits of a caller; the subject of an anonymous one is empty.
    #[must_use]
    pub fn of(self, owner: &str) -> Self {
        if self.exempts_anonymous && owner.is_empty() { Self::default() } else { self }
    }

    /// Checks what a store has of an owner against [`stored_bytes`](Self::stored_bytes) and, if
    /// tasks are being created, their number included, against [`open_tasks`](Self::open_tasks).
    ///
    /// # Errors
    ///
    /// `ResourceExhausted` at a limit, and errors of the store.
    pub async fn check_usage(
        self,
        store: &(impl TaskStore + ?Sized),
        owner: &str,
        created: Option<usize>,
    ) -> Result<()> {
        let usage = store.usage(owner).await.map_err(Error::from)?;
        if let (Some(max), Some(created)) = (self.open_tasks, created)
            && usage.open_tasks.saturating_add(created) > max.get()
            // A shared store may not know yet what other nodes ended.
            && store.open_tasks(owner).await.map_err(Error::from)?.saturating_add(created)
                > max.get()
        {
            return Err(exhausted("open tasks", &format!("{max} open tasks"), max));
        }
        if let Some(max) = self.stored_bytes
            && usage.stored_bytes >= max
        {
            return Err(exhausted("stored bytes", &format!("{max} bytes of tasks stored"), max));
        }
        Ok(())
    }
}

/// The rejection of a caller at its limit.
pub(super) fn exhausted(limit: &str, most: &str, max: impl fmt::Display) -> Error {
    metrics::refused("quota");
    Error::new(ErrorKind::ResourceExhausted, format!("a caller may have {most} at a time"))
        .with_metadata("limit", limit)
        .with_metadata("max", max.to_string())
}

/// Limits of one run of an executor. Beyond them the executor is dropped, and the task is FAILED
/// with that reason.
///
/// Both the [engine](crate::EngineConfig::run_limits) and the
/// [executor](crate::AgentExecutor::run_limits) have them; the shorter ones apply. Time spent
/// waiting for user input or authorization does not count.
///
/// ```
/// use std::time::Duration;
///
/// use a2a_kit_operations::{AgentExecutor, BoxError, RequestContext, RunLimits, TaskUpdater};
///
/// struct Planner;
///
/// impl AgentExecutor for Planner {
///     async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
///         Ok(updates.complete("done").await?)
///     }
///
///     fn run_limits(&self) -> RunLimits {
///         RunLimits::default()
///             .with_max_run_time(Duration::from_secs(120))
///             .with_max_silence(Duration::from_secs(20))
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_", into)]
pub struct RunLimits {
    /// Total time for one message. Default: none.
    pub max_run_time: Option<Duration>,
    /// Time without an update of the task. Default: none.
    pub max_silence: Option<Duration>,
}

impl RunLimits {
    /// The shorter limits of both.
    pub(super) fn and(self, other: Self) -> Self {
        let shorter =
            |one: Option<Duration>, two: Option<Duration>| one.into_iter().chain(two).min();
        Self {
            max_run_time: shorter(self.max_run_time, other.max_run_time),
            max_silence: shorter(self.max_silence, other.max_silence),
        }
    }
}
