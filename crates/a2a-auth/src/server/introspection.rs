//! Bearer tokens that only their issuer can read (RFC 7662).

use std::{
    error::Error as StdError,
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use a2a_core::v1::security_scheme::Scheme;
use a2a_http::{client::HttpClient, tls::ClientTls};
use a2a_operations::Caller;
use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{
    HeaderValue, Request,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use url::{Url, form_urlencoded};

use super::{
    AddressError, Claims, Presented, Rejection, Verifier,
    cache::Remembered,
    discovery::secure,
    jwt::{CLAIMS, is_name},
    memory::Digests,
    secrets::bears,
};
use crate::fetch;

/// Most answers that are remembered.
const MAX_REMEMBERED: usize = 16_384;
/// How long it is remembered that a token is not active.
const INACTIVE: Duration = Duration::from_secs(10);
/// Streams do not look more often whether their token is active.
const SHORTEST_REVIEW: Duration = Duration::from_millis(10);
/// Most requests at a time, and most callers that wait for one.
const MAX_ASKING: usize = 32;
const MAX_WAITING: usize = 256;

/// Tokens that their issuer is asked about, once a minute at most for each.
///
/// A caller is called by the issuer and its subject, as `https://issuer.example#subject`, as by a
/// [`Jwt`](super::Jwt).
#[derive(Clone)]
pub struct Introspection(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    issuer: String,
    url: Arc<str>,
    client: HttpClient,
    authorization: HeaderValue,
    audiences: Vec<String>,
    lifetime: Duration,
    claims: Arc<[String]>,
    shared: Arc<Shared>,
}

struct Shared {
    /// Callers, and `None` for tokens that are not active.
    answers: Remembered<[u8; 32], Option<Caller>>,
    digests: Digests,
    queue: Semaphore,
    asking: Semaphore,
}

impl Introspection {
    /// Asks the authorization server `issuer` about tokens at an address, authenticated as a
    /// client with a secret.
    ///
    /// # Errors
    ///
    /// [`AddressError`] where the address is not of https, nor on this machine.
    pub fn new(
        issuer: impl Into<String>,
        url: &str,
        client_id: &str,
        client_secret: &str,
    ) -> Result<Self, AddressError> {
        secure(url)?;
        let encoded =
            |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = format!("{}:{}", encoded(client_id), encoded(client_secret));
        // Base64 is fit for a header.
        let authorization = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)));
        let mut authorization =
            authorization.map_err(|_error| AddressError::Insecure(url.to_owned()))?;
        authorization.set_sensitive(true);
        let shared = Shared {
            answers: Remembered::new(MAX_REMEMBERED),
            digests: Digests::new(),
            queue: Semaphore::new(MAX_ASKING + MAX_WAITING),
            asking: Semaphore::new(MAX_ASKING),
        };
        Ok(Self(Arc::new(Inner {
            issuer: issuer.into(),
            url: url.into(),
            client: fetch::client(ClientTls::new())?,
            authorization,
            audiences: Vec::new(),
            lifetime: Duration::from_secs(60),
            claims: CLAIMS.map(str::to_owned).into(),
            shared: Arc::new(shared),
        })))
    }

    /// Sets whose certificates are believed where tokens are asked about, and the certificate to
    /// show there. Default: what the platform trusts, and none.
    ///
    /// # Errors
    ///
    /// [`AddressError::Setup`] where TLS can't be set up.
    pub fn with_tls(mut self, tls: ClientTls) -> Result<Self, AddressError> {
        Arc::make_mut(&mut self.0).client = fetch::client(tls)?;
        Ok(self)
    }

    /// Takes only tokens for this audience, or another that was named so. Default: all that are
    /// active, as many servers answer only about tokens for the one who asks.
    #[must_use]
    pub fn with_audience(mut self, audience: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.0).audiences.push(audience.into());
        self
    }

    /// Sets which members of the answer a caller carries ([`Caller::claims`]), as
    /// [`Jwt::with_claims`](super::Jwt::with_claims) does.
    #[must_use]
    pub fn with_claims(mut self, names: impl IntoIterator<Item: Into<String>>) -> Self {
        Arc::make_mut(&mut self.0).claims = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets how long an answer is believed: a token that is revoked is good for as long, and a
    /// quarter more where a stream is open. It is never believed for longer than the token lives.
    /// Default: 60 s.
    #[must_use]
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        Arc::make_mut(&mut self.0).lifetime = lifetime;
        self
    }
}

impl Inner {
    async fn verify(&self, presented: &Presented, token: &str) -> Result<Caller, Rejection> {
        let Shared { answers, digests, queue, asking } = &*self.shared;
        let digest = digests.of([presented]);
        if let Some(known) = digest.and_then(|digest| answers.get(&digest)) {
            return known.ok_or(Rejection::Invalid("it is not active")).and_then(alive);
        }
        let _place = queue.try_acquire().map_err(|_full| Rejection::Overloaded)?;
        let _turn = asking.acquire().await.map_err(|_never| Rejection::Overloaded)?;
        let answer = self.ask(token).await.map_err(Rejection::Unavailable)?;
        let caller = self.caller(&answer);
        let (kept, lifetime) = match &caller {
            Ok(caller) => {
                let left = caller.expires().map(|end| end.duration_since(SystemTime::now()));
                let left = left.map_or(self.lifetime, Result::unwrap_or_default);
                (Some(caller.clone()), left.min(self.lifetime))
            }
            Err(_) => (None, INACTIVE),
        };
        if let Some(digest) = digest {
            answers.insert(digest, kept, lifetime);
        }
        caller
    }

    async fn ask(&self, token: &str) -> Result<Claims, Box<dyn StdError + Send + Sync>> {
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("token", token)
            .append_pair("token_type_hint", "access_token")
            .finish();
        let request = Request::post(Url::parse(&self.url)?.as_str())
            .header(AUTHORIZATION, self.authorization.clone())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .body(form.into())?;
        let answer = fetch::successful(self.client.send(request).await?)?;
        Ok(Claims(serde_json::from_slice::<Map<String, Value>>(&answer)?))
    }

    /// Who the issuer says a token is of.
    fn caller(&self, answer: &Claims) -> Result<Caller, Rejection> {
        if answer.0.get("active") != Some(&Value::Bool(true)) {
            return Err(Rejection::Invalid("it is not active"));
        }
        if answer.text("iss").is_some_and(|issuer| issuer != self.issuer) {
            return Err(Rejection::Invalid("it is of another issuer"));
        }
        if !self.audiences.is_empty()
            && !self.audiences.iter().any(|audience| answer.is_for(audience))
        {
            return Err(Rejection::Invalid("it is for another audience"));
        }
        if answer.time("nbf")?.is_some_and(|from| from > SystemTime::now()) {
            return Err(Rejection::Invalid("it is not valid yet"));
        }
        let name = ["sub", "client_id", "username"].into_iter().find_map(|name| answer.text(name));
        let name = name.filter(|name| is_name(name));
        let name = name.ok_or(Rejection::Invalid("it names no subject"))?;
        let caller = Caller::authenticated(format!("{}#{name}", self.issuer))
            .with_scopes(answer.scopes())
            .with_claims(answer.selected(&self.claims));
        match answer.time("exp")? {
            Some(expires) => alive(caller.with_expiry(expires)),
            None => Ok(caller),
        }
    }
}

fn alive(caller: Caller) -> Result<Caller, Rejection> {
    match caller.expires() {
        Some(expires) if expires <= SystemTime::now() => Err(Rejection::Expired),
        _ => Ok(caller),
    }
}

#[async_trait]
impl Verifier for Introspection {
    fn fits(&self, scheme: &Scheme) -> bool {
        bears(scheme)
    }

    fn can_be_guessed(&self) -> bool {
        true
    }

    fn review_interval(&self) -> Option<Duration> {
        // Most find an answer that is remembered.
        Some((self.0.lifetime / 4).max(SHORTEST_REVIEW))
    }

    async fn verify(&self, presented: &Presented) -> Result<Caller, Rejection> {
        match presented {
            Presented::Bearer(token) => self.0.verify(presented, token).await,
            _ => Err(Rejection::Invalid("it is no bearer token")),
        }
    }
}

impl fmt::Debug for Introspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Introspection")
            .field("issuer", &self.0.issuer)
            .field("url", &self.0.url)
            .finish_non_exhaustive()
    }
}
