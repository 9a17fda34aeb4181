//! The OAuth client of this tool, and its secret.

use std::{
    fs::File,
    io::{self, Read},
    path::PathBuf,
};

use a2a_kit_client::credentials::{CredentialError, OAuthClient};
use serde::{Deserialize, Serialize};

use crate::{failure::Failure, settings::Settings};

/// Where the secret of the client is. The secret itself is not stored.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ClientSecret {
    /// The variable `A2ACLI_CLIENT_SECRET`.
    Environment,
    File(PathBuf),
}

/// Maximum length of a secret, in bytes.
const MAX_LENGTH: usize = 1 << 12;

impl ClientSecret {
    /// Reads the secret.
    pub(crate) fn read(&self, settings: &Settings) -> Result<String, Failure> {
        let secret = match self {
            Self::Environment => settings.client_secret.clone().ok_or_else(|| {
                Failure::usage("the client secret is missing: set A2ACLI_CLIENT_SECRET")
            })?,
            Self::File(path) => {
                let secret = File::open(path).and_then(|file| read_secret(file, MAX_LENGTH));
                secret.map_err(|error| {
                    Failure::usage(format!(
                        "failed to read the client secret in {}: {error}",
                        path.display()
                    ))
                })?
            }
        };
        if secret.is_empty() || secret.len() > MAX_LENGTH || secret.contains(char::is_control) {
            return Err(Failure::usage(format!(
                "invalid client secret in {self} (expected 1 to {MAX_LENGTH} bytes without control \
                 characters)"
            )));
        }
        Ok(secret)
    }
}

impl std::fmt::Display for ClientSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Environment => f.write_str("A2ACLI_CLIENT_SECRET"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// Reads a secret of at most `max` bytes, or the start of a longer text. A trailing line break is
/// ignored.
pub(crate) fn read_secret(reader: impl Read, max: usize) -> io::Result<String> {
    let mut text = String::new();
    let limit = u64::try_from(2 * max).unwrap_or(u64::MAX);
    reader.take(limit).read_to_string(&mut text)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

/// Creates the client that requests tokens: a confidential one if there is a secret.
/// Errors: [`CredentialError::Unavailable`] if the TLS configuration is invalid.
pub(crate) fn client(
    settings: &Settings,
    id: &str,
    secret: Option<String>,
) -> Result<OAuthClient, CredentialError> {
    let client = match secret {
        Some(secret) => OAuthClient::confidential(id, secret),
        None => OAuthClient::public(id),
    };
    client?.with_tls(settings.tls.clone())
}
