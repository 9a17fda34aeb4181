//! Settings that are never shown, and where else they can be stored.

use std::{borrow::Cow, env, fmt, fs, path::PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// The suffix of a key with the path of a file that has the value.
pub(crate) const FILE_SUFFIX: &str = "_file";

/// Where a secret is: in the settings, in an environment variable, or in a file of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Location {
    Here(String),
    Variable { env: String },
    File { file: PathBuf },
}

impl Location {
    /// Reads the secret.
    ///
    /// # Errors
    ///
    /// Why it can't be read.
    pub(super) fn read(self) -> Result<String, String> {
        match self {
            Self::Here(text) => Ok(text),
            Self::Variable { env: name } => match env::var(&name) {
                Ok(text) if !text.is_empty() => Ok(text),
                Ok(_) => Err(format!("the variable {name} is empty")),
                Err(error) => Err(format!("failed to read the variable {name}: {error}")),
            },
            Self::File { file } => {
                let file_name = file.display();
                let text = fs::read_to_string(&file)
                    .map_err(|error| format!("failed to read {file_name}: {error}"))?;
                match text.trim() {
                    "" => Err(format!("{file_name} is empty")),
                    text => Ok(text.to_owned()),
                }
            }
        }
    }
}

/// A password, token or key.
#[derive(Clone, Deserialize)]
#[serde(try_from = "Location")]
pub(crate) struct Secret(pub(crate) String);

/// An address that may have a password or a token in it.
#[derive(Clone, Deserialize)]
#[serde(try_from = "Location")]
pub(crate) struct Address(pub(crate) String);

impl TryFrom<Location> for Secret {
    type Error = String;

    fn try_from(location: Location) -> Result<Self, Self::Error> {
        location.read().map(Self)
    }
}

impl TryFrom<Location> for Address {
    type Error = String;

    fn try_from(location: Location) -> Result<Self, Self::Error> {
        location.read().map(Self)
    }
}

impl JsonSchema for Secret {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "writeOnly": true, "format": "password" })
    }
}

impl JsonSchema for Address {
    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "writeOnly": true })
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Address")
    }
}

/// Returns whether an address has a password or a token in it. The user of a database is neither.
pub(super) fn has_credentials(address: &str) -> bool {
    address.split(',').any(|one| {
        let Some((scheme, rest)) = one.split_once("://") else { return false };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path_and_query) = rest.split_at(end);
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        let is_database = scheme.trim().to_ascii_lowercase().starts_with("postgres");
        user.is_some_and(|user| !is_database || user.contains(':'))
            || path_and_query.contains("password=")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_addresses_are_recognized() {
        for (address, expected) in [
            ("a2a.db", false),
            ("memory", false),
            ("postgres://me@db/tasks?sslmode=require", false),
            ("postgres://me:secret@db/tasks", true),
            ("postgres://db/tasks?password=secret", true),
            ("nats://bus/weather", false),
            ("nats://bus,tls://token@bus2", true),
        ] {
            assert_eq!(has_credentials(address), expected, "{address}");
        }
    }
}
