use std::{
    result::Result as StdResult,
    time::{Duration, SystemTime},
};

use a2a_core::{Result, v1::StreamResponse};
use a2a_kit_http::content_type;
use a2a_kit_operations::Event;
use derive_setters::Setters;
use http::{HeaderMap, HeaderName, header::AUTHORIZATION};
use subtle::ConstantTimeEq as _;

use super::{
    ReceiveError,
    claims::{Claims, hash, since_epoch},
    replay_cache::ReplayCache,
};
use crate::jose::{KeySource, MissingKey, SignedToken};

/// The token of the push notification config, under the name of earlier revisions and most SDKs, and
/// that of the Go SDK.
const NOTIFICATION_TOKENS: [HeaderName; 2] = [
    HeaderName::from_static("x-a2a-notification-token"),
    HeaderName::from_static("a2a-notification-token"),
];
/// The signature, if `Authorization` carries the credentials of the webhook.
const SIGNATURE: HeaderName = HeaderName::from_static("x-a2a-notification-signature");

/// Tolerated clock skew.
const LEEWAY: Duration = Duration::from_secs(60);
const REPLAY_CACHE_CAPACITY: usize = 100_000;
/// Maximum length of a token id (`jti`), in bytes.
const MAX_ID: usize = 256;

/// Verifies webhook deliveries: issuer, audience, integrity, freshness and task.
///
/// Only what is configured is checked: a receiver without keys, token and credentials accepts all
/// deliveries.
#[derive(Setters)]
#[setters(prefix = "with_", generate = false)]
#[must_use]
pub struct Receiver {
    url: String,
    /// Requires the token that was registered with the webhook.
    #[setters(generate, into, strip_option)]
    token: Option<String>,
    authorization: Option<String>,
    signed: Option<Signed>,
    is_expected: Option<Expected>,
    read: Read,
    /// Sets the maximum age of a signed delivery. Default: 5 min.
    #[setters(generate)]
    max_age: Duration,
    replays: ReplayCache,
}

struct Signed {
    issuer: String,
    keys: Box<dyn KeySource>,
}

type Read = Box<dyn Fn(&[u8]) -> Result<StreamResponse> + Send + Sync>;
type Expected = Box<dyn Fn(&str, Option<&str>) -> bool + Send + Sync>;

impl Receiver {
    /// Creates a receiver for a URL, exactly as registered with the agent.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            token: None,
            authorization: None,
            signed: None,
            is_expected: None,
            read: Box::new(a2a_core::json::response_from_slice),
            max_age: Duration::from_secs(300),
            replays: ReplayCache::new(REPLAY_CACHE_CAPACITY),
        }
    }

    /// Requires a signature of an issuer, by one of its keys.
    pub fn with_keys(mut self, issuer: impl Into<String>, keys: impl KeySource) -> Self {
        self.signed = Some(Signed { issuer: issuer.into(), keys: Box::new(keys) });
        self
    }

    /// Requires the credentials that were registered with the webhook.
    pub fn with_credentials(mut self, scheme: &str, credentials: &str) -> Self {
        self.authorization = Some(format!("{scheme} {credentials}"));
        self
    }

    /// Requires events of expected tasks. The function receives the task id, and the token of the
    /// delivery in case each task has a separate one, which it should compare in constant time.
    pub fn with_tasks(
        mut self,
        is_expected: impl Fn(&str, Option<&str>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.is_expected = Some(Box::new(is_expected));
        self
    }

    /// Sets the parser of bodies. Default: 1.0. `a2a_kit_compat::webhook::read` also parses those of
    /// 0.2 and 0.3; `a2a_kit::webhook::receiver` creates a receiver with it.
    pub fn with_body_reader(
        mut self,
        read: impl Fn(&[u8]) -> Result<StreamResponse> + Send + Sync + 'static,
    ) -> Self {
        self.read = Box::new(read);
        self
    }

    /// Verifies a delivery, and returns its event, without a position. The body must be unmodified.
    ///
    /// # Errors
    ///
    /// A [`ReceiveError`] to respond with.
    pub async fn receive(
        &self,
        headers: &HeaderMap,
        body: &[u8],
    ) -> StdResult<Event, ReceiveError> {
        self.receive_at(SystemTime::now(), headers, body).await
    }

    async fn receive_at(
        &self,
        now: SystemTime,
        headers: &HeaderMap,
        body: &[u8],
    ) -> StdResult<Event, ReceiveError> {
        let header = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        compare("credentials", self.authorization.as_deref(), header(&AUTHORIZATION))?;
        let notification_token = NOTIFICATION_TOKENS.iter().find_map(header);
        compare("token", self.token.as_deref(), notification_token)?;
        let now = since_epoch(now);
        let claims = match &self.signed {
            None => None,
            Some(signed) => {
                let token = header(&SIGNATURE).or_else(|| bearer(header(&AUTHORIZATION)?));
                let token = token.ok_or(ReceiveError::Unsigned)?;
                let claims = signed.claims(token).await?;
                self.check(&claims, signed, body, now)?;
                Some(claims)
            }
        };
        if let Some(coding) = content_type::coding(headers) {
            return Err(ReceiveError::Coding(coding));
        }
        let event = (self.read)(body).map_err(ReceiveError::Malformed)?;
        let task_id = event.task_id();
        if let Some(signed) = claims.as_ref().and_then(|claims| claims.task_id.as_deref())
            && task_id.is_some_and(|task_id| task_id != signed)
        {
            return Err(ReceiveError::Claim("taskId"));
        }
        if let Some(is_expected) = &self.is_expected
            && !is_expected(task_id.unwrap_or_default(), notification_token)
        {
            return Err(ReceiveError::UnknownTask);
        }
        // Last: a delivery that was rejected for another reason may be retried.
        if let Some(claims) = &claims {
            // The signer's clock may be ahead.
            self.replays.record(&claims.jti, now + self.max_age + LEEWAY * 2, now)?;
        }
        Ok(Event::new(None, event))
    }

    /// Checks that the claims match this delivery and are not expired.
    fn check(
        &self,
        claims: &Claims,
        signed: &Signed,
        body: &[u8],
        now: Duration,
    ) -> StdResult<(), ReceiveError> {
        let (now, leeway) = (now.as_secs_f64(), LEEWAY.as_secs_f64());
        let is_future = |time: f64| time > now + leeway;
        let require = |claim, holds| if holds { Ok(()) } else { Err(ReceiveError::Claim(claim)) };
        require("iss", claims.iss == signed.issuer)?;
        require("aud", claims.aud.has(&self.url))?;
        let oldest = now - leeway - self.max_age.as_secs_f64();
        require("iat", !is_future(claims.iat) && claims.iat >= oldest)?;
        require("exp", claims.exp > now - leeway)?;
        require("nbf", !claims.nbf.is_some_and(is_future))?;
        require("jti", !claims.jti.is_empty() && claims.jti.len() <= MAX_ID)?;
        let claimed = claims.request_body_sha256.as_bytes();
        require("request_body_sha256", hash(body).as_bytes().ct_eq(claimed).into())
    }
}

impl Signed {
    /// Verifies a token, and returns its claims.
    async fn claims(&self, token: &str) -> StdResult<Claims, ReceiveError> {
        let token = SignedToken::parse(token)?;
        let id = token.header().key_id.as_deref().ok_or(ReceiveError::UnknownKey)?;
        let key = self.keys.key(id).await.map_err(|error| match error {
            MissingKey::Unknown => ReceiveError::UnknownKey,
            error @ MissingKey::Unavailable(_) => ReceiveError::NoKeys(error),
        })?;
        serde_json::from_slice(token.verify(&key)?).map_err(ReceiveError::Claims)
    }
}

/// Compares in constant time.
fn compare(
    what: &'static str,
    expected: Option<&str>,
    received: Option<&str>,
) -> StdResult<(), ReceiveError> {
    let Some(expected) = expected else { return Ok(()) };
    let is_same =
        received.is_some_and(|received| received.as_bytes().ct_eq(expected.as_bytes()).into());
    if is_same { Ok(()) } else { Err(ReceiveError::Credential(what)) }
}

fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

a2a_core::debug_fields!(Receiver { url, .. });

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use a2a_core::{
        Task, TaskState,
        v1::{
            TaskPushNotificationConfig, TaskStatus, TaskStatusUpdateEvent, stream_response::Payload,
        },
    };
    use a2a_kit_operations::{Delivery, Webhook};
    use http::{HeaderValue, StatusCode};

    use super::*;
    use crate::{
        jose::{Algorithm, SigningKey},
        webhook::WebhookSigner,
    };

    const URL: &str = "https://me.example/hook";
    const ISSUER: &str = "https://agent.example";

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
    }

    fn delivery() -> Delivery {
        let status = TaskStatus { state: TaskState::Completed.into(), ..TaskStatus::default() };
        let update = TaskStatusUpdateEvent {
            task_id: "t".into(),
            context_id: "c".into(),
            status: Some(status),
            ..TaskStatusUpdateEvent::default()
        };
        let payload = Some(Payload::StatusUpdate(update));
        let task = Task { id: "t".into(), ..Task::default() };
        Delivery { event: Event::new(None, StreamResponse { payload }), task: Arc::new(task) }
    }

    fn webhook(url: &str) -> Webhook {
        TaskPushNotificationConfig { url: url.into(), ..Default::default() }.into()
    }

    fn signer() -> WebhookSigner {
        WebhookSigner::new(ISSUER, SigningKey::generate(Algorithm::EdDsa).unwrap())
    }

    fn receiver(signer: &WebhookSigner) -> Receiver {
        Receiver::new(URL).with_keys(ISSUER, signer.jwks().clone())
    }

    fn signed(token: &str) -> HeaderMap {
        let value = HeaderValue::try_from(format!("Bearer {token}")).unwrap();
        HeaderMap::from_iter([(AUTHORIZATION, value)])
    }

    // covers: R-116
    #[tokio::test]
    async fn signed_delivery_is_accepted_once() {
        let (signer, body) = (signer(), delivery().event.json());
        let receiver = receiver(&signer);
        let token = signer.sign_at(now(), &webhook(URL), &delivery(), &body).unwrap();
        let event = receiver.receive_at(now(), &signed(&token), &body).await.unwrap();
        assert_eq!(event.task_id(), Some("t"));
        let again = receiver.receive_at(now(), &signed(&token), &body).await;
        assert!(matches!(again, Err(ReceiveError::Replayed)), "{again:?}");
        let retried = signer.sign_at(now(), &webhook(URL), &delivery(), &body).unwrap();
        receiver.receive_at(now(), &signed(&retried), &body).await.unwrap();
    }

    // covers: R-108, R-110, R-111, R-115
    #[tokio::test]
    async fn delivery_that_does_not_match_its_claims_is_rejected() {
        let (signer, body) = (signer(), delivery().event.json());
        let receiver = receiver(&signer);
        let at = |seconds: i64| {
            let age = Duration::from_secs(seconds.unsigned_abs());
            if seconds < 0 { now() - age } else { now() + age }
        };
        let sign = |time, url: &str| signer.sign_at(time, &webhook(url), &delivery(), &body);
        for (token, claim) in [
            (sign(at(-361), URL), "iat"),
            (sign(at(61), URL), "iat"),
            (sign(now(), "https://me.example/hook/"), "aud"),
            (
                signer.clone().with_lifetime(Duration::ZERO).sign_at(
                    at(-60),
                    &webhook(URL),
                    &delivery(),
                    &body,
                ),
                "exp",
            ),
            (signer.sign_at(now(), &webhook(URL), &delivery(), b"{}"), "request_body_sha256"),
            (
                signer.sign_at(
                    now(),
                    &webhook(URL),
                    &Delivery {
                        task: Arc::new(Task { id: "other".into(), ..Task::default() }),
                        ..delivery()
                    },
                    &body,
                ),
                "taskId",
            ),
        ] {
            let result = receiver.receive_at(now(), &signed(&token.unwrap()), &body).await;
            let Err(ReceiveError::Claim(found)) = result else { panic!("{claim}: {result:?}") };
            assert_eq!(found, claim);
        }
        let other = Receiver::new(URL).with_keys("https://other.example", signer.jwks().clone());
        let token = sign(now(), URL).unwrap();
        let result = other.receive_at(now(), &signed(&token), &body).await;
        assert!(matches!(result, Err(ReceiveError::Claim("iss"))), "{result:?}");
        receiver.receive_at(now(), &signed(&token), &body).await.unwrap();
    }

    // covers: R-108, R-109, R-117
    #[tokio::test]
    async fn unpublished_keys_are_rejected() {
        let (old, new, body) = (signer(), signer(), delivery().event.json());
        let receiver = receiver(&old);
        let token = |signer: &WebhookSigner| {
            signed(&signer.sign_at(now(), &webhook(URL), &delivery(), &body).unwrap())
        };
        let result = receiver.receive_at(now(), &token(&new), &body).await;
        assert!(matches!(result, Err(ReceiveError::UnknownKey)), "{result:?}");
        for headers in [HeaderMap::new(), signed(""), signed("eyJhbGciOiJub25lIn0.e30.")] {
            let error = receiver.receive_at(now(), &headers, &body).await.unwrap_err();
            assert_eq!(error.status(), StatusCode::UNAUTHORIZED, "{error:?}");
        }
        // During key rotation, both keys are published.
        let both = old.clone().with_published(new.jwks().keys()[0].clone());
        let receiver = Receiver::new(URL).with_keys(ISSUER, both.jwks().clone());
        for signer in [&old, &new] {
            receiver.receive_at(now(), &token(signer), &body).await.unwrap();
        }
    }

    // covers: R-090, R-091, R-092, R-114
    #[tokio::test]
    async fn token_credentials_and_task_are_checked_if_configured() {
        let body = delivery().event.json();
        let receiver = Receiver::new(URL)
            .with_token("secret")
            .with_credentials("Bearer", "password")
            .with_tasks(|task_id, token| task_id == "t" && token == Some("secret"));
        let [name, other_name] = NOTIFICATION_TOKENS;
        let right = [
            (name, HeaderValue::from_static("secret")),
            (AUTHORIZATION, HeaderValue::from_static("Bearer password")),
        ];
        let all = HeaderMap::from_iter(right.clone());
        receiver.receive(&all, &body).await.unwrap();
        receiver.receive(&all, &body).await.unwrap();
        let renamed = [(other_name, right[0].1.clone()), right[1].clone()];
        receiver.receive(&HeaderMap::from_iter(renamed), &body).await.unwrap();
        for (name, _) in right {
            for value in [None, Some("secre"), Some("secrets"), Some("Bearer Password")] {
                let mut headers = all.clone();
                headers.remove(&name);
                headers.extend(value.map(|value| (name.clone(), HeaderValue::from_static(value))));
                let result = receiver.receive(&headers, &body).await;
                assert!(matches!(result, Err(ReceiveError::Credential(_))), "{name} {value:?}");
            }
        }
        let foreign = br#"{"statusUpdate":{"taskId":"x","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
        let result = receiver.receive(&all, foreign).await;
        assert!(matches!(result, Err(ReceiveError::UnknownTask)), "{result:?}");
        let result = receiver.receive(&all, b"no event").await;
        assert!(matches!(result, Err(ReceiveError::Malformed(_))), "{result:?}");
    }

    #[tokio::test]
    async fn body_of_another_revision_is_checked_like_1_0() {
        let (signer, body) = (signer(), br#"{"kind":"task","id":"t"}"#);
        let receiver = receiver(&signer).with_body_reader(|body| {
            let written: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
            let id = written["id"].as_str().unwrap_or_default().to_owned();
            Ok(StreamResponse { payload: Some(Payload::Task(Task { id, ..Task::default() })) })
        });
        let token = signer.sign_at(now(), &webhook(URL), &delivery(), body).unwrap();
        let event = receiver.receive_at(now(), &signed(&token), body).await.unwrap();
        assert_eq!(event.task_id(), Some("t"));
        let foreign = br#"{"kind":"task","id":"x"}"#;
        let token = signer.sign_at(now(), &webhook(URL), &delivery(), foreign).unwrap();
        let rejected = receiver.receive_at(now(), &signed(&token), foreign).await;
        assert!(matches!(rejected, Err(ReceiveError::Claim("taskId"))), "{rejected:?}");
    }

    #[tokio::test]
    async fn signature_has_a_separate_header_with_credentials() {
        let (signer, body) = (signer(), delivery().event.json());
        let receiver = receiver(&signer).with_credentials("Basic", "dTpw");
        let token = signer.sign_at(now(), &webhook(URL), &delivery(), &body).unwrap();
        let headers = HeaderMap::from_iter([
            (AUTHORIZATION, HeaderValue::from_static("Basic dTpw")),
            (SIGNATURE, HeaderValue::try_from(token).unwrap()),
        ]);
        receiver.receive_at(now(), &headers, &body).await.unwrap();
    }
}
