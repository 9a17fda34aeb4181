//! The OAuth client of this tool.

use a2a_kit_client::credentials::{CredentialError, OAuthClient};

use crate::settings::Settings;

/// Creates the client that requests tokens: a confidential one if there is a secret.
///
/// # Errors
///
/// [`CredentialError::Unavailable`] if the TLS configuration is invalid.
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
