//! What an application has to authenticate with.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use a2a_core::{
    card,
    v1::{AgentCard, AgentInterface},
};
use a2a_operations::Credential;
use futures_util::FutureExt as _;

use super::{
    CredentialError, CredentialSource, Origin, Secret, UnknownOrigin,
    cache::Cache,
    choice::{Means, Met},
};

/// What an application has to authenticate with at agents: sources of secrets, and what they have
/// given. Clones share what was given; at most 256 secrets are kept, one for each origin, scheme
/// and set of scopes.
///
/// The user of an agent is whoever the sources stand for: an application that acts for many users
/// has one of these for each.
#[derive(Clone)]
#[must_use]
pub struct Credentials {
    sources: Vec<Held>,
    origins: Vec<Origin>,
    has_certificate: bool,
    cache: Cache<Key>,
}

/// A source, and the scheme that it is for if not for any.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) name: Option<String>,
    pub(super) source: Arc<dyn CredentialSource>,
    /// Tells sources apart whose secrets are in one cache.
    number: u64,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Held").field(&self.name).field(&self.source).finish()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    origin: Origin,
    scheme: String,
    scopes: Vec<String>,
    source: u64,
}

impl Key {
    fn of(met: &Met) -> Self {
        let demand = &met.demand;
        let mut scopes = demand.scopes.clone();
        scopes.sort();
        Self {
            origin: demand.origin.clone(),
            scheme: demand.name.clone(),
            scopes,
            source: met.held.number,
        }
    }
}

impl Credentials {
    /// Creates it with nothing.
    pub fn new() -> Self {
        let (sources, origins) = (Vec::new(), Vec::new());
        Self { sources, origins, has_certificate: false, cache: Cache::new() }
    }

    /// Adds a source for every scheme that it can meet. Those that were added before come first.
    pub fn with(self, source: impl CredentialSource) -> Self {
        self.add(None, Arc::new(source))
    }

    /// Adds a source for the scheme that cards call by this name, and for no other. It comes
    /// before those that are for any.
    pub fn with_named(self, scheme: impl Into<String>, source: impl CredentialSource) -> Self {
        self.add(Some(scheme.into()), Arc::new(source))
    }

    fn add(mut self, name: Option<String>, source: Arc<dyn CredentialSource>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.sources.push(Held { name, source, number });
        self
    }

    /// Lets credentials go to an origin, as `https://agents.example`, that the card of an agent
    /// names though it comes from elsewhere itself, as from a registry.
    ///
    /// # Errors
    ///
    /// [`UnknownOrigin`] where the text names none.
    pub fn with_origin(mut self, origin: &str) -> Result<Self, UnknownOrigin> {
        self.origins.push(origin.parse()?);
        Ok(self)
    }

    /// Says that connections present a client certificate, which meets mutual TLS.
    pub fn with_client_certificate(mut self) -> Self {
        self.has_certificate = true;
        self
    }

    /// Chooses what meets the security requirements of an agent at one of its interfaces.
    ///
    /// `card_from` is where the card was read; `None` where the application vouches for it.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Exposed`] for an interface in clear, [`CredentialError::Elsewhere`] for
    /// one at an origin that is neither the card's nor named, and [`CredentialError::Unmet`] where
    /// no alternative can be met.
    pub fn for_agent(
        &self,
        card: &AgentCard,
        interface: &AgentInterface,
        card_from: Option<&Origin>,
    ) -> Result<AgentCredentials, CredentialError> {
        let origin: Origin = interface.url.parse()?;
        let means = Means {
            sources: &self.sources,
            has_certificate: self.has_certificate,
            has_query: !interface.protocol_binding.trim().eq_ignore_ascii_case(card::GRPC),
            origin: &origin,
        };
        let met = means.choose(card)?;
        if !met.is_empty() {
            if !origin.is_secure() {
                return Err(CredentialError::Exposed(origin));
            }
            let is_there = |allowed: &Origin| allowed.is_same_place(&origin);
            if let Some(card) = card_from
                && !is_there(card)
                && !self.origins.iter().any(is_there)
            {
                let card = card.clone();
                return Err(CredentialError::Elsewhere { card, interface: origin });
            }
        }
        Ok(AgentCredentials { met: met.into(), cache: self.cache.clone() })
    }
}

impl Default for Credentials {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("sources", &self.sources)
            .field("origins", &self.origins)
            .finish_non_exhaustive()
    }
}

/// What goes with requests to one interface of an agent.
#[derive(Clone)]
pub struct AgentCredentials {
    met: Arc<[Met]>,
    cache: Cache<Key>,
}

impl AgentCredentials {
    /// Returns whether nothing goes with requests: the card asks for nothing, or for what the
    /// connection does.
    pub fn is_empty(&self) -> bool {
        self.met.is_empty()
    }

    /// The names of the card's schemes that are met by secrets.
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.met.iter().map(|met| met.demand.name.as_str())
    }

    /// Returns what goes with a request. Secrets that are not at hand are obtained, which takes
    /// as long as it takes: where a user is asked, minutes.
    ///
    /// # Errors
    ///
    /// [`CredentialError`] of the source that failed.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: the next one who asks goes on where this one left.
    pub async fn credential(&self) -> Result<Credential, CredentialError> {
        self.gather(None).await
    }

    /// Returns what goes with a request in place of what was refused; the same where there is
    /// nothing else.
    ///
    /// # Errors
    ///
    /// As [`credential`](Self::credential).
    pub async fn renewed(&self, refused: &Credential) -> Result<Credential, CredentialError> {
        self.gather(Some(refused)).await
    }

    async fn gather(&self, refused: Option<&Credential>) -> Result<Credential, CredentialError> {
        let mut secrets = Vec::with_capacity(self.met.len());
        for met in &*self.met {
            let refused = refused.and_then(|refused| {
                let mut secrets = refused.expose();
                secrets.find(|(place, _)| **place == met.place).map(|(_, value)| value)
            });
            let is_refused = |secret: &Secret| {
                refused.and_then(|value| value.strip_prefix(&*met.prefix)) == Some(secret.expose())
            };
            let obtain = |previous: Option<Secret>| {
                let (source, demand) = (Arc::clone(&met.held.source), met.demand.clone());
                async move { source.obtain(&demand, previous.as_ref()).await }.boxed()
            };
            let secret = self.cache.get(&Key::of(met), is_refused, obtain).await?;
            secrets.push(met.placed(&secret.value())?);
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
