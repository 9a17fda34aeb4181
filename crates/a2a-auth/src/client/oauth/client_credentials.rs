//! Tokens for the application itself.

use a2a_core::v1::{o_auth_flows::Flow, security_scheme::Scheme};
use async_trait::async_trait;

use super::OAuthClient;
use crate::client::{CredentialError, CredentialSource, Demand, Secret};

/// Tokens for the application itself, without a user (RFC 6749 §4.4).
#[derive(Clone, Debug)]
pub struct ClientCredentials {
    client: OAuthClient,
}

impl ClientCredentials {
    /// Creates a source of tokens for a client.
    pub fn new(client: OAuthClient) -> Self {
        Self { client }
    }
}

#[async_trait]
impl CredentialSource for ClientCredentials {
    fn can_meet(&self, scheme: &Scheme) -> bool {
        self.client.can_meet(scheme, |flow| matches!(flow, Flow::ClientCredentials(_)))
    }

    async fn obtain(&self, demand: &Demand, _: Option<&Secret>) -> Result<Secret, CredentialError> {
        let endpoints = self.client.endpoints(demand).await?;
        let scope = self.client.scope(demand);
        let form = [("grant_type", "client_credentials"), ("scope", &scope)];
        self.client.token(&endpoints.token, &form).await
    }
}
