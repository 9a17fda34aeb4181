//! The flags of `a2a serve` that bound tasks, and what callers keep.

use std::{num::NonZeroUsize, time::Duration};

use a2a_operations::{CallerLimits, RunLimits, TaskLimits};
use clap::Args;

use super::limits::{LIMITS, Limits, at_least_one};
use crate::settings::value;

/// How far tasks may grow, and for how long they may be worked on.
#[derive(Args, Debug)]
#[command(next_help_heading = LIMITS)]
pub(crate) struct TaskBounds {
    /// Most tasks of one caller that have not ended; for callers that have authenticated
    #[arg(long, default_value = "10000", value_name = "N")]
    pub(crate) max_open_tasks: NonZeroUsize,
    /// Most bytes of tasks stored for one caller; for callers that have authenticated
    #[arg(long, default_value = "1GiB", value_name = "BYTES", value_parser = value::bytes)]
    pub(crate) max_stored_bytes: usize,
    /// Most messages in the history of a task
    #[arg(long, default_value_t = 10_000, value_name = "N",
          value_parser = at_least_one::<usize>, hide_short_help = true)]
    pub(crate) max_task_messages: usize,
    /// Largest history of a task, with its metadata
    #[arg(long, default_value = "64MiB", value_name = "BYTES", value_parser = value::bytes,
          hide_short_help = true)]
    pub(crate) max_task_history: usize,
    /// Largest size of the artifacts of a task, all together
    #[arg(long, default_value = "256MiB", value_name = "BYTES", value_parser = value::bytes,
          hide_short_help = true)]
    pub(crate) max_task_artifacts: usize,
    /// Most messages of the client in a task
    #[arg(long, default_value_t = 1_000, value_name = "N",
          value_parser = at_least_one::<usize>, hide_short_help = true)]
    pub(crate) max_task_turns: usize,
    /// Time that the agent may work on one message
    #[arg(long, default_value = "24h", value_name = "DURATION", value_parser = value::duration)]
    pub(crate) max_run_time: Duration,
    /// Time that the agent may work without reporting progress [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) max_silence: Option<Duration>,
}

impl TaskBounds {
    /// How large a task may grow.
    pub(crate) fn of_tasks(&self) -> TaskLimits {
        TaskLimits::default()
            .with_max_messages(self.max_task_messages)
            .with_max_history_bytes(self.max_task_history)
            .with_max_artifact_bytes(self.max_task_artifacts)
            .with_max_turns(self.max_task_turns)
    }

    /// How long the agent may work on a message.
    pub(crate) fn of_runs(&self) -> RunLimits {
        RunLimits::default().with_max_run_time(self.max_run_time).with_max_silence(self.max_silence)
    }

    /// What each caller may have.
    pub(crate) fn of_callers(&self, limits: &Limits) -> CallerLimits {
        CallerLimits::default()
            .with_running_tasks(limits.max_running_tasks)
            .with_open_tasks(self.max_open_tasks)
            .with_stored_bytes(u64::try_from(self.max_stored_bytes).unwrap_or(u64::MAX))
            .with_anonymous_exempt(!limits.limit_anonymous)
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::*;

    #[test]
    fn default_task_limits_are_those_of_the_library() {
        let command = TaskBounds::augment_args(clap::Command::new("a2a"));
        let matches = command.try_get_matches_from(["a2a"]).unwrap();
        let limits = TaskBounds::from_arg_matches(&matches).unwrap();
        assert_eq!(limits.of_tasks(), TaskLimits::default());
    }
}
