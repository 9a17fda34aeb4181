//! Delivers events to webhooks over HTTP.

use std::{
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
    time::{Duration, SystemTime},
};

use a2a_core::{Error, ProtocolVersion, Result, url::Host, v1::TaskPushNotificationConfig};
use a2a_kit_operations::{Delivery, PushError, PushSender, PushSigner, Webhook, trace};
use async_trait::async_trait;
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri,
    header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER},
};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy;

use super::{
    WebhookPolicy,
    resolver::{Lookup, PrivateHost, Resolver, system},
};
use crate::{
    client::{
        TransportError,
        pool::{Pool, PoolSettings},
    },
    content_type, error_body,
    error_log::causes,
    service_parameters,
    tls::ClientTls,
    uri,
};

/// The token that a client registered to validate its notifications.
const NOTIFICATION_TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");

/// The signature of a delivery whose `Authorization` has the credentials of the webhook.
const SIGNATURE: HeaderName = HeaderName::from_static("x-a2a-notification-signature");

/// The trace context of a delivery.
const TRACEPARENT: HeaderName = HeaderName::from_static(trace::TRACEPARENT);
const TRACESTATE: HeaderName = HeaderName::from_static(trace::TRACESTATE);

/// How much of a response is read, in bytes, so that the connection can be reused.
const MAX_RESPONSE_BYTES: usize = 16 << 10;

/// Timeout for reading it.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Idle timeout of pooled connections.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum delay that a receiver may request with `Retry-After`.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// Delivers events to webhooks over HTTP: one attempt per call, with the address checked on
/// connect. Redirects are not followed, and proxies in the environment are not used.
///
/// The body is the event as JSON. Any 2xx means delivered. 408, 425, 429, 5xx and transport errors
/// are transient; all others are permanent. The response body is ignored.
///
/// A delivery contains the token and the credentials registered with the webhook. With a
/// [signer](Self::with_signer) it also contains a signature: as `Authorization: Bearer` if the
/// webhook has no credentials, otherwise as `X-A2A-Notification-Signature`.
#[derive(Clone)]
pub struct Webhooks {
    pool: Pool,
    policy: Arc<WebhookPolicy>,
    lookup: Lookup,
    payload: PayloadFn,
    signer: Option<Arc<dyn PushSigner>>,
}

/// The webhook request of a protocol revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The `Content-Type` of the body.
    pub content_type: HeaderValue,
    /// The value of `A2A-Version`, if the revision has that header.
    pub version: Option<HeaderValue>,
    /// The header for the token of the webhook.
    pub token: HeaderName,
    /// The body.
    pub body: Bytes,
}

impl Payload {
    /// Creates the payload of the current revision.
    pub fn current(delivery: &Delivery) -> Self {
        Self {
            content_type: content_type::A2A_JSON,
            version: Some(HeaderValue::from_static(ProtocolVersion::LATEST.as_str())),
            token: NOTIFICATION_TOKEN,
            body: delivery.event.json(),
        }
    }
}

/// Returns the payload of a delivery; `None` if the revision of the webhook has no such event.
type PayloadFn = Arc<dyn Fn(&Webhook, &Delivery) -> Option<Payload> + Send + Sync>;

impl Webhooks {
    /// Creates a sender.
    ///
    /// # Errors
    ///
    /// [`Internal`](a2a_core::ErrorKind::Internal) if the TLS configuration is invalid.
    pub fn new(policy: WebhookPolicy) -> Result<Self> {
        Self::with_lookup(policy, system())
    }

    fn with_lookup(policy: WebhookPolicy, lookup: Lookup) -> Result<Self> {
        let policy = Arc::new(policy);
        let pool = pool(&policy, &lookup, &ClientTls::new())?;
        let payload: PayloadFn = Arc::new(|_, delivery| Some(Payload::current(delivery)));
        Ok(Self { pool, policy, lookup, payload, signer: None })
    }

    /// Sets the trust anchors and the client certificate for webhooks. Default: those of the
    /// platform, and none.
    ///
    /// # Errors
    ///
    /// [`Internal`](a2a_core::ErrorKind::Internal) if the TLS configuration is invalid.
    pub fn with_tls(mut self, tls: &ClientTls) -> Result<Self> {
        self.pool = pool(&self.policy, &self.lookup, tls)?;
        Ok(self)
    }

    /// Signs every delivery, so that receivers can authenticate the sender.
    #[must_use]
    pub fn with_signer(mut self, signer: impl PushSigner) -> Self {
        self.signer = Some(Arc::new(signer));
        self
    }

    /// Sets the function that creates the payload, by the revision in which the webhook was
    /// registered; events for which it returns `None` are skipped. Default: every receiver gets the
    /// current revision.
    #[must_use]
    pub fn with_payload(
        mut self,
        payload: impl Fn(&Webhook, &Delivery) -> Option<Payload> + Send + Sync + 'static,
    ) -> Self {
        self.payload = Arc::new(payload);
        self
    }
}

fn pool(policy: &Arc<WebhookPolicy>, lookup: &Lookup, tls: &ClientTls) -> Result<Pool> {
    Ok(Pool::new(PoolSettings {
        tls: tls.http_config().map_err(Error::internal)?,
        resolver: Resolver::new(Some(Arc::clone(policy)), Lookup::clone(lookup)),
        // A proxy would resolve names itself and bypass the check.
        proxies: None,
        connect_timeout: policy.timeout,
        idle_timeout: IDLE_TIMEOUT,
        http2_prior_knowledge: false,
        user_agent: HeaderValue::from_static(concat!("a2a-rust/", env!("CARGO_PKG_VERSION"))),
    }))
}

#[async_trait]
impl PushSender for Webhooks {
    async fn check(&self, config: &TaskPushNotificationConfig) -> Result<()> {
        self.policy.check(&config.url)?;
        secrets(config, NOTIFICATION_TOKEN)?;
        Ok(())
    }

    fn destination(&self, config: &TaskPushNotificationConfig) -> String {
        uri::parse(&config.url).map(|url| destination(&url)).unwrap_or_default()
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
            headers.insert(service_parameters::VERSION, version);
        }
        if let Some(trace) = trace::current().or_else(|| webhook.trace.clone()) {
            let value = HeaderValue::try_from(trace.to_string());
            headers.extend(value.ok().map(|value| (TRACEPARENT, value)));
            let state = Some(trace.state()).filter(|state| !state.is_empty());
            let value = state.and_then(|state| HeaderValue::try_from(state).ok());
            headers.extend(value.map(|value| (TRACESTATE, value)));
        }
        if let Some(signer) = &self.signer {
            // Unsigned, it would be rejected permanently.
            let unsigned = |error: Error| PushError::Retry { after: None, source: error.into() };
            let token = signer.sign(webhook, delivery, &payload.body).map_err(unsigned)?;
            let (name, value) = if headers.contains_key(AUTHORIZATION) {
                (SIGNATURE, token)
            } else {
                (AUTHORIZATION, format!("Bearer {token}"))
            };
            headers.insert(name, secret("signature", &value).map_err(unsigned)?);
        }
        let mut request = Request::new(payload.body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = url;
        *request.headers_mut() = headers;
        let response = tokio::time::timeout(self.policy.timeout, self.pool.request(request))
            .await
            .map_err(|elapsed| retry(TransportError::timeout(elapsed)))?
            .map_err(unreachable)?;
        let outcome = delivery_result(response.status(), response.headers());
        let _ = tokio::time::timeout(RESPONSE_TIMEOUT, discard(response.into_body())).await;
        outcome
    }
}

/// Returns the normalized host of a URL; for IPv6 its /64 network, which belongs to one customer.
fn destination(url: &Uri) -> String {
    match uri::host(url) {
        Some(Host::Name(name)) => name.trim_end_matches('.').to_ascii_lowercase(),
        Some(Host::Address(address)) => match address.to_canonical() {
            IpAddr::V4(v4) => v4.to_string(),
            IpAddr::V6(v6) => {
                let [a, b, c, d, ..] = v6.segments();
                format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
        },
        None => String::new(),
    }
}

/// Returns the token and credential headers of a webhook.
fn secrets(config: &TaskPushNotificationConfig, token: HeaderName) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    if !config.token.is_empty() {
        headers.insert(token, secret("token", &config.token)?);
    }
    if let Some(authentication) = &config.authentication
        && !authentication.credentials.is_empty()
    {
        let scheme = &authentication.scheme;
        if scheme.is_empty() || !scheme.bytes().all(is_token) {
            return Err(Error::invalid_params("authentication.scheme", "must name a scheme"));
        }
        let value = format!("{scheme} {}", authentication.credentials);
        headers.insert(AUTHORIZATION, secret("authentication", &value)?);
    }
    Ok(headers)
}

a2a_core::debug_fields!(Webhooks { policy, .. });

fn secret(field: &str, text: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::try_from(text).map_err(|error| {
        Error::invalid_params(field, "must be a valid header value").with_source(error)
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns whether a byte is allowed in an authentication scheme (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Reads a short response to its end. After a longer one the connection is closed.
async fn discard(body: Incoming) {
    let _ = Limited::new(body, MAX_RESPONSE_BYTES).collect().await;
}

fn delivery_result(status: StatusCode, headers: &HeaderMap) -> Result<(), PushError> {
    if status.is_success() {
        return Ok(());
    }
    let source = format!("webhook responded with {status}").into();
    let is_transient = status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS
        );
    Err(if is_transient {
        PushError::Retry { after: retry_after(headers, SystemTime::now()), source }
    } else {
        PushError::Refused { source }
    })
}

fn unreachable(error: legacy::Error) -> PushError {
    if let Some(refused) = causes(&error).find(|cause| cause.is::<PrivateHost>()) {
        return PushError::Refused { source: refused.to_string().into() };
    }
    retry(TransportError::no_response(error))
}

fn retry(error: TransportError) -> PushError {
    PushError::Retry { after: None, source: error.into() }
}

/// Parses `Retry-After`, in seconds or as a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    Some(error_body::retry_delay_at(text, now)?.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_decides_between_retry_and_permanent_failure() {
        let empty = HeaderMap::new();
        for status in [200, 202, 204] {
            assert!(
                delivery_result(StatusCode::from_u16(status).unwrap(), &empty).is_ok(),
                "{status}"
            );
        }
        for (status, retry) in
            [(500, true), (503, true), (429, true), (408, true), (425, true), (301, false)]
                .into_iter()
                .chain([(400, false), (401, false), (404, false), (410, false), (413, false)])
        {
            let error = delivery_result(StatusCode::from_u16(status).unwrap(), &empty).unwrap_err();
            assert_eq!(matches!(error, PushError::Retry { .. }), retry, "{status}");
        }
    }

    #[test]
    fn retry_after_is_parsed_as_seconds_or_date() {
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

    /// A resolver that returns the same addresses for every name.
    fn dns(addresses: &[&str]) -> Lookup {
        let addresses: Vec<std::net::SocketAddr> = addresses
            .iter()
            .map(|address| (address.parse::<IpAddr>().unwrap(), 0).into())
            .collect();
        Arc::new(move |_| {
            let addresses = addresses.clone();
            Box::pin(async move { Ok(addresses) })
        })
    }

    fn webhook(url: String) -> (Webhook, Delivery) {
        let config = TaskPushNotificationConfig { url, ..Default::default() };
        let event = a2a_kit_operations::Event::new(None, a2a_core::v1::StreamResponse::default());
        (config.into(), Delivery { event, task: Arc::default() })
    }

    #[tokio::test]
    async fn name_that_resolves_to_private_addresses_is_refused() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (webhook, delivery) = webhook(format!("http://hooks.example:{port}/"));
        for addresses in [
            &["127.0.0.1"][..],
            &["::ffff:127.0.0.1"],
            &["64:ff9b::7f00:1", "2002:7f00:1::1"],
            &["10.0.0.1", "169.254.169.254", "fd00:ec2::254", "::1"],
        ] {
            let policy = WebhookPolicy::default();
            let webhooks = Webhooks::with_lookup(policy, dns(addresses)).unwrap();
            webhooks.check(&webhook.config).await.unwrap();
            let result = webhooks.deliver(&webhook, &delivery).await;
            assert!(matches!(result, Err(PushError::Refused { .. })), "{addresses:?}: {result:?}");
        }
        // Of several addresses, only the allowed ones are called.
        let policy = WebhookPolicy::default()
            .with_allowed("127.0.0.1".parse().unwrap())
            .with_timeout(Duration::from_secs(5));
        let webhooks =
            Webhooks::with_lookup(policy, dns(&["127.0.0.2", "10.0.0.1", "127.0.0.1"])).unwrap();
        let deliver = webhooks.deliver(&webhook, &delivery);
        let (accepted, result) =
            tokio::join!(async { drop(listener.accept().await.unwrap()) }, deliver,);
        let () = accepted;
        assert!(matches!(result, Err(PushError::Retry { .. })), "{result:?}");
    }

    #[tokio::test]
    async fn unresolved_name_is_retried() {
        let (webhook, delivery) = webhook("http://hooks.example/".into());
        let nothing: Lookup =
            Arc::new(|_| Box::pin(async { Err(std::io::Error::other("no such name")) }));
        for lookup in [dns(&[]), nothing] {
            let webhooks = Webhooks::with_lookup(WebhookPolicy::default(), lookup).unwrap();
            let result = webhooks.deliver(&webhook, &delivery).await;
            assert!(matches!(result, Err(PushError::Retry { .. })), "{result:?}");
        }
    }
}
