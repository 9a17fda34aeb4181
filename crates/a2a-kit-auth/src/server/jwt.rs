//! JWT bearer tokens (RFC 7519, RFC 9068).

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use a2a_core::v1::security_scheme::Scheme;
use a2a_kit_http::tls::ClientTls;
use a2a_kit_operations::Caller;
use async_trait::async_trait;

use super::{
    Attempt, Rejection, RequestCredential, SchemeVerifier, TokenClaims, access_token,
    credential_digest::TokenHasher, expiring_cache::ExpiringCache, oidc_discovery::discover,
    secrets::uses_bearer_token,
};
use crate::{
    SetupError,
    jose::{Jwk, KeySource, MissingKey, SignedToken, TokenError, TokenHeader},
    unique_names::object,
};

/// Maximum length of a caller's subject, in bytes.
const MAX_SUBJECT_BYTES: usize = 1 << 10;

/// Maximum number of cached tokens.
const MAX_CACHED: usize = 4_096;

/// Maximum length of a cached token, in bytes, which bounds the memory of the cache.
const MAX_CACHED_BYTES: usize = 8 << 10;

/// The claims that callers carry by default.
pub(super) const CLAIMS: [&str; 5] = ["sub", "scope", "scp", "exp", "act"];

/// Verifies JSON Web Tokens of one issuer: signature, audience and validity period. The algorithms
/// are those of [`jose`](crate::jose). A token without a key id (`kid`) is accepted if the issuer
/// has exactly one key for its algorithm.
///
/// Verified tokens of up to 8 KiB are cached, at most 4,096. For a cached token only its expiry is
/// checked, and that the issuer still publishes its key.
///
/// Other tokens of the issuer are rejected: by their type (`typ`), such as `logout+jwt`, and ID tokens
/// by claims that only they have. So are tokens with duplicate claims.
///
/// The subject of a caller is `https://issuer.example#subject`, so that subjects of different
/// issuers don't collide. Scopes come from `scope` or `scp`.
#[derive(Clone)]
pub struct JwtVerifier {
    issuer: Arc<str>,
    audiences: Arc<[String]>,
    client_ids: Arc<[String]>,
    keys: Arc<dyn KeySource>,
    leeway: Duration,
    claims: Arc<[String]>,
    subject: Arc<SubjectOf>,
    /// The discovery URL, to match OpenID Connect schemes of the card.
    discovery_url: Option<Arc<str>>,
    cache: Arc<Cache>,
}

/// Verified tokens: verifying a signature takes several times as long as the rest of a small
/// request.
struct Cache {
    tokens: ExpiringCache<u128, Arc<Verified>>,
    hasher: TokenHasher,
}

struct Verified {
    header: TokenHeader,
    /// The key that verified the signature.
    key: Jwk,
    caller: Caller,
    expires: SystemTime,
}

impl Default for Cache {
    fn default() -> Self {
        Self { tokens: ExpiringCache::new(MAX_CACHED), hasher: TokenHasher::new() }
    }
}

impl Cache {
    /// The digest of a token that is cached once it is verified.
    fn digest(&self, token: &str) -> Option<u128> {
        if token.len() <= MAX_CACHED_BYTES { self.hasher.digest(token) } else { None }
    }
}

type SubjectOf = dyn Fn(&TokenClaims) -> Option<String> + Send + Sync;

impl JwtVerifier {
    /// Creates a verifier of tokens with exactly this `iss` and `aud`; an empty audience accepts none,
    /// for tokens [by client](Self::with_client_ids). The keys are a
    /// [`RemoteKeys`](crate::jose::RemoteKeys) or a [`JwkSet`](crate::jose::JwkSet).
    pub fn new(
        issuer: impl Into<String>,
        audience: impl Into<String>,
        keys: impl KeySource,
    ) -> Self {
        let issuer: Arc<str> = issuer.into().into();
        let prefix = Arc::clone(&issuer);
        Self {
            issuer,
            audiences: Some(audience.into())
                .filter(|audience| !audience.is_empty())
                .into_iter()
                .collect(),
            client_ids: Arc::default(),
            keys: Arc::new(keys),
            leeway: Duration::from_secs(60),
            claims: CLAIMS.map(str::to_owned).into(),
            subject: Arc::new(move |claims| Some(format!("{prefix}#{}", claims.text("sub")?))),
            discovery_url: None,
            cache: Arc::default(),
        }
    }

    /// Creates a verifier of tokens of the issuer with a discovery document, such as
    /// `https://issuer.example/.well-known/openid-configuration` (OpenID Connect Discovery 1.0).
    /// The document and the keys are fetched on first use, and every 10 minutes from then on.
    ///
    /// # Errors
    ///
    /// [`SetupError`] if the URL is neither https nor http with a loopback host, or has another
    /// path.
    pub fn discovered(url: &str, audience: impl Into<String>) -> Result<Self, SetupError> {
        Self::discovered_with_tls(url, audience, ClientTls::new())
    }

    /// Like [`discovered`](Self::discovered), with trust anchors other than the platform's or with
    /// a client certificate.
    ///
    /// # Errors
    ///
    /// As [`discovered`](Self::discovered).
    pub fn discovered_with_tls(
        url: &str,
        audience: impl Into<String>,
        tls: ClientTls,
    ) -> Result<Self, SetupError> {
        let (issuer, keys) = discover(url, tls)?;
        let discovery_url = Some(url.into());
        Ok(Self { discovery_url, ..Self::new(issuer, audience, keys) })
    }

    /// Accepts tokens for a further audience.
    #[must_use]
    pub fn with_audience(mut self, audience: impl Into<String>) -> Self {
        let more = std::iter::once(audience.into());
        self.audiences = self.audiences.iter().cloned().chain(more).collect();
        self.with_empty_cache()
    }

    /// Accepts tokens without an audience if their `client_id` is one of these. AWS Cognito issues
    /// such access tokens. A token with another audience stays rejected.
    #[must_use]
    pub fn with_client_ids(mut self, ids: impl IntoIterator<Item: Into<String>>) -> Self {
        self.client_ids = ids.into_iter().map(Into::into).collect();
        self.with_empty_cache()
    }

    /// Sets the tolerated clock skew between issuer and server. Default: 60 s.
    #[must_use]
    pub fn with_leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self.with_empty_cache()
    }

    /// Sets which claims of the token a caller carries ([`Caller::claims`]) for executors to read,
    /// by their exact names. Default: `sub`, `scope`, `scp`, `exp` and `act`.
    #[must_use]
    pub fn with_claims(mut self, names: impl IntoIterator<Item: Into<String>>) -> Self {
        self.claims = names.into_iter().map(Into::into).collect();
        self.with_empty_cache()
    }

    /// Sets how the subject of a caller is derived; a token is rejected if it returns `None`.
    /// Subjects own tasks, so they must not collide with those of other verifiers.
    #[must_use]
    pub fn with_subject(
        mut self,
        subject: impl Fn(&TokenClaims) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.subject = Arc::new(subject);
        self.with_empty_cache()
    }

    /// Tokens that were verified with other settings must be verified again.
    fn with_empty_cache(self) -> Self {
        Self { cache: Arc::default(), ..self }
    }

    /// Verifies a token at a time. For a cached token, only its expiry is checked, and that the
    /// issuer still has its key.
    async fn verify_cached(&self, text: &str, now: SystemTime) -> Result<Caller, Rejection> {
        let digest = self.cache.digest(text);
        if let Some(cached) = digest.and_then(|digest| self.cache.tokens.get(&digest))
            && now < cached.expires
            && self.key_of(&cached.header, now).await? == cached.key
        {
            return Ok(cached.caller.clone());
        }
        let verified = self.verify_at(text, now).await?;
        let caller = verified.caller.clone();
        if let (Some(digest), Ok(lifetime)) = (digest, verified.expires.duration_since(now)) {
            self.cache.tokens.insert(digest, Arc::new(verified), lifetime);
        }
        Ok(caller)
    }

    /// Returns the caller of a cached token at a time, if its key id tells that the issuer still has
    /// its key.
    fn known_at(&self, text: &str, now: SystemTime) -> Option<Caller> {
        let cached = self.cache.tokens.get(&self.cache.digest(text)?)?;
        let Verified { header, key, caller, expires } = &*cached;
        let is_known = now < *expires
            && header.key_id.as_deref() == Some(key.id())
            && key.is_valid_at(now, self.leeway)
            && self.keys.has(key)?;
        is_known.then(|| caller.clone())
    }

    /// Verifies a token at a time.
    async fn verify_at(&self, text: &str, now: SystemTime) -> Result<Verified, Rejection> {
        let token = SignedToken::parse(text).map_err(|error| match error {
            TokenError::Algorithm(_) => Rejection::Invalid("unsupported algorithm"),
            _ => Rejection::Invalid("malformed token"),
        })?;
        let key = self.key_of(token.header(), now).await?;
        let payload =
            token.verify(&key).map_err(|_error| Rejection::Invalid("invalid signature"))?;
        let claims = object(payload).map(TokenClaims);
        let claims =
            claims.map_err(|_error| Rejection::Invalid("malformed or duplicate claims"))?;
        access_token::check(token.header(), &claims)?;
        let expires = self.check(&claims, now)?;
        let subject = (self.subject)(&claims).filter(|subject| is_valid_subject(subject));
        let subject = subject.ok_or(Rejection::Invalid("missing or invalid subject"))?;
        let caller = Caller::authenticated(subject)
            .with_scopes(claims.scopes())
            .with_expiry(expires)
            .with_claims(claims.selected(&self.claims));
        Ok(Verified { header: token.header().clone(), key, caller, expires })
    }

    /// Returns the key for a token: the one with its key id, or else the only one for its
    /// algorithm.
    async fn key_of(&self, header: &TokenHeader, now: SystemTime) -> Result<Jwk, Rejection> {
        if let Some(id) = &header.key_id {
            let key = self.keys.key(id).await.map_err(rejection)?;
            return if key.is_valid_at(now, self.leeway) {
                Ok(key)
            } else {
                Err(Rejection::Invalid("key outside its validity period"))
            };
        }
        let keys = self.keys.keys_for(header.algorithm).await.map_err(rejection)?;
        let mut keys = keys.into_iter().filter(|key| key.is_valid_at(now, self.leeway));
        match (keys.next(), keys.next()) {
            (Some(key), None) => Ok(key),
            (None, _) => Err(Rejection::Invalid("issuer has no key for the algorithm")),
            (Some(_), Some(_)) => {
                Err(Rejection::Invalid("no key id, and the issuer has several keys"))
            }
        }
    }

    /// Checks issuer, audience and validity period, and returns the expiry.
    fn check(&self, claims: &TokenClaims, now: SystemTime) -> Result<SystemTime, Rejection> {
        if claims.text("iss") != Some(&*self.issuer) {
            return Err(Rejection::Invalid("wrong issuer"));
        }
        let is_accepted = match claims.0.contains_key("aud") {
            true => self.audiences.iter().any(|audience| claims.is_for(audience)),
            false => claims
                .text("client_id")
                .is_some_and(|id| self.client_ids.iter().any(|known| known == id)),
        };
        if !is_accepted {
            return Err(Rejection::Invalid("wrong audience"));
        }
        let expires = claims.time("exp")?.ok_or(Rejection::Invalid("missing exp claim"))?;
        let expires =
            expires.checked_add(self.leeway).ok_or(Rejection::Invalid("exp claim out of range"))?;
        if expires <= now {
            return Err(Rejection::Expired);
        }
        if let Some(from) = claims.time("nbf")?
            && now.checked_add(self.leeway).is_some_and(|latest| latest < from)
        {
            return Err(Rejection::Invalid("not valid yet"));
        }
        Ok(expires)
    }
}

#[async_trait]
impl SchemeVerifier for JwtVerifier {
    fn supports(&self, scheme: &Scheme) -> bool {
        match (scheme, &self.discovery_url) {
            (Scheme::OpenIdConnectSecurityScheme(scheme), Some(url)) => {
                scheme.open_id_connect_url == **url
            }
            _ => uses_bearer_token(scheme),
        }
    }

    fn is_guessable(&self) -> bool {
        false
    }

    async fn verify(
        &self,
        credential: &RequestCredential,
        _: Attempt,
    ) -> Result<Caller, Rejection> {
        match credential {
            RequestCredential::Bearer(token) => self.verify_cached(token, SystemTime::now()).await,
            _ => Err(Rejection::Invalid("not a bearer token")),
        }
    }

    fn known(&self, token: &str) -> Option<Caller> {
        self.known_at(token, SystemTime::now())
    }
}

fn rejection(missing: MissingKey) -> Rejection {
    match missing {
        MissingKey::Unknown => Rejection::Invalid("unknown key"),
        MissingKey::Unavailable(Some(error)) => Rejection::unavailable(error),
        MissingKey::Unavailable(None) => Rejection::unavailable("key fetch rate limit reached"),
    }
}

pub(super) fn is_valid_subject(subject: &str) -> bool {
    !subject.is_empty()
        && subject.len() <= MAX_SUBJECT_BYTES
        && !subject.chars().any(char::is_control)
}

a2a_core::debug_fields!(JwtVerifier { issuer, audiences, .. });

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::jose::{Algorithm, JwkSet, SigningKey};

    const NOW: u64 = 1_700_000_000;

    fn verifier(key: &SigningKey) -> JwtVerifier {
        let keys: JwkSet = [key.public().clone()].into_iter().collect();
        JwtVerifier::new("https://issuer", "https://agent", keys)
            .with_leeway(Duration::from_secs(10))
    }

    async fn verify(key: &SigningKey, claims: &Value) -> Result<Caller, Rejection> {
        let token = key.token(claims.to_string().as_bytes()).unwrap();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        verifier(key).verify_at(&token, now).await.map(|verified| verified.caller)
    }

    fn with(name: &str, value: Value) -> Value {
        let mut claims = json!({
            "iss": "https://issuer", "aud": "https://agent", "sub": "ann", "exp": NOW + 60,
        });
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value,
        }
        claims
    }

    #[tokio::test]
    async fn caller_has_issuer_subject_scopes_and_expiry() {
        for key in [
            SigningKey::generate(Algorithm::Es256).unwrap(),
            SigningKey::generate(Algorithm::EdDsa).unwrap(),
            SigningKey::from_pem(include_str!("../jose/rfc7515_a2.pem")).unwrap(),
        ] {
            let caller = verify(&key, &with("scope", json!("read write"))).await.unwrap();
            assert_eq!(caller.subject(), Some("https://issuer#ann"));
            assert_eq!(caller.scopes().iter().collect::<Vec<_>>(), ["read", "write"]);
            let end = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW + 70);
            assert_eq!(caller.expires(), Some(end), "with the leeway");
        }
    }

    #[tokio::test]
    async fn caller_carries_only_the_selected_claims() {
        let key = SigningKey::generate(Algorithm::EdDsa).unwrap();
        let mut claims = with("act", json!({"sub": "robot", "level": 3}));
        claims["scp"] = json!(["a", "b"]);
        claims["email"] = json!("ann@example.com");
        let token = key.token(claims.to_string().as_bytes()).unwrap();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        let carried = async |jwt: JwtVerifier| {
            let caller = jwt.verify_at(&token, now).await.unwrap().caller;
            serde_json::to_value(caller.claims()).unwrap()
        };
        let default = json!({
            "sub": "ann", "scp": ["a", "b"], "exp": NOW + 60, "act": {"sub": "robot", "level": 3},
        });
        assert_eq!(carried(verifier(&key)).await, default);
        let chosen = verifier(&key).with_claims(["email", "missing"]);
        assert_eq!(carried(chosen).await, json!({"email": "ann@example.com"}));
        let none: [&str; 0] = [];
        assert_eq!(carried(verifier(&key).with_claims(none)).await, json!({}));
    }

    #[tokio::test]
    async fn token_without_an_audience_is_accepted_by_its_client_id() {
        let key = SigningKey::generate(Algorithm::EdDsa).unwrap();
        let keys = || [key.public().clone()].into_iter().collect::<JwkSet>();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        let of_clients = || JwtVerifier::new("https://issuer", "", keys()).with_client_ids(["app"]);
        let with_both = || of_clients().with_audience("https://agent");
        let mut claims = with("client_id", json!("app"));
        for (audience, jwt, is_accepted) in [
            (json!(null), of_clients(), true),
            (json!(null), with_both(), true),
            (json!("https://agent"), with_both(), true),
            (json!("https://agent"), of_clients(), false),
            (json!(""), of_clients(), false),
            (json!("https://other"), with_both(), false),
            (json!(null), of_clients().with_client_ids(["other"]), false),
            (json!(null), verifier(&key), false),
        ] {
            match &audience {
                Value::Null => drop(claims.as_object_mut().unwrap().remove("aud")),
                audience => claims["aud"] = audience.clone(),
            }
            let token = key.token(claims.to_string().as_bytes()).unwrap();
            let verified = jwt.verify_at(&token, now).await;
            assert_eq!(verified.is_ok(), is_accepted, "{audience} {jwt:?}");
        }
    }

    #[tokio::test]
    async fn claim_variants_of_issuers_are_accepted() {
        let key = SigningKey::generate(Algorithm::EdDsa).unwrap();
        for claims in [
            with("aud", json!(["https://other", "https://agent"])),
            with("scp", json!(["a", "b c"])),
            with("nbf", json!(NOW + 10)),
            with("exp", json!(NOW - 9)),
            with("exp", json!(1.7e9 + 0.5)),
        ] {
            assert!(verify(&key, &claims).await.is_ok(), "{claims}");
        }
        let caller = verify(&key, &with("scp", json!(["a", "b c"]))).await.unwrap();
        assert!(["a", "b", "c"].iter().all(|scope| caller.has_scope(scope)));
    }

    // covers: R-157
    #[tokio::test]
    async fn tokens_with_wrong_issuer_audience_or_time_are_rejected() {
        let key = SigningKey::generate(Algorithm::EdDsa).unwrap();
        for claims in [
            with("iss", json!("https://issuer/")),
            with("iss", Value::Null),
            with("aud", json!("https://agent/")),
            with("aud", json!([])),
            with("aud", Value::Null),
            with("sub", Value::Null),
            with("sub", json!("")),
            with("sub", json!("a\nb")),
            with("sub", json!("x".repeat(2_000))),
            with("exp", Value::Null),
            with("exp", json!("soon")),
            with("exp", json!(1e300)),
            with("exp", json!(-1)),
            with("nbf", json!(NOW + 11)),
            with("nbf", json!("soon")),
            json!([]),
        ] {
            let rejected = verify(&key, &claims).await;
            assert!(matches!(rejected, Err(Rejection::Invalid(_))), "{claims}");
        }
        let late = verify(&key, &with("exp", json!(NOW - 10))).await;
        assert!(matches!(late, Err(Rejection::Expired)));
    }

    #[tokio::test]
    async fn token_with_duplicate_claims_is_rejected() {
        let key = SigningKey::generate(Algorithm::EdDsa).unwrap();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        let claims = with("act", json!({"sub": "robot"})).to_string();
        let token = key.token(claims.as_bytes()).unwrap();
        verifier(&key).verify_at(&token, now).await.unwrap();
        for (one, two) in [
            (r#""sub":"ann""#, r#""sub":"eve","sub":"ann""#),
            (r#""sub":"ann""#, r#""sub":"ann","sub":"ann""#),
            (r#""sub":"ann""#, r#""s\u0075b":"eve","sub":"ann""#),
            (r#""sub":"robot""#, r#""sub":"eve","sub":"robot""#),
        ] {
            let twice = claims.replace(one, two);
            assert_ne!(twice, claims);
            let token = key.token(twice.as_bytes()).unwrap();
            let rejected = verifier(&key).verify_at(&token, now).await;
            assert!(matches!(rejected, Err(Rejection::Invalid(_))), "{twice}");
        }
    }

    #[tokio::test]
    async fn token_signed_with_another_key_is_rejected() {
        let key = SigningKey::generate(Algorithm::EdDsa).unwrap();
        let other = SigningKey::generate(Algorithm::EdDsa).unwrap();
        let claims = with("sub", json!("ann")).to_string();
        let verifier = verifier(&key);
        let token = key.token(claims.as_bytes()).unwrap();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        verifier.verify_at(&token, now).await.unwrap();
        let foreign = other.token(claims.as_bytes()).unwrap();
        let (header, _) = token.split_once('.').unwrap();
        let (_, rest) = foreign.split_once('.').unwrap();
        for forged in [foreign.clone(), format!("{header}.{rest}"), "a.b.c".into(), String::new()] {
            let rejected = verifier.verify_at(&forged, now).await;
            assert!(matches!(rejected, Err(Rejection::Invalid(_))), "{forged}");
        }
    }

    /// A replaceable key set.
    #[derive(Clone, Debug)]
    struct Rotating(Arc<std::sync::Mutex<JwkSet>>);

    #[async_trait]
    impl KeySource for Rotating {
        async fn key(&self, id: &str) -> Result<Jwk, MissingKey> {
            let keys = self.0.lock().unwrap().clone();
            keys.key(id).await
        }

        async fn keys_for(&self, algorithm: Algorithm) -> Result<Vec<Jwk>, MissingKey> {
            let keys = self.0.lock().unwrap().clone();
            keys.keys_for(algorithm).await
        }
    }

    #[tokio::test]
    async fn cached_token_is_rejected_once_it_expires_or_its_key_is_removed() {
        let key = SigningKey::generate(Algorithm::Es256).unwrap();
        let other = SigningKey::generate(Algorithm::Es256).unwrap();
        let keys = |key: &SigningKey| [key.public().clone()].into_iter().collect::<JwkSet>();
        let source = Rotating(Arc::new(keys(&key).into()));
        let jwt = JwtVerifier::new("https://issuer", "https://agent", source.clone());
        let token = key.token(with("sub", json!("ann")).to_string().as_bytes()).unwrap();
        let verify = async |jwt: &JwtVerifier, seconds| {
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            jwt.verify_cached(&token, now).await
        };
        let first = verify(&jwt, NOW).await.unwrap();
        let again = verify(&jwt, NOW).await.unwrap();
        assert_eq!(first.subject(), Some("https://issuer#ann"));
        assert_eq!(again.subject(), Some("https://issuer#ann"));
        let expired = verify(&jwt, NOW + 60 + 60).await;
        assert!(matches!(expired, Err(Rejection::Expired)));
        let stricter = jwt.clone().with_leeway(Duration::ZERO);
        assert!(matches!(verify(&stricter, NOW + 60).await, Err(Rejection::Expired)));
        *source.0.lock().unwrap() = keys(&other);
        assert!(matches!(verify(&jwt, NOW).await, Err(Rejection::Invalid(_))));
        *source.0.lock().unwrap() = keys(&key);
        assert!(verify(&jwt, NOW).await.is_ok());
    }

    #[tokio::test]
    async fn cached_token_is_known_until_it_expires_or_its_key_is_removed() {
        let key = SigningKey::generate(Algorithm::Es256).unwrap();
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let token = key.token(with("sub", json!("ann")).to_string().as_bytes()).unwrap();
        let jwt = verifier(&key);
        assert_eq!(jwt.known_at(&token, at(NOW)), None, "not verified yet");
        let verified = jwt.verify_cached(&token, at(NOW)).await.unwrap();
        assert_eq!(jwt.known_at(&token, at(NOW)), Some(verified));
        assert_eq!(jwt.known_at(&format!("{token}A"), at(NOW)), None);
        assert_eq!(
            jwt.known_at(&token, at(NOW + 69)).unwrap().subject(),
            Some("https://issuer#ann")
        );
        assert_eq!(jwt.known_at(&token, at(NOW + 70)), None, "expired");
        let stricter = jwt.clone().with_leeway(Duration::ZERO);
        assert_eq!(stricter.known_at(&token, at(NOW)), None, "verified with other settings");
        let removed = JwtVerifier { keys: Arc::new(JwkSet::default()), ..jwt.clone() };
        assert_eq!(removed.known_at(&token, at(NOW)), None, "the issuer has the key no more");
        let key = key.public().clone().with_not_after(at(NOW));
        let expired: JwkSet = [key].into_iter().collect();
        let expired = JwtVerifier { keys: Arc::new(expired), ..jwt.clone() };
        assert_eq!(expired.known_at(&token, at(NOW)), None, "another key with the same id");
    }

    #[tokio::test]
    async fn forged_token_is_rejected_while_the_genuine_one_is_cached() {
        let key = SigningKey::generate(Algorithm::EdDsa).unwrap();
        let jwt = verifier(&key);
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        let token = key.token(with("sub", json!("ann")).to_string().as_bytes()).unwrap();
        let verify = async |token: &str| jwt.verify_cached(token, now).await;
        assert!(verify(&token).await.is_ok());
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let flipped = if signature.starts_with('A') { "B" } else { "A" };
        let forged = format!("{signed}.{flipped}{}", &signature[1..]);
        assert!(matches!(verify(&forged).await, Err(Rejection::Invalid(_))));
    }

    #[tokio::test]
    async fn long_tokens_are_not_cached() {
        let key = SigningKey::generate(Algorithm::EdDsa).unwrap();
        let jwt = verifier(&key);
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        let claims = with("padding", json!("x".repeat(MAX_CACHED_BYTES)));
        let token = key.token(claims.to_string().as_bytes()).unwrap();
        assert!(jwt.verify_cached(&token, now).await.is_ok());
        let digest = jwt.cache.hasher.digest(&token).unwrap();
        assert!(jwt.cache.tokens.get(&digest).is_none());
    }
}
