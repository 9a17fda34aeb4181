//! Runs a server until it is stopped.

mod access;
mod address;
mod announce;
mod built_in;
mod call;
mod compose;
mod encryption;
mod engine;
mod model;
mod options;
mod pages;
mod proxy;
mod record;
mod replay;
mod resources;
mod store;

use std::sync::Arc;

use a2a_core::AgentCard;
use a2a_kit_auth::webhook::JWKS_PATH;
use a2a_kit_http::{Drain, HttpServer};
use a2a_kit_operations::{
    Store,
    store::{DeadLetter, DeadLetterQuery, StoreError},
};

pub(crate) use address::bind;
pub use built_in::DemoAgent;

use crate::{
    failure::{Code, Failure, chain},
    log, runtime,
    settings::{
        Settings,
        serve::{ProxyIsolation, Serve},
    },
    signal,
};
use address::{bind_at, check_public_url};
use compose::{Composed, compose, site_guard};
use model::Models;
use options::Options;
pub(crate) use options::signing_key;
use proxy::Upstream;
use resources::Resources;
use store::{OpenedStore, StoreConfig};

/// Serves until a signal comes.
pub(crate) async fn run(
    serve: Serve,
    mut settings: Settings,
    demo: &dyn DemoAgent,
) -> Result<(), Failure> {
    let mut options = Options::new(&serve, &settings, demo)?;
    let (limits, adapted) = Resources::of_process().adapt(&serve.limits);
    options.limits = limits;
    let store_config = StoreConfig::new(&serve)?;
    let telemetry = log::start(&settings, Some(&serve.telemetry))?;
    let logs_json = serve.telemetry.log_json;
    settings.output.is_logged = logs_json;
    let output = settings.output;
    if let Some(models) = &options.models {
        models.check_encryption(&serve, output)?;
        if serve.model.check {
            models.check().await?;
        }
    }
    let recorded = replay::open(&serve)?;
    let (mut listener, address) = bind(&serve.listen.host, serve.listen.port).await?;
    let upstream = match recorded {
        None if serve.proxy.to.is_some() => {
            let upstream;
            (upstream, listener) =
                Upstream::await_and_connect(&serve, &options, &settings, listener).await?;
            upstream
        }
        recorded => recorded,
    };
    let grpc = match serve.listen.grpc_port {
        Some(port) => Some(bind(&serve.listen.host, port).await?),
        None => None,
    };
    let metrics = match &serve.telemetry.metrics_listen {
        Some(place) => Some(bind_at(place, "--metrics-listen", "--metrics-listen").await?),
        None => None,
    };
    let grpc_address = grpc.as_ref().map(|(_, address)| *address);
    encryption::check(&serve, options.tls.is_some(), address, output)?;
    check_public_url(&serve, address, output)?;
    signal::survive_file_size_limit();
    // Before the address is announced: a supervisor may stop the server as soon as it reads it.
    let drain = Drain::new();
    let stop = drain.signalled();
    // After the ports: a server that can't have them leaves no file behind.
    let mut store = match store_config {
        Some(plan) => plan.open().await?,
        None => OpenedStore::default(),
    };
    if let Some(upstream) = &upstream {
        store.lines.insert(0, (upstream.label, upstream.place.clone()));
    }
    // An engine closes its store itself.
    let index_store = store.store.clone().filter(|_| serve.has_index());
    if let (Some(upstream), Some(store)) = (&upstream, &index_store) {
        upstream.remember(Arc::clone(store), &serve, output).await?;
    }
    store.lines.extend(options.models.iter().flat_map(Models::lines));
    if options.webhook_key.is_some() || options.card_key.is_some() {
        store.lines.push(("Keys", format!("{}://{address}{JWKS_PATH}", options.scheme())));
    }
    store
        .lines
        .extend(metrics.as_ref().map(|(_, place)| ("Metrics", format!("http://{place}/metrics"))));
    if let Some(limits) = adapted {
        tracing::info!(limits, "limits adapted to the resources of the process");
        store.lines.push(("Limits", limits));
    }
    let Composed { mut server, exec, card, is_anonymous } =
        compose(&serve, &options, demo, upstream, store.store.take(), address, grpc_address)?;
    // Metrics need no credentials, so their routes are guarded even if callers authenticate.
    let site_guard = site_guard(&serve, address);
    let mut metrics_router = telemetry.metrics_router();
    if metrics.is_none() {
        let router = metrics_router.take().map(log::for_this_machine).unwrap_or_default();
        server = server.with_routes(site_guard.layer(router));
    }
    if let Some((listener, _)) = grpc {
        server = server.with_grpc_listener(listener);
    }
    let serving = server
        .with_drain(drain.clone())
        .prepare(listener, stop)
        .map_err(|error| Failure::usage(chain(&error)))?;
    if serve.proxy.isolation() == ProxyIsolation::Shared && options.authenticates() {
        output.warning(
            "all callers see the tasks of all others: --proxy-isolation store keeps them apart",
        );
    }
    for url in access::plaintext_urls(&card) {
        let problem = format!("callers send credentials in plaintext to {url}");
        encryption::insecure(&serve, &problem, "use https URLs in the card", output)?;
    }
    if is_anonymous && !encryption::is_here(address) {
        let problem = format!("{address} accepts unauthenticated callers, who share all tasks");
        encryption::insecure(&serve, &problem, "configure [auth] or use --require-bearer", output)?;
    }
    let details: Vec<_> =
        store.lines.iter().map(|(label, place)| format!("{label}: {place}")).collect();
    tracing::info!(
        agent = card.name,
        url = format!("{}://{address}", options.scheme()),
        version = env!("CARGO_PKG_VERSION"),
        details = details.join(", "),
        "serving"
    );
    if !logs_json {
        // Output may be closed; the server runs anyway.
        let rpc_path = serve.listen.rpc_path.as_deref().unwrap_or_default();
        let scheme = options.scheme();
        let _gone = announce::announce(&card, scheme, address, rpc_path, &store.lines, output);
    }
    runtime::return_idle_memory();
    let metrics_server = async {
        if let (Some(mut router), Some((listener, address))) = (metrics_router, metrics) {
            if encryption::is_here(address) {
                router = site_guard.layer(router);
            }
            // In plaintext, as scrapers expect: another address belongs to a trusted network.
            let server = HttpServer::new(router).with_limits(options.limits.clone());
            server.with_drain(drain.clone()).serve(listener, drain.started()).await;
        }
    };
    let serving = async { tokio::join!(serving, metrics_server) };
    Box::pin(serving).await;
    if let Some(exec) = exec {
        // Programs whose runs were dropped have a grace period.
        exec.stopped().await;
    }
    if let Some(store) = index_store {
        store.close().await;
    }
    tracing::info!("stopped");
    telemetry.shutdown().await;
    Ok(())
}

/// A store that is opened next to its server, or while it is stopped.
#[derive(Debug)]
pub(crate) struct OpenStore {
    store: Arc<dyn Store>,
}

impl OpenStore {
    /// Opens the store at a location.
    /// Errors: a failure that names the flag, if the store is missing or can't be opened.
    pub(crate) async fn open(location: Option<&str>) -> Result<Self, Failure> {
        Self::of(store::existing(location)?).await
    }

    async fn of(config: StoreConfig) -> Result<Self, Failure> {
        match config.open().await?.store {
            Some(store) => Ok(Self { store }),
            None => Err(Failure::usage("--store memory is lost when its server stops")),
        }
    }

    /// Reads dead letters from the store at a location, also while a server has its file open.
    pub(crate) async fn dead_letters(
        location: Option<&str>,
        query: &DeadLetterQuery,
    ) -> Result<Vec<DeadLetter>, Failure> {
        let config = store::existing(location)?;
        if let Some(letters) = config.dead_letters(query).await {
            return letters;
        }
        let store = Self::of(config).await?;
        store.run(async |store| store.dead_letters(query).await).await
    }

    /// Runs `work` on the store, and closes it.
    pub(crate) async fn run<T>(
        self,
        work: impl AsyncFnOnce(&dyn Store) -> Result<T, StoreError>,
    ) -> Result<T, Failure> {
        let result = work(&*self.store).await;
        self.store.close().await;
        let failed = |error| Failure::new(Code::Unreachable, format!("--store: {}", chain(&error)));
        result.map_err(failed)
    }
}

/// Checks settings without starting a server.
/// Errors: a usage failure, as of [`run`] before it listens.
pub(crate) fn check(
    serve: &Serve,
    settings: &Settings,
    demo: &dyn DemoAgent,
) -> Result<(), Failure> {
    let options = Options::new(serve, settings, demo)?;
    engine::customize_card(serve, &options, AgentCard::default())?;
    StoreConfig::new(serve)?;
    Ok(())
}
