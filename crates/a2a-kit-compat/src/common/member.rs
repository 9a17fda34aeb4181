//! Lenient readers of members that older documents and implementations write in several formats.

use a2a_core::{Role, json, well_known::Timestamp};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

/// Reads an id, which examples of 0.1 also write as a number.
pub(crate) fn id<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "an id: a string or an integer")]
    enum Encoding {
        Text(String),
        Number(i64),
    }
    Ok(match Encoding::deserialize(from)? {
        Encoding::Text(text) => text,
        Encoding::Number(number) => number.to_string(),
    })
}

/// Reads a list of strings, or a single string as a list.
pub(crate) fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a list of strings, or a string")]
    enum Encoding {
        List(Vec<String>),
        One(String),
        Unset(()),
    }
    Ok(match Encoding::deserialize(from)? {
        Encoding::List(list) => list,
        Encoding::One(text) => vec![text],
        Encoding::Unset(()) => Vec::new(),
    })
}

/// Reads a 32-bit integer: a number without fraction, or a decimal string.
pub(crate) fn int32<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "an integer, or a decimal string")]
    enum Encoding {
        Number(f64),
        Text(String),
        Unset(()),
    }
    let number = match Encoding::deserialize(from)? {
        #[expect(clippy::cast_possible_truncation, reason = "integral, and saturating")]
        Encoding::Number(number) if number.fract() == 0.0 => number as i64,
        Encoding::Number(_) => return Err(D::Error::custom("not an integer")),
        Encoding::Text(text) => text.trim().parse().map_err(D::Error::custom)?,
        Encoding::Unset(()) => return Ok(None),
    };
    i32::try_from(number).map(Some).map_err(D::Error::custom)
}

/// Reads a boolean, which is a string in a query.
pub(crate) fn boolean<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "true or false")]
    enum Encoding {
        Boolean(bool),
        Text(String),
        Unset(()),
    }
    match Encoding::deserialize(from)? {
        Encoding::Boolean(boolean) => Ok(Some(boolean)),
        Encoding::Text(text) => text.trim().parse().map(Some).map_err(D::Error::custom),
        Encoding::Unset(()) => Ok(None),
    }
}

/// Reads RFC 3339, as UTC if the time zone is missing. Drops malformed timestamps, so that they do
/// not make a task unreadable.
pub(crate) fn timestamp(value: &Value) -> Option<Timestamp> {
    let text = value.as_str()?;
    let timestamp = parse_timestamp(text);
    if timestamp.is_none() {
        tracing::debug!(text, "malformed timestamp dropped");
    }
    timestamp
}

/// Parses RFC 3339, as UTC if the time zone is missing.
pub(crate) fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    text.parse().ok().or_else(|| format!("{text}Z").parse().ok())
}

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
