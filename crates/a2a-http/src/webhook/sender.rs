//! Delivers events to webhooks over HTTP.

use std::{
    error::Error as StdError,
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use a2a_core::{Error, ProtocolVersion, Result, v1::TaskPushNotificationConfig};
use a2a_operations::{Delivery, PushError, PushSender, Webhook};
use async_trait::async_trait;
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER},
};

use super::{
    WebhookPolicy,
    resolver::{CheckedResolver, PrivateHost},
};
use crate::{media, parameters, tls};

/// The token that a client gave to recognise its notifications.
const NOTIFICATION_TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");

/// The longest wait that a receiver may ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// Delivers events to webhooks over HTTP: one try per event, the address checked when the
/// connection is made, redirects and proxies of the environment never followed.
///
/// The body is the event as JSON. Any 2xx counts as delivered. 408, 425, 429, 5xx and failures
/// of the transport may work later; everything else will not.
#[derive(Clone)]
pub struct Webhooks {
    client: reqwest::Client,
    policy: Arc<WebhookPolicy>,
    payload: PayloadFn,
}

/// What is sent to a webhook of some revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The media type of the body.
    pub content_type: HeaderValue,
    /// The value of `A2A-Version`, where the revision has that header.
    pub version: Option<HeaderValue>,
    /// The header that the token of the webhook goes in.
    pub token: HeaderName,
    /// The body.
    pub body: Bytes,
}

impl Payload {
    /// The event as it is, for receivers of the current revision.
    pub fn current(delivery: &Delivery) -> Self {
        Self {
            content_type: media::A2A_JSON,
            version: Some(HeaderValue::from_static(ProtocolVersion::LATEST.as_str())),
            token: NOTIFICATION_TOKEN,
            body: delivery.event.json(),
        }
    }
}

/// Says what is sent to a webhook; nothing where its revision does not speak of such an event.
type PayloadFn = Arc<dyn Fn(&Webhook, &Delivery) -> Option<Payload> + Send + Sync>;

impl Webhooks {
    /// Creates a sender.
    ///
    /// # Errors
    ///
    /// [`Internal`](a2a_core::ErrorKind::Internal) where TLS can't be set up.
    pub fn new(policy: WebhookPolicy) -> Result<Self> {
        let policy = Arc::new(policy);
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::client_config().map_err(Error::internal)?)
            .dns_resolver(CheckedResolver(Arc::clone(&policy)))
            // A proxy would resolve names itself, behind the check.
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(policy.timeout)
            .user_agent(concat!("a2a-rust/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(Error::internal)?;
        let payload: PayloadFn = Arc::new(|_, delivery| Some(Payload::current(delivery)));
        Ok(Self { client, policy, payload })
    }

    /// Says what is sent to a webhook, by the revision in which it was registered; with nothing
    /// the event is passed over. Without this, every receiver gets the current revision.
    #[must_use]
    pub fn with_payload(
        mut self,
        payload: impl Fn(&Webhook, &Delivery) -> Option<Payload> + Send + Sync + 'static,
    ) -> Self {
        self.payload = Arc::new(payload);
        self
    }
}

#[async_trait]
impl PushSender for Webhooks {
    async fn check(&self, config: &TaskPushNotificationConfig) -> Result<()> {
        self.policy.check(&config.url)?;
        secrets(config, NOTIFICATION_TOKEN)?;
        Ok(())
    }

    async fn deliver(&self, webhook: &Webhook, delivery: &Delivery) -> Result<(), PushError> {
        let Some(payload) = (self.payload)(webhook, delivery) else { return Ok(()) };
        let config = &webhook.config;
        let refused = |error: Error| PushError::Refused { source: error.into() };
        // Checked again: the policy may have changed since the config was stored.
        let url = self.policy.check(&config.url).map_err(refused)?;
        let mut headers = secrets(config, payload.token).map_err(refused)?;
        headers.insert(CONTENT_TYPE, payload.content_type);
        if let Some(version) = payload.version {
            headers.insert(parameters::VERSION, version);
        }
        let call = self.client.post(url).headers(headers).body(payload.body);
        let response = call.send().await.map_err(unreachable)?;
        judge(response.status(), response.headers())
    }
}

/// What shows a receiver who sends.
fn secrets(config: &TaskPushNotificationConfig, token: HeaderName) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    if !config.token.is_empty() {
        headers.insert(token, secret("token", &config.token)?);
    }
    if let Some(authentication) = &config.authentication
        && !authentication.credentials.is_empty()
    {
        let value = format!("{} {}", authentication.scheme, authentication.credentials);
        headers.insert(AUTHORIZATION, secret("authentication", &value)?);
    }
    Ok(headers)
}

impl fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhooks").field("policy", &self.policy).finish_non_exhaustive()
    }
}

fn secret(field: &str, text: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::try_from(text).map_err(|error| {
        Error::invalid_params(field, "must be fit for a header").with_source(error)
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn judge(status: StatusCode, headers: &HeaderMap) -> Result<(), PushError> {
    if status.is_success() {
        return Ok(());
    }
    let source = format!("the webhook answered {status}").into();
    let may_work_later = status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS
        );
    Err(if may_work_later {
        PushError::Retry { after: retry_after(headers, SystemTime::now()), source }
    } else {
        PushError::Refused { source }
    })
}

fn unreachable(error: reqwest::Error) -> PushError {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<PrivateHost>() {
            let source = error.to_string().into();
            return PushError::Refused { source };
        }
        cause = error.source();
    }
    // The address may carry what is not for the log.
    PushError::Retry { after: None, source: error.without_url().into() }
}

/// Reads `Retry-After`, in seconds or as a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_whether_another_try_may_work() {
        let empty = HeaderMap::new();
        for status in [200, 202, 204] {
            assert!(judge(StatusCode::from_u16(status).unwrap(), &empty).is_ok(), "{status}");
        }
        for (status, retry) in
            [(500, true), (503, true), (429, true), (408, true), (301, false), (410, false)]
        {
            let error = judge(StatusCode::from_u16(status).unwrap(), &empty).unwrap_err();
            assert_eq!(matches!(error, PushError::Retry { .. }), retry, "{status}");
        }
    }

    #[test]
    fn a_receiver_may_say_when_to_come_back() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (value, seconds) in [
            ("120", Some(120)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("99999999", Some(3600)),
            ("soon", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(value))]);
            assert_eq!(retry_after(&headers, now), seconds.map(Duration::from_secs), "{value}");
        }
    }
}
