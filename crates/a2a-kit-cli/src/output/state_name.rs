//! Names of states.

use a2a_core::TaskState;

/// The short name of a state, for example `INPUT_REQUIRED`.
pub(crate) fn state_name(state: TaskState) -> &'static str {
    let name = state.as_str_name();
    name.strip_prefix("TASK_STATE_").unwrap_or(name)
}
