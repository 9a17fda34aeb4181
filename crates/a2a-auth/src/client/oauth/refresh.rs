//! Tokens that come from tokens.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use a2a_core::v1::security_scheme::Scheme;
use async_trait::async_trait;

use super::{Endpoints, OAuthClient};
use crate::client::{CredentialError, CredentialSource, Demand, Secret};

/// Tokens for a user who authorized the application before: what is renewed with a refresh token
/// (RFC 6749 §6).
///
/// Where the server gives a new refresh token with each token, the newest is used from then on.
pub struct RefreshToken {
    client: OAuthClient,
    newest: Mutex<Secret>,
}

impl RefreshToken {
    /// Creates a source of what an authorization gave, or of a refresh token alone:
    /// `Secret::new("").with_refresh_token(token)`.
    pub fn new(client: OAuthClient, granted: Secret) -> Self {
        Self { client, newest: Mutex::new(granted) }
    }

    /// What was given last: an application that keeps refresh tokens reads the newest here.
    pub fn newest(&self) -> Secret {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl CredentialSource for RefreshToken {
    fn can_meet(&self, scheme: &Scheme) -> bool {
        self.client.can_meet(scheme, |_| true)
    }

    async fn obtain(
        &self,
        demand: &Demand,
        previous: Option<&Secret>,
    ) -> Result<Secret, CredentialError> {
        let newest = self.newest();
        let was_used = previous.is_some_and(|previous| previous.expose() == newest.expose());
        if !was_used && !newest.expose().is_empty() && !newest.is_due() {
            return Ok(newest);
        }
        let endpoints = self.client.endpoints(demand).await?;
        let fresh = self.client.refresh(&endpoints, &newest).await?;
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = fresh.clone();
        Ok(fresh)
    }
}

impl OAuthClient {
    /// Renews a token.
    pub(super) async fn refresh(
        &self,
        endpoints: &Endpoints,
        secret: &Secret,
    ) -> Result<Secret, CredentialError> {
        let token = secret.refresh_token().ok_or(CredentialError::Missing("the refresh token"))?;
        let url = endpoints.refresh.as_ref().unwrap_or(&endpoints.token);
        let form = [("grant_type", "refresh_token"), ("refresh_token", token)];
        Ok(self.token(url, &form).await?.or_refresh_token(token))
    }

    /// Renews a token if that can be done; `None` where the user has to be asked again.
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
            Err(CredentialError::Denied { error, .. }) => {
                tracing::debug!(error, "a token can't be renewed: the user is asked again");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl fmt::Debug for RefreshToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefreshToken").field("client", &self.client).finish_non_exhaustive()
    }
}
