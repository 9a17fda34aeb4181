//! Serving an upstream agent.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher as _, RandomState},
    io,
    sync::{Arc, LazyLock},
    time::Duration,
};

use a2a_core::{
    AgentCard, ErrorKind, ProtocolVersion,
    v1::{
        AgentInterface, GetTaskRequest, SecurityRequirement, SecurityScheme,
        security_scheme::Scheme,
    },
};
use a2a_kit_client::CardReference;
use a2a_kit_gateway::{Forward, Isolation, OwnerIndex, Recorder, Tenants};
use a2a_kit_http::{HttpServer, client::ReadBudget, service_parameters};
use a2a_kit_operations::{
    Agent, Call, Caller, EngineConfig, MemoryStore, Store,
    store::{Measured, TaskStore},
};
use axum::{Router, extract::Request, middleware::Next, response::Response, routing::get};
use http::{StatusCode, header::RETRY_AFTER};
use tokio::{
    net::TcpListener,
    time::{Instant, sleep},
};

use super::{
    chain,
    engine::{engine_config, within_capabilities},
    options::Options,
    record::Lines,
    store::{self, GATEWAY_FILE},
};
use crate::{
    agent::{RemoteAgent, Retries},
    failure::{Code, Failure},
    output::Output,
    settings::{
        Settings, Source,
        serve::{Proxy, ProxyIsolation, Serve},
    },
};

const ONE_CREDENTIAL: &str = "a call has one credential: that of the caller, or that of the proxy";

/// An agent that runs without the task engine: a connected upstream agent, or a recording.
pub(super) struct Upstream {
    /// Makes the agent, with an index of the tasks of its callers if the settings ask for one.
    pub(super) agent: Box<dyn FnOnce(Option<OwnerIndex>) -> Arc<dyn Agent> + Send>,
    /// Its card, adapted to this server.
    pub(super) card: AgentCard,
    /// The upstream agent, if the readiness of this server follows it.
    pub(super) probed: Option<Arc<dyn Agent>>,
    /// What it is, for messages.
    pub(super) label: &'static str,
    /// Its interface or its file, for messages.
    pub(super) place: String,
    /// What an index of its tasks remembers of it: the URL of its card, or else of its interface.
    pub(super) address: String,
}

impl Upstream {
    /// Connects to the configured upstream agent; `None` if there is none.
    /// Errors: as for commands that call an agent: no card, or no connection.
    pub(super) async fn connect(
        serve: &Serve,
        settings: &Settings,
    ) -> Result<Option<Self>, Failure> {
        let Some(reference) = &serve.proxy.to else {
            return Ok(None);
        };
        if !serve.agent.required_extensions.is_empty() {
            return Err(Failure::usage("--required-extension can't be used with --proxy")
                .with_hint("the upstream agent declares its required extensions"));
        }
        let isolation = serve.proxy.isolation();
        if serve.proxy.forward_auth && isolation != ProxyIsolation::ForwardAuth {
            return Err(Failure::usage(
                "--forward-auth can't be used with another --proxy-isolation than forward-auth",
            ));
        }
        let own = [&settings.bearer, &settings.basic, &settings.api_key];
        if serve.proxy.forwards_auth() && own.into_iter().any(Option::is_some) {
            return Err(Failure::usage("--forward-auth excludes --bearer, --basic and --api-key")
                .with_hint(ONE_CREDENTIAL));
        }
        let mut settings = upstream_settings(reference, &serve.proxy, settings);
        // Answers for all callers are in memory at a time, before they count as responses.
        settings.read_budget =
            Some(ReadBudget::new(serve.limits.http().max_pending_response_bytes));
        // Disabled capabilities are neither declared nor used upstream.
        let limited = |mut card: AgentCard| {
            if isolation == ProxyIsolation::Tenant
                && card.supported_interfaces.iter().any(has_tenants)
            {
                card.supported_interfaces.retain(has_tenants);
            }
            within_capabilities(serve, card)
        };
        let remote = RemoteAgent::connect_with(&settings, Retries::none(), limited).await?;
        let client = &remote.client;
        warn_of_missing_credential(&client.card(), &serve.proxy, &settings);
        if isolation == ProxyIsolation::Tenant && !client.interface().is_some_and(has_tenants) {
            return Err(Failure::usage(
                "--proxy-isolation tenant requires an upstream interface of version 1.0 without a \
                 tenant of its own",
            )
            .with_hint("--proxy-isolation store needs nothing of the upstream agent"));
        }
        let card = client.card();
        let names = settings.service_parameters.iter().map(|(name, _)| name);
        if serve.proxy.forwards_auth()
            && let Some(name) = names.into_iter().find(|name| is_credential(name, &card))
        {
            let problem = format!("--forward-auth excludes the header {name} of --svc-param");
            return Err(Failure::usage(problem).with_hint(ONE_CREDENTIAL));
        }
        let forward = Forward::new(client.agent()).with_isolation(match isolation {
            ProxyIsolation::Store => Isolation::default(),
            ProxyIsolation::Tenant => Isolation::Tenant(Tenants::default()),
            ProxyIsolation::ForwardAuth => Isolation::ForwardAuth,
            ProxyIsolation::Shared => Isolation::Shared,
        });
        let reference = settings.agent_card.as_deref().map(str::parse);
        let url = match reference {
            Some(Ok(CardReference::Url(url))) => url.to_string(),
            _ => client.interface().map(|interface| interface.url.clone()).unwrap_or_default(),
        };
        let address = store::without_secrets(&url);
        let place = client.interface().map_or_else(String::new, |interface| {
            let url = store::without_secrets(&interface.url);
            format!("{} {url}", interface.protocol_binding)
        });
        let mut card = forward.front_card(&card);
        if card.name.is_empty() {
            // There is no card for a bare endpoint.
            "Proxy".clone_into(&mut card.name);
            // Not its address, which is for this server alone.
            "Forwards to another agent".clone_into(&mut card.description);
        }
        let record = serve.proxy.record_file.as_deref().map(Lines::append_to).transpose()?;
        if let Some(lines) = &record {
            lines.write(&serde_json::json!({ "card": &card }));
        }
        let agent = Box::new(move |index: Option<OwnerIndex>| -> Arc<dyn Agent> {
            let forward = match index {
                Some(index) => forward.with_isolation(Isolation::Store(index)),
                None => forward,
            };
            match record {
                Some(lines) => Arc::new(Recorder::new(forward, move |entry| lines.write(&entry))),
                None => Arc::new(forward),
            }
        });
        let probed = serve.proxy.readiness.then(|| client.agent());
        Ok(Some(Self { agent, card, probed, label: "Upstream", place, address }))
    }

    /// Remembers the agent in the index of its tasks: ids of another one may be the same.
    /// Errors: a usage failure for the default store of another agent.
    pub(super) async fn remember(
        &self,
        store: Arc<dyn Store>,
        serve: &Serve,
        output: Output,
    ) -> Result<(), Failure> {
        let index = OwnerIndex::new(Arc::new(store), EngineConfig::default());
        let failed = |error| Failure::new(Code::Unreachable, format!("--store: {}", chain(&error)));
        let known = index.upstream().await.map_err(failed)?;
        if let Some(other) = known.filter(|known| *known != self.address) {
            let problem = format!("the store has tasks of the agent at {other}");
            if serve.store.location.is_none() {
                return Err(Failure::usage(problem).with_hint(format!(
                    "choose another one with --store <path>, or --store {GATEWAY_FILE} if it is the \
                     same agent at another address"
                )));
            }
            output.warning(&format!("{problem}: use another one unless it is the same agent"));
        }
        index.set_upstream(&self.address).await.map_err(failed)
    }

    /// As [`connect`](Self::connect), and as long as `proxy.wait` says, retries while the upstream
    /// agent can't be reached. Meanwhile `/healthz` is served at the address of the server.
    pub(super) async fn await_and_connect(
        serve: &Serve,
        options: &Options,
        settings: &Settings,
        listener: TcpListener,
    ) -> Result<(Option<Self>, TcpListener), Failure> {
        let failure = |error: io::Error| Failure::internal(format!("failed to listen: {error}"));
        let listener = listener.into_std().map_err(failure)?;
        let other = listener.try_clone().and_then(TcpListener::from_std).map_err(failure)?;
        let deadline = Instant::now() + serve.proxy.wait.map_or(Duration::ZERO, |wait| wait.0);
        let connected = async {
            let mut is_waiting = false;
            loop {
                let failure = match Self::connect(serve, settings).await {
                    Err(failure) if failure.code == Code::Unreachable => failure,
                    result => return result,
                };
                if Instant::now() >= deadline {
                    return Err(failure);
                }
                if !is_waiting {
                    tracing::warn!(error = failure.message(), "waiting for the upstream agent");
                }
                is_waiting = true;
                sleep(RETRY).await;
            }
        };
        let upstream = tokio::select! {
            biased;
            upstream = connected => upstream?,
            () = starting(options, other) => None,
        };
        Ok((upstream, TcpListener::from_std(listener).map_err(failure)?))
    }
}

/// The index of a proxy, with the limits that an agent with tasks of its own has.
pub(super) fn owner_index(serve: &Serve, store: Option<Arc<dyn Store>>) -> OwnerIndex {
    let store: Arc<dyn TaskStore> = match store {
        Some(store) => Arc::new(Measured::new(store)),
        None => Arc::new(MemoryStore::new()),
    };
    OwnerIndex::new(store, engine_config(serve))
}

/// Interval of attempts to reach the upstream agent at start.
const RETRY: Duration = Duration::from_secs(1);

/// Serves `/healthz`, and 503 for everything else.
async fn starting(options: &Options, listener: TcpListener) {
    let router = Router::new().route("/healthz", get(async || "ok\n")).fallback(async || {
        let retry_after = [(RETRY_AFTER, "1")];
        (StatusCode::SERVICE_UNAVAILABLE, retry_after, "waiting for the upstream agent\n")
    });
    let server = HttpServer::new(router).with_limits(options.limits.clone());
    let server = match &options.tls {
        Some(tls) => server.with_tls(tls.clone()),
        None => server,
    };
    server.serve(listener, std::future::pending()).await;
}

/// Asks an agent for an unknown task, and returns the error if it can't be reached.
pub(super) async fn probe(agent: Arc<dyn Agent>) -> a2a_core::Result<()> {
    let unknown = GetTaskRequest { id: "readiness-probe".to_owned(), ..GetTaskRequest::default() };
    match agent.get_task(Call::new(unknown)).await {
        Err(error)
            if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::DeadlineExceeded) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Warns if the upstream agent requires a credential, and the proxy has none to send.
fn warn_of_missing_credential(card: &AgentCard, proxy: &Proxy, settings: &Settings) {
    let has_certificate = settings.source("client-cert") != Source::Default;
    let is_mtls = |name: &String| {
        let scheme = card.security_schemes.get(name).and_then(|scheme| scheme.scheme.as_ref());
        matches!(scheme, Some(Scheme::MtlsSecurityScheme(_)))
    };
    let can_satisfy =
        |one: &SecurityRequirement| one.schemes.keys().all(|name| has_certificate && is_mtls(name));
    let requirements = &card.security_requirements;
    if requirements.is_empty()
        || requirements.iter().any(can_satisfy)
        || settings.has_credential()
        || proxy.forwards_auth()
    {
        return;
    }
    let names: BTreeSet<_> = requirements.iter().flat_map(|one| one.schemes.keys()).collect();
    let names: Vec<_> = names.into_iter().map(String::as_str).collect();
    settings.output.warning(&format!(
        "the upstream agent requires a credential ({}), and the proxy has none: give --bearer, \
         --api-key, --basic or --client-cert, or use --forward-auth",
        names.join(", ")
    ));
}

/// The settings of upstream calls. `--transport` applies to this server.
fn upstream_settings(reference: &str, proxy: &Proxy, settings: &Settings) -> Settings {
    let mut upstream = settings.clone();
    if !reference.is_empty() {
        upstream.agent_card = Some(reference.to_owned());
        upstream.endpoint = None;
    }
    upstream.transport = proxy.transport.iter().map(|binding| binding.0).collect();
    upstream.version = proxy.version.map(|version| version.0);
    // A proxy translates between revisions.
    upstream.any_version = true;
    upstream.passes_credentials = proxy.forwards_auth();
    // The token of the user who started the proxy is not for its callers.
    upstream.uses_stored_tokens = false;
    // Callers decide how long to wait.
    upstream.timeout = None;
    upstream
}

/// Whether an agent with this card may take a header for a credential.
fn is_credential(header: &str, card: &AgentCard) -> bool {
    let is_key = |scheme: &SecurityScheme| match &scheme.scheme {
        Some(Scheme::ApiKeySecurityScheme(key)) => key.name.eq_ignore_ascii_case(header),
        _ => false,
    };
    let usual = ["authorization", "cookie", "proxy-authorization", "x-api-key"];
    usual.iter().any(|name| name.eq_ignore_ascii_case(header))
        || card.security_schemes.values().any(is_key)
}

/// Whether the tenants of requests reach the upstream agent: older versions have none, and an
/// interface may set its own.
fn has_tenants(interface: &AgentInterface) -> bool {
    interface.protocol_version == ProtocolVersion::V1_0.as_str() && interface.tenant.is_empty()
}

/// Stores the credential of a request for [`Forward`].
///
/// Only the upstream agent knows whose it is. What this server itself keeps for a caller, such as
/// the task ids of version 0.1 and its limits, is kept for each credential, under a keyed hash.
pub(super) async fn keep_credential(mut request: Request, next: Next) -> Response {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    if let Some(credential) = service_parameters::credential(request.headers()) {
        let hash = KEY.hash_one(credential.authorization());
        let caller = Caller::authenticated(format!("credential {hash:016x}"));
        request.extensions_mut().insert(caller.with_credential(credential));
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_that_the_agent_takes_for_a_credential_is_one() {
        let key = SecurityScheme::api_key_header("X-Agent-Key");
        let card = AgentCard::new("Keyed", "Has keys").with_security_scheme("key", key);
        for (name, expected) in [
            ("Authorization", true),
            ("x-api-key", true),
            ("Cookie", true),
            ("x-agent-key", true),
            ("x-team", false),
            ("x-other-key", false),
        ] {
            assert_eq!(is_credential(name, &card), expected, "{name}");
        }
    }
}
