//! The names of roles. Names of every revision are accepted.

use a2a_core::{Role, json};

/// Finds a role by its name in any revision.
pub(crate) fn role(name: &str) -> Option<Role> {
    Some(match &*plain(name, "role-") {
        "user" => Role::User,
        "agent" => Role::Agent,
        "unspecified" => Role::Unspecified,
        // Every sender but the user is the agent's side.
        _ if json::is_response() => Role::Agent,
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
    fn roles_parse_by_name_of_any_revision() {
        for (name, expected) in
            [("user", Some(Role::User)), ("ROLE_AGENT", Some(Role::Agent)), ("system", None)]
        {
            assert_eq!(role(name), expected, "{name}");
        }
    }
}
