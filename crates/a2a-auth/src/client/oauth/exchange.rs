//! Tokens in exchange for others.

use std::{fmt, future::Future, sync::Arc};

use a2a_core::v1::{o_auth_flows::Flow, security_scheme::Scheme};
use async_trait::async_trait;
use futures_util::{FutureExt as _, future::BoxFuture};

use super::OAuthClient;
use crate::client::{CredentialError, CredentialSource, Demand, Secret};

/// Tokens in exchange for the token of a user (RFC 8693): what an agent calls other agents with
/// on behalf of its caller, so that the caller's own token stays with it.
#[derive(Clone)]
pub struct TokenExchange {
    client: OAuthClient,
    subject: Subject,
    subject_type: String,
    actor: Option<Subject>,
}

type Subject = Arc<dyn Fn() -> BoxFuture<'static, Result<Secret, CredentialError>> + Send + Sync>;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

impl TokenExchange {
    /// Creates a source of tokens for the user whose access token `subject` gives when one is
    /// needed. It stands for one user: a client for another one has a source of its own.
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

    /// Says that the user's token is something else than an access token, as
    /// `urn:ietf:params:oauth:token-type:jwt`.
    #[must_use]
    pub fn with_subject_type(mut self, urn: impl Into<String>) -> Self {
        self.subject_type = urn.into();
        self
    }

    /// Says who acts on behalf of the user, by an access token of its own.
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
    fn can_meet(&self, scheme: &Scheme) -> bool {
        self.client.can_meet(scheme, |flow| match flow {
            Flow::AuthorizationCode(_) | Flow::ClientCredentials(_) | Flow::DeviceCode(_) => true,
            #[expect(deprecated, reason = "a flow that cards may still have")]
            Flow::Implicit(_) | Flow::Password(_) => false,
        })
    }

    async fn obtain(&self, demand: &Demand, _: Option<&Secret>) -> Result<Secret, CredentialError> {
        let endpoints = self.client.endpoints(demand).await?;
        let scope = self.client.scope(demand);
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

impl fmt::Debug for TokenExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenExchange").field("client", &self.client).finish_non_exhaustive()
    }
}
