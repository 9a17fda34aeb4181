//! Builder of a client.

use std::sync::{Arc, OnceLock, RwLock};

use a2a_core::{AgentCard, ExtensionSet, ProtocolVersion};
use a2a_kit_auth::client::{CredentialError, Credentials, Origin};
use a2a_kit_http::client::{ClientSettings, HttpClient};
use a2a_kit_operations::{Agent, CallContext};
use derive_setters::Setters;
use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};

use crate::{
    CardCache, Client, ClientEvent, DiscoveryError, Preference, RetryPolicy, SignaturePolicy,
    Snapshot, Timeouts, Transport,
    authenticated::Authenticated,
    binding::connect,
    candidate::{Candidate, Candidates},
    client_event::Observer,
    credential_guard::CredentialGuard,
    failover::Failover,
    preflight::{Preflight, SharedCard},
    resume::Resume,
    retry::Retry,
    tenant::WithTenant,
    traced::Traced,
};

/// Builds a [`Client`].
///
/// ```no_run
/// use a2a_kit_client::{Client, Transport};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::builder()
///     .prefer([Transport::Grpc])
///     .bearer("secret")
///     .connect("https://agent.example")
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, Setters)]
#[setters(generate = false)]
#[must_use]
pub struct ClientBuilder {
    /// Sets the bindings, their order and the protocol versions at once, in place of
    /// [`prefer`](Self::prefer), [`only`](Self::only), [`version`](Self::version) and
    /// [`at_least`](Self::at_least).
    #[setters(generate)]
    pub(crate) preference: Preference,
    /// Authenticates with the first alternative of the card's security requirements that these
    /// credentials satisfy (spec §7.3). Interfaces to which credentials must not be sent are not
    /// used: plaintext interfaces, and interfaces at an origin other than the card's, unless it is a
    /// [`trusted_origin`](Self::trusted_origin) of the client or of the credentials. A rejected
    /// request is retried once with renewed credentials.
    ///
    /// A certificate in the [TLS settings](ClientSettings::tls) of the HTTP client satisfies mutual
    /// TLS.
    ///
    /// With [`build`](Self::build), the application vouches for the origins in the card unless it
    /// sets [`card_origin`](Self::card_origin).
    #[setters(generate, strip_option)]
    pub(crate) credentials: Option<Credentials>,
    /// The origin of the card; `None` if the application vouches for the card.
    pub(crate) card_origin: Option<Origin>,
    /// What the application says about that origin.
    pub(crate) named_by: Option<Origin>,
    /// Further origins to which credentials may be sent.
    pub(crate) origins: Vec<Origin>,
    has_invalid_token: bool,
    pub(crate) headers: HeaderMap,
    pub(crate) card_headers: HeaderMap,
    /// Sets the context of every request: extensions, service parameters, which must not be
    /// secrets, and a credential.
    #[setters(generate)]
    pub(crate) context: CallContext,
    pub(crate) timeouts: Timeouts,
    /// Sets the retry policy of requests. Default: [`RetryPolicy::REQUESTS`].
    #[setters(generate, rename = "retry", strip_option)]
    requests: Option<RetryPolicy>,
    /// Sets the retry policy for resuming streams. Default: [`RetryPolicy::STREAMS`].
    #[setters(generate, rename = "resume", strip_option)]
    streams: Option<RetryPolicy>,
    /// Shares a card cache with other clients.
    #[setters(generate, rename = "card_cache", strip_option)]
    pub(crate) cache: Option<CardCache>,
    /// Sets how signatures of the agent's card are verified. Default: not at all.
    #[setters(generate)]
    pub(crate) signatures: SignaturePolicy,
    pub(crate) settings: ClientSettings,
    /// Uses only interfaces to which credentials may be sent, even if the client itself has none:
    /// for clients whose calls bring their own, such as those of a gateway.
    #[setters(generate, rename = "only_trusted_origins", bool)]
    pub(crate) trusted_only: bool,
    pub(crate) observer: Observer,
    /// Sets the maximum size of a task that the client assembles from events, in bytes: see
    /// [`Snapshot::with_max_bytes`]. Waiting for a larger task fails with `InvalidAgentResponse`.
    /// Default: 256 MiB.
    #[setters(generate, strip_option)]
    max_task_bytes: Option<usize>,
    /// The HTTP client that fetched the card.
    pub(crate) http: Option<HttpClient>,
}

impl Client {
    /// Returns a builder.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }
}

impl ClientBuilder {
    /// Prefers these bindings, in this order, to the other bindings of the card.
    pub fn prefer(mut self, transports: impl IntoIterator<Item = Transport>) -> Self {
        self.preference = self.preference.with_transports(transports);
        self
    }

    /// Uses only these bindings, in this order. Connecting fails if the card has none of them.
    pub fn only(mut self, transports: impl IntoIterator<Item = Transport>) -> Self {
        self.preference = self.preference.with_only(transports);
        self
    }

    /// Uses only this protocol version. Connecting fails if the card does not have it. Default: the
    /// newest version of the card.
    ///
    /// 0.1, 0.2 and the draft are also used at endpoints that they share with a listed version: see
    /// [`Preference::select`].
    pub fn version(mut self, version: ProtocolVersion) -> Self {
        self.preference.version = Some(version);
        self
    }

    /// Sets the minimum protocol version. Connecting fails if the card has only older versions.
    pub fn at_least(mut self, version: ProtocolVersion) -> Self {
        self.preference.oldest = Some(version);
        self
    }

    /// Sends a bearer token with every request to the agent, whatever the card requires, but not
    /// with the request for the card. The restrictions of [`header`](Self::header) apply.
    ///
    /// Connecting fails if the token contains characters that are invalid in a header.
    pub fn bearer(mut self, token: &str) -> Self {
        match HeaderValue::try_from(format!("Bearer {token}")) {
            Ok(mut value) => {
                value.set_sensitive(true);
                self.header(AUTHORIZATION, value)
            }
            // Without the token, the agent's rejection would hide the cause.
            Err(_) => {
                self.has_invalid_token = true;
                self
            }
        }
    }

    /// Sends a header with every request to the agent, in gRPC as metadata. It is not sent with
    /// the request for the card.
    ///
    /// As it may be a secret, it is sent only to the origin of the card, or of the catalog that names
    /// the card, and to [trusted origins](Self::trusted_origin): interfaces at other origins are not
    /// used, and connecting fails if there is no other interface. The same applies to the credential
    /// of a [`context`](Self::context); a call with its own credential is rejected at such an
    /// interface.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Trusts an origin other than the card's with credentials and headers, for example
    /// `"https://agents.example".parse()?`: for a card that comes from a registry, or an agent that
    /// serves gRPC on a separate port.
    pub fn trusted_origin(mut self, origin: Origin) -> Self {
        self.origins.push(origin);
        self
    }

    /// Sets the origin of the card that is passed to [`build`](Self::build), which restricts
    /// credentials to that origin. Without this, the application vouches for every interface in the
    /// card.
    ///
    /// With [`connect`](Self::connect) or [`fetch_card`](Self::fetch_card), this is the origin of a
    /// registry that has named the URL of the card, and counts in place of that of the URL.
    pub fn card_origin(mut self, origin: Origin) -> Self {
        self.named_by = Some(origin.clone());
        self.card_origin = Some(origin);
        self
    }

    /// Sends a header with the request for the card.
    pub fn card_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.card_headers.insert(name, value);
        self
    }

    /// Requests extensions with every request (`A2A-Extensions`).
    pub fn extensions(mut self, uris: impl IntoIterator<Item: Into<String>>) -> Self {
        self.context.extensions = ExtensionSet::from_iter(uris);
        self
    }

    /// Sets the timeouts.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self.http = None;
        self
    }

    /// Reports retries, lost and resumed streams, and other decisions of the client, for logs and
    /// progress displays.
    ///
    /// ```
    /// use a2a_kit_client::{Client, ClientEvent};
    ///
    /// let builder = Client::builder().on_event(|event| {
    ///     if let ClientEvent::Reconnecting { attempt, delay, error, .. } = event {
    ///         eprintln!("connection lost ({error}), attempt {attempt} in {delay:?}");
    ///     }
    /// });
    /// # let _ = builder;
    /// ```
    pub fn on_event(mut self, observe: impl Fn(ClientEvent) + Send + Sync + 'static) -> Self {
        self.observer = Observer::new(observe);
        self
    }

    /// Configures the HTTP client. Timeouts and headers of this builder take precedence.
    pub fn http(mut self, settings: ClientSettings) -> Self {
        self.settings = settings;
        self.http = None;
        self
    }

    /// Fetches the card at `reference` and selects an interface.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError`] if there is no card, or if it has no matching interface.
    pub async fn connect(mut self, reference: &str) -> Result<Client, DiscoveryError> {
        let card = self.fetch_card(reference).await?.valid()?;
        self.build_shared(card)
    }

    /// Selects an interface of an existing card.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError`] if the card has no matching interface.
    pub fn build(self, card: AgentCard) -> Result<Client, DiscoveryError> {
        self.build_shared(Arc::new(card))
    }

    fn build_shared(self, card: Arc<AgentCard>) -> Result<Client, DiscoveryError> {
        if self.has_invalid_token {
            return Err(DiscoveryError::Credentials(CredentialError::InvalidCharacters(
                "the bearer token",
            )));
        }
        let candidates = self.select_candidates(&card)?;
        self.build_candidates(card, candidates)
    }

    fn build_candidates(
        self,
        card: Arc<AgentCard>,
        candidates: Vec<Candidate>,
    ) -> Result<Client, DiscoveryError> {
        let http = self.http_client().map_err(DiscoveryError::Setup)?;
        // The timeout depends on the operation, so `Retry` enforces it.
        let http = http.with_headers(self.headers.clone()).with_request_timeout(None);
        let mut agents = Vec::with_capacity(candidates.len());
        let mut credentials = Vec::new();
        let trusted_origins = self.trusted_origins();
        for Candidate { selected, credentials: own } in &candidates {
            let agent = connect(selected, &http).map_err(DiscoveryError::Setup)?;
            let mut agent = Traced::wrap(agent, selected);
            if let Some(own) = own {
                agent = Authenticated::wrap(agent, own.clone());
                credentials.push(own.clone());
            }
            if let Some(reason) = selected.origin_error(&trusted_origins) {
                agent = Arc::new(CredentialGuard { agent, reason });
            }
            agents.push(WithTenant::wrap(agent, &selected.interface.tenant));
        }
        let active = Arc::new(OnceLock::new());
        let interfaces = candidates.into_iter().map(|one| one.selected).collect();
        let agent: Arc<dyn Agent> = match agents.as_slice() {
            [only] => only.clone(),
            _ => Arc::new(Failover::new(agents, active.clone())),
        };
        Ok(self.assemble(agent, card, Candidates { interfaces, credentials, active }))
    }

    /// Builds a client of an existing agent, such as an engine in this process.
    pub fn build_from_agent(self, agent: impl Agent, card: AgentCard) -> Client {
        self.assemble(Arc::new(agent), Arc::new(card), Candidates::default())
    }

    // From the inside out: resuming a stream has its own retries, a retried request keeps its
    // idempotency key, and an operation that the card does not support is never attempted.
    fn assemble(
        self,
        agent: Arc<dyn Agent>,
        card: Arc<AgentCard>,
        candidates: Candidates,
    ) -> Client {
        let card: SharedCard = Arc::new(RwLock::new(card));
        let (timeouts, observer) = (self.timeouts, self.observer);
        let requests = self.requests.unwrap_or(RetryPolicy::REQUESTS);
        let streams = self.streams.unwrap_or(RetryPolicy::STREAMS);
        let calls = |streams, polls| {
            let agent = Resume::new(agent.clone(), streams, timeouts.request, observer.clone());
            let agent = Retry::new(Arc::new(agent), requests, timeouts, observer.clone());
            let agent = agent.with_polls(polls);
            Arc::new(Preflight { agent: Arc::new(agent), card: card.clone() })
        };
        Client {
            // Without a poll to continue with, an agent that ends its streams early is called again,
            // with growing delays.
            agent: calls(streams.with_short_streams(u32::MAX), requests),
            // A poll that failed is followed by the next one.
            watched: calls(streams, RetryPolicy::NEVER),
            card,
            candidates: Arc::new(candidates),
            context: self.context,
            observer,
            max_task_bytes: self.max_task_bytes.unwrap_or(Snapshot::DEFAULT_MAX_BYTES),
        }
    }
}
