//! The OAuth client of this tool, and its secret.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
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
            Self::File(path) => of_file(path).map_err(|error| {
                Failure::usage(format!(
                    "failed to read the client secret in {}: {error}",
                    path.display()
                ))
            })?,
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

/// Reads a secret from a file. A trailing line break is ignored.
fn of_file(path: &Path) -> io::Result<String> {
    let limit = u64::try_from(2 * MAX_LENGTH).unwrap_or(u64::MAX);
    let mut text = String::new();
    File::open(path)?.take(limit).read_to_string(&mut text)?;
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
