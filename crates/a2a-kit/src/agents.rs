//! Several agents on one port.

mod admission;
mod dispatch;
mod place;
mod tenant;

use std::{fmt, future::Future, net::SocketAddr, sync::Arc};

use a2a_kit_http::{Drain, Limits, bind, card_page, tls::Tls};
use a2a_kit_operations::Engine;
use axum::Router;
use derive_setters::Setters;
use tokio::net::TcpListener;

pub(crate) use admission::Admission;
pub(crate) use dispatch::Placed;
pub(crate) use place::Place;

use crate::{Mounted, ServeError, Server, ready::Readiness, serve::http_server};
use dispatch::Dispatch;
use tenant::InTenant;

/// Several agents on one port, each with its own card, engine, store and security.
///
/// ```no_run
/// use a2a_kit::{AgentCard, Agents, Engine, Server, agent_fn};
///
/// # async fn example() -> Result<(), a2a_kit::ServeError> {
/// let echo = agent_fn(async |text: String| text);
/// let echo = Engine::new(AgentCard::new("Echo", "Repeats its input"), echo);
/// let shout = agent_fn(async |text: String| text.to_uppercase());
/// let shout = Engine::new(AgentCard::new("Shout", "Repeats its input aloud"), shout);
/// Agents::new().at("/echo", echo).at("/shout", shout).run("127.0.0.1:8080").await
/// # }
/// ```
///
/// The card of an agent lists the bindings and revisions that reach it:
///
/// | | card | JSON-RPC, HTTP+JSON | gRPC |
/// |---|---|---|---|
/// | [`at`](Self::at) `/echo` | `/echo/.well-known/agent-card.json` | under `/echo` | 1.0, with the tenant `echo` |
/// | [`host`](Self::host) `echo.example` | at the root of the host | at the root of the host | all revisions, at the host |
/// | [`tenant`](Self::tenant) `echo` | `/echo/.well-known/agent-card.json` | 1.0: at the root, with the tenant `echo`; older revisions under `/echo` | 1.0, with the tenant `echo` |
///
/// gRPC has no paths, and its revisions before 1.0 have no tenant. The agent itself sees requests
/// without the tenant that selects it; a tenant `acme` of the agent is `echo/acme` from outside.
///
/// A tenant is searched in the first 64 KiB of a body. If it is not there and the body is longer, the rest
/// is read if one of the agents admits the caller.
///
/// Browsers get a page at the path of each agent, and at the root one that lists them; the setting is
/// [`Server::without_page`] of each.
///
/// Port, TLS, limits and shutdown are shared, and so are `/healthz` and `/readyz`, which is ready
/// when all agents are. Everything else is set on each [`Server`]. Engines must not share a store:
/// use one SQLite file, or one PostgreSQL schema (`PostgresConfig::schema`), for each.
#[must_use]
#[derive(Default, Setters)]
#[setters(prefix = "with_", generate = false)]
pub struct Agents {
    mounts: Vec<(Place, Server)>,
    public_url: Option<String>,
    /// Sets the limits for connections and requests, in place of those of the servers.
    #[setters(generate)]
    limits: Limits,
    /// Accepts TLS only. The certificate must be valid for the hosts in the cards.
    #[setters(generate, strip_option)]
    tls: Option<Tls>,
    /// Sets the signal that starts before the server stops.
    #[setters(generate)]
    drain: Drain,
    routes: Router,
}

impl Agents {
    /// Creates a port without agents.
    pub fn new() -> Self {
        Self::default()
    }

    /// Serves an agent under a path, such as `/echo`. At `/`, it gets every request that is for no
    /// other agent.
    pub fn at(self, path: &str, agent: impl Into<Server>) -> Self {
        let path = path.trim_matches('/').to_owned();
        self.with(if path.is_empty() { Place::Port } else { Place::Path(path) }, agent.into())
    }

    /// Serves an agent to requests for a host, such as `echo.example`, on all paths.
    ///
    /// The card lists the port of the listener, or that of [`with_public_url`].
    ///
    /// [`with_public_url`]: Self::with_public_url
    pub fn host(self, host: &str, agent: impl Into<Server>) -> Self {
        self.with(Place::Host(host.to_ascii_lowercase()), agent.into())
    }

    /// Serves an agent to requests with a tenant, which is in its card (spec §8.3.2).
    pub fn tenant(self, tenant: &str, agent: impl Into<Server>) -> Self {
        self.with(Place::Tenant(tenant.to_owned()), agent.into())
    }

    fn with(mut self, place: Place, server: Server) -> Self {
        self.mounts.push((place, server));
        self
    }

    /// Sets the public URL of the port, without the path of an agent. Default: the address of the
    /// listener. The URL of a single agent is set on its [`Server`].
    pub fn with_public_url(mut self, url: impl Into<String>) -> Self {
        self.public_url = Some(url.into().trim_end_matches('/').to_owned());
        self
    }

    /// Adds routes of your own at the root, which come before those of the agents.
    ///
    /// # Panics
    ///
    /// If a path is already in use.
    pub fn with_routes(mut self, routes: Router) -> Self {
        self.routes = self.routes.merge(routes);
        self
    }

    /// Mounts the agents in an application, at the root of a port. Without public URLs, the cards
    /// list `address`. The agents stop when `shutdown` completes: see [`Mounted`].
    ///
    /// # Errors
    ///
    /// [`ServeError`], as for [`Server::mount`], and [`ServeError::Mount`] if agents have the same
    /// place.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn mount(
        mut self,
        address: SocketAddr,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Mounted, ServeError> {
        let (engines, drain) = (self.take_engines(), self.drain.clone());
        let grace = self.limits.drain_timeout;
        Ok(Mounted::new(self.into_router(address)?, engines, drain, grace, shutdown))
    }

    fn take_engines(&mut self) -> Vec<Engine> {
        self.mounts.iter_mut().filter_map(|(_, server)| server.take_engine()).collect()
    }

    fn into_router(self, address: SocketAddr) -> Result<Router, ServeError> {
        let mut readiness = Readiness::default();
        let mut dispatch = Dispatch::new(self.limits.clone());
        let mut mounts = self.mounts;
        // Its page lists the others.
        mounts.sort_by_key(|(place, _)| *place == Place::Port);
        for (place, mut server) in mounts {
            place.check()?;
            if server.tls.is_some() || server.grpc_listener.is_some() {
                let problem = "TLS and listeners are set on `Agents`";
                return Err(ServeError::Mount { place: place.to_string(), problem });
            }
            readiness.checks.append(&mut server.parts.readiness.checks);
            let config = &mut server.parts.config;
            config.limits = self.limits.clone();
            config.has_tls = self.tls.is_some();
            config.paths.place = place.clone();
            config.paths.root_url.clone_from(&self.public_url);
            if let Place::Host(host) = &place {
                config.allowed_hosts.push(host.clone());
            }
            if let Some(tenant) = place.tenant() {
                server.parts.agent = Arc::new(InTenant::new(server.parts.agent, tenant));
            }
            if place == Place::Port {
                config.others = dispatch.listed().to_vec();
            }
            dispatch.add(place, server.into_placed(address)?)?;
        }
        let page = dispatch.page();
        let router =
            self.routes.merge(readiness.router()).fallback_service(dispatch.into_service());
        Ok(match page {
            // What the application and agents of a host have at the root comes first.
            Some(page) => card_page::layer(router.clone(), router, page),
            None => router,
        })
    }

    /// Serves at `address` until Ctrl-C or SIGTERM, as [`Server::run`] does.
    ///
    /// # Errors
    ///
    /// [`ServeError`], if the listener can't be bound, and as for [`mount`](Self::mount).
    pub async fn run(self, address: &str) -> Result<(), ServeError> {
        let stop = self.drain.signalled();
        self.serve(bind(address).await?, stop).await
    }

    /// Serves until `shutdown` completes, then stops gracefully, with all engines, as
    /// [`Server::serve`] does.
    ///
    /// # Errors
    ///
    /// [`ServeError`], as for [`mount`](Self::mount).
    pub async fn serve(
        mut self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let address = listener.local_addr().map_err(ServeError::Address)?;
        let engines = self.take_engines();
        let (grace, drain) = (self.limits.drain_timeout, self.drain.clone());
        let listen = http_server(&self.limits, &drain, self.tls.as_ref());
        let names: Vec<_> = self.mounts.iter().map(|(place, _)| place.to_string()).collect();
        let server = listen(self.into_router(address)?);
        tracing::info!(agents = ?names, %address, "serving");
        drain.serve_engines(&engines, grace, server.serve(listener, shutdown)).await;
        Ok(())
    }
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mounts = self.mounts.iter().map(|(place, server)| (place.to_string(), server));
        f.debug_map().entries(mounts).finish()
    }
}
