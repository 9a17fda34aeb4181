//! Resource names, which gRPC and the draft use instead of ids: `tasks/{id}` and
//! `tasks/{id}/pushNotificationConfigs/{id}`.

use a2a_core::{Error, Result};

const TASKS: &str = "tasks/";
const CONFIGS: &str = "/pushNotificationConfigs/";

/// The resource name of a task.
pub(crate) fn task_name(id: &str) -> String {
    format!("{TASKS}{id}")
}

/// The resource name of a webhook.
pub(crate) fn config_name(task_id: &str, id: &str) -> String {
    format!("{TASKS}{task_id}{CONFIGS}{id}")
}

/// The id in the resource name of a task. A bare id is also accepted.
pub(crate) fn task_id(name: &str) -> String {
    name.strip_prefix(TASKS).unwrap_or(name).to_owned()
}

/// Splits a name into the task id and the webhook id, if any. A bare id is a task id.
pub(crate) fn split(name: &str) -> (&str, Option<&str>) {
    let path = name.strip_prefix(TASKS).unwrap_or(name);
    match path.split_once(CONFIGS) {
        Some((task_id, id)) => (task_id, Some(id)),
        None => (path, None),
    }
}

/// The ids of task and webhook in the resource name of a webhook. The name of a task means any of
/// its webhooks: the webhook id is empty.
pub(crate) fn ids_of_config(name: &str) -> Result<(String, String)> {
    let rest = name.strip_prefix(TASKS).unwrap_or(name);
    let (task_id, id) = rest.rsplit_once(CONFIGS).unwrap_or((rest, ""));
    if task_id.is_empty() || task_id.ends_with(CONFIGS.trim_end_matches('/')) {
        return Err(Error::invalid_params(
            "name",
            "must be `tasks/{id}/pushNotificationConfigs/{id}`",
        ));
    }
    Ok((task_id.to_owned(), id.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_names_and_bare_ids_are_parsed() {
        for (name, id) in [("tasks/t", "t"), ("t", "t"), ("tasks/a/b", "a/b"), ("", "")] {
            assert_eq!(task_id(name), id, "{name}");
        }
        assert_eq!(task_id(&task_name("t")), "t");
    }

    #[test]
    fn names_and_bare_ids_are_split() {
        assert_eq!(split(&task_name("t")), ("t", None));
        assert_eq!(split("t"), ("t", None));
        assert_eq!(split(&config_name("t", "c")), ("t", Some("c")));
        assert_eq!(split(&config_name("t", "")), ("t", Some("")));
    }

    #[test]
    fn webhook_names_have_two_ids() {
        for (name, ids) in [
            ("tasks/t/pushNotificationConfigs/c", Some(("t", "c"))),
            ("t/pushNotificationConfigs/c", Some(("t", "c"))),
            ("tasks/t/pushNotificationConfigs/", Some(("t", ""))),
            ("tasks/t", Some(("t", ""))),
            ("tasks/t/pushNotificationConfigs", None),
            ("tasks/", None),
            ("", None),
        ] {
            let read = ids_of_config(name).ok();
            let read = read.as_ref().map(|(task_id, id)| (&**task_id, &**id));
            assert_eq!(read, ids, "{name}");
        }
        let name = config_name("t", "c");
        assert_eq!(ids_of_config(&name).unwrap(), ("t".to_owned(), "c".to_owned()));
    }
}
