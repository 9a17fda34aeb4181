//! Where secrets come from.

use std::fmt;

use a2a_core::v1::security_scheme::Scheme;
use async_trait::async_trait;

use super::{CredentialError, Origin, Secret};

/// Where secrets for security schemes come from: a setting, a vault, an authorization server.
///
/// Implement it for a source of your own. What it gives is kept until it ends or is refused, and
/// [`obtain`](Self::obtain) runs at most once at a time for one agent and scheme, whoever waits
/// for it.
#[async_trait]
pub trait CredentialSource: fmt::Debug + Send + Sync + 'static {
    /// Returns whether a scheme can be met, without asking anybody.
    fn can_meet(&self, scheme: &Scheme) -> bool;

    /// Obtains a secret. For an API key it is the key, for an HTTP scheme what stands behind the
    /// name of the scheme in `Authorization`, and for OAuth 2.0 and OpenID Connect the token.
    ///
    /// `previous` is the one that ends soon, has ended or was refused. Where the same value comes
    /// again, a refusal stands and no request is made again.
    ///
    /// # Errors
    ///
    /// [`CredentialError`], which becomes the error of the call that needs the secret.
    ///
    /// # Cancel safety
    ///
    /// Whoever waits may go away; then it stands still until the next request needs the secret,
    /// and goes on from there.
    async fn obtain(
        &self,
        demand: &Demand,
        previous: Option<&Secret>,
    ) -> Result<Secret, CredentialError>;
}

/// What a secret is wanted for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Demand {
    /// Where the agent is: the only origin that the secret is sent to.
    pub origin: Origin,
    /// The name of the scheme in the card.
    pub name: String,
    /// The scheme itself.
    pub scheme: Scheme,
    /// The scopes that the card requires with it.
    pub scopes: Vec<String>,
}

impl Demand {
    /// Creates a demand, for code that obtains secrets by itself.
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
