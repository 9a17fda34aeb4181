use serde_json::Value;

/// The state in an event.
pub(super) fn state(data: &Value) -> Option<&str> {
    let status = &data["statusUpdate"]["status"]["state"];
    let status = status.as_str().or_else(|| data["task"]["status"]["state"].as_str());
    status.map(|state| state.trim_start_matches("TASK_STATE_"))
}

/// Whether the task has ended with an event.
pub(super) fn is_terminal(data: &Value) -> bool {
    matches!(state(data), Some("COMPLETED" | "FAILED" | "CANCELED" | "REJECTED"))
}

/// Whether the task waits for its client after an event.
pub(super) fn is_interrupted(data: &Value) -> bool {
    matches!(state(data), Some("INPUT_REQUIRED" | "AUTH_REQUIRED"))
}

/// Whether a task that was read has ended.
pub(super) fn has_ended(task: &Value) -> bool {
    let state = task["status"]["state"].as_str().unwrap_or_default();
    matches!(
        state.trim_start_matches("TASK_STATE_"),
        "COMPLETED" | "FAILED" | "CANCELED" | "REJECTED"
    )
}
