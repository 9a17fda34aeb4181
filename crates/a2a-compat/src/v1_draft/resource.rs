//! Resource names: `tasks/{id}` and `tasks/{id}/pushNotificationConfigs/{id}`.

const TASKS: &str = "tasks/";
const CONFIGS: &str = "/pushNotificationConfigs/";

/// The resource name of a task.
pub(super) fn task(id: &str) -> String {
    format!("{TASKS}{id}")
}

/// The resource name of a push notification config.
pub(super) fn config(task_id: &str, id: &str) -> String {
    format!("{TASKS}{task_id}{CONFIGS}{id}")
}

/// Splits a name into the task id and the config id, if any. A bare id is a task id.
pub(super) fn split(name: &str) -> (&str, Option<&str>) {
    let path = name.strip_prefix(TASKS).unwrap_or(name);
    match path.split_once(CONFIGS) {
        Some((task_id, id)) => (task_id, Some(id)),
        None => (path, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_bare_ids_are_parsed() {
        assert_eq!(split(&task("t")), ("t", None));
        assert_eq!(split("t"), ("t", None));
        assert_eq!(split(&config("t", "c")), ("t", Some("c")));
        assert_eq!(split(&config("t", "")), ("t", Some("")));
    }
}
