//! The device authorization grant.

use std::{sync::Arc, time::Duration};

use a2a_core::v1::{o_auth_flows::Flow, security_scheme::Scheme};
use async_trait::async_trait;
use serde::Deserialize;
use tokio::time::Instant;

use super::{Endpoints, OAuthClient, endpoints::secure};
use crate::client::{CredentialError, CredentialRequest, CredentialSource, Secret};

/// Obtains tokens for a user who authorizes the application on another device (RFC 8628).
#[derive(Clone)]
pub struct DeviceCode {
    client: OAuthClient,
    show: Arc<dyn Fn(&DevicePrompt) + Send + Sync>,
}

/// Instructions for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DevicePrompt {
    /// The URL to open.
    pub verification_uri: String,
    /// The URL including the code, for example for a QR code.
    pub verification_uri_complete: Option<String>,
    /// The code to enter.
    pub user_code: String,
    /// The lifetime of the code.
    pub expires_in: Duration,
}

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Default polling interval, and its increment on `slow_down`.
const INTERVAL_STEP: Duration = Duration::from_secs(5);
const MIN_INTERVAL: Duration = Duration::from_secs(1);
const MAX_INTERVAL: Duration = Duration::from_secs(60);
/// Upper bound of the time to wait for the user.
const MAX_EXPIRES_IN: Duration = Duration::from_secs(3600);

#[derive(Deserialize)]
struct DeviceAuthorizationResponse {
    device_code: String,
    user_code: String,
    #[serde(alias = "verification_url")]
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: u64,
    interval: Option<u64>,
}

impl DeviceCode {
    /// Creates a source for a client. `show` displays the instructions to the user.
    pub fn new(client: OAuthClient, show: impl Fn(&DevicePrompt) + Send + Sync + 'static) -> Self {
        Self { client, show: Arc::new(show) }
    }

    async fn authorize(
        &self,
        endpoints: &Endpoints,
        request: &CredentialRequest,
    ) -> Result<Secret, CredentialError> {
        let missing = CredentialError::Missing("device authorization URL");
        let url = endpoints.device_authorization.as_ref().ok_or(missing)?;
        self.client.check_mix_up(endpoints, url, true)?;
        let scope = self.client.scope(request);
        let id = self.client.id.as_str();
        // A confidential client sends its id here too. `post` adds that of others.
        let form = [("scope", scope.as_str()), ("client_id", id)];
        let adds_id = self.client.secret.is_none() || self.client.secret_in_body;
        let form = if adds_id { &form[..1] } else { &form[..] };
        let response: DeviceAuthorizationResponse = self.client.post(url, form).await?;
        let expires_in = Duration::from_secs(response.expires_in).min(MAX_EXPIRES_IN);
        let end = Instant::now() + expires_in;
        secure("verification URL", &response.verification_uri)?;
        if let Some(complete) = &response.verification_uri_complete {
            secure("verification URL", complete)?;
        }
        (self.show)(&DevicePrompt {
            verification_uri: response.verification_uri,
            verification_uri_complete: response.verification_uri_complete,
            user_code: response.user_code,
            expires_in,
        });
        let interval = response.interval.map_or(INTERVAL_STEP, Duration::from_secs);
        self.poll(endpoints, &response.device_code, bounded(interval), end).await
    }

    /// Polls until the user has decided. The interval doubles after a connection error (RFC 8628
    /// §3.5).
    async fn poll(
        &self,
        endpoints: &Endpoints,
        device_code: &str,
        mut interval: Duration,
        end: Instant,
    ) -> Result<Secret, CredentialError> {
        let form = [("grant_type", GRANT), ("device_code", device_code)];
        loop {
            let next = Instant::now() + interval;
            if next >= end {
                return Err(CredentialError::TimedOut);
            }
            tokio::time::sleep_until(next).await;
            match self.client.token(&endpoints.token, &form).await {
                Err(CredentialError::Denied { error, description }) => match error.as_str() {
                    "authorization_pending" => {}
                    "slow_down" => interval = bounded(interval + INTERVAL_STEP),
                    "expired_token" => return Err(CredentialError::TimedOut),
                    _ => return Err(CredentialError::Denied { error, description }),
                },
                Err(CredentialError::Unavailable(_)) => interval = bounded(interval * 2),
                decided => return decided,
            }
        }
    }
}

/// The authorization server must not make the client poll without a pause, or hardly ever.
fn bounded(interval: Duration) -> Duration {
    interval.clamp(MIN_INTERVAL, MAX_INTERVAL)
}

#[async_trait]
impl CredentialSource for DeviceCode {
    fn supports(&self, scheme: &Scheme) -> bool {
        self.client.supports(scheme, |flow| matches!(flow, Flow::DeviceCode(_)))
    }

    async fn obtain(
        &self,
        request: &CredentialRequest,
        previous: Option<&Secret>,
    ) -> Result<Secret, CredentialError> {
        let endpoints = self.client.endpoints(request).await?;
        if let Some(secret) = self.client.refresh_if_possible(&endpoints, previous).await? {
            return Ok(secret);
        }
        self.authorize(&endpoints, request).await
    }
}

a2a_core::debug_fields!(DeviceCode { client, .. });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_of_the_server_is_bounded() {
        for (seconds, expected) in [(0, 1), (1, 1), (5, 5), (60, 60), (61, 60), (u64::MAX, 60)] {
            let interval = bounded(Duration::from_secs(seconds));
            assert_eq!(interval, Duration::from_secs(expected), "{seconds}");
            assert!(bounded(interval + INTERVAL_STEP) <= MAX_INTERVAL, "{seconds}");
            assert!(bounded(interval * 2) <= MAX_INTERVAL, "{seconds}");
        }
    }
}
