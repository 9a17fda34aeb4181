//! The credentials of an application.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use a2a_core::{
    ParseError, card,
    v1::{
        AgentCard, AgentInterface, HttpAuthSecurityScheme, SecurityScheme, security_scheme::Scheme,
    },
};
use a2a_kit_operations::Credential;
use derive_setters::Setters;
use futures_util::FutureExt as _;

use super::{
    CredentialError, CredentialSource, Origin, Secret,
    scheme_selection::{SchemeSelector, SelectedScheme},
    secret_cache::SecretCache,
    source::RegisteredSource,
};

/// The credential sources of an application, and a cache of their secrets. Clones share the cache,
/// which holds at most 256 secrets, one for each origin, scheme and set of scopes.
///
/// The sources determine the user that calls an agent: an application that acts on behalf of many
/// users needs one instance for each.
#[derive(Clone, Default, Setters)]
#[setters(generate = false)]
#[must_use]
pub struct Credentials {
    sources: Vec<RegisteredSource>,
    origins: Vec<Origin>,
    /// Declares that connections have a client certificate, which satisfies mutual TLS schemes.
    #[setters(generate, bool, rename = "with_client_certificate")]
    has_certificate: bool,
    /// Sends the secret of every source for which the card declares a scheme, whatever the card
    /// requires; sources without one send nothing. If the card declares no schemes at all, a bearer
    /// token or Basic credentials are sent in `Authorization`, and an API key in `X-API-Key`.
    ///
    /// For secrets that a user provides for one agent, for example on a command line.
    #[setters(generate, bool, rename = "unconditional")]
    is_unconditional: bool,
    /// Allows plaintext interfaces on remote hosts, in a network that the application trusts.
    /// Clients still ignore them if the card was fetched over TLS.
    #[setters(generate, bool, rename = "allow_plaintext")]
    allows_plaintext: bool,
    cache: SecretCache<Key>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    origin: Origin,
    scheme: String,
    scopes: Vec<String>,
    source: u64,
}

impl Key {
    fn of(selected: &SelectedScheme) -> Self {
        let request = &selected.request;
        let mut scopes = request.scopes.clone();
        scopes.sort();
        Self {
            origin: request.origin.clone(),
            scheme: request.name.clone(),
            scopes,
            source: selected.source.number,
        }
    }
}

impl Credentials {
    /// Creates an empty instance.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source for all schemes that it supports. Sources that were added earlier take
    /// precedence.
    pub fn with(self, source: impl CredentialSource) -> Self {
        self.add(None, Arc::new(source))
    }

    /// Adds a source for schemes with this name only. It takes precedence over sources without a
    /// name.
    pub fn with_named(self, scheme: impl Into<String>, source: impl CredentialSource) -> Self {
        self.add(Some(scheme.into()), Arc::new(source))
    }

    fn add(mut self, name: Option<String>, source: Arc<dyn CredentialSource>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.sources.push(RegisteredSource { name, source, number });
        self
    }

    /// Allows an interface origin, such as `https://agents.example`, in cards from another origin,
    /// such as a registry.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if the text is not an origin.
    pub fn with_trusted_origin(mut self, origin: &str) -> Result<Self, ParseError> {
        self.origins.push(origin.parse()?);
        Ok(self)
    }

    /// Selects the credentials that satisfy the security requirements of an agent, for one of its
    /// interfaces.
    ///
    /// `card_origin` is the origin of the card; `None` if the application trusts the card.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Plaintext`] for a plaintext interface on a remote host,
    /// [`CredentialError::CrossOrigin`] for an interface whose origin is neither the card's nor
    /// allowed, and [`CredentialError::Unsatisfied`] if no alternative can be satisfied.
    pub fn for_agent(
        &self,
        card: &AgentCard,
        interface: &AgentInterface,
        card_origin: Option<&Origin>,
    ) -> Result<AgentCredentials, CredentialError> {
        let origin: Origin = interface.url.parse()?;
        let is_grpc = interface.protocol_binding.trim().eq_ignore_ascii_case(card::GRPC);
        let selector = self.selector(&origin, !is_grpc);
        let schemes = if self.is_unconditional {
            selector.select_every_source(card)
        } else {
            selector.select(card)?
        };
        if !schemes.is_empty() {
            if !origin.is_secure() && !self.allows_plaintext {
                return Err(CredentialError::Plaintext(origin));
            }
            let is_allowed = |allowed: &Origin| allowed.is_equivalent(&origin);
            if let Some(card) = card_origin
                && !is_allowed(card)
                && !self.origins.iter().any(is_allowed)
            {
                let card = card.clone();
                return Err(CredentialError::CrossOrigin { card, interface: origin });
            }
        }
        Ok(AgentCredentials { schemes: schemes.into(), cache: self.cache.clone() })
    }

    fn selector<'a>(&'a self, origin: &'a Origin, has_query: bool) -> SchemeSelector<'a> {
        let (sources, has_certificate) = (&self.sources, self.has_certificate);
        SchemeSelector { sources, has_certificate, has_query, origin }
    }

    /// Returns the credential that a server asks for with a `WWW-Authenticate` challenge, for
    /// example when a card is fetched; `None` if no source supports the scheme of the challenge, or
    /// if it would be sent in plaintext to a remote host.
    ///
    /// # Errors
    ///
    /// [`CredentialError`] of the source.
    ///
    /// # Cancel safety
    ///
    /// As [`AgentCredentials::credential`].
    pub async fn for_challenge(
        &self,
        challenge: &str,
        origin: &Origin,
    ) -> Result<Option<Credential>, CredentialError> {
        let Some(scheme) = challenge.split_whitespace().next() else { return Ok(None) };
        if !origin.is_secure() && !self.allows_plaintext {
            return Ok(None);
        }
        let http = HttpAuthSecurityScheme { scheme: scheme.to_owned(), ..Default::default() };
        let scheme = SecurityScheme { scheme: Some(Scheme::HttpAuthSecurityScheme(http)) };
        let card = AgentCard::default().with_security_scheme(CHALLENGE, scheme);
        let schemes = self.selector(origin, true).select(&card)?;
        if schemes.is_empty() {
            return Ok(None);
        }
        let credentials = AgentCredentials { schemes: schemes.into(), cache: self.cache.clone() };
        credentials.credential().await.map(Some)
    }
}

/// The name under which the scheme of a challenge is cached. No card can declare it.
const CHALLENGE: &str = "WWW-Authenticate:";

a2a_core::debug_fields!(Credentials { sources, origins, .. });

/// The credentials for one interface of an agent.
#[derive(Clone)]
pub struct AgentCredentials {
    schemes: Arc<[SelectedScheme]>,
    cache: SecretCache<Key>,
}

impl AgentCredentials {
    /// Returns whether requests need no credentials: the card requires none, or only a client
    /// certificate.
    pub fn is_empty(&self) -> bool {
        self.schemes.is_empty()
    }

    /// The names of the selected schemes.
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.schemes.iter().map(|selected| selected.request.name.as_str())
    }

    /// Returns the credential for a request. Secrets that are not cached are obtained, which can
    /// take minutes if a user has to authorize.
    ///
    /// # Errors
    ///
    /// [`CredentialError`] of the source that failed.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the next call resumes the operation in progress.
    pub async fn credential(&self) -> Result<Credential, CredentialError> {
        self.gather(None).await
    }

    /// Returns the credential to use instead of a rejected one, or the same one if there is no
    /// other.
    ///
    /// # Errors
    ///
    /// As [`credential`](Self::credential).
    pub async fn renewed(&self, rejected: &Credential) -> Result<Credential, CredentialError> {
        self.gather(Some(rejected)).await
    }

    async fn gather(&self, rejected: Option<&Credential>) -> Result<Credential, CredentialError> {
        let mut secrets = Vec::with_capacity(self.schemes.len());
        for selected in &*self.schemes {
            let rejected = rejected.and_then(|rejected| {
                let mut secrets = rejected.expose();
                secrets.find(|(place, _)| **place == selected.place).map(|(_, value)| value)
            });
            let is_rejected = |secret: &Secret| {
                let value = rejected.and_then(|value| value.strip_prefix(&*selected.prefix));
                value == Some(secret.expose())
            };
            let obtain = |previous: Option<Secret>| {
                let source = Arc::clone(&selected.source.source);
                let request = selected.request.clone();
                async move { source.obtain(&request, previous.as_ref()).await }.boxed()
            };
            let secret = self.cache.get(&Key::of(selected), is_rejected, obtain).await?;
            secrets.push(selected.encode(&secret.value)?);
        }
        Ok(secrets.into_iter().collect())
    }
}

impl fmt::Debug for AgentCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.schemes().collect();
        f.debug_struct("AgentCredentials").field("schemes", &names).finish_non_exhaustive()
    }
}
