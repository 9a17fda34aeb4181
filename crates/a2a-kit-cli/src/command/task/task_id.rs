//! The task that a command is for.

use crate::{failure::Failure, settings::Settings};

/// Returns the task id: the argument, or `--task-id` and its variable.
pub(super) fn task_id(argument: Option<&String>, settings: &Settings) -> Result<String, Failure> {
    match (argument, &settings.task_id) {
        (Some(argument), Some(setting)) if argument != setting => Err(Failure::usage(format!(
            "conflicting task ids: {argument} as the argument, {setting} with --task-id"
        ))),
        (Some(id), _) | (None, Some(id)) => Ok(id.clone()),
        (None, None) => Err(Failure::usage("missing task id")
            .with_hint("give it as the argument, with --task-id or in A2ACLI_TASK_ID")),
    }
}
