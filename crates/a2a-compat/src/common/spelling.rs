//! The names of states and roles. Every revision has its own; every reader takes all.

use a2a_core::{Role, TaskState};

/// Finds the state of a name in any revision: `input-required`, `input_required` and
/// `TASK_STATE_INPUT_REQUIRED` alike.
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

/// Finds the role of a name in any revision.
pub(crate) fn role(name: &str) -> Option<Role> {
    Some(match &*plain(name, "role-") {
        "user" => Role::User,
        "agent" => Role::Agent,
        "unspecified" => Role::Unspecified,
        _ => return None,
    })
}

/// The name of a role in every revision before 1.0; none where it is not said.
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
    fn a_state_is_known_by_its_name_in_every_revision() {
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
    fn a_role_is_known_by_its_name_in_every_revision() {
        for (name, expected) in
            [("user", Some(Role::User)), ("ROLE_AGENT", Some(Role::Agent)), ("system", None)]
        {
            assert_eq!(role(name), expected, "{name}");
        }
    }
}
