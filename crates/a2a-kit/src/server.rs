//! An agent on every binding.

use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};

use a2a_core::AgentCard;
#[cfg(feature = "compat")]
use a2a_kit_compat::{Revisions, TaskRevisions};
use a2a_kit_http::{Drain, Limits, VersionPolicy, rate::AddressRate, tls::Tls};
use a2a_kit_operations::{Agent, CardSigner, Engine, Quota, QuotaConfig};
use axum::Router;
use derive_setters::Setters;
use tokio::net::TcpListener;

use crate::{
    agents::Admission,
    config::Config,
    interface,
    ready::{Readiness, ReadinessCheck},
    routes::Parts,
};

/// Time for the store of an engine to respond, beyond which the server is not ready.
const STORE_TIMEOUT: Duration = Duration::from_millis(900);

/// What happens to the engine of a [`Server`] when the server stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shutdown {
    /// It shuts down. Running executors may go on for [`Limits::drain_timeout`].
    #[default]
    Engine,
    /// It shuts down. Running executors may go on for this time.
    EngineWithin(Duration),
    /// It keeps running, because other servers share it. Call [`Engine::shutdown`] after the last
    /// of them.
    Leave,
}

/// An agent on one port: JSON-RPC at `POST /`, HTTP+JSON at the root and under `/{tenant}`, gRPC
/// by its paths, the card at `/.well-known/agent-card.json`, and for browsers as a page at `/`, and
/// `/healthz` and `/readyz`.
///
/// ```no_run
/// use a2a_kit::{AgentCard, Engine, Server, agent_fn};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let card = AgentCard::new("Echo", "Repeats its input");
/// let engine = Engine::new(card, agent_fn(async |text: String| text));
/// Server::from(engine).with_public_url("https://echo.example").run("127.0.0.1:8080").await?;
/// # Ok(())
/// # }
/// ```
#[must_use]
#[derive(Setters)]
#[setters(prefix = "with_", generate = false)]
pub struct Server {
    pub(crate) parts: Parts,
    pub(crate) tls: Option<Tls>,
    pub(crate) signer: Option<Arc<dyn CardSigner>>,
    pub(crate) grpc_listener: Option<TcpListener>,
    /// Sets the signal that starts before the server stops. Others can watch it, or start it to stop
    /// the server.
    #[setters(generate)]
    pub(crate) drain: Drain,
    pub(crate) trusts_layers: bool,
    pub(crate) engine: Option<Engine>,
    /// Sets what happens to the engine when the server stops.
    #[setters(generate)]
    pub(crate) shutdown: Shutdown,
    /// With the number of layers inside of it.
    #[cfg(feature = "auth")]
    pub(crate) guard: Option<(a2a_kit_auth::server::Guard, usize)>,
}

/// Serves an engine with the engine's card, as by [`Server::with_engine`].
impl From<Engine> for Server {
    fn from(engine: Engine) -> Self {
        let card = engine.card().clone();
        Self::new(engine.clone(), card).with_engine(engine)
    }
}

impl Server {
    /// Creates a server of any agent, described by `card`.
    ///
    /// A card without interfaces gets those that are served; other cards are served unchanged.
    pub fn new(agent: impl Agent, card: AgentCard) -> Self {
        Self {
            parts: Parts {
                agent: Arc::new(agent),
                card,
                config: Config::default(),
                layers: Vec::new(),
                card_layers: Vec::new(),
                admission: Admission::default(),
                address_rate: None,
                custom_bindings: Vec::new(),
                extra_routes: Router::new(),
                readiness: Readiness::default(),
            },
            tls: None,
            signer: None,
            grpc_listener: None,
            drain: Drain::new(),
            trusts_layers: false,
            engine: None,
            shutdown: Shutdown::default(),
            #[cfg(feature = "auth")]
            guard: None,
        }
    }

    /// Names the engine behind the agent, for a server of a wrapper around it: the server is ready
    /// when the engine's store responds, shuts the engine down when it stops, and labels its metrics
    /// as the engine does (`EngineConfig::metrics_label`).
    pub fn with_engine(mut self, engine: Engine) -> Self {
        self.engine = Some(engine.clone());
        self.parts.config.metrics_label = engine.metrics_label();
        self.with_readiness(ReadinessCheck::new("store", move || {
            let engine = engine.clone();
            async move { engine.probe(STORE_TIMEOUT).await }
        }))
    }

    /// Adds a check to `/readyz`.
    pub fn with_readiness(mut self, check: ReadinessCheck) -> Self {
        self.parts.readiness.checks.push(check);
        self
    }

    /// Disables JSON-RPC.
    pub fn without_jsonrpc(mut self) -> Self {
        self.parts.config.bindings.jsonrpc = false;
        self
    }

    /// Disables HTTP+JSON.
    pub fn without_rest(mut self) -> Self {
        self.parts.config.bindings.rest = false;
        self
    }

    /// Disables gRPC.
    pub fn without_grpc(mut self) -> Self {
        self.parts.config.bindings.grpc = false;
        self
    }

    /// Serves JSON-RPC at this path as well as at the root; the card lists this path.
    pub fn with_rpc_path(mut self, path: impl Into<String>) -> Self {
        self.parts.config.paths.rpc_path = normalized(path.into());
        self
    }

    /// Serves HTTP+JSON under this prefix instead of at the root.
    pub fn with_rest_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.parts.config.paths.rest_prefix = normalized(prefix.into());
        self
    }

    /// Sets the public URL of the server, for the card: `http://` or `https://`, a host, and
    /// optionally a path. Default: the address of the listener.
    ///
    /// gRPC has no paths: under a URL with a path, the card lists it only
    /// [with an address](Self::with_grpc_address).
    pub fn with_public_url(mut self, url: impl Into<String>) -> Self {
        self.parts.config.paths.public_url = Some(url.into().trim_end_matches('/').to_owned());
        self
    }

    /// Sets the public address of gRPC, for the card: `host:port`, or a URL.
    pub fn with_grpc_address(mut self, address: impl Into<String>) -> Self {
        self.parts.config.paths.grpc_address = Some(address.into());
        self
    }

    /// Serves gRPC on its own listener instead of the shared one, with the card and the health
    /// probes, but without [routes of your own](Self::with_routes).
    #[cfg(feature = "grpc")]
    pub fn with_grpc_listener(mut self, listener: TcpListener) -> Self {
        self.grpc_listener = Some(listener);
        self
    }

    /// Disables the page that browsers get at the root: the card, and how to call the agent. Routes
    /// of your own at `/` come before it.
    pub fn without_page(mut self) -> Self {
        self.parts.config.has_page = false;
        self
    }

    /// Accepts TLS only, on every listener. The certificate must be valid for the host in the
    /// card: see [`with_public_url`](Self::with_public_url).
    ///
    /// ```no_run
    /// use a2a_kit::{AgentCard, Engine, Server, agent_fn, http::tls::{Pem, TlsSettings}};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let tls = TlsSettings::new(Pem::file("agent.crt"), Pem::file("agent.key")).load()?;
    /// let card = AgentCard::new("Echo", "Repeats its input");
    /// let engine = Engine::new(card, agent_fn(async |text: String| text));
    /// Server::from(engine)
    ///     .with_tls(tls)
    ///     .with_public_url("https://echo.example")
    ///     .run("0.0.0.0:443")
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_tls(mut self, tls: Tls) -> Self {
        self.parts.config.has_tls = true;
        self.tls = Some(tls);
        self
    }

    /// Limits the rate of requests per client address, outside of all layers. The card, `/healthz`
    /// and `/readyz` are not limited.
    pub fn with_address_rate(mut self, rate: AddressRate) -> Self {
        self.parts.address_rate = Some(rate);
        self
    }

    /// Limits each caller: its request rate, its running tasks and its open streams. Wraps the
    /// agent as it is at this point.
    pub fn with_quota(mut self, config: QuotaConfig) -> Self {
        self.parts.agent = Arc::new(Quota::new(self.parts.agent, config));
        self
    }

    /// Sets the limits for connections and requests.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.parts.config.limits = limits;
        self
    }

    /// Sets how requests without `A2A-Version` are treated.
    pub fn with_version_policy(mut self, policy: VersionPolicy) -> Self {
        self.parts.config.versions = policy;
        self
    }

    /// Sets the revisions of the protocol that are served. Default: all.
    ///
    /// Webhooks are delivered by the engine: for receivers of older revisions, set
    /// [`a2a_kit_compat::webhook::payload`] on its [`Webhooks`](a2a_kit_http::Webhooks).
    #[cfg(feature = "compat")]
    pub fn with_revisions(mut self, revisions: Revisions) -> Self {
        self.parts.config.revisions = revisions;
        self
    }

    /// Sets the table of the revisions in which tasks were made. Servers of an agent
    /// share it. Default: at most 64 MiB, no retention limit.
    #[cfg(feature = "compat")]
    pub fn with_task_revisions(mut self, revisions: TaskRevisions) -> Self {
        self.parts.config.task_revisions = revisions;
        self
    }

    /// Adds tower layers around every operation, but not around the card, `/healthz` and
    /// `/readyz`. The last call adds the outermost layers.
    pub fn with_layers(
        mut self,
        layers: impl Fn(Router) -> Router + Send + Sync + 'static,
    ) -> Self {
        self.parts.layers.push(Box::new(layers));
        self
    }

    /// Adds tower layers around the card and its page. The last call adds the outermost layers.
    pub fn with_card_layers(
        mut self,
        layers: impl Fn(Router) -> Router + Send + Sync + 'static,
    ) -> Self {
        self.parts.card_layers.push(Box::new(layers));
        self
    }

    /// Serves a custom binding (spec §12): routes that call the agent, behind the layers, the
    /// authentication and the limits of the other bindings. The caller of a request is in its
    /// extensions.
    ///
    /// # Panics
    ///
    /// When the server starts, if a path is already in use.
    pub fn with_binding(
        mut self,
        routes: impl Fn(Arc<dyn Agent>) -> Router + Send + Sync + 'static,
    ) -> Self {
        self.parts.custom_bindings.push(Box::new(routes));
        self
    }

    /// Allows pages of these origins to call the agent and read its card, such as
    /// `https://app.example`: scheme, host and port, as browsers send them. `*` allows all.
    ///
    /// Default: if callers authenticate, all origins, because browsers don't add these credentials
    /// by themselves; otherwise only pages under the host and port of the agent.
    pub fn with_allowed_origins<O: Into<String>>(
        mut self,
        origins: impl IntoIterator<Item = O>,
    ) -> Self {
        self.parts.config.allowed_origins = Some(origins.into_iter().map(Into::into).collect());
        self
    }

    /// Accepts requests for these hosts as well, if callers don't authenticate. `*` accepts all.
    ///
    /// Default: loopback hosts, the host of [`with_public_url`](Self::with_public_url), and IP
    /// addresses if the server listens on others than loopback. Any other name could have been made
    /// to resolve to this server by a page (DNS rebinding). If callers authenticate, every host is
    /// accepted.
    pub fn with_allowed_hosts<H: Into<String>>(
        mut self,
        hosts: impl IntoIterator<Item = H>,
    ) -> Self {
        self.parts.config.allowed_hosts = hosts.into_iter().map(Into::into).collect();
        self
    }

    /// Enforces the security requirements of the card for every operation, on every binding and in
    /// every revision. The card, `/healthz`, `/readyz`, and health and reflection over gRPC stay
    /// public.
    ///
    /// Layers added before this call find the [`Caller`](a2a_kit_operations::Caller) in the extensions
    /// of the request; layers added later see every request, unauthenticated.
    ///
    /// ```
    /// use a2a_kit::{AgentCard, Engine, Server, agent_fn};
    /// use a2a_kit_auth::server::{ApiKeys, Guard};
    /// use a2a_core::v1::SecurityScheme;
    /// use a2a_kit_operations::Caller;
    ///
    /// let card = AgentCard::new("Echo", "Repeats its input")
    ///     .with_security_scheme("key", SecurityScheme::api_key_header("X-API-Key"))
    ///     .requiring("key");
    /// let keys = ApiKeys::new().with_key("a long secret", Caller::authenticated("ann"));
    /// let engine = Engine::new(card, agent_fn(async |text: String| text));
    /// let server = Server::from(engine).with_auth(Guard::new().with_verifier("key", keys));
    /// ```
    #[cfg(feature = "auth")]
    pub fn with_auth(mut self, guard: a2a_kit_auth::server::Guard) -> Self {
        self.guard = Some((guard, self.parts.layers.len()));
        self
    }

    /// Trusts layers and a wrapper around the agent, or a proxy in front, to enforce the security
    /// requirements of the card. Without this or `with_auth`, a server whose card has security
    /// requirements does not start.
    pub fn trust_layers_for_auth(mut self) -> Self {
        self.trusts_layers = true;
        self
    }

    /// Adds routes of your own, for example for the public keys of signed webhooks. The layers of
    /// [`with_layers`](Self::with_layers) don't apply to them.
    ///
    /// ```
    /// use a2a_kit::{AgentCard, Engine, Server, agent_fn};
    /// use a2a_kit_auth::{jose::{Algorithm, SigningKey}, webhook::WebhookSigner};
    /// use a2a_kit_http::{WebhookPolicy, Webhooks};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let key = SigningKey::generate(Algorithm::Es256)?;
    /// let signer = WebhookSigner::new("https://echo.example", key);
    /// let webhooks = Webhooks::new(WebhookPolicy::default())?.with_signer(signer.clone());
    /// let card = AgentCard::new("Echo", "Repeats its input");
    /// let engine = Engine::builder(card, agent_fn(async |text: String| text))
    ///     .push_sender(webhooks)
    ///     .build();
    /// let server = Server::from(engine).with_routes(signer.router());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// If a path is already in use.
    pub fn with_routes(mut self, routes: Router) -> Self {
        self.parts.extra_routes = self.parts.extra_routes.merge(routes);
        self
    }

    /// Signs the card once its interfaces are complete, and the extended card on each request
    /// (spec §8.4). `a2a_kit_auth::card::JwsCardSigner` signs with a key.
    ///
    /// The signature covers the members that 1.0 defines, so that it stays valid next to members
    /// for older revisions. Cards in the form of 0.1 or of the draft are not signed.
    pub fn with_card_signer(mut self, signer: impl CardSigner) -> Self {
        self.signer = Some(Arc::new(signer));
        self
    }

    /// Replaces the card, for example by that of [`card_at`](Self::card_at) with fewer interfaces.
    pub fn with_card(mut self, card: AgentCard) -> Self {
        self.parts.card = card;
        self
    }

    /// The engine to shut down with the server.
    pub(crate) fn take_engine(&mut self) -> Option<Engine> {
        self.engine.take().filter(|_| self.shutdown != Shutdown::Leave)
    }

    /// The card of a server that listens at `address`.
    pub fn card_at(&self, address: SocketAddr) -> AgentCard {
        let mut card = self.parts.card.clone();
        interface::fill(&self.parts.config, address, &mut card);
        card
    }
}

/// A path with a leading and no trailing slash; `None` for the root.
fn normalized(path: String) -> Option<String> {
    let inner = path.trim_matches('/');
    (!inner.is_empty()).then(|| format!("/{inner}"))
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("card", &self.parts.card.name)
            .field("bindings", &self.parts.config.bindings)
            .finish_non_exhaustive()
    }
}
