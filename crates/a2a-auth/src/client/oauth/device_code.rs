//! Tokens for a user who has a browser elsewhere.

use std::{fmt, sync::Arc, time::Duration};

use a2a_core::v1::{o_auth_flows::Flow, security_scheme::Scheme};
use async_trait::async_trait;
use serde::Deserialize;
use tokio::time::Instant;

use super::{Endpoints, OAuthClient, endpoints::secure};
use crate::client::{CredentialError, CredentialSource, Demand, Secret};

/// Tokens for a user who authorizes the application on another device (RFC 8628).
#[derive(Clone)]
pub struct DeviceCode {
    client: OAuthClient,
    show: Arc<dyn Fn(&DevicePrompt) + Send + Sync>,
}

/// What the user is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DevicePrompt {
    /// The address to open.
    pub verification_uri: String,
    /// The address with the code in it, as for a QR code.
    pub verification_uri_complete: Option<String>,
    /// The code to enter there.
    pub user_code: String,
    /// How long the code can be used.
    pub expires_in: Duration,
}

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// The time between two questions where the server names none, and by how much it grows when
/// that is too short.
const STEP: Duration = Duration::from_secs(5);
/// The most time between two questions.
const LONGEST: Duration = Duration::from_secs(60);
/// The most time that a user is given.
const PATIENCE: Duration = Duration::from_secs(3600);

#[derive(Deserialize)]
struct DeviceAnswer {
    device_code: String,
    user_code: String,
    #[serde(alias = "verification_url")]
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: u64,
    interval: Option<u64>,
}

impl DeviceCode {
    /// Creates a source of tokens for a client; `show` shows users what to do.
    pub fn new(client: OAuthClient, show: impl Fn(&DevicePrompt) + Send + Sync + 'static) -> Self {
        Self { client, show: Arc::new(show) }
    }

    async fn authorize(
        &self,
        endpoints: &Endpoints,
        demand: &Demand,
    ) -> Result<Secret, CredentialError> {
        let missing = CredentialError::Missing("the device authorization URL");
        let url = endpoints.device_authorization.as_ref().ok_or(missing)?;
        let scope = self.client.scope(demand);
        let id = self.client.id.as_str();
        // A client with a secret says its id here all the same.
        let form = [("scope", scope.as_str()), ("client_id", id)];
        let form = if self.client.sends_id() { &form[..1] } else { &form[..] };
        let answer: DeviceAnswer = self.client.post(url, form).await?;
        let expires_in = Duration::from_secs(answer.expires_in).min(PATIENCE);
        let end = Instant::now() + expires_in;
        secure("verification URL", &answer.verification_uri)?;
        if let Some(complete) = &answer.verification_uri_complete {
            secure("verification URL", complete)?;
        }
        (self.show)(&DevicePrompt {
            verification_uri: answer.verification_uri,
            verification_uri_complete: answer.verification_uri_complete,
            user_code: answer.user_code,
            expires_in,
        });
        let interval = answer.interval.map_or(STEP, Duration::from_secs);
        self.wait(endpoints, &answer.device_code, interval, end).await
    }

    /// Asks until the user has decided. A lost connection makes the next question later, as
    /// the standard wants.
    async fn wait(
        &self,
        endpoints: &Endpoints,
        device_code: &str,
        mut interval: Duration,
        end: Instant,
    ) -> Result<Secret, CredentialError> {
        let form = [("grant_type", GRANT), ("device_code", device_code)];
        loop {
            let next = Instant::now() + interval.min(LONGEST);
            if next >= end {
                return Err(CredentialError::TimedOut);
            }
            tokio::time::sleep_until(next).await;
            match self.client.token(&endpoints.token, &form).await {
                Err(CredentialError::Denied { error, description }) => match error.as_str() {
                    "authorization_pending" => {}
                    "slow_down" => interval += STEP,
                    "expired_token" => return Err(CredentialError::TimedOut),
                    _ => return Err(CredentialError::Denied { error, description }),
                },
                Err(CredentialError::Unavailable(_)) => interval = (interval * 2).min(LONGEST),
                decided => return decided,
            }
        }
    }
}

#[async_trait]
impl CredentialSource for DeviceCode {
    fn can_meet(&self, scheme: &Scheme) -> bool {
        self.client.can_meet(scheme, |flow| matches!(flow, Flow::DeviceCode(_)))
    }

    async fn obtain(
        &self,
        demand: &Demand,
        previous: Option<&Secret>,
    ) -> Result<Secret, CredentialError> {
        let endpoints = self.client.endpoints(demand).await?;
        if let Some(secret) = self.client.refresh_if_possible(&endpoints, previous).await? {
            return Ok(secret);
        }
        self.authorize(&endpoints, demand).await
    }
}

impl OAuthClient {
    /// Returns whether every form has the id in it already.
    fn sends_id(&self) -> bool {
        self.secret.is_none() || self.secret_in_body
    }
}

impl fmt::Debug for DeviceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceCode").field("client", &self.client).finish_non_exhaustive()
    }
}
