use std::time::{Duration, SystemTime};

use a2a_core::{Error, Result};
use a2a_kit_operations::{Delivery, PushSigner, Webhook};
use axum::Router;
use derive_setters::Setters;
use uuid::Uuid;

use super::claims::{Signed, hash, since_epoch};
use crate::jose::{Jwk, JwkSet, SigningKey};

/// Signs webhook deliveries with JSON Web Tokens, which contain the issuer, the webhook URL as
/// audience, the time, the task and a hash of the body.
///
/// All nodes of an agent sign with the same key, or each publishes the keys of all. To rotate a
/// key, first publish the new one ([`with_published`](Self::with_published)), sign with it once
/// receivers have fetched it (about ten minutes), and keep the old one published for as long again.
#[derive(Clone, Setters)]
#[setters(prefix = "with_", generate = false)]
pub struct WebhookSigner {
    issuer: String,
    key: SigningKey,
    published: JwkSet,
    /// Sets the lifetime of tokens. Default: 5 min.
    #[setters(generate)]
    lifetime: Duration,
}

impl WebhookSigner {
    /// Signs with `key`. Receivers know the agent by its issuer: the agent's URL.
    pub fn new(issuer: impl Into<String>, key: SigningKey) -> Self {
        let published = JwkSet::from_iter([key.public().clone()]);
        Self { issuer: issuer.into(), key, published, lifetime: Duration::from_secs(300) }
    }

    /// Publishes a further key: the next or previous one, or that of another node.
    #[must_use]
    pub fn with_published(mut self, key: Jwk) -> Self {
        self.published = self.published.keys().iter().cloned().chain([key]).collect();
        self
    }

    /// The keys that receivers need.
    pub fn jwks(&self) -> &JwkSet {
        &self.published
    }

    /// Serves the keys at [`JWKS_PATH`](crate::jose::JWKS_PATH), without authentication.
    pub fn router(&self) -> Router {
        self.published.router()
    }

    pub(super) fn sign_at(
        &self,
        now: SystemTime,
        webhook: &Webhook,
        delivery: &Delivery,
        body: &[u8],
    ) -> Result<String> {
        let now = since_epoch(now);
        let claims = Signed {
            iss: &self.issuer,
            aud: &webhook.config.url,
            iat: now.as_secs(),
            exp: (now + self.lifetime).as_secs(),
            jti: Uuid::new_v4(),
            task_id: &delivery.task.id,
            request_body_sha256: hash(body),
        };
        let claims = serde_json::to_vec(&claims).map_err(Error::internal)?;
        self.key.token(&claims).map_err(Error::internal)
    }
}

impl PushSigner for WebhookSigner {
    fn sign(&self, webhook: &Webhook, delivery: &Delivery, body: &[u8]) -> Result<String> {
        self.sign_at(SystemTime::now(), webhook, delivery, body)
    }
}

a2a_core::debug_fields!(WebhookSigner { issuer, .. });
