//! Verification of the credentials of a scheme.

use std::{error::Error as StdError, fmt, sync::Arc, time::Duration};

use a2a_core::v1::security_scheme::Scheme;
use a2a_kit_operations::Caller;
use async_trait::async_trait;

use super::RequestCredential;

/// Verifies the credentials of a security scheme.
#[async_trait]
pub trait Verifier: fmt::Debug + Send + Sync + 'static {
    /// Returns whether this verifies credentials of a scheme.
    fn supports(&self, scheme: &Scheme) -> bool;

    /// Returns whether credentials can be found by guessing. Those that can't, such as signatures,
    /// are verified even while their address is throttled.
    fn is_guessable(&self) -> bool;

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
    /// Neither the result nor its timing may reveal more about a secret than whether it is valid.
    ///
    /// # Errors
    ///
    /// [`Rejection`], which is logged and never sent to the peer.
    async fn verify(&self, credential: &RequestCredential) -> Result<Caller, Rejection>;
}

#[async_trait]
impl<V: Verifier + ?Sized> Verifier for Arc<V> {
    fn supports(&self, scheme: &Scheme) -> bool {
        (**self).supports(scheme)
    }

    fn is_guessable(&self) -> bool {
        (**self).is_guessable()
    }

    fn revalidation_interval(&self) -> Option<Duration> {
        (**self).revalidation_interval()
    }

    async fn verify(&self, credential: &RequestCredential) -> Result<Caller, Rejection> {
        (**self).verify(credential).await
    }
}

/// Why a credential was rejected.
#[derive(Debug, thiserror::Error)]
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
    Unavailable(#[source] Box<dyn StdError + Send + Sync>),
    /// Too many verifications in progress.
    #[error("too many verifications in progress")]
    Overloaded,
}
