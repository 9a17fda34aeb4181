//! The names of states and roles. Names of every revision are accepted.

use a2a_core::{Role, TaskState};

/// Finds a state by its name in any revision, such as `input-required`, `input_required` or
/// `TASK_STATE_INPUT_REQUIRED`.
pub(crate) fn state(name: &str) -> Option<TaskState> {
    Some(match &*plain(name, "task-state-") {
        "submitted" => TaskState::Submitted,
        "working" => TaskState::Working,
        "completed" => TaskState::Completed,
        "failed" => TaskState::Failed,
        "canceled" | "cancelled" => TaskState::Canceled,
        "input-required" => TaskState::InputRequired,
        "rejected" => TaskState::Rejected,
        "auth-required" => TaskState::AuthRequired,
        "unknown" | "unspecified" => TaskState::Unspecified,
        _ => return None,
    })
}

/// Finds a role by its name in any revision.
pub(crate) fn role(name: &str) -> Option<Role> {
    Some(match &*plain(name, "role-") {
        "user" => Role::User,
        "agent" => Role::Agent,
        "unspecified" => Role::Unspecified,
        _ => return None,
    })
}

/// The name of a role before 1.0; empty if unspecified.
pub(crate) fn role_name(role: Role) -> Option<&'static str> {
    match role {
        Role::User => Some("user"),
        Role::Agent => Some("agent"),
        Role::Unspecified => None,
    }
}

fn plain(name: &str, prefix: &str) -> String {
    let name = name.to_ascii_lowercase().replace('_', "-");
    name.strip_prefix(prefix).map(str::to_owned).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_parse_by_name_of_any_revision() {
        for (names, expected) in [
            (&["canceled", "cancelled"][..], TaskState::Canceled),
            (&["TASK_STATE_CANCELED", "TASK_STATE_CANCELLED"], TaskState::Canceled),
            (&["input-required", "input_required"], TaskState::InputRequired),
            (&["TASK_STATE_INPUT_REQUIRED"], TaskState::InputRequired),
            (&["unknown", "TASK_STATE_UNSPECIFIED"], TaskState::Unspecified),
        ] {
            for name in names {
                assert_eq!(state(name), Some(expected), "{name}");
            }
        }
        for name in ["", "running", "pending"] {
            assert_eq!(state(name), None, "{name}");
        }
    }

    #[test]
    fn roles_parse_by_name_of_any_revision() {
        for (name, expected) in
            [("user", Some(Role::User)), ("ROLE_AGENT", Some(Role::Agent)), ("system", None)]
        {
            assert_eq!(role(name), expected, "{name}");
        }
    }
}
