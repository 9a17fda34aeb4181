//! Bearer tokens that somebody else signs (RFC 7519, RFC 9068).

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use a2a_core::{v1::security_scheme::Scheme, well_known::Struct};
use a2a_http::tls::ClientTls;
use a2a_operations::Caller;
use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{
    AddressError, Presented, Rejection, Verifier, cache::Remembered, discovery::discover,
    memory::Digests, secrets::bears,
};
use crate::jose::{Header, Jwk, KeySource, MissingKey, Token};

/// Longest name of a caller that a token may give, in bytes.
const MAX_SUBJECT_BYTES: usize = 1 << 10;

/// Most tokens whose verification is cached.
const MAX_CACHED: usize = 4_096;

/// Longest token whose verification is cached, in bytes. With the number of tokens it bounds the
/// memory of the cache.
const MAX_CACHED_BYTES: usize = 8 << 10;

/// The claims that callers carry unless a verifier is told otherwise.
pub(super) const CLAIMS: [&str; 5] = ["sub", "scope", "scp", "exp", "act"];

/// JSON Web Tokens of one issuer: signed with one of its keys, for this audience, and within their
/// time. The algorithms are those of [`jose`](crate::jose). A token that does not name its key
/// (`kid`) is accepted where the issuer has exactly one key for its algorithm.
///
/// A signature is verified once: until it expires, a token of up to 8 KiB is then only checked for
/// its expiry and for its key, which has to be among the issuer's still. The 4,096 newest are kept.
///
/// A caller is called by the issuer and its subject, as `https://issuer.example#subject`: what
/// one issuer calls its users is no name of another's. Scopes come from `scope` or `scp`.
#[derive(Clone)]
pub struct Jwt {
    issuer: Arc<str>,
    audiences: Arc<[String]>,
    keys: Arc<dyn KeySource>,
    leeway: Duration,
    claims: Arc<[String]>,
    subject: Arc<SubjectOf>,
    /// Where the issuer describes itself, for schemes that say so too.
    described_at: Option<Arc<str>>,
    cache: Arc<Cache>,
}

/// Tokens that have been verified: checking a signature takes several times as long as the rest
/// of a small request.
struct Cache {
    tokens: Remembered<[u8; 32], Arc<Verified>>,
    digests: Digests,
}

struct Verified {
    header: Header,
    /// The key that signed it.
    key: Jwk,
    caller: Caller,
    expires: SystemTime,
}

impl Default for Cache {
    fn default() -> Self {
        Self { tokens: Remembered::new(MAX_CACHED), digests: Digests::new() }
    }
}

type SubjectOf = dyn Fn(&Claims) -> Option<String> + Send + Sync;

impl Jwt {
    /// Creates a verifier of tokens that `issuer` signs for `audience`, both exactly as they stand
    /// in its tokens. The keys are a [`RemoteKeys`](crate::jose::RemoteKeys) or a
    /// [`JwkSet`](crate::jose::JwkSet).
    pub fn new(
        issuer: impl Into<String>,
        audience: impl Into<String>,
        keys: impl KeySource,
    ) -> Self {
        let issuer: Arc<str> = issuer.into().into();
        let named = Arc::clone(&issuer);
        Self {
            issuer,
            audiences: Arc::new([audience.into()]),
            keys: Arc::new(keys),
            leeway: Duration::from_secs(60),
            claims: CLAIMS.map(str::to_owned).into(),
            subject: Arc::new(move |claims| Some(format!("{named}#{}", claims.text("sub")?))),
            described_at: None,
            cache: Arc::default(),
        }
    }

    /// Creates a verifier of tokens of the issuer that describes itself at an address, as
    /// `https://issuer.example/.well-known/openid-configuration` (OpenID Connect Discovery 1.0).
    /// It is asked when the first token comes, and every 10 minutes then.
    ///
    /// # Errors
    ///
    /// [`AddressError`] where the address is not of https, nor on this machine, or ends otherwise.
    pub fn discovered(url: &str, audience: impl Into<String>) -> Result<Self, AddressError> {
        Self::discovered_with_tls(url, audience, ClientTls::new())
    }

    /// The same where other certificates are believed than those that the platform trusts, or one
    /// is shown.
    ///
    /// # Errors
    ///
    /// As [`discovered`](Self::discovered).
    pub fn discovered_with_tls(
        url: &str,
        audience: impl Into<String>,
        tls: ClientTls,
    ) -> Result<Self, AddressError> {
        let (issuer, keys) = discover(url, tls)?;
        let described_at = Some(url.into());
        Ok(Self { described_at, ..Self::new(issuer, audience, keys) })
    }

    /// Takes tokens for one more audience.
    #[must_use]
    pub fn with_audience(mut self, audience: impl Into<String>) -> Self {
        let more = std::iter::once(audience.into());
        self.audiences = self.audiences.iter().cloned().chain(more).collect();
        self.with_empty_cache()
    }

    /// Sets by how much the clocks of issuer and server may differ. Default: 60 s.
    #[must_use]
    pub fn with_leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self.with_empty_cache()
    }

    /// Sets which claims of its token a caller carries ([`Caller::claims`]), by their exact names;
    /// executors read them. Default: `sub`, `scope`, `scp`, `exp` and `act`.
    #[must_use]
    pub fn with_claims(mut self, names: impl IntoIterator<Item: Into<String>>) -> Self {
        self.claims = names.into_iter().map(Into::into).collect();
        self.with_empty_cache()
    }

    /// Sets how a caller is called; a token for which there is no name is refused. Where there
    /// are other verifiers too, the names must not be theirs: tasks belong to names.
    #[must_use]
    pub fn with_subject(
        mut self,
        subject: impl Fn(&Claims) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.subject = Arc::new(subject);
        self.with_empty_cache()
    }

    /// What other settings have verified does not count for these.
    fn with_empty_cache(self) -> Self {
        Self { cache: Arc::default(), ..self }
    }

    /// Verifies a token at a time. A token that has been verified is only checked for what can
    /// change: its expiry, and that its key is still one of the issuer's.
    async fn verify_cached(
        &self,
        presented: &Presented,
        text: &str,
        now: SystemTime,
    ) -> Result<Caller, Rejection> {
        let is_cached = text.len() <= MAX_CACHED_BYTES;
        let digest = is_cached.then(|| self.cache.digests.of([presented])).flatten();
        if let Some(known) = digest.and_then(|digest| self.cache.tokens.get(&digest))
            && now < known.expires
            && self.key_of(&known.header, now).await? == known.key
        {
            return Ok(known.caller.clone());
        }
        let verified = self.verify_at(text, now).await?;
        let caller = verified.caller.clone();
        if let (Some(digest), Ok(lifetime)) = (digest, verified.expires.duration_since(now)) {
            self.cache.tokens.insert(digest, Arc::new(verified), lifetime);
        }
        Ok(caller)
    }

    /// Verifies a token at a time.
    async fn verify_at(&self, text: &str, now: SystemTime) -> Result<Verified, Rejection> {
        let token =
            Token::parse(text).map_err(|_error| Rejection::Invalid("it is no signed token"))?;
        let key = self.key_of(token.header(), now).await?;
        let payload = verified(&token, &key)?;
        let claims = serde_json::from_slice(payload).map(Claims);
        let claims = claims.map_err(|_error| Rejection::Invalid("its claims can't be read"))?;
        let expires = self.check(&claims, now)?;
        let subject = (self.subject)(&claims).filter(|subject| is_name(subject));
        let subject = subject.ok_or(Rejection::Invalid("it names no subject"))?;
        let caller = Caller::authenticated(subject)
            .with_scopes(claims.scopes())
            .with_expiry(expires)
            .with_claims(claims.selected(&self.claims));
        Ok(Verified { header: token.header().clone(), key, caller, expires })
    }

    /// Returns the key that is to have signed a token: the one that it names, or else the only one
    /// for its algorithm.
    async fn key_of(&self, header: &Header, now: SystemTime) -> Result<Jwk, Rejection> {
        if let Some(id) = &header.key_id {
            let key = self.keys.key(id).await.map_err(rejection)?;
            return if key.is_valid_at(now, self.leeway) {
                Ok(key)
            } else {
                Err(Rejection::Invalid("its key is not valid at this time"))
            };
        }
        let keys = self.keys.keys_for(header.algorithm).await.map_err(rejection)?;
        let mut keys = keys.into_iter().filter(|key| key.is_valid_at(now, self.leeway));
        match (keys.next(), keys.next()) {
            (Some(key), None) => Ok(key),
            (None, _) => Err(Rejection::Invalid("its issuer has no key for its algorithm")),
            (Some(_), Some(_)) => {
                Err(Rejection::Invalid("it does not name its key, and its issuer has several"))
            }
        }
    }

    /// Checks who the token is of and for, and returns when it is not believed any more.
    fn check(&self, claims: &Claims, now: SystemTime) -> Result<SystemTime, Rejection> {
        if claims.text("iss") != Some(&*self.issuer) {
            return Err(Rejection::Invalid("it is of another issuer"));
        }
        if !self.audiences.iter().any(|audience| claims.is_for(audience)) {
            return Err(Rejection::Invalid("it is for another audience"));
        }
        let expires = claims.time("exp")?.ok_or(Rejection::Invalid("it does not expire"))?;
        let expires =
            expires.checked_add(self.leeway).ok_or(Rejection::Invalid("it expires too late"))?;
        if expires <= now {
            return Err(Rejection::Expired);
        }
        if let Some(from) = claims.time("nbf")?
            && now.checked_add(self.leeway).is_some_and(|latest| latest < from)
        {
            return Err(Rejection::Invalid("it is not valid yet"));
        }
        Ok(expires)
    }
}

#[async_trait]
impl Verifier for Jwt {
    fn fits(&self, scheme: &Scheme) -> bool {
        match (scheme, &self.described_at) {
            (Scheme::OpenIdConnectSecurityScheme(scheme), Some(url)) => {
                scheme.open_id_connect_url == **url
            }
            _ => bears(scheme),
        }
    }

    fn can_be_guessed(&self) -> bool {
        false
    }

    async fn verify(&self, presented: &Presented) -> Result<Caller, Rejection> {
        match presented {
            Presented::Bearer(token) => {
                self.verify_cached(presented, token, SystemTime::now()).await
            }
            _ => Err(Rejection::Invalid("it is no bearer token")),
        }
    }
}

fn verified<'t>(token: &'t Token<'_>, key: &Jwk) -> Result<&'t [u8], Rejection> {
    token.verify(key).map_err(|_error| Rejection::Invalid("its signature is wrong"))
}

fn rejection(missing: MissingKey) -> Rejection {
    match missing {
        MissingKey::Unknown => Rejection::Invalid("its key is not one of the issuer's"),
        MissingKey::Unavailable(Some(error)) => Rejection::Unavailable(error),
        MissingKey::Unavailable(None) => {
            Rejection::Unavailable("the keys were asked for a moment ago".into())
        }
    }
}

pub(super) fn is_name(subject: &str) -> bool {
    !subject.is_empty()
        && subject.len() <= MAX_SUBJECT_BYTES
        && !subject.chars().any(char::is_control)
}

impl fmt::Debug for Jwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jwt")
            .field("issuer", &self.issuer)
            .field("audiences", &self.audiences)
            .finish_non_exhaustive()
    }
}

/// What a token says, after its signature was found to be right.
#[derive(Clone)]
pub struct Claims(pub(super) Map<String, Value>);

impl Claims {
    /// Returns a claim that is text, and not empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// The scopes: the words of `scope` (RFC 8693 §4.2) and of `scp`, each one text or several.
    pub fn scopes(&self) -> Vec<&str> {
        let claims = ["scope", "scp"].into_iter().filter_map(|name| self.0.get(name));
        claims.flat_map(texts).flat_map(str::split_whitespace).collect()
    }

    /// Returns those of the claims that are named.
    pub(super) fn selected(&self, names: &[String]) -> Struct {
        let named = self.0.iter().filter(|(name, _)| names.contains(name));
        named.map(|(name, claim)| (name.clone(), claim.clone())).collect()
    }

    /// Returns whether `aud` has an audience.
    pub(super) fn is_for(&self, audience: &str) -> bool {
        self.0.get("aud").is_some_and(|claim| texts(claim).contains(&audience))
    }

    /// Returns a claim that is a time, in seconds since 1970.
    pub(super) fn time(&self, name: &str) -> Result<Option<SystemTime>, Rejection> {
        let Some(claim) = self.0.get(name) else { return Ok(None) };
        let since = claim.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let time = since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
        time.map(Some).ok_or(Rejection::Invalid("one of its times is none"))
    }
}

impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Claims(..)")
    }
}

fn texts(claim: &Value) -> Vec<&str> {
    match claim {
        Value::String(text) => vec![text],
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::jose::{Algorithm, JwkSet, SigningKey};

    const NOW: u64 = 1_700_000_000;

    fn verifier(key: &SigningKey) -> Jwt {
        let keys: JwkSet = [key.public().clone()].into_iter().collect();
        Jwt::new("https://issuer", "https://agent", keys).with_leeway(Duration::from_secs(10))
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
    async fn a_token_makes_a_caller_of_its_issuer_with_scopes_until_it_expires() {
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
    async fn a_caller_carries_the_claims_that_are_allowed_and_no_others() {
        let key = SigningKey::generate(Algorithm::EdDsa).unwrap();
        let mut claims = with("act", json!({"sub": "robot", "level": 3}));
        claims["scp"] = json!(["a", "b"]);
        claims["email"] = json!("ann@example.com");
        let token = key.token(claims.to_string().as_bytes()).unwrap();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        let carried = async |jwt: Jwt| {
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
    async fn claims_are_read_as_issuers_write_them() {
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

    //
    #[tokio::test]
    async fn tokens_that_are_not_for_us_now_are_refused() {
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
    async fn only_the_issuers_own_keys_sign() {
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

    /// Keys that can be exchanged.
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
    async fn cached_token_is_refused_once_it_expires_or_its_key_is_gone() {
        let key = SigningKey::generate(Algorithm::Es256).unwrap();
        let other = SigningKey::generate(Algorithm::Es256).unwrap();
        let keys = |key: &SigningKey| [key.public().clone()].into_iter().collect::<JwkSet>();
        let source = Rotating(Arc::new(keys(&key).into()));
        let jwt = Jwt::new("https://issuer", "https://agent", source.clone());
        let token = key.token(with("sub", json!("ann")).to_string().as_bytes()).unwrap();
        let presented = Presented::Bearer(token.as_str().into());
        let verify = async |jwt: &Jwt, seconds| {
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            jwt.verify_cached(&presented, &token, now).await
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
    async fn forged_token_is_refused_though_the_real_one_is_cached() {
        let key = SigningKey::generate(Algorithm::EdDsa).unwrap();
        let jwt = verifier(&key);
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        let token = key.token(with("sub", json!("ann")).to_string().as_bytes()).unwrap();
        let verify = async |token: &str| {
            jwt.verify_cached(&Presented::Bearer(token.into()), token, now).await
        };
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
        let presented = Presented::Bearer(token.as_str().into());
        assert!(jwt.verify_cached(&presented, &token, now).await.is_ok());
        let digest = jwt.cache.digests.of([&presented]).unwrap();
        assert!(jwt.cache.tokens.get(&digest).is_none());
    }
}
