//! Why there is nothing to authenticate with.

use std::{error::Error as StdError, sync::Arc};

use a2a_core::{Error, ErrorKind};

use super::{Origin, UnknownOrigin};

/// Why there is nothing to authenticate with. It has no secrets in it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// No alternative of the card's security requirements can be met.
    #[error("the agent's card requires what there is nothing for: {}", .0.join("; or "))]
    Unmet(Vec<String>),
    /// The interface is at another origin than the card, and was not named.
    #[error(
        "credentials for the agent are for {card}, where its card is, and are not sent to \
         {interface}: with_origin allows that"
    )]
    Elsewhere {
        /// Where the card was read.
        card: Origin,
        /// Where the interface is.
        interface: Origin,
    },
    /// The interface is not encrypted and on another machine.
    #[error("credentials are not sent in clear to {0}")]
    Exposed(Origin),
    /// The text names no origin.
    #[error(transparent)]
    Origin(#[from] UnknownOrigin),
    /// A URL of an authorization server is no HTTPS URL, nor one of this machine.
    #[error("{what} is neither encrypted nor on this machine: {url:?}")]
    Insecure {
        /// Which URL.
        what: &'static str,
        /// The URL.
        url: String,
    },
    /// The card names an authorization server that was not named as trusted.
    #[error("the card's {what} is at {origin}, which was not named as trusted")]
    Untrusted {
        /// Which URL of the card.
        what: &'static str,
        /// Where it is.
        origin: Origin,
    },
    /// The scheme does not say something that the flow needs.
    #[error("{0} is not known: neither the scheme nor the settings have it")]
    Missing(&'static str),
    /// What was configured can't be sent.
    #[error("{0} has characters that can't be sent")]
    Unfit(&'static str),
    /// The authorization server or the user refused (RFC 6749 §5.2).
    #[error("refused with {error:?}{}", description.as_deref().map(|text| format!(": {text}")).unwrap_or_default())]
    Denied {
        /// The code of the refusal.
        error: String,
        /// What the server says about it, up to 200 characters.
        description: Option<String>,
    },
    /// The user did not do their part in time.
    #[error("the user did not authorize it in time")]
    TimedOut,
    /// The redirect does not belong to the request, as by a wrong `state`.
    #[error("the redirect does not belong to the request: {0}")]
    Redirect(&'static str),
    /// The authorization server answered with something else than the standards say.
    #[error("the answer of the authorization server is not usable: {0}")]
    Answer(String),
    /// The authorization server can't be reached, or fails.
    #[error("the authorization server can't be reached")]
    Unavailable(#[source] Arc<dyn StdError + Send + Sync>),
    /// Something that an own source of the application came upon.
    #[error("{0}")]
    Source(#[source] Arc<dyn StdError + Send + Sync>),
}

impl CredentialError {
    /// Wraps a failure of a source of your own.
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
    /// The failure of the call that could not authenticate.
    fn from(error: CredentialError) -> Self {
        let kind = match &error {
            CredentialError::Unavailable(_) => ErrorKind::Unavailable,
            _ => ErrorKind::Unauthenticated,
        };
        Self::new(kind, format!("no credential for the agent: {error}")).with_source(error)
    }
}
