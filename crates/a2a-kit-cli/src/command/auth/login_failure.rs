//! Why a login failed, as a failure of the command.

use a2a_kit_client::credentials::CredentialError;

use crate::failure::{Code, Failure, chain};

/// Converts an error of an authorization server or of its URLs.
pub(super) fn login_failure(error: &CredentialError) -> Failure {
    let message = format!("login failed: {}", chain(error));
    match error {
        CredentialError::Unavailable(_) => Failure::new(Code::Unreachable, message)
            .with_hint("check the URLs of the authorization server in the card"),
        CredentialError::Denied { error, .. } => {
            let failure = Failure::new(Code::AuthFailed, message);
            match error.as_str() {
                "invalid_client" | "unauthorized_client" => failure.with_hint(
                    "check --client-id, --flow and, for a confidential client, \
                     A2ACLI_CLIENT_SECRET or --client-secret-file",
                ),
                "invalid_scope" => failure.with_hint("check --scope"),
                _ => failure,
            }
        }
        CredentialError::MixedServers { sign_in, receiver, .. } => {
            Failure::new(Code::AuthFailed, message).with_hint(format!(
                "if both belong together, add --oauth-origin {sign_in},{receiver}"
            ))
        }
        CredentialError::TimedOut => Failure::new(
            Code::AuthFailed,
            "login failed: the code expired before the user authorized the login",
        ),
        CredentialError::Missing(_) => {
            Failure::usage(message).with_hint("give the URLs with --token-url and --device-url")
        }
        CredentialError::Insecure { .. } => Failure::new(Code::AuthFailed, message)
            .with_hint("secrets are only sent to https, or to http on this machine"),
        _ => Failure::new(Code::AuthFailed, message),
    }
}
