//! Errors of selecting and obtaining credentials.

use std::{error::Error as StdError, sync::Arc};

use a2a_core::{Error, ErrorKind, ParseError};

use super::Origin;

/// Why no credentials are available. Contains no secrets.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// No alternative of the card's security requirements can be satisfied.
    #[error(
       "no configured credentials satisfy the agent's security requirements: {}", .0.join("; or ")
    )]
    Unsatisfied(Vec<String>),
    /// The interface has another origin than the card, and is not allowed.
    #[error(
        "credentials for {card}, the origin of the card, are not sent to {interface}: allow it \
        with `with_trusted_origin`"
    )]
    CrossOrigin {
        /// The origin of the card.
        card: Origin,
        /// The origin of the interface.
        interface: Origin,
    },
    /// The interface is neither encrypted nor local.
    #[error("credentials are not sent in plaintext to {0}")]
    Plaintext(Origin),
    /// The interface URL has no valid origin.
    #[error(transparent)]
    Origin(#[from] ParseError),
    /// A URL of an authorization server is neither https nor http with a loopback host.
    #[error("{what} {url:?} must be https, or http with a loopback host")]
    Insecure {
        /// Which URL.
        what: &'static str,
        /// The URL.
        url: String,
    },
    /// The card names an authorization server that is not trusted.
    #[error("{what} of the card has the untrusted origin {origin}")]
    Untrusted {
        /// Which URL of the card.
        what: &'static str,
        /// The origin of the URL.
        origin: Origin,
    },
    /// The card combines authorization servers: another one than that of the sign-in would receive
    /// what the user authorizes there.
    #[error("the sign-in is at {sign_in}, but the {what} of the card is at {receiver}")]
    MixedServers {
        /// Where the user signs in.
        sign_in: Origin,
        /// Which URL of the card.
        what: &'static str,
        /// The origin of that URL.
        receiver: Origin,
    },
    /// A value that the flow needs is missing.
    #[error("{0} is neither in the security scheme nor configured")]
    Missing(&'static str),
    /// A configured value can't be encoded in a request.
    #[error("invalid characters in {0}")]
    InvalidCharacters(&'static str),
    /// The authorization server or the user denied the request (RFC 6749 §5.2).
    #[error("denied with {error:?}{}", description.as_deref().map(|text| format!(": {text}")).unwrap_or_default())]
    Denied {
        /// The error code.
        error: String,
        /// The server's description, up to 200 characters.
        description: Option<String>,
    },
    /// The user did not respond in time.
    #[error("timed out waiting for the user's authorization")]
    TimedOut,
    /// The redirect does not match the authorization request, for example its `state`.
    #[error("redirect does not match the authorization request: {0}")]
    Redirect(&'static str),
    /// The response of the authorization server is malformed.
    #[error("invalid response from the authorization server: {0}")]
    InvalidResponse(String),
    /// The authorization server is unreachable or failing.
    #[error("authorization server unavailable")]
    Unavailable(#[source] Arc<dyn StdError + Send + Sync>),
    /// The error of an application-defined source.
    #[error("{0}")]
    Source(#[source] Arc<dyn StdError + Send + Sync>),
}

a2a_core::debug_as_chain!(CredentialError);

impl CredentialError {
    /// Wraps an error of an application-defined source.
    pub fn source_failed(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Source(error.into().into())
    }

    pub(super) fn unavailable(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Unavailable(error.into().into())
    }

    pub(super) fn denied(error: &str) -> Self {
        Self::Denied { error: error.to_owned(), description: None }
    }
}

impl From<CredentialError> for Error {
    /// The error of the call that needed the credential.
    fn from(error: CredentialError) -> Self {
        let kind = match &error {
            CredentialError::Unavailable(_) => ErrorKind::Unavailable,
            _ => ErrorKind::Unauthenticated,
        };
        Self::new(kind, format!("no credential for the agent: {error}")).with_source(error)
    }
}
