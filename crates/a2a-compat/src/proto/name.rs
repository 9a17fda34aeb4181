//! Resource names, which these revisions have in the place of ids.

use a2a_core::{Error, Result};

const TASKS: &str = "tasks/";
const CONFIGS: &str = "/pushNotificationConfigs/";

/// The name of a task.
pub(crate) fn task_name(id: &str) -> String {
    format!("{TASKS}{id}")
}

/// The name of a webhook registration.
pub(crate) fn config_name(task_id: &str, id: &str) -> String {
    format!("{TASKS}{task_id}{CONFIGS}{id}")
}

/// The id in the name of a task. A bare id is taken, too.
pub(crate) fn task_id(name: &str) -> String {
    name.strip_prefix(TASKS).unwrap_or(name).to_owned()
}

/// The ids of the task and of the registration in the name of a registration. The name of a task
/// stands for any registration of it: its id is empty then.
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
    fn a_name_holds_ids_and_a_bare_id_is_a_name() {
        for (name, id) in [("tasks/t", "t"), ("t", "t"), ("tasks/a/b", "a/b"), ("", "")] {
            assert_eq!(task_id(name), id, "{name}");
        }
        assert_eq!(task_id(&task_name("t")), "t");
    }

    #[test]
    fn a_name_of_a_registration_holds_two_ids() {
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
