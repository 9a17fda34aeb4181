//! The refresh token grant.

use std::sync::{Mutex, PoisonError};

use a2a_core::v1::security_scheme::Scheme;
use async_trait::async_trait;

use super::{Endpoints, OAuthClient};
use crate::client::{CredentialError, CredentialRequest, CredentialSource, Secret};

/// Obtains tokens with a refresh token of a user who has already authorized the application
/// (RFC 6749 §6).
///
/// If the server rotates refresh tokens, the newest is used.
pub struct RefreshToken {
    client: OAuthClient,
    newest: Mutex<Secret>,
}

impl RefreshToken {
    /// Creates a source from the secret of a grant, or from a refresh token alone:
    /// `Secret::new("").with_refresh_token(token)`.
    pub fn new(client: OAuthClient, granted: Secret) -> Self {
        Self { client, newest: Mutex::new(granted) }
    }

    /// The newest secret, for applications that persist refresh tokens.
    pub fn newest(&self) -> Secret {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl CredentialSource for RefreshToken {
    fn supports(&self, scheme: &Scheme) -> bool {
        self.client.supports(scheme, |_| true)
    }

    async fn obtain(
        &self,
        request: &CredentialRequest,
        previous: Option<&Secret>,
    ) -> Result<Secret, CredentialError> {
        let newest = self.newest();
        let is_previous = previous.is_some_and(|previous| previous.expose() == newest.expose());
        if !is_previous && !newest.expose().is_empty() && !newest.is_due() {
            return Ok(newest);
        }
        let endpoints = self.client.endpoints(request).await?;
        let fresh = self.client.refresh(&endpoints, &newest).await?;
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = fresh.clone();
        Ok(fresh)
    }
}

impl OAuthClient {
    /// Refreshes a token.
    pub(super) async fn refresh(
        &self,
        endpoints: &Endpoints,
        secret: &Secret,
    ) -> Result<Secret, CredentialError> {
        let token = secret.refresh_token().ok_or(CredentialError::Missing("refresh token"))?;
        let url = endpoints.refresh.as_ref().unwrap_or(&endpoints.token);
        self.check_issued_by(secret, url)?;
        let form = [("grant_type", "refresh_token"), ("refresh_token", token)];
        Ok(self.token(url, &form).await?.or_refresh_token(token))
    }

    /// Refreshes a token if possible; `None` if the user has to authorize again.
    pub(super) async fn refresh_if_possible(
        &self,
        endpoints: &Endpoints,
        previous: Option<&Secret>,
    ) -> Result<Option<Secret>, CredentialError> {
        let Some(previous) = previous.filter(|secret| secret.refresh_token().is_some()) else {
            return Ok(None);
        };
        match self.refresh(endpoints, previous).await {
            Ok(secret) => Ok(Some(secret)),
            Err(
                error @ (CredentialError::Denied { .. } | CredentialError::MixedServers { .. }),
            ) => {
                tracing::debug!(%error, "token refresh denied, authorizing again");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

a2a_core::debug_fields!(RefreshToken { client, .. });
