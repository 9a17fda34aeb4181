//! Serving: completes the card, enforces its security, and runs the listeners.

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use a2a_core::{AgentCard, Validate as _};
use a2a_kit_http::{Drain, HttpServer, Limits, bind, card_page::ListedAgent, tls::Tls, uri};
use a2a_kit_operations::Engine;
use axum::Router;
use tokio::net::TcpListener;

#[cfg(feature = "auth")]
use crate::agents::Admission;
use crate::{
    Server, agents::Placed, config::Bindings, error::ServeError, extended::Extended, interface,
    mount::Mounted, ready::PROBES, routes::Parts, server::Shutdown,
};

/// Serves an engine on every binding at `address`, until Ctrl-C or SIGTERM: see [`Server::run`].
///
/// # Errors
///
/// [`ServeError`] if the listener can't be bound, or the card is invalid.
pub async fn serve(engine: Engine, address: &str) -> Result<(), ServeError> {
    Server::from(engine).run(address).await
}

impl Server {
    /// Mounts the agent in an application, which serves its routes. Without a public URL, the card
    /// lists `address`. The agent stops when `shutdown` completes: see [`Mounted`].
    ///
    /// TLS, listeners and limits of connections are those of the application's server.
    ///
    /// # Errors
    ///
    /// [`ServeError::Card`] if the card is invalid, [`ServeError::PublicUrl`] if the public URL is
    /// none, [`ServeError::Unguarded`] if nothing enforces the security requirements of the card,
    /// `ServeError::Guard` if they can't be enforced, and [`ServeError::Signature`] if it can't be
    /// signed.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn mount(
        mut self,
        address: SocketAddr,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Mounted, ServeError> {
        let engines = self.take_engine().into_iter().collect();
        let (drain, grace) = (self.drain.clone(), self.grace());
        let router = self.into_placed(address)?.router;
        Ok(Mounted::new(router, engines, drain, grace, shutdown))
    }

    /// Completes the card, and returns the routes and what several agents on one port need.
    pub(crate) fn into_placed(mut self, address: SocketAddr) -> Result<Placed, ServeError> {
        self.complete(address)?;
        let router = self.parts.router(address).map_err(ServeError::Card)?;
        let Parts { card, config, admission, .. } = self.parts;
        let is_listed = config.has_page && !admission.has_private_card();
        let listed = is_listed.then(|| ListedAgent {
            name: card.name,
            description: card.description,
            url: interface::base(&config, address),
        });
        Ok(Placed { router, admission, listed, guard: config.site_guard(address) })
    }

    /// Serves at `address` until Ctrl-C (SIGINT) or SIGTERM, and stops as [`serve`](Self::serve)
    /// does. A second signal ends the grace period.
    ///
    /// # Errors
    ///
    /// [`ServeError`], if the listener can't be bound, and as for [`mount`](Self::mount).
    pub async fn run(self, address: &str) -> Result<(), ServeError> {
        let stop = self.drain.signalled();
        self.serve(bind(address).await?, stop).await
    }

    /// Serves until `shutdown` completes, then stops gracefully:
    ///
    /// 1. It ends event streams with an error on which clients reconnect, after
    ///    [`Limits::stream_drain_timeout`].
    /// 2. Other requests and running executors have [`Limits::drain_timeout`] to finish.
    /// 3. Executors that are still running are dropped, and the store is closed: see
    ///    [`Engine::shutdown`].
    ///
    /// [`Limits::stream_drain_timeout`]: a2a_kit_http::Limits::stream_drain_timeout
    /// [`Limits::drain_timeout`]: a2a_kit_http::Limits::drain_timeout
    ///
    /// # Errors
    ///
    /// [`ServeError`], as for [`mount`](Self::mount).
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let name = self.parts.card.name.clone();
        let address = listener.local_addr().map_err(ServeError::Address)?;
        let grpc_port = self.grpc_port()?;
        let serving = self.prepare(listener, shutdown)?;
        tracing::info!(agent = name, %address, grpc_port, "serving");
        Box::pin(serving).await;
        tracing::info!("stopped");
        Ok(())
    }

    /// Completes the card and checks everything that can fail, and returns what
    /// [`serve`](Self::serve) does after that, without its log: for a program that announces its
    /// address in between.
    ///
    /// # Errors
    ///
    /// [`ServeError`], as for [`mount`](Self::mount).
    pub fn prepare(
        mut self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<impl Future<Output = ()>, ServeError> {
        let address = listener.local_addr().map_err(ServeError::Address)?;
        if let Some(port) = self.grpc_port()? {
            let config = &mut self.parts.config;
            let grpc_address = interface::grpc_address(config, address, Some(port));
            config.paths.grpc_address.get_or_insert(grpc_address);
        }
        self.complete(address)?;
        let (engine, grace) = (self.take_engine(), self.grace());
        let Self { mut parts, tls, drain, grpc_listener, .. } = self;
        let limits = parts.config.limits.clone();
        let server = http_server(&limits, &drain, tls.as_ref());
        let has_grpc = parts.config.bindings.grpc;
        parts.config.bindings.grpc &= grpc_listener.is_none();
        let shared = server(parts.router(address).map_err(ServeError::Card)?);
        let shared = shared.with_direct(parts.direct(address));
        let grpc = match grpc_listener {
            Some(listener) => {
                parts.config.bindings = Bindings { jsonrpc: false, rest: false, grpc: has_grpc };
                parts.custom_bindings.clear();
                parts.extra_routes = Router::new();
                Some((server(parts.router(address).map_err(ServeError::Card)?), listener))
            }
            None => None,
        };
        Ok(async move {
            let grpc = async {
                if let Some((server, listener)) = grpc {
                    // One signal stops both.
                    server.serve(listener, drain.started()).await;
                }
            };
            let serving = async {
                tokio::join!(shared.serve(listener, shutdown), grpc);
            };
            drain.shut_down_engines(engine.as_slice(), grace, serving).await;
        })
    }

    fn grpc_port(&self) -> Result<Option<u16>, ServeError> {
        let address = self.grpc_listener.as_ref().map(TcpListener::local_addr).transpose();
        Ok(address.map_err(ServeError::Address)?.map(|address| address.port()))
    }

    fn grace(&self) -> Duration {
        match self.shutdown {
            Shutdown::EngineWithin(grace) => grace,
            Shutdown::Engine | Shutdown::Leave => self.parts.config.limits.drain_timeout,
        }
    }

    /// Completes the card, validates and signs it, and enforces its security requirements.
    fn complete(&mut self, address: SocketAddr) -> Result<(), ServeError> {
        let config = &self.parts.config;
        let paths = &config.paths;
        for url in paths.public_url.iter().chain(&paths.root_url) {
            let parsed = uri::parse(url).ok();
            if !parsed.is_some_and(|url| matches!(url.scheme_str(), Some("http" | "https"))) {
                return Err(ServeError::PublicUrl { url: url.clone() });
            }
        }
        let is_named = config.paths.place.tenant().is_some();
        let is_filled = self.parts.card.supported_interfaces.is_empty();
        if is_filled && config.bindings.grpc && !is_named && !interface::lists_grpc(config) {
            tracing::warn!(
                agent = self.parts.card.name,
                "gRPC is not in the card, because the public URL has a path: set its address"
            );
        }
        let mut card = self.card_at(address);
        if card.supported_interfaces != self.parts.card.supported_interfaces {
            // Signatures of the given card don't cover the added interfaces.
            card.signatures.clear();
        }
        card.validate().map_err(ServeError::Card)?;
        if card.has_extended_card() {
            let interfaces = card.supported_interfaces.clone();
            let extended = Extended::new(self.parts.agent.clone(), interfaces, self.signer.clone());
            self.parts.agent = Arc::new(extended);
        }
        self.parts.card = card;
        self.secure()?;
        if let Some(signer) = &self.signer {
            let card = self.parts.card.clone();
            self.parts.card = signer.sign(card).map_err(ServeError::Signature)?;
        }
        Ok(())
    }

    /// Adds the layers that enforce the security requirements of the card.
    fn secure(&mut self) -> Result<(), ServeError> {
        let requires_authentication = requires_authentication(&self.parts.card);
        self.parts.config.authenticates = self.trusts_layers;
        #[cfg(feature = "auth")]
        if let Some((guard, inside)) = self.guard.take() {
            let Parts { agent, card, config, layers, card_layers, admission, .. } = &mut self.parts;
            let enforcement = guard.enforce(card)?;
            config.authenticates |= requires_authentication;
            *agent = enforcement.agent(agent.clone());
            *admission = Admission::Guarded(enforcement.clone());
            let of_card = enforcement.clone();
            card_layers.insert(0, Box::new(move |router| of_card.card_layer(router)));
            layers.insert(inside, Box::new(move |router| enforcement.layer(router)));
            return Ok(());
        }
        if requires_authentication && !self.trusts_layers {
            return Err(ServeError::Unguarded);
        }
        Ok(())
    }
}

/// Returns how routes are served.
pub(crate) fn http_server(
    limits: &Limits,
    drain: &Drain,
    tls: Option<&Tls>,
) -> impl Fn(Router) -> HttpServer + use<> {
    let (limits, drain, tls) = (limits.clone(), drain.clone(), tls.cloned());
    move |router| {
        let server = HttpServer::new(router).with_limits(limits.clone()).with_probes(PROBES);
        server.with_drain(drain.clone()).with_tls(tls.clone())
    }
}

/// Returns whether a card has security requirements, for the agent or for a skill.
fn requires_authentication(card: &AgentCard) -> bool {
    let of_skills = card.skills.iter().flat_map(|skill| &skill.security_requirements);
    card.security_requirements.iter().chain(of_skills).any(|one| !one.schemes.is_empty())
}
