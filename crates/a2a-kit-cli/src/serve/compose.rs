//! Composes a server from its options: agent, card and bindings.

use std::{future, net::SocketAddr, sync::Arc};

use a2a_core::{AgentCard, ProtocolVersion, card, v1::AgentExtension};
use a2a_kit::{Server, TaskRevisions};
use a2a_kit_auth::webhook::{JWKS_PATH, WebhookSigner};
use a2a_kit_client::Transport;
use a2a_kit_exec::{self as exec, CheckError, Exec};
use a2a_kit_gateway::OwnerIndex;
use a2a_kit_http::{Webhooks, site_guard::SiteGuard};
use a2a_kit_operations::{
    Agent, Engine, EngineConfig, MemoryStore, Quota, Recovery, Store,
    engine::EngineBuilder,
    store::{Measured, TaskStore},
};
use a2a_kit_script::Faults;
use axum::{Router, http::Uri, middleware};
#[cfg(target_os = "linux")]
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use super::{
    access,
    bearer::{self, Bearer},
    bench_agent::BenchAgent,
    built_in, encryption,
    front::Front,
    options::Options,
    pages::{self, AuthorizeEndpoint},
    proxy::{self, Upstream},
    public_url,
};
use crate::{
    failure::Failure,
    settings::serve::{ExecRecovery, GrpcInCard, Io, Profile, Serve},
};

/// Maximum number of reruns of an interrupted run. Scripts continue where they stopped, so many
/// restarts are fine.
const MAX_RERUNS: u64 = 20;

/// A composed server.
#[derive(Debug)]
pub(super) struct Composed {
    /// The engine; `None` for a proxy.
    pub(super) engine: Option<Engine>,
    /// The programs of `--exec`.
    pub(super) exec: Option<Exec>,
    /// The served card.
    pub(super) card: AgentCard,
    /// The routes of the common port.
    pub(super) router: Router,
    /// The routes of the gRPC port, if it is separate.
    pub(super) grpc_router: Option<Router>,
    /// Rejects requests from pages of other sites.
    pub(super) guard: SiteGuard,
    /// Whether callers don't authenticate, or need not.
    pub(super) is_anonymous: bool,
}

/// Composes the server that listens at `address`.
///
/// # Errors
///
/// A usage failure for an unreadable or invalid card; an internal failure if the webhook client
/// can't be created.
pub(super) fn compose(
    serve: &Serve,
    options: &Options,
    upstream: Option<Upstream>,
    store: Option<Arc<dyn Store>>,
    address: SocketAddr,
    grpc_address: Option<SocketAddr>,
) -> Result<Composed, Failure> {
    let exec = exec_agent(serve, options)?;
    #[cfg(target_os = "linux")]
    if exec.is_some() {
        // Commands of the same user could read the environment and the memory of the server.
        let _infallible = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
    let issuer = issuer(serve, options, address);
    let card_keys = options.card_key.iter().map(|key| key.public().clone());
    let signer = options.webhook_key.clone().map(|key| {
        card_keys.clone().fold(WebhookSigner::new(&*issuer, key), WebhookSigner::with_published)
    });
    let card_signer = options.card_key.clone().map(|key| {
        a2a_kit_auth::card::JwsCardSigner::new(key).with_url(format!("{issuer}{JWKS_PATH}"))
    });
    let probed = upstream.as_ref().and_then(|upstream| upstream.probed.clone());
    let mut index = None;
    let (agent, mut card, engine): (Arc<dyn Agent>, _, _) = match upstream {
        Some(upstream) => {
            index = serve.has_index().then(|| owner_index(serve, store));
            ((upstream.agent)(index.clone()), with_words(serve, options, upstream.card)?, None)
        }
        None => {
            let engine = engine(serve, options, store, signer.clone(), exec.clone())?;
            (Arc::new(engine.clone()), engine.card().clone(), Some(engine))
        }
    };
    let faults = if serve.is_scripted() { options.script.faults() } else { None };
    let agent = match &faults {
        Some(faults) => faults.agent(agent),
        None => agent,
    };
    let agent: Arc<dyn Agent> = match options.bearer.clone() {
        Some(bearer) => Arc::new(Front { agent, bearer }),
        None => agent,
    };
    // Shared by all listeners, so that the limits hold for all of them together. An engine counts
    // its own tasks.
    let front: Arc<dyn Agent> = if serve.is_bench() {
        agent
    } else {
        Arc::new(Quota::new(agent, serve.limits.quota(engine.is_some())))
    };
    let origins =
        TaskRevisions::default().with_retention(serve.store.retention.map(|retention| retention.0));
    let of = |card: &AgentCard| {
        let server = Server::new(front.clone(), card.clone())
            .with_revisions(options.revisions.clone())
            .with_task_revisions(origins.clone());
        match &options.tls {
            Some(tls) => server.with_tls(tls.clone()),
            None => server,
        }
    };
    let mut served = with_bindings(of(&card), &options.bindings);
    served = with_places(served, serve);
    if let Some(public) = &serve.listen.grpc_address {
        served = served.with_grpc_address(public);
    } else if let Some(grpc_address) = grpc_address {
        // `host:port` implies TLS except on loopback.
        let is_secure_here = options.tls.is_some() && encryption::is_here(grpc_address);
        let scheme = if is_secure_here { "https://" } else { "" };
        served = served
            .with_grpc_address(format!("{scheme}{}", public_url::reachable(serve, grpc_address)));
    }
    card = served.card_at(address);
    if serve.listen.grpc_in_card == GrpcInCard::Never {
        card.supported_interfaces.retain(|interface| interface.protocol_binding != card::GRPC);
        if card.supported_interfaces.is_empty() {
            return Err(Failure::usage("--grpc-in-card never leaves no interface in the card"));
        }
    }
    in_order(&mut card, &options.bindings);

    // The front rejects calls if it has a token, and the upstream agent if it gets the credentials
    // of callers.
    let is_open = options.access.is_none()
        && !options.bearer.as_ref().is_some_and(Bearer::is_for_all)
        && !serve.proxy.forwards_auth();

    // The card has its interfaces, so each server below may serve some of the bindings only.
    let server = |bindings: &[Transport]| {
        let ready = |server: Server| {
            if let Some(engine) = &engine {
                return server.with_engine(engine.clone());
            }
            let server = match index.clone() {
                Some(index) => server.with_readiness("store", move || {
                    let index = index.clone();
                    async move { index.probe().await }
                }),
                None => server,
            };
            match probed.clone() {
                Some(agent) => {
                    server.with_readiness("upstream", move || proxy::probe(Arc::clone(&agent)))
                }
                None => server,
            }
        };
        let has_bearer = options.bearer.is_some();
        let forwards = serve.proxy.forwards_auth();
        let faults = faults.clone();
        let server = ready(with_places(with_bindings(of(&card), bindings), serve))
            .with_limits(options.limits.clone())
            .with_layers(move |router| layered(router, faults.as_ref(), forwards, has_bearer));
        let server = match &options.access {
            Some(access) => server.with_auth(access.guard(&card)?),
            None if !is_open => server.with_external_security(),
            None => server,
        };
        let server = match &options.address_rate {
            Some(rate) => server.with_address_rate(rate.clone()),
            None => server,
        };
        let server = match &card_signer {
            Some(signer) => server.with_card_signer(signer.clone()),
            None => server,
        };
        // `serve` shuts the engine down.
        let mounted = server.with_shared_engine().mount(address, future::pending());
        mounted.map(|it| it.router()).map_err(|error| Failure::usage(super::chain(&error)))
    };
    let is_grpc = |binding: &Transport| *binding == Transport::Grpc;
    let (grpc, others): (Vec<_>, Vec<_>) = options.bindings.iter().copied().partition(is_grpc);
    let (router, grpc_router) = match grpc_address {
        Some(_) => (server(&others)?, Some(server(&grpc)?)),
        None => (server(&options.bindings)?, None),
    };
    let guard = site_guard(serve, address);
    let mut pages = pages::router();
    if let Some(signer) = signer {
        pages = pages.merge(signer.router());
    } else if let Some(signer) = &card_signer {
        pages = pages.merge(signer.jwks().router());
    }
    if serve.is_scripted() {
        pages = pages.merge(authorize_endpoint(options, &card, &front)?);
    }
    if is_open {
        pages = guard.layer(pages);
    }
    let router = router.merge(pages);
    let router = match &faults {
        Some(faults) => faults.card_layer(router),
        None => router,
    };
    Ok(Composed {
        engine,
        exec,
        card,
        router,
        grpc_router,
        guard,
        is_anonymous: is_open || serve.auth.anonymous,
    })
}

/// The issuer of signed webhooks: the URL of the server.
fn issuer(serve: &Serve, options: &Options, address: SocketAddr) -> String {
    match &serve.listen.public_url {
        Some(url) => url.trim_end_matches('/').to_owned(),
        None => format!("{}://{}", options.scheme(), public_url::reachable(serve, address)),
    }
}

/// The endpoint that authorizes waiting tasks, behind the same layers as the bindings.
///
/// # Errors
///
/// A usage failure for a card that declares security that is not enforced.
fn authorize_endpoint(
    options: &Options,
    card: &AgentCard,
    agent: &Arc<dyn Agent>,
) -> Result<Router, Failure> {
    let script = options.script.clone();
    let mut router = match &options.access {
        Some(access) => {
            let enforcement = access.guard(card)?.enforce(card);
            let enforcement = enforcement.map_err(|error| Failure::usage(super::chain(&error)))?;
            let agent = enforcement.agent(Arc::clone(agent));
            enforcement.layer(AuthorizeEndpoint { script, agent }.router())
        }
        None => AuthorizeEndpoint { script, agent: Arc::clone(agent) }.router(),
    };
    router = layered(router, None, false, options.bearer.is_some());
    Ok(match &options.address_rate {
        Some(rate) => rate.layer(router),
        None => router,
    })
}

/// Adds HTTP layers to the bindings.
fn layered(
    mut router: Router,
    faults: Option<&Faults>,
    forwards: bool,
    has_bearer: bool,
) -> Router {
    if let Some(faults) = faults {
        router = faults.layer(router);
    }
    if forwards {
        router = router.layer(middleware::from_fn(proxy::keep_credential));
    }
    match has_bearer {
        true => router.layer(middleware::from_fn(bearer::keep_head)),
        false => router,
    }
}

fn with_bindings(mut server: Server, bindings: &[Transport]) -> Server {
    if !bindings.contains(&Transport::JsonRpc) {
        server = server.without_jsonrpc();
    }
    if !bindings.contains(&Transport::Rest) {
        server = server.without_rest();
    }
    if !bindings.contains(&Transport::Grpc) {
        server = server.without_grpc();
    }
    server
}

fn with_places(mut server: Server, serve: &Serve) -> Server {
    if let Some(path) = &serve.listen.rpc_path {
        server = server.with_rpc_path(path);
    }
    if let Some(prefix) = &serve.listen.rest_prefix {
        server = server.with_rest_prefix(prefix);
    }
    if let Some(url) = &serve.listen.public_url {
        server = server.with_public_url(url);
    }
    if !serve.listen.allowed_origins.is_empty() {
        let origins = serve.listen.allowed_origins.iter().map(|origin| &origin.0);
        server = server.with_allowed_origins(origins);
    }
    server.with_allowed_hosts(allowed_hosts(serve))
}

/// The hosts under which an unauthenticated server accepts requests.
fn allowed_hosts(serve: &Serve) -> Vec<String> {
    let mut hosts = serve.listen.allowed_hosts.clone();
    hosts.push(serve.listen.host.clone());
    if serve.agent.profile == Profile::Bench {
        // It has no data that a page could read, and load generators use any host.
        hosts.push("*".to_owned());
    }
    hosts
}

/// The site guard of the routes next to the bindings.
fn site_guard(serve: &Serve, address: SocketAddr) -> SiteGuard {
    let host = |url: &String| Some(url.parse::<Uri>().ok()?.host()?.to_owned());
    let public = serve.listen.public_url.as_ref().and_then(host);
    SiteGuard::new(address)
        .with_hosts(allowed_hosts(serve).into_iter().chain(public))
        .with_origins(serve.listen.allowed_origins.iter().map(|origin| origin.0.clone()))
}

fn engine(
    serve: &Serve,
    options: &Options,
    store: Option<Arc<dyn Store>>,
    signer: Option<WebhookSigner>,
    command: Option<Exec>,
) -> Result<Engine, Failure> {
    let builder = if let Some(command) = command {
        let (name, description) = (serve.agent.name.as_deref(), serve.agent.description.as_deref());
        // The command line may contain secrets.
        let (name, description) =
            (name.unwrap_or("Command agent"), description.unwrap_or("Runs a command"));
        let card = command.card(name, description).with_version(env!("CARGO_PKG_VERSION"));
        with_card(serve, options, card, |card| Engine::builder(card, command))?
    } else if serve.is_bench() {
        with_card(serve, options, BenchAgent::card(), |card| Engine::builder(card, BenchAgent))?
    } else {
        let script = if serve.agent.echo { built_in::echo()? } else { options.script.clone() };
        with_card(serve, options, script.card(), |card| Engine::builder(card, script))?
    };
    let builder = if options.push {
        let webhooks = Webhooks::new(options.webhooks.clone())
            .and_then(|webhooks| webhooks.with_tls(&options.trust))
            .map_err(|error| {
                Failure::internal(format!("failed to create the webhook client: {error}"))
            })?
            .with_payload(a2a_kit_compat::webhook::payload);
        let webhooks = match signer {
            Some(signer) => webhooks.with_signer(signer),
            None => webhooks,
        };
        builder.push_sender(webhooks)
    } else {
        builder
    };
    let builder = match store {
        Some(store) => builder.store(Measured::new(store)),
        None => builder,
    };
    Ok(builder.config(engine_config(serve)).build())
}

fn engine_config(serve: &Serve) -> EngineConfig {
    let limits = &serve.limits;
    let config = EngineConfig::default()
        .with_retention(serve.store.retention.map(|retention| retention.0))
        .with_parked_retention(Some(serve.store.parked_retention.0))
        .with_max_reruns(MAX_RERUNS)
        .with_max_list_bytes(serve.limits.max_list_page_bytes.0)
        .with_task_limits(limits.task())
        .with_run_limits(limits.run());
    if serve.is_bench() { config } else { config.with_caller_limits(limits.caller()) }
}

/// The index of a proxy, with the limits that an agent with tasks of its own has.
fn owner_index(serve: &Serve, store: Option<Arc<dyn Store>>) -> OwnerIndex {
    let store: Arc<dyn TaskStore> = match store {
        Some(store) => Arc::new(Measured::new(store)),
        None => Arc::new(MemoryStore::new()),
    };
    OwnerIndex::new(store, engine_config(serve))
}

/// Creates an engine with its card.
fn with_card(
    serve: &Serve,
    options: &Options,
    generated: AgentCard,
    builder: impl FnOnce(AgentCard) -> EngineBuilder,
) -> Result<EngineBuilder, Failure> {
    let card = with_words(serve, options, generated)?;
    let streams = card.can_stream() && options.streaming;
    let has_extended = card.has_extended_card() && options.extended_card;
    let mut card = card
        .with_streaming(streams)
        .with_push_notifications(options.push)
        .with_extended_card(has_extended);
    for uri in &serve.agent.required_extensions {
        let mut extension = AgentExtension::new(uri, "Required by this agent");
        extension.required = true;
        card = card.with_extension(extension);
    }
    let builder = builder(card.clone());
    Ok(if has_extended { builder.extended_card(built_in::extended_card(&card)) } else { builder })
}

/// Applies the settings that are common to all agents to a card.
///
/// # Errors
///
/// A usage failure for an unreadable card, or one that declares security that is not enforced.
pub(super) fn with_words(
    serve: &Serve,
    options: &Options,
    generated: AgentCard,
) -> Result<AgentCard, Failure> {
    let mut card = match &serve.agent.card_file {
        Some(path) => read_card(path)?,
        None => generated,
    };
    if let Some(name) = &serve.agent.name {
        card.name.clone_from(name);
    }
    if let Some(description) = &serve.agent.description {
        card.description.clone_from(description);
    }
    match &options.access {
        Some(access) => access.declare(&mut card)?,
        // The upstream agent enforces its own schemes.
        None if serve.proxy.forwards_auth() => {}
        None => access::check_open(&card)?,
    }
    if let Some(bearer) = &options.bearer {
        bearer.declare(&mut card);
    }
    // Signatures of the given card don't cover the interfaces added here.
    card.supported_interfaces.clear();
    card.signatures.clear();
    Ok(card)
}

/// The agent of `[exec]`; `None` for another.
///
/// # Errors
///
/// A usage failure if the program is missing; an internal failure if there can be no directory for
/// its files.
fn exec_agent(serve: &Serve, options: &Options) -> Result<Option<Exec>, Failure> {
    let exec = &serve.exec;
    let agent = match (&exec.command, exec.program.split_first()) {
        (Some(command), _) => Exec::shell(command),
        (None, Some((program, arguments))) => Exec::new(program).args(arguments),
        (None, None) => return Ok(None),
    };
    let chunk = exec.chunk.as_ref().map(|text| text.replace("\\n", "\n").replace("\\t", "\t"));
    let io = match (exec.io, chunk) {
        (Some(Io::Jsonl), _) => exec::Io::JsonLines { strict: exec.strict },
        (None, Some(delimiter)) if !delimiter.is_empty() => exec::Io::Chunks(delimiter),
        (None, None) if !exec.stream_output => exec::Io::Whole,
        (None, _) => exec::Io::Stream,
    };
    let recovery = match exec.recovery {
        ExecRecovery::Fail => Recovery::Fail,
        ExecRecovery::Rerun => Recovery::Rerun,
    };
    let agent = agent
        .with_io(io)
        .with_timeout(exec.timeout.map(|timeout| timeout.0))
        .with_concurrency(exec.concurrency)
        .with_max_waiting(exec.max_waiting)
        .with_ask_timeout(exec.ask_timeout.0)
        .with_authenticated_callers(options.access.is_some())
        .with_recovery(recovery)
        .with_stderr_bytes(exec.log_bytes.0)
        .with_stderr_rate(exec.log_rate.0)
        .with_stderr_exposed(exec.expose_stderr);
    let agent = exec.env.iter().fold(agent, Exec::inherit_env);
    let agent = serve.secret_variables.iter().fold(agent, Exec::withhold_env);
    agent.check().map_err(|error| match error {
        CheckError::NotFound(_) => Failure::usage(format!("--exec: {error}")),
        error => Failure::internal(super::chain(&error)),
    })?;
    Ok(Some(agent))
}

fn read_card(path: &std::path::Path) -> Result<AgentCard, Failure> {
    let json = std::fs::read(path)
        .map_err(|error| Failure::usage(format!("failed to read {}: {error}", path.display())))?;
    a2a_kit_compat::card::read(&json).map_err(|error| {
        Failure::usage(format!("{} is not an agent card: {error}", path.display()))
    })
}

/// Sorts the interfaces by the order of the requested bindings.
fn in_order(card: &mut AgentCard, bindings: &[Transport]) {
    card.supported_interfaces.sort_by_key(|interface| {
        let binding = &interface.protocol_binding;
        let place = bindings.iter().position(|wanted| wanted.as_str() == binding);
        // Older revisions come last.
        (interface.protocol_version != ProtocolVersion::LATEST.as_str(), place)
    });
}
