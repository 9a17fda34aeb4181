//! Composes a server from its options: agent, card, and what is around the bindings.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use a2a_core::{AgentCard, ProtocolVersion, card};
use a2a_kit::{ReadinessCheck, Server, Shutdown, TaskRevisions};
use a2a_kit_auth::{
    card::JwsCardSigner,
    webhook::{JWKS_PATH, WebhookSigner},
};
use a2a_kit_client::Transport;
use a2a_kit_exec::Exec;
use a2a_kit_http::site_guard::SiteGuard;
use a2a_kit_operations::{Agent, Store};
use a2a_kit_script::Script;
use axum::{Router, http::Uri, middleware};
#[cfg(target_os = "linux")]
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use super::{
    address::reachable,
    built_in::DemoAgent,
    encryption,
    engine::{self, customize_card},
    options::Options,
    pages::{self, AuthorizeEndpoint},
    proxy::{self, Upstream},
};
use crate::{
    failure::Failure,
    settings::serve::{GrpcInCard, Serve},
};

/// Grace period of scripts, which continue where they stopped at the next start.
const SCRIPT_GRACE: Duration = Duration::from_millis(500);

/// A composed server.
#[derive(Debug)]
pub(super) struct Composed {
    pub(super) server: Server,
    /// The programs of `--exec`.
    pub(super) exec: Option<Exec>,
    /// The served card.
    pub(super) card: AgentCard,
    /// Whether callers don't authenticate, or need not.
    pub(super) is_anonymous: bool,
}

/// Composes the server that listens at `address`, with gRPC at `grpc_address` if it is separate.
/// Errors: a usage failure for an unreadable or invalid card; an internal failure if the webhook
/// client can't be created.
pub(super) fn compose(
    serve: &Serve,
    options: &Options,
    demo: &dyn DemoAgent,
    upstream: Option<Upstream>,
    store: Option<Arc<dyn Store>>,
    address: SocketAddr,
    grpc_address: Option<SocketAddr>,
) -> Result<Composed, Failure> {
    let exec = engine::exec_agent(serve, options)?;
    #[cfg(target_os = "linux")]
    if exec.is_some() {
        // Commands of the same user could read the environment and the memory of the server.
        let _infallible = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
    let is_upstream = upstream.is_some();
    let issuer = issuer(serve, options, address);
    let card_keys = options.card_key.iter().map(|key| key.public().clone());
    let signer = options.webhook_key.clone().map(|key| {
        card_keys.fold(WebhookSigner::new(&*issuer, key), WebhookSigner::with_published)
    });
    let card_signer = options
        .card_key
        .clone()
        .map(|key| JwsCardSigner::new(key).with_url(format!("{issuer}{JWKS_PATH}")));
    let script = serve.is_scripted().then(|| options.script.clone());
    let faults = script.as_ref().and_then(Script::faults);
    let authenticates = options.authenticates() || serve.proxy.forwards_auth();
    let mut server = match upstream {
        Some(upstream) => {
            let index = serve.has_index().then(|| proxy::owner_index(serve, store));
            let agent = (upstream.agent)(index.clone());
            let card = customize_card(serve, options, upstream.card)?;
            let server = given(Server::new(agent, card), index, |server, index| {
                server.with_readiness(ReadinessCheck::new("store", move || {
                    let index = index.clone();
                    async move { index.probe().await }
                }))
            });
            given(server, upstream.probed, |server, agent| {
                let probe = move || proxy::probe(Arc::clone(&agent));
                server.with_readiness(ReadinessCheck::new("upstream", probe))
            })
        }
        None => {
            let engine = engine::engine(serve, options, demo, store, signer.clone(), exec.clone())?;
            let (agent, card): (Arc<dyn Agent>, _) =
                (Arc::new(engine.clone()), engine.card().clone());
            let agent = match &faults {
                Some(faults) => faults.agent(agent),
                None => agent,
            };
            Server::new(agent, card).with_engine(engine)
        }
    };
    if authenticates || serve.limits.rate_limit_anonymous {
        // An engine counts its own tasks.
        server = server.with_quota(serve.limits.quota(!is_upstream));
    }
    let retention = serve.store.retention.map(|retention| retention.0);
    let pages = match (&signer, &card_signer) {
        (Some(signer), _) => pages::router().merge(signer.router()),
        (None, Some(signer)) => pages::router().merge(signer.jwks().router()),
        (None, None) => pages::router(),
    };
    server = with_addresses(server, serve, options, grpc_address)
        .with_revisions(serve.listen.protocol.0.clone())
        .with_task_revisions(TaskRevisions::default().with_retention(retention))
        .with_limits(options.limits.clone())
        .with_routes(pages);
    let card = listed_card(&server, serve, options, address)?;
    server = server.with_card(card.clone());
    server = given(server, script, |server, script| {
        server
            .with_shutdown(Shutdown::EngineWithin(SCRIPT_GRACE))
            .with_binding(move |agent| AuthorizeEndpoint { script: script.clone(), agent }.router())
    });
    server = given(server, faults, |server, faults| {
        let of_card = faults.clone();
        server
            .with_layers(move |router| faults.layer(router))
            .with_card_layers(move |router| of_card.card_layer(router))
    });
    if serve.proxy.forwards_auth() {
        let keep = |router: Router| router.layer(middleware::from_fn(proxy::keep_credential));
        // The upstream agent enforces the requirements of the card.
        server = server.with_layers(keep).trust_layers_for_auth();
    }
    if let Some(access) = &options.access {
        server = server.with_auth(access.guard(&card)?);
    }
    server = given(server, options.address_rate.clone(), Server::with_address_rate);
    server = given(server, card_signer, Server::with_card_signer);
    let is_anonymous = !authenticates || serve.auth.anonymous;
    Ok(Composed { server: demo.server(server), exec, card, is_anonymous })
}

/// Applies a setting that is given.
fn given<T>(server: Server, value: Option<T>, apply: impl FnOnce(Server, T) -> Server) -> Server {
    match value {
        Some(value) => apply(server, value),
        None => server,
    }
}

/// The issuer of signed webhooks: the URL of the server.
fn issuer(serve: &Serve, options: &Options, address: SocketAddr) -> String {
    match &serve.listen.public_url {
        Some(url) => url.trim_end_matches('/').to_owned(),
        None => format!("{}://{}", options.scheme(), reachable(serve, address)),
    }
}

/// Sets the bindings, and where clients find them.
fn with_addresses(
    mut server: Server,
    serve: &Serve,
    options: &Options,
    grpc_address: Option<SocketAddr>,
) -> Server {
    let listen = &serve.listen;
    let has = |binding| options.bindings.contains(&binding);
    if !has(Transport::JsonRpc) {
        server = server.without_jsonrpc();
    }
    if !has(Transport::Rest) {
        server = server.without_rest();
    }
    if !has(Transport::Grpc) {
        server = server.without_grpc();
    }
    if !listen.allowed_origins.is_empty() {
        server = server.with_allowed_origins(listen.allowed_origins.iter().map(|one| &one.0));
    }
    let own_port = grpc_address.map(|address| {
        // `host:port` implies TLS except on loopback.
        let is_secure_here = options.tls.is_some() && encryption::is_here(address);
        let scheme = if is_secure_here { "https://" } else { "" };
        format!("{scheme}{}", reachable(serve, address))
    });
    server = given(server, options.tls.clone(), Server::with_tls);
    server = given(server, listen.rpc_path.as_ref(), Server::with_rpc_path);
    server = given(server, listen.rest_prefix.as_ref(), Server::with_rest_prefix);
    server = given(server, listen.public_url.as_ref(), Server::with_public_url);
    server = given(server, listen.grpc_address.clone().or(own_port), Server::with_grpc_address);
    server.with_allowed_hosts(allowed_hosts(serve))
}

/// The card with its interfaces: those of the settings, in the order of the requested bindings.
/// Errors: a usage failure for a card without interfaces.
fn listed_card(
    server: &Server,
    serve: &Serve,
    options: &Options,
    address: SocketAddr,
) -> Result<AgentCard, Failure> {
    let mut card = server.card_at(address);
    if serve.listen.grpc_in_card == GrpcInCard::Never {
        card.supported_interfaces.retain(|interface| interface.protocol_binding != card::GRPC);
        if card.supported_interfaces.is_empty() {
            return Err(Failure::usage("--grpc-in-card never leaves no interface in the card"));
        }
    }
    card.supported_interfaces.sort_by_key(|interface| {
        let binding = &interface.protocol_binding;
        let place = options.bindings.iter().position(|wanted| wanted.as_str() == binding);
        // Older revisions come last.
        (interface.protocol_version != ProtocolVersion::LATEST.as_str(), place)
    });
    Ok(card)
}

/// The hosts under which an unauthenticated server accepts requests.
fn allowed_hosts(serve: &Serve) -> impl Iterator<Item = String> {
    serve.listen.allowed_hosts.iter().chain([&serve.listen.host]).cloned()
}

/// The guard of routes that need no credentials.
pub(super) fn site_guard(serve: &Serve, address: SocketAddr) -> SiteGuard {
    let host = |url: &String| Some(url.parse::<Uri>().ok()?.host()?.to_owned());
    let public = serve.listen.public_url.as_ref().and_then(host);
    SiteGuard::new(address)
        .with_hosts(allowed_hosts(serve).chain(public))
        .with_origins(serve.listen.allowed_origins.iter().map(|origin| origin.0.clone()))
}
