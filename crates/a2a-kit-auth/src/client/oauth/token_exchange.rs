//! The token exchange grant.

use std::{future::Future, sync::Arc};

use a2a_core::v1::{o_auth_flows::Flow, security_scheme::Scheme};
use async_trait::async_trait;
use derive_setters::Setters;
use futures_util::{FutureExt as _, future::BoxFuture};

use super::OAuthClient;
use crate::client::{CredentialError, CredentialRequest, CredentialSource, Secret};

/// Exchanges the token of a user for another (RFC 8693): an agent calls other agents on behalf of
/// its caller without forwarding the caller's token.
#[derive(Clone, Setters)]
#[setters(prefix = "with_", generate = false)]
pub struct TokenExchange {
    client: OAuthClient,
    subject: Subject,
    /// Sets the type of the user's token, if it is not an access token, for example
    /// `urn:ietf:params:oauth:token-type:jwt`.
    #[setters(generate, into)]
    subject_type: String,
    actor: Option<Subject>,
}

type Subject = Arc<dyn Fn() -> BoxFuture<'static, Result<Secret, CredentialError>> + Send + Sync>;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

impl TokenExchange {
    /// Creates a source for one user, whose access token `subject` returns when needed. Each user
    /// needs a separate source.
    pub fn new<F>(client: OAuthClient, subject: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Secret, CredentialError>> + Send + 'static,
    {
        Self {
            client,
            subject: Arc::new(move || subject().boxed()),
            subject_type: ACCESS_TOKEN.to_owned(),
            actor: None,
        }
    }

    /// Sets the access token of the actor that acts on behalf of the user.
    #[must_use]
    pub fn with_actor<F>(mut self, actor: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Secret, CredentialError>> + Send + 'static,
    {
        self.actor = Some(Arc::new(move || actor().boxed()));
        self
    }
}

#[async_trait]
impl CredentialSource for TokenExchange {
    fn supports(&self, scheme: &Scheme) -> bool {
        self.client.supports(scheme, |flow| match flow {
            Flow::AuthorizationCode(_) | Flow::ClientCredentials(_) | Flow::DeviceCode(_) => true,
            #[expect(deprecated, reason = "cards may still have this flow")]
            Flow::Implicit(_) | Flow::Password(_) => false,
        })
    }

    async fn obtain(
        &self,
        request: &CredentialRequest,
        _: Option<&Secret>,
    ) -> Result<Secret, CredentialError> {
        let endpoints = self.client.endpoints(request).await?;
        let scope = self.client.scope(request);
        let subject = (self.subject)().await?;
        let mut form = vec![
            ("grant_type", GRANT),
            ("subject_token", subject.expose()),
            ("subject_token_type", &self.subject_type),
            ("requested_token_type", ACCESS_TOKEN),
            ("scope", &scope),
        ];
        let actor = match &self.actor {
            Some(actor) => Some(actor().await?),
            None => None,
        };
        if let Some(actor) = &actor {
            form.extend([("actor_token", actor.expose()), ("actor_token_type", ACCESS_TOKEN)]);
        }
        self.client.token(&endpoints.token, &form).await
    }
}

a2a_core::debug_fields!(TokenExchange { client, .. });
