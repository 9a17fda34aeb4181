//! An agent on every binding.

use std::{fmt, future::Future, io, net::SocketAddr, sync::Arc, time::Duration};

use a2a_compat::{Revisions, TaskOrigins};
use a2a_core::{AgentCard, Error, Validate as _};
use a2a_http::{Drain, Limits, VersionPolicy, bind, rate::AddressRate, tls::Tls};
use a2a_operations::{Agent, CardSigner, Engine, Quota, QuotaConfig};
use axum::Router;
use tokio::net::TcpListener;

use crate::{extended::Extended, interface, ready::Readiness, routes};

/// How long the store of an engine may take to answer before the server counts as not ready.
const STORE_TIMEOUT: Duration = Duration::from_millis(900);

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address can't be listened on.
    #[error(transparent)]
    Bind(#[from] a2a_http::ServeError),
    /// The listener has no address.
    #[error("the listener has no address")]
    Address(#[source] io::Error),
    /// The agent card breaks rules of the protocol, so that no client could use it.
    #[error("the agent card is invalid")]
    Card(#[source] Error),
    /// The agent card says that callers have to authenticate, and nothing here makes them.
    #[error("the agent card has security requirements, and nothing enforces them")]
    Unguarded,
    /// The agent card says what can't be enforced.
    #[cfg(feature = "auth")]
    #[error("the security of the agent card can't be enforced")]
    Guard(#[from] a2a_auth::server::GuardError),
    /// The agent card can't be signed.
    #[error("the agent card can't be signed")]
    Signature(#[source] Error),
}

/// Serves an engine on every binding at `address`, until the future is dropped.
///
/// # Errors
///
/// [`ServeError`] where the address can't be listened on, or the card is invalid.
pub async fn serve(engine: Engine, address: &str) -> Result<(), ServeError> {
    let listener = bind(address).await?;
    Server::of(engine).serve(listener, std::future::pending()).await
}

/// An agent on one port: JSON-RPC at `POST /`, HTTP+JSON at the root and under `/{tenant}`, gRPC
/// by its paths, the card at `/.well-known/agent-card.json`, and `/healthz` and `/readyz`.
///
/// ```no_run
/// use a2a::{AgentCard, Engine, Server, agent_fn};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let card = AgentCard::new("Echo", "Says what it hears");
/// let engine = Engine::new(card, agent_fn(async |text: String| text));
/// let listener = a2a::http::bind("127.0.0.1:8080").await?;
/// let stop = async { drop(tokio::signal::ctrl_c().await) };
/// Server::of(engine).with_public_url("https://echo.example").serve(listener, stop).await?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct Server {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) card: AgentCard,
    pub(crate) jsonrpc: bool,
    pub(crate) rest: bool,
    pub(crate) grpc: bool,
    pub(crate) rpc_path: Option<String>,
    pub(crate) rest_prefix: Option<String>,
    pub(crate) public_url: Option<String>,
    pub(crate) grpc_address: Option<String>,
    pub(crate) limits: Limits,
    pub(crate) versions: VersionPolicy,
    pub(crate) revisions: Revisions,
    pub(crate) task_origins: TaskOrigins,
    pub(crate) layers: Vec<Layers>,
    pub(crate) routes: Router,
    pub(crate) tls: Option<Tls>,
    signer: Option<Arc<dyn CardSigner>>,
    pub(crate) readiness: Readiness,
    pub(crate) address_rate: Option<AddressRate>,
    grpc_listener: Option<TcpListener>,
    drain: Drain,
    is_guarded_elsewhere: bool,
    /// Whether callers authenticate, once it is known what enforces the card.
    authenticates: bool,
    /// Whose pages may call; `None` where nobody said.
    pub(crate) allowed_origins: Option<Vec<String>>,
    pub(crate) allowed_hosts: Vec<String>,
    /// Around the routes of the card.
    pub(crate) card_layers: Option<Layers>,
    /// With the number of layers that are inside of its own.
    #[cfg(feature = "auth")]
    guard: Option<(a2a_auth::server::Guard, usize)>,
}

pub(crate) type Layers = Box<dyn Fn(Router) -> Router + Send + Sync>;

impl Server {
    /// Creates a server of any agent, which says `card` of itself.
    ///
    /// A card without interfaces gets those that are served; others are taken as they are.
    pub fn new(agent: impl Agent, card: AgentCard) -> Self {
        Self {
            agent: Arc::new(agent),
            card,
            jsonrpc: true,
            rest: true,
            grpc: true,
            rpc_path: None,
            rest_prefix: None,
            public_url: None,
            grpc_address: None,
            limits: Limits::default(),
            versions: VersionPolicy::default(),
            revisions: Revisions::all(),
            task_origins: TaskOrigins::default(),
            layers: Vec::new(),
            routes: Router::new(),
            tls: None,
            signer: None,
            readiness: Readiness::default(),
            address_rate: None,
            grpc_listener: None,
            drain: Drain::new(),
            is_guarded_elsewhere: false,
            authenticates: false,
            allowed_origins: None,
            allowed_hosts: Vec::new(),
            card_layers: None,
            #[cfg(feature = "auth")]
            guard: None,
        }
    }

    /// Creates a server of an engine, with the engine's card. It is ready when the engine's
    /// store answers.
    pub fn of(engine: Engine) -> Self {
        let card = engine.card().clone();
        Self::new(engine.clone(), card).with_readiness_of(engine)
    }

    /// Has `/readyz` ask the store of this engine too, for a server of something around it.
    pub fn with_readiness_of(self, engine: Engine) -> Self {
        self.with_readiness("store", move || {
            let engine = engine.clone();
            async move { engine.probe(STORE_TIMEOUT).await }
        })
    }

    /// Adds something that has to work for `/readyz` to say so. It is asked once a second at
    /// most, and has failed if it takes longer than that. `part` is shown to whoever asks.
    pub fn with_readiness<F>(
        mut self,
        part: &'static str,
        check: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = a2a_core::Result<()>> + Send + 'static,
    {
        self.readiness.add(part, check);
        self
    }

    /// Leaves out JSON-RPC.
    pub fn without_jsonrpc(mut self) -> Self {
        self.jsonrpc = false;
        self
    }

    /// Leaves out HTTP+JSON.
    pub fn without_rest(mut self) -> Self {
        self.rest = false;
        self
    }

    /// Leaves out gRPC.
    pub fn without_grpc(mut self) -> Self {
        self.grpc = false;
        self
    }

    /// Answers JSON-RPC at this path too, and names it in the card.
    pub fn with_rpc_path(mut self, path: impl Into<String>) -> Self {
        self.rpc_path = normalized(path.into());
        self
    }

    /// Answers HTTP+JSON under this prefix instead of the root.
    pub fn with_rest_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.rest_prefix = normalized(prefix.into());
        self
    }

    /// Sets the URL under which clients reach the server, for the card. Without it, the card
    /// names the address that is listened on.
    pub fn with_public_url(mut self, url: impl Into<String>) -> Self {
        self.public_url = Some(url.into().trim_end_matches('/').to_owned());
        self
    }

    /// Sets the address under which clients reach gRPC, for the card: `host:port`, or a URL.
    pub fn with_grpc_address(mut self, address: impl Into<String>) -> Self {
        self.grpc_address = Some(address.into());
        self
    }

    /// Serves gRPC at a port of its own and not at the common one.
    pub fn with_grpc_listener(mut self, listener: TcpListener) -> Self {
        self.grpc_listener = Some(listener);
        self
    }

    /// Speaks TLS only, at every port, and says so in the card. The certificate has to be one for
    /// the name in the card: see [`with_public_url`](Self::with_public_url).
    ///
    /// ```no_run
    /// use a2a::{AgentCard, Engine, Server, agent_fn, http::tls::{Pem, TlsSettings}};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let tls = TlsSettings::new(Pem::file("agent.crt"), Pem::file("agent.key")).load()?;
    /// let card = AgentCard::new("Echo", "Says what it hears");
    /// let engine = Engine::new(card, agent_fn(async |text: String| text));
    /// let listener = a2a::http::bind("0.0.0.0:443").await?;
    /// Server::of(engine)
    ///     .with_tls(tls)
    ///     .with_public_url("https://echo.example")
    ///     .serve(listener, std::future::pending())
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Holds each address to a rate, in front of every layer. Card, `/healthz` and `/readyz` stay
    /// outside.
    pub fn with_address_rate(mut self, rate: AddressRate) -> Self {
        self.address_rate = Some(rate);
        self
    }

    /// Gives each caller its part of the agent as it is by now: how often it may call, how many
    /// of its tasks may work and how many of its streams be open at a time.
    pub fn with_quota(mut self, config: QuotaConfig) -> Self {
        self.agent = Arc::new(Quota::new(self.agent, config));
        self
    }

    /// Sets what is enforced before an operation is reached.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets what a request without `A2A-Version` stands for.
    pub fn with_version_policy(mut self, policy: VersionPolicy) -> Self {
        self.versions = policy;
        self
    }

    /// Sets which revisions of the protocol are served, each answered in its own shapes.
    /// Default: all.
    ///
    /// Webhooks are called by the engine: give [`a2a_compat::webhook::payload`] to its
    /// [`Webhooks`](a2a_http::Webhooks) for receivers of older revisions.
    pub fn with_revisions(mut self, revisions: Revisions) -> Self {
        self.revisions = revisions;
        self
    }

    /// Sets the table of task origins, which records the revision of each task. Servers of an agent
    /// share it. Default: at most 64 MiB, no retention limit.
    pub fn with_task_origins(mut self, origins: TaskOrigins) -> Self {
        self.task_origins = origins;
        self
    }

    /// Changes the router of the bindings, to put tower layers around every operation: card,
    /// `/healthz` and `/readyz` stay outside. What is added last is outermost.
    pub fn with_layers(
        mut self,
        layers: impl Fn(Router) -> Router + Send + Sync + 'static,
    ) -> Self {
        self.layers.push(Box::new(layers));
        self
    }

    /// Lets in only those who may, as the card says: in front of every operation, on every
    /// binding, in every revision. The card, `/healthz` and `/readyz` stay open, and so do health
    /// and reflection over gRPC.
    ///
    /// Layers that were added before see who calls, as a [`Caller`](a2a_operations::Caller) in the
    /// extensions of the request; those that are added later are outside, and see every request.
    ///
    /// ```
    /// use a2a::{AgentCard, Engine, Server, agent_fn};
    /// use a2a_auth::server::{ApiKeys, Guard};
    /// use a2a_core::v1::SecurityScheme;
    /// use a2a_operations::Caller;
    ///
    /// let card = AgentCard::new("Echo", "Says what it hears")
    ///     .with_security_scheme("key", SecurityScheme::api_key_header("X-API-Key"))
    ///     .requiring("key");
    /// let keys = ApiKeys::new().with_key("a long secret", Caller::authenticated("ann"));
    /// let engine = Engine::new(card, agent_fn(async |text: String| text));
    /// let server = Server::of(engine).with_auth(Guard::new().with_verifier("key", keys));
    /// ```
    #[cfg(feature = "auth")]
    pub fn with_auth(mut self, guard: a2a_auth::server::Guard) -> Self {
        self.guard = Some((guard, self.layers.len()));
        self
    }

    /// Says that something else enforces what the card says of its security: a gateway in front,
    /// or layers and a wrapper around the agent. Without this and without `with_auth`, a card with
    /// security requirements does not start.
    pub fn with_security_elsewhere(mut self) -> Self {
        self.is_guarded_elsewhere = true;
        self
    }

    /// Serves more paths beside the bindings, the card and `/healthz`, for example the keys that
    /// webhooks are signed with. The layers of [`with_layers`](Self::with_layers) are not around
    /// them.
    ///
    /// ```
    /// use a2a::{AgentCard, Engine, Server, agent_fn};
    /// use a2a_auth::{jose::{Algorithm, SigningKey}, webhook::Signer};
    /// use a2a_http::{WebhookPolicy, Webhooks};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let key = SigningKey::generate(Algorithm::Es256)?;
    /// let signer = Signer::new("https://echo.example", key);
    /// let webhooks = Webhooks::new(WebhookPolicy::default())?.with_signer(signer.clone());
    /// let card = AgentCard::new("Echo", "Says what it hears");
    /// let engine = Engine::builder(card, agent_fn(async |text: String| text))
    ///     .push_sender(webhooks)
    ///     .build();
    /// let server = Server::of(engine).with_routes(signer.router());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// Where two routers have the same path.
    pub fn with_routes(mut self, routes: Router) -> Self {
        self.routes = self.routes.merge(routes);
        self
    }

    /// Signs the card when its interfaces are filled in, and the extended card each time that it
    /// is asked for (spec §8.4). `a2a_auth::card::Signer` signs with a key.
    ///
    /// The signature is over what 1.0 knows of the card, so that it holds for older readers'
    /// members beside it too; cards in the form of 0.1 or of the draft go without one.
    pub fn with_card_signer(mut self, signer: impl CardSigner) -> Self {
        self.signer = Some(Arc::new(signer));
        self
    }

    /// Gives this signal before it stops, so that others can watch it, or stop the server.
    pub fn with_drain(mut self, drain: Drain) -> Self {
        self.drain = drain;
        self
    }

    /// The card as it is served to those who reach the server at `address`.
    pub fn card_at(&self, address: SocketAddr) -> AgentCard {
        let mut card = self.card.clone();
        interface::fill(self, address, &mut card);
        card
    }

    /// Returns everything as one router, to serve it by other means than [`serve`](Self::serve)
    /// or to mount it in an application. The card names `address` where there is no public URL.
    ///
    /// # Errors
    ///
    /// [`ServeError::Card`] where the card is invalid, [`ServeError::Unguarded`] where nothing
    /// enforces its security, `ServeError::Guard` where what it says can't be enforced, and
    /// [`ServeError::Signature`] where it can't be signed.
    pub fn into_router(mut self, address: SocketAddr) -> Result<Router, ServeError> {
        self.complete(address)?;
        routes::all(&self, address).map_err(ServeError::Card)
    }

    /// Serves until `shutdown` is done. Then ends event streams with an error that tells readers
    /// to come back elsewhere, gives other requests [`Limits::drain_timeout`], and returns.
    ///
    /// # Errors
    ///
    /// [`ServeError`] where the card is invalid, or can't be signed.
    pub async fn serve(
        mut self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let address = listener.local_addr().map_err(ServeError::Address)?;
        let limits = self.limits.clone();
        let drain = self.drain.clone();
        let tls = self.tls.clone();
        let server = |router: Router| {
            let server =
                a2a_http::Server::new(router).with_limits(limits.clone()).with_drain(drain.clone());
            match tls.clone() {
                Some(tls) => server.with_tls(tls),
                None => server,
            }
        };
        let Some(grpc_listener) = self.grpc_listener.take() else {
            server(self.into_router(address)?).serve(listener, shutdown).await;
            return Ok(());
        };
        let grpc_port = grpc_listener.local_addr().map_err(ServeError::Address)?.port();
        if self.grpc_address.is_none() {
            self.grpc_address = Some(interface::grpc_address(&self, address, Some(grpc_port)));
        }
        self.complete(address)?;
        let grpc = routes::grpc(&self, address);
        self.grpc = false;
        let others = routes::all(&self, address).map_err(ServeError::Card)?;
        // One signal stops both.
        let stopped = drain.started();
        tokio::join!(
            server(others).serve(listener, shutdown),
            server(grpc).serve(grpc_listener, stopped),
        );
        Ok(())
    }

    /// Whether nobody has to authenticate.
    pub(crate) fn is_open(&self) -> bool {
        !self.authenticates
    }

    /// Fills in what depends on the address, checks the card, and signs it.
    fn complete(&mut self, address: SocketAddr) -> Result<(), ServeError> {
        let card = self.card_at(address);
        let is_filled_in = card.supported_interfaces != self.card.supported_interfaces;
        self.card = card;
        if is_filled_in {
            // Whoever signed it did not sign these.
            self.card.signatures.clear();
        }
        self.card.validate().map_err(ServeError::Card)?;
        if self.card.has_extended_card() {
            let interfaces = self.card.supported_interfaces.clone();
            let extended = Extended::new(self.agent.clone(), interfaces, self.signer.clone());
            self.agent = Arc::new(extended);
        }
        self.secure()?;
        if let Some(signer) = &self.signer {
            self.card = signer.sign(self.card.clone()).map_err(ServeError::Signature)?;
        }
        Ok(())
    }

    /// Puts around the agent what enforces the card, if the card asks for that.
    fn secure(&mut self) -> Result<(), ServeError> {
        self.authenticates = self.is_guarded_elsewhere;
        #[cfg(feature = "auth")]
        if let Some((guard, inside)) = self.guard.take() {
            let enforcement = guard.enforce(&self.card)?;
            self.authenticates |= requires_authentication(&self.card);
            self.agent = enforcement.agent(self.agent.clone());
            let of_card = enforcement.clone();
            self.card_layers = Some(Box::new(move |router| of_card.card_layer(router)));
            self.layers.insert(inside, Box::new(move |router| enforcement.layer(router)));
            return Ok(());
        }
        if requires_authentication(&self.card) && !self.is_guarded_elsewhere {
            return Err(ServeError::Unguarded);
        }
        Ok(())
    }
}

/// Returns whether a card asks anything of callers, for the agent or for a skill.
fn requires_authentication(card: &AgentCard) -> bool {
    let of_skills = card.skills.iter().flat_map(|skill| &skill.security_requirements);
    card.security_requirements.iter().chain(of_skills).any(|one| !one.schemes.is_empty())
}

/// A path with a slash in front and none behind; `None` for the root.
fn normalized(path: String) -> Option<String> {
    let inner = path.trim_matches('/');
    (!inner.is_empty()).then(|| format!("/{inner}"))
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("card", &self.card.name)
            .field("jsonrpc", &self.jsonrpc)
            .field("rest", &self.rest)
            .field("grpc", &self.grpc)
            .finish_non_exhaustive()
    }
}
