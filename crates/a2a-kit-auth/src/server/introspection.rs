//! Token introspection (RFC 7662).

use std::{
    error::Error as StdError,
    sync::Arc,
    time::{Duration, SystemTime},
};

use a2a_core::v1::security_scheme::Scheme;
use a2a_kit_http::{client::HttpClient, tls::ClientTls, uri};
use a2a_kit_operations::Caller;
use async_trait::async_trait;
use derive_setters::Setters;
use http::{HeaderValue, header::AUTHORIZATION};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::{
    Attempt, Rejection, RequestCredential, SchemeVerifier, TokenClaims,
    credential_digest::CredentialHasher,
    expiring_cache::ExpiringCache,
    jwt::{CLAIMS, is_valid_subject},
    oidc_discovery::secure,
    pending_verifications::PendingVerifications,
    secrets::uses_bearer_token,
};
use crate::{SetupError, fetch, unique_names::object};

/// Capacity of the cache of active tokens, and of the cache of other ones.
const CACHE_CAPACITY: usize = 16_384;
/// Cache lifetime of inactive tokens.
const INACTIVE_LIFETIME: Duration = Duration::from_secs(10);
/// Minimum interval at which open streams verify their token again.
const MIN_REVALIDATION_INTERVAL: Duration = Duration::from_millis(10);
/// How long a request waits for the next response before the last one is used.
const REFRESH_WAIT: Duration = Duration::from_millis(100);
const MAX_CONCURRENT_REQUESTS: usize = 32;
/// Maximum number of verifications waiting for a request.
const MAX_WAITING: usize = 256;

/// Bearer tokens that are verified by introspection at their issuer, at most once a minute each.
///
/// If that takes longer than 100 ms or fails, a token that was active is accepted by the last
/// response for a quarter of its lifetime more. Of the tokens that wait, those that were verified
/// before go first, then those of clients with few failed attempts.
///
/// The subject of a caller is `https://issuer.example#subject`, as with
/// [`JwtVerifier`](super::JwtVerifier).
#[derive(Clone, Setters)]
#[setters(prefix = "with_", generate = false)]
pub struct Introspection {
    issuer: Arc<str>,
    url: Arc<str>,
    client: HttpClient,
    authorization: HeaderValue,
    audiences: Vec<String>,
    /// Sets how long a response is cached, at most until the token expires. A revoked token is
    /// accepted for that time, and for a quarter more on open streams and while the endpoint is slow
    /// or unavailable. Default: 60 s.
    #[setters(generate)]
    lifetime: Duration,
    claims: Arc<[String]>,
    shared: Arc<Shared>,
}

struct Shared {
    /// Callers of tokens that were active, or `None` since they are not.
    callers: ExpiringCache<[u8; 32], Cached>,
    /// Other tokens, which must not evict those.
    inactive: ExpiringCache<[u8; 32], ()>,
    pending: PendingVerifications,
    hasher: CredentialHasher,
}

#[derive(Clone)]
struct Cached {
    caller: Option<Caller>,
    /// When the next response is awaited.
    stale: Instant,
}

impl Introspection {
    /// Creates a verifier that calls the introspection endpoint `url` of the authorization server
    /// `issuer`, authenticated as a client with a secret.
    ///
    /// # Errors
    ///
    /// [`SetupError`] if the URL is neither https nor http with a loopback host.
    pub fn new(
        issuer: impl Into<String>,
        url: &str,
        client_id: &str,
        client_secret: &str,
    ) -> Result<Self, SetupError> {
        secure(url)?;
        let authorization = fetch::basic(client_id, client_secret)
            .ok_or_else(|| SetupError::Insecure(url.to_owned()))?;
        let shared = Shared {
            callers: ExpiringCache::new(CACHE_CAPACITY),
            inactive: ExpiringCache::new(CACHE_CAPACITY),
            pending: PendingVerifications::new(MAX_CONCURRENT_REQUESTS, MAX_WAITING),
            hasher: CredentialHasher::new(),
        };
        Ok(Self {
            issuer: issuer.into().into(),
            url: url.into(),
            client: fetch::client(ClientTls::new())?,
            authorization,
            audiences: Vec::new(),
            lifetime: Duration::from_secs(60),
            claims: CLAIMS.map(str::to_owned).into(),
            shared: Arc::new(shared),
        })
    }

    /// Sets the TLS configuration of the connection to the endpoint: trust anchors and client
    /// certificate. Default: the platform's trust store, no client certificate.
    ///
    /// # Errors
    ///
    /// [`SetupError::Tls`] if the TLS configuration is invalid.
    pub fn with_tls(mut self, tls: ClientTls) -> Result<Self, SetupError> {
        self.client = fetch::client(tls)?;
        Ok(self)
    }

    /// Accepts only tokens for this audience; can be called more than once. Default: all active
    /// tokens, as many servers introspect only tokens for the requesting client.
    #[must_use]
    pub fn with_audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// Sets which members of the response become claims of the caller ([`Caller::claims`]), as
    /// [`JwtVerifier::with_claims`](super::JwtVerifier::with_claims) does.
    #[must_use]
    pub fn with_claims(mut self, names: impl IntoIterator<Item: Into<String>>) -> Self {
        self.claims = names.into_iter().map(Into::into).collect();
        self
    }

    async fn verify_token(
        &self,
        credential: &RequestCredential,
        token: &str,
        attempt: Attempt,
    ) -> Result<Caller, Rejection> {
        let Shared { callers, inactive, pending, hasher } = &*self.shared;
        let digest = hasher.digest([credential])?;
        let cached = callers.get(&digest);
        if let Some(Cached { caller, stale }) = &cached
            && Instant::now() < *stale
        {
            return active(caller.clone());
        }
        if inactive.get(&digest).is_some() {
            return active(None);
        }
        let (this, token) = (self.clone(), token.to_owned());
        let verification = async move { this.refresh(digest, &token).await };
        let refreshed = pending.join(digest, attempt, verification);
        let (Some(Cached { caller, .. }), Attempt::Request { .. }) = (cached, attempt) else {
            return refreshed.await;
        };
        match timeout(REFRESH_WAIT, refreshed).await {
            Ok(Err(Rejection::Unavailable(_) | Rejection::Overloaded)) | Err(_) => active(caller),
            Ok(verdict) => verdict,
        }
    }

    /// Asks the issuer, and caches the response.
    async fn refresh(&self, digest: [u8; 32], token: &str) -> Result<Caller, Rejection> {
        let response = self.claims(token).await.map_err(Rejection::unavailable)?;
        let verdict = self.caller(&response);
        let Shared { callers, inactive, .. } = &*self.shared;
        let cache = |caller, lifetime, kept| {
            let Some(stale) = Instant::now().checked_add(lifetime) else { return };
            callers.insert(digest, Cached { caller, stale }, kept);
        };
        match &verdict {
            Ok(caller) => {
                let left = caller.expires().map(|end| end.duration_since(SystemTime::now()));
                let left = left.map_or(self.lifetime, Result::unwrap_or_default);
                let lifetime = left.min(self.lifetime);
                cache(Some(caller.clone()), lifetime, lifetime.saturating_add(lifetime / 4));
            }
            Err(_) if callers.get(&digest).is_some() => {
                cache(None, INACTIVE_LIFETIME, INACTIVE_LIFETIME);
            }
            Err(_) => drop(inactive.insert(digest, (), INACTIVE_LIFETIME)),
        }
        verdict
    }

    async fn claims(&self, token: &str) -> Result<TokenClaims, Box<dyn StdError + Send + Sync>> {
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("token", token)
            .append_pair("token_type_hint", "access_token")
            .finish();
        let request = fetch::post_form(&uri::parse(&self.url)?)
            .header(AUTHORIZATION, self.authorization.clone())
            .body(form.into())?;
        let response = fetch::successful(self.client.send(request).await?)?;
        Ok(TokenClaims(object(&response)?))
    }

    /// Returns the caller that an introspection response describes.
    fn caller(&self, response: &TokenClaims) -> Result<Caller, Rejection> {
        if response.0.get("active") != Some(&Value::Bool(true)) {
            return Err(Rejection::Invalid("token is not active"));
        }
        if response.text("iss").is_some_and(|issuer| issuer != &*self.issuer) {
            return Err(Rejection::Invalid("wrong issuer"));
        }
        if !self.audiences.is_empty()
            && !self.audiences.iter().any(|audience| response.is_for(audience))
        {
            return Err(Rejection::Invalid("wrong audience"));
        }
        if response.time("nbf")?.is_some_and(|from| from > SystemTime::now()) {
            return Err(Rejection::Invalid("not valid yet"));
        }
        let name =
            ["sub", "client_id", "username"].into_iter().find_map(|name| response.text(name));
        let name = name.filter(|name| is_valid_subject(name));
        let name = name.ok_or(Rejection::Invalid("missing or invalid subject"))?;
        let caller = Caller::authenticated(format!("{}#{name}", self.issuer))
            .with_scopes(response.scopes())
            .with_claims(response.selected(&self.claims));
        match response.time("exp")? {
            Some(expires) => unexpired(caller.with_expiry(expires)),
            None => Ok(caller),
        }
    }
}

fn active(caller: Option<Caller>) -> Result<Caller, Rejection> {
    caller.ok_or(Rejection::Invalid("token is not active")).and_then(unexpired)
}

fn unexpired(caller: Caller) -> Result<Caller, Rejection> {
    match caller.expires() {
        Some(expires) if expires <= SystemTime::now() => Err(Rejection::Expired),
        _ => Ok(caller),
    }
}

#[async_trait]
impl SchemeVerifier for Introspection {
    fn supports(&self, scheme: &Scheme) -> bool {
        uses_bearer_token(scheme)
    }

    fn revalidation_interval(&self) -> Option<Duration> {
        // Most of these hit the cache.
        Some((self.lifetime / 4).max(MIN_REVALIDATION_INTERVAL))
    }

    async fn verify(
        &self,
        credential: &RequestCredential,
        attempt: Attempt,
    ) -> Result<Caller, Rejection> {
        match credential {
            RequestCredential::Bearer(token) => self.verify_token(credential, token, attempt).await,
            _ => Err(Rejection::Invalid("not a bearer token")),
        }
    }
}

a2a_core::debug_fields!(Introspection { issuer, url, .. });
