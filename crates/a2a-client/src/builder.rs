//! A client with settings of its own.

use std::sync::{Arc, OnceLock};

use a2a_auth::client::{CredentialError, Credentials, Origin};
use a2a_compat::{back, grpc::GrpcClient};
use a2a_core::{AgentCard, Error, ExtensionSet, ProtocolVersion};
use a2a_http::client::{ClientSettings, HttpClient};
use a2a_operations::{Agent, CallContext};
use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};

use crate::{
    CardCache, CardReference, Client, Discovery, DiscoveryError, Preference, RetryPolicy, Selected,
    SignaturePolicy, Timeouts, Transport,
    authenticated::Authenticated,
    client::{Ways, shared},
    failover::Failover,
    kept_back::KeptBack,
    prepared::{Prepared, SharedCard, Tenanted},
    resume::Resume,
    retry::Retry,
    traced::Traced,
    way::Way,
};

/// Makes a [`Client`].
///
/// ```no_run
/// use a2a_client::{Client, Transport};
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
#[derive(Clone, Debug)]
#[must_use]
pub struct ClientBuilder {
    pub(crate) preference: Preference,
    pub(crate) credentials: Option<Credentials>,
    /// Where the card was read; `None` where the application vouches for it.
    pub(crate) card_from: Option<Origin>,
    /// Where credentials may go beside that.
    pub(crate) origins: Vec<Origin>,
    has_unfit_token: bool,
    pub(crate) headers: HeaderMap,
    card_headers: HeaderMap,
    pub(crate) context: CallContext,
    timeouts: Timeouts,
    requests: RetryPolicy,
    streams: RetryPolicy,
    cache: Option<CardCache>,
    signatures: SignaturePolicy,
    pub(crate) settings: ClientSettings,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            preference: Preference::default(),
            credentials: None,
            card_from: None,
            origins: Vec::new(),
            has_unfit_token: false,
            headers: HeaderMap::new(),
            card_headers: HeaderMap::new(),
            context: CallContext::default(),
            timeouts: Timeouts::default(),
            requests: RetryPolicy::REQUESTS,
            streams: RetryPolicy::STREAMS,
            cache: None,
            signatures: SignaturePolicy::Off,
            settings: ClientSettings::default(),
        }
    }
}

impl ClientBuilder {
    /// Tries these bindings first, in this order, and then the others of the card.
    pub fn prefer(mut self, transports: impl IntoIterator<Item = Transport>) -> Self {
        self.preference.transports = transports.into_iter().collect();
        self.preference.only = false;
        self
    }

    /// Uses only these bindings, in this order; connecting fails where the card has none of them.
    pub fn only(mut self, transports: impl IntoIterator<Item = Transport>) -> Self {
        self.preference.transports = transports.into_iter().collect();
        self.preference.only = true;
        self
    }

    /// Speaks only this revision; connecting fails where the card does not have it. Without
    /// this, it is the newest that the card has.
    ///
    /// 0.1, 0.2 and the draft are also spoken to the addresses that they share with what the
    /// card lists: see [`Preference::select`].
    pub fn version(mut self, version: ProtocolVersion) -> Self {
        self.preference.version = Some(version);
        self
    }

    /// Speaks no revision before this one; connecting fails where the card has nothing newer.
    pub fn at_least(mut self, version: ProtocolVersion) -> Self {
        self.preference.oldest = Some(version);
        self
    }

    /// Authenticates as the card of the agent asks for: with the first alternative of its
    /// security requirements that these credentials meet (spec §7.3). Interfaces that they may not
    /// be sent to are left out: those in clear, and those at another origin than the card that was
    /// not named, [there](Credentials::with_origin) or [here](Self::with_origin). A request that
    /// is refused is made once more with fresh ones.
    ///
    /// A certificate in the [settings](ClientSettings::tls) of the HTTP client meets mutual TLS.
    ///
    /// With [`build`](Self::build), the application vouches for the origins in the card, unless it
    /// says [where that comes from](Self::card_from).
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Sends a bearer token with every request to the agent, not with that for its card, whatever
    /// the card asks for. It goes where a [`header`](Self::header) goes.
    ///
    /// Where it has characters that can't be sent, connecting fails.
    pub fn bearer(mut self, token: &str) -> Self {
        match HeaderValue::try_from(format!("Bearer {token}")) {
            Ok(mut value) => {
                value.set_sensitive(true);
                self.header(AUTHORIZATION, value)
            }
            // Without it, the refusal of the agent would tell nobody why.
            Err(_) => {
                self.has_unfit_token = true;
                self
            }
        }
    }

    /// Sends a header with every request to the agent, in gRPC as metadata. It is not sent with
    /// the request for its card.
    ///
    /// As it may be a secret, it goes to no origin but that of the card, or one that is
    /// [named](Self::with_origin): interfaces elsewhere are left out, and where no other is
    /// there, connecting fails. The same holds for the credential of a
    /// [`context`](Self::context); a call that brings one by itself is refused at such an
    /// interface.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Lets everything that authenticates the client go to an origin beside that of the card, as
    /// `"https://agents.example".parse()?`: for the card of an agent that is elsewhere, such as
    /// behind a registry, or at a port of its own for gRPC.
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origins.push(origin);
        self
    }

    /// Says where the card was read that is given to [`build`](Self::build), so that what
    /// authenticates the client keeps to that origin. Without this, the application vouches for
    /// every interface in the card.
    pub fn card_from(mut self, origin: Origin) -> Self {
        self.card_from = Some(origin);
        self
    }

    /// Sends a header with the request for the card.
    pub fn card_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.card_headers.insert(name, value);
        self
    }

    /// Asks for extensions with every request (`A2A-Extensions`).
    pub fn extensions(mut self, uris: impl IntoIterator<Item: Into<String>>) -> Self {
        self.context.extensions = ExtensionSet::from_iter(uris);
        self
    }

    /// Sends something else with every request: extensions, service parameters, which are no
    /// secrets, and a credential.
    pub fn context(mut self, context: CallContext) -> Self {
        self.context = context;
        self
    }

    /// Sets how long to wait for what.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Sets how requests are made again.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.requests = policy;
        self
    }

    /// Sets how cut streams are taken up again.
    pub fn resume(mut self, policy: RetryPolicy) -> Self {
        self.streams = policy;
        self
    }

    /// Shares a memory of cards with other clients.
    pub fn card_cache(mut self, cache: CardCache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Sets what is asked of the signatures of the agent's card. Default: nothing.
    pub fn signatures(mut self, policy: SignaturePolicy) -> Self {
        self.signatures = policy;
        self
    }

    /// Sets how the HTTP client behaves. Its timeouts and headers are those of this builder.
    pub fn http(mut self, settings: ClientSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Reads the card that `reference` names and chooses an interface.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError`] where there is no card, or none with an interface that is wanted.
    pub async fn connect(mut self, reference: &str) -> Result<Client, DiscoveryError> {
        let settings = self
            .settings
            .clone()
            .with_headers(self.card_headers.clone())
            .with_connect_timeout(self.timeouts.connect)
            .with_request_timeout(self.timeouts.request);
        let discovery = Discovery::new(settings)?
            .with_cache(self.cache.clone())
            .with_signatures(self.signatures.clone());
        let reference = reference.parse()?;
        let card = discovery.fetch(&reference).await?.valid()?;
        if let CardReference::Url(url) = &reference {
            self.card_from = Origin::of(url);
        }
        self.build_shared(card)
    }

    /// Chooses an interface of a card that is at hand already.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError`] where the card has no interface that is wanted.
    pub fn build(self, card: AgentCard) -> Result<Client, DiscoveryError> {
        self.build_shared(Arc::new(card))
    }

    fn build_shared(self, card: Arc<AgentCard>) -> Result<Client, DiscoveryError> {
        if self.has_unfit_token {
            return Err(DiscoveryError::Credentials(CredentialError::Unfit("the bearer token")));
        }
        let selected = self.selected(&card)?;
        let ways = self.authenticated(&card, selected)?;
        self.build_selected(card, ways)
    }

    fn build_selected(
        self,
        card: Arc<AgentCard>,
        selected: Vec<Way>,
    ) -> Result<Client, DiscoveryError> {
        let http = HttpClient::new(
            self.settings
                .clone()
                .with_headers(self.headers.clone())
                .with_connect_timeout(self.timeouts.connect)
                // A send may take longer than a read, which only the wrapper above can tell.
                .with_request_timeout(None)
                .with_idle_timeout(self.timeouts.idle),
        )
        .map_err(DiscoveryError::Setup)?;
        let mut ways = Vec::with_capacity(selected.len());
        let mut credentials = Vec::new();
        let reach = self.reach();
        for way in &selected {
            let agent = self.transport(&way.selected, &http).map_err(DiscoveryError::Setup)?;
            let mut agent = Traced::wrap(agent, &way.selected);
            if let Some(with) = &way.with {
                agent = Authenticated::wrap(agent, with.clone());
                credentials.push(with.clone());
            }
            if let Some(why) = way.selected.is_beyond(&reach) {
                agent = Arc::new(KeptBack::new(agent, why));
            }
            ways.push(Tenanted::wrap(agent, &way.selected.interface.tenant));
        }
        let chosen = Arc::new(OnceLock::new());
        let interfaces = selected.into_iter().map(|way| way.selected.interface).collect();
        let agent: Arc<dyn Agent> = match ways.as_slice() {
            [only] => only.clone(),
            _ => Arc::new(Failover::new(ways, chosen.clone())),
        };
        Ok(self.assemble(agent, shared(card), Ways { interfaces, credentials, chosen }))
    }

    /// Makes a client of an agent that is already at hand.
    pub fn build_from_agent(self, agent: impl Agent, card: AgentCard) -> Client {
        self.assemble(Arc::new(agent), shared(Arc::new(card)), Ways::default())
    }

    // From the inside out: a stream that is taken up again makes its own tries, a request that
    // is made again keeps its idempotency key, and nothing is tried that the card rules out.
    fn assemble(self, agent: Arc<dyn Agent>, card: SharedCard, ways: Ways) -> Client {
        let agent = Arc::new(Resume::new(agent, self.streams));
        let agent = Arc::new(Retry::new(agent, self.requests, self.timeouts));
        let agent = Arc::new(Prepared::new(agent, card.clone()));
        Client::assemble(agent, card, ways, self.context)
    }

    fn transport(
        &self,
        selected: &Selected,
        http: &HttpClient,
    ) -> a2a_core::Result<Arc<dyn Agent>> {
        let url = selected.interface.url.as_str();
        let revision = selected.version;
        if revision < ProtocolVersion::LATEST {
            return Ok(match selected.transport {
                Transport::JsonRpc => {
                    Arc::new(back::JsonRpcClient::new(url, revision, http.clone())?)
                }
                Transport::HttpJson => {
                    Arc::new(back::RestClient::new(url, revision, http.clone())?)
                }
                Transport::Grpc => {
                    let settings = http.settings().clone();
                    let client = GrpcClient::connect(url, revision, settings);
                    Arc::new(client.map_err(Error::internal)?)
                }
            });
        }
        Ok(match selected.transport {
            Transport::JsonRpc => Arc::new(a2a_jsonrpc::Client::with_http(url, http.clone())?),
            Transport::HttpJson => Arc::new(a2a_rest::Client::with_http(url, http.clone())?),
            Transport::Grpc => {
                let client = a2a_grpc::Client::connect_with(url, http.settings().clone());
                Arc::new(client.map_err(Error::internal)?)
            }
        })
    }
}
