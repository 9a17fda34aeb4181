//! Verification of the credentials of a scheme.

use std::{error::Error as StdError, fmt, net::IpAddr, sync::Arc, time::Duration};

use a2a_core::v1::security_scheme::Scheme;
use a2a_kit_operations::Caller;
use async_trait::async_trait;

use super::{RequestCredential, request_credentials::CredentialLocation};

/// Verifies the credentials of a security scheme.
#[async_trait]
pub trait SchemeVerifier: fmt::Debug + Send + Sync + 'static {
    /// Returns whether this verifies credentials of a scheme.
    fn supports(&self, scheme: &Scheme) -> bool;

    /// Returns whether credentials can be found by guessing. Those that can't, such as signatures,
    /// are verified even while their address is throttled. Default: true.
    fn is_guessable(&self) -> bool {
        true
    }

    /// Returns how often the caller of an open stream is verified again, for credentials that can
    /// be revoked before they expire. Default: never.
    ///
    /// The stream ends if the credential is rejected, its subject has changed, or scopes are
    /// missing. It continues while the credential can't be verified.
    fn revalidation_interval(&self) -> Option<Duration> {
        None
    }

    /// Returns the caller of a credential, with its scopes and expiry. The caller must have a
    /// subject.
    ///
    /// Neither the result nor its timing may reveal more about a secret than whether it is valid. A
    /// verifier that takes time decides by the attempt which requests wait.
    ///
    /// # Errors
    ///
    /// [`Rejection`], which is logged and never sent to the peer.
    async fn verify(
        &self,
        credential: &RequestCredential,
        attempt: Attempt,
    ) -> Result<Caller, Rejection>;

    /// Returns the caller of a bearer token for which [`verify`](Self::verify) would return it
    /// without waiting, as the token was verified before; `None`, which is the default, decides
    /// nothing. It is not called if credentials are guessable or revalidated.
    fn known(&self, _token: &str) -> Option<Caller> {
        None
    }
}

/// What a credential is verified for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Attempt {
    /// A request.
    Request {
        /// The address of the client, if it is known.
        client: Option<IpAddr>,
        /// Whether the credentials of the request were verified within the last hour.
        was_verified: bool,
    },
    /// An open stream whose credential was verified when it started.
    Stream,
}

/// Why a credential was rejected.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The credential is invalid. Counts as a failed attempt.
    #[error("{0}")]
    Invalid(&'static str),
    /// The credential has expired.
    #[error("expired")]
    Expired,
    /// The credential is valid, but its subject is unknown.
    #[error("unknown subject")]
    Unknown,
    /// The credential can't be verified at present.
    #[error("verification unavailable")]
    Unavailable(#[source] Arc<dyn StdError + Send + Sync>),
    /// Too many verifications in progress.
    #[error("too many verifications in progress")]
    Overloaded,
}

a2a_core::debug_as_chain!(Rejection);

impl Rejection {
    /// The credential can't be verified at present, for this reason.
    pub fn unavailable(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Unavailable(error.into().into())
    }
}

/// A scheme, the location of its credential, and its verifier.
#[derive(Debug)]
pub(super) struct EnforcedScheme {
    pub(super) name: Arc<str>,
    pub(super) location: CredentialLocation,
    /// Schemes that identify users come first: where a requirement has several schemes, the first
    /// determines the subject.
    pub(super) rank: u8,
    pub(super) verifier: Arc<dyn SchemeVerifier>,
}
