//! Sources of secrets.

use std::{fmt, sync::Arc};

use a2a_core::v1::security_scheme::Scheme;
use async_trait::async_trait;

use super::{CredentialError, Origin, Secret};

/// A source of secrets for security schemes: a setting, a vault, an authorization server.
///
/// Secrets are cached until they expire or are rejected. There is at most one concurrent call of
/// [`obtain`](Self::obtain) per agent and scheme; all requests wait for its result.
#[async_trait]
pub trait CredentialSource: fmt::Debug + Send + Sync + 'static {
    /// Returns whether the source has secrets for a scheme, without I/O.
    fn supports(&self, scheme: &Scheme) -> bool;

    /// Obtains a secret: for an API key scheme the key, for an HTTP scheme the credentials that
    /// follow the scheme name in `Authorization`, and for OAuth 2.0 and OpenID Connect the token.
    ///
    /// `previous` is a secret that expires soon, has expired or was rejected. If a rejected value
    /// is returned again, the request is not retried.
    ///
    /// # Errors
    ///
    /// [`CredentialError`], which becomes the error of the call that needs the secret.
    ///
    /// # Cancel safety
    ///
    /// The future is shared by all waiting requests. When all of them are dropped, it is suspended
    /// until the next request needs the secret.
    async fn obtain(
        &self,
        request: &CredentialRequest,
        previous: Option<&Secret>,
    ) -> Result<Secret, CredentialError>;
}

/// What a secret is needed for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CredentialRequest {
    /// The agent's origin, the only one that the secret is sent to.
    pub origin: Origin,
    /// The name of the scheme in the card.
    pub name: String,
    /// The scheme itself.
    pub scheme: Scheme,
    /// The scopes that the card requires.
    pub scopes: Vec<String>,
}

impl CredentialRequest {
    /// Creates a request, for code that calls a source itself.
    pub fn new(origin: Origin, name: impl Into<String>, scheme: Scheme) -> Self {
        Self { origin, name: name.into(), scheme, scopes: Vec::new() }
    }

    /// Sets the scopes.
    #[must_use]
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item: Into<String>>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }
}

/// A source, and the name of its scheme unless it is for any.
#[derive(Clone, Debug)]
pub(super) struct RegisteredSource {
    pub(super) name: Option<String>,
    pub(super) source: Arc<dyn CredentialSource>,
    /// Distinguishes sources in the cache.
    pub(super) number: u64,
}
