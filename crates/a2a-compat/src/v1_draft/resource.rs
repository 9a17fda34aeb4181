//! Names of resources: `tasks/{id}` and `tasks/{id}/pushNotificationConfigs/{id}`.

const TASKS: &str = "tasks/";
const CONFIGS: &str = "/pushNotificationConfigs/";

/// The name of a task.
pub(super) fn task(id: &str) -> String {
    format!("{TASKS}{id}")
}

/// The name of a push notification config.
pub(super) fn config(task_id: &str, id: &str) -> String {
    format!("{TASKS}{task_id}{CONFIGS}{id}")
}

/// Splits a name into the id of its task and, if there is one, that of its config. A bare id is
/// one of a task.
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
    fn a_name_holds_the_ids_it_was_made_of_and_a_bare_id_is_a_name() {
        assert_eq!(split(&task("t")), ("t", None));
        assert_eq!(split("t"), ("t", None));
        assert_eq!(split(&config("t", "c")), ("t", Some("c")));
        assert_eq!(split(&config("t", "")), ("t", Some("")));
    }
}
