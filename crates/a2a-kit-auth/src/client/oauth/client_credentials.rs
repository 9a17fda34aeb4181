//! The client credentials grant.

use a2a_core::v1::{o_auth_flows::Flow, security_scheme::Scheme};
use async_trait::async_trait;

use super::OAuthClient;
use crate::client::{CredentialError, CredentialRequest, CredentialSource, Secret};

/// Obtains tokens for the application itself, without a user (RFC 6749 §4.4).
#[derive(Clone, Debug)]
pub struct ClientCredentials {
    client: OAuthClient,
}

impl ClientCredentials {
    /// Creates a source for a client.
    pub fn new(client: OAuthClient) -> Self {
        Self { client }
    }
}

#[async_trait]
impl CredentialSource for ClientCredentials {
    fn supports(&self, scheme: &Scheme) -> bool {
        self.client.supports(scheme, |flow| matches!(flow, Flow::ClientCredentials(_)))
    }

    async fn obtain(
        &self,
        request: &CredentialRequest,
        _: Option<&Secret>,
    ) -> Result<Secret, CredentialError> {
        let endpoints = self.client.endpoints(request).await?;
        self.client.check_mix_up(&endpoints, &endpoints.token, true)?;
        let scope = self.client.scope(request);
        let form = [("grant_type", "client_credentials"), ("scope", &scope)];
        self.client.token(&endpoints.token, &form).await
    }
}
