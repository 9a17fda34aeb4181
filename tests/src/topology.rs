//! Paths between a caller and the agent under test.

use std::{future::Future, net::SocketAddr, sync::Arc};

use a2a_core::{AgentCard, Operation, ProtocolVersion, Request, Result};
use a2a_kit::{Agents, Server};
use a2a_kit_compat::{
    ServerOptions,
    client::{JsonRpcClient, RestClient},
    grpc::GrpcClient,
};
use a2a_kit_http::client::{ClientSettings, HttpClient};
use a2a_kit_operations::{Agent, AgentMethod, Call, Engine, Reply, intercept_agent};
use axum::Router;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::{
    agent::{Control, Options, engine, engine_on},
    backend::{Backend, RoundRobin},
};

/// One path to the agent under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The bindings between caller and engine, the one nearest to the engine first.
    bindings: &'static [Binding],
    backend: Backend,
}

/// A binding, as server and client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    JsonRpc,
    Rest,
    Grpc,
    /// Not a binding: a gateway between two bindings, or in front of an agent in process.
    Gateway,
    /// JSON-RPC in an older revision.
    JsonRpcOf(ProtocolVersion),
    /// HTTP+JSON in an older revision.
    RestOf(ProtocolVersion),
    /// gRPC in an older revision.
    GrpcOf(ProtocolVersion),
    /// A binding under a path, next to other agents on the port.
    AtPath(&'static Self),
    /// A binding of an agent with a host of its own, next to other agents on the port.
    AtHost(&'static Self),
}

use Binding::{AtHost, AtPath, Gateway, Grpc, GrpcOf, JsonRpc, JsonRpcOf, Rest, RestOf};

impl Topology {
    /// Whether a gateway is between caller and engine.
    pub fn has_gateway(&self) -> bool {
        self.bindings.contains(&Gateway)
    }

    pub const ENGINE: Self = Self::of(&[]);
    pub const JSONRPC: Self = Self::of(&[JsonRpc]);
    pub const REST: Self = Self::of(&[Rest]);
    pub const GRPC: Self = Self::of(&[Grpc]);
    pub const JSONRPC_OVER_REST: Self = Self::of(&[Rest, JsonRpc]);
    pub const JSONRPC_OVER_GRPC: Self = Self::of(&[Grpc, JsonRpc]);
    pub const REST_OVER_JSONRPC: Self = Self::of(&[JsonRpc, Rest]);
    pub const REST_OVER_GRPC: Self = Self::of(&[Grpc, Rest]);
    pub const GRPC_OVER_JSONRPC: Self = Self::of(&[JsonRpc, Grpc]);
    pub const GRPC_OVER_REST: Self = Self::of(&[Rest, Grpc]);

    pub const GATEWAY: Self = Self::of(&[Gateway]);
    pub const GATEWAY_GRPC_OVER_JSONRPC: Self = Self::of(&[JsonRpc, Gateway, Grpc]);
    pub const GATEWAY_REST_OVER_GRPC: Self = Self::of(&[Grpc, Gateway, Rest]);
    pub const TWO_GATEWAYS: Self = Self::of(&[Rest, Gateway, JsonRpc, Gateway, Grpc]);

    pub const JSONRPC_V0_1: Self = Self::of(&[JsonRpcOf(ProtocolVersion::V0_1)]);
    pub const JSONRPC_V0_3: Self = Self::of(&[JsonRpcOf(ProtocolVersion::V0_3)]);
    pub const JSONRPC_DRAFT: Self = Self::of(&[JsonRpcOf(ProtocolVersion::V1Draft)]);

    pub const GRPC_V0_3: Self = Self::of(&[GrpcOf(ProtocolVersion::V0_3)]);
    pub const GRPC_DRAFT: Self = Self::of(&[GrpcOf(ProtocolVersion::V1Draft)]);

    pub const REST_V0_3: Self = Self::of(&[RestOf(ProtocolVersion::V0_3)]);
    pub const REST_DRAFT: Self = Self::of(&[RestOf(ProtocolVersion::V1Draft)]);

    pub const JSONRPC_V0_3_OVER_GRPC: Self =
        Self::of(&[Grpc, Gateway, JsonRpcOf(ProtocolVersion::V0_3)]);
    pub const GRPC_OVER_REST_V0_3: Self = Self::of(&[RestOf(ProtocolVersion::V0_3), Gateway, Grpc]);
    pub const GRPC_OVER_JSONRPC_V0_3: Self =
        Self::of(&[JsonRpcOf(ProtocolVersion::V0_3), Gateway, Grpc]);
    pub const JSONRPC_V0_1_OVER_JSONRPC: Self =
        Self::of(&[JsonRpc, Gateway, JsonRpcOf(ProtocolVersion::V0_1)]);

    pub const JSONRPC_AT_PATH: Self = Self::of(&[AtPath(&JsonRpc)]);
    pub const REST_AT_PATH: Self = Self::of(&[AtPath(&Rest)]);
    pub const GRPC_AT_PATH: Self = Self::of(&[AtPath(&Grpc)]);
    pub const GRPC_AT_HOST: Self = Self::of(&[AtHost(&Grpc)]);
    pub const JSONRPC_V0_3_AT_PATH: Self = Self::of(&[AtPath(&JsonRpcOf(ProtocolVersion::V0_3))]);
    pub const REST_V0_3_AT_PATH: Self = Self::of(&[AtPath(&RestOf(ProtocolVersion::V0_3))]);
    pub const GRPC_V0_3_AT_HOST: Self = Self::of(&[AtHost(&GrpcOf(ProtocolVersion::V0_3))]);

    pub const SQLITE: Self = Self::on(Backend::Sqlite);
    pub const POSTGRES: Self = Self::on(Backend::Postgres);
    pub const TWO_NODES: Self = Self::on(Backend::TwoNodes);
    pub const TWO_NODES_ON_POSTGRES: Self = Self::on(Backend::TwoNodesOnPostgres);
    pub const TWO_NODES_ON_NATS: Self = Self::on(Backend::TwoNodesOnNats);

    const fn of(bindings: &'static [Binding]) -> Self {
        Self { bindings, backend: Backend::Memory }
    }

    const fn on(backend: Backend) -> Self {
        Self { bindings: &[], backend }
    }

    /// The bindings between caller and engine, the one nearest to the engine first.
    pub fn bindings(self) -> &'static [Binding] {
        self.bindings
    }

    /// The backend of the tasks.
    pub fn backend(self) -> Backend {
        self.backend
    }

    /// Starts the agent and a client in this topology.
    pub async fn agent(self, options: Options) -> Fixture {
        let control = Control::default();
        let (stores, file) = self.backend.stores().await;
        let nodes: Vec<_> =
            stores.into_iter().map(|store| engine_on(&options, &control, store)).collect();
        let engine: Arc<dyn Agent> = match <[_; 1]>::try_from(nodes) {
            Ok([engine]) => Arc::new(engine),
            Err(nodes) => Arc::new(RoundRobin::new(nodes)),
        };
        let mut fixture = Fixture {
            agent: Arc::clone(&engine),
            engine,
            control,
            servers: Vec::new(),
            _file: file,
        };
        for binding in self.bindings {
            fixture.put_behind(*binding).await;
        }
        fixture
    }
}

/// An agent and its servers, which end with it.
pub struct Fixture {
    /// The agent as seen by the caller.
    pub agent: Arc<dyn Agent>,
    /// The engine itself.
    pub engine: Arc<dyn Agent>,
    /// Opens the gates of the agent.
    pub control: Control,
    servers: Vec<JoinHandle<()>>,
    _file: Option<TempDir>,
}

impl Fixture {
    async fn put_behind(&mut self, binding: Binding) {
        let agent = Arc::clone(&self.agent);
        if binding == Gateway {
            self.agent = Arc::new(a2a_kit_gateway::Forward::new(agent));
            return;
        }
        let listener = a2a_kit_http::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut url = format!("http://{address}");
        let router = match binding {
            AtPath(_) => mounted(beside_others(agent, Agents::new(), "/under/test"), address),
            AtHost(_) => {
                url = format!("http://localhost:{}", address.port());
                let agents = Agents::new().host("localhost", server(agent));
                mounted(beside_others(Arc::new(other()), agents, "/"), address)
            }
            alone => Self::router_of(alone, agent),
        };
        self.servers.push(tokio::spawn(
            a2a_kit_http::HttpServer::new(router).serve(listener, std::future::pending()),
        ));
        self.agent = match binding {
            AtPath(Grpc) => Arc::new(BelowTenant(client(Grpc, &url), "under/test")),
            AtPath(binding) => client(*binding, &format!("{url}/under/test")),
            AtHost(binding) => client(*binding, &url),
            binding => client(binding, &url),
        };
    }

    fn router_of(binding: Binding, agent: Arc<dyn Agent>) -> Router {
        match binding {
            JsonRpc => a2a_kit_jsonrpc::router(agent),
            Rest => a2a_kit_rest::router(agent),
            Grpc => a2a_kit_grpc::router(agent),
            Gateway | AtPath(_) | AtHost(_) => unreachable!("not a server"),
            JsonRpcOf(_) => a2a_kit_compat::server::jsonrpc(agent, ServerOptions::default()),
            RestOf(_) => a2a_kit_compat::server::rest(agent, ServerOptions::default()),
            GrpcOf(_) => {
                let card = AgentCard::new("Public", "is the public card");
                a2a_kit_compat::grpc::router(agent, card, ServerOptions::default())
            }
        }
    }
}

/// A client of a binding.
fn client(binding: Binding, url: &str) -> Arc<dyn Agent> {
    match binding {
        JsonRpc => Arc::new(a2a_kit_jsonrpc::Client::new(url).expect("a client")),
        Rest => Arc::new(a2a_kit_rest::Client::new(url).expect("a client")),
        Grpc => Arc::new(a2a_kit_grpc::Client::connect(url).expect("a client")),
        Gateway | AtPath(_) | AtHost(_) => unreachable!("not a client"),
        GrpcOf(revision) => {
            let settings = ClientSettings::default();
            Arc::new(GrpcClient::connect(url, revision, settings).expect("a client"))
        }
        RestOf(revision) => {
            let http = HttpClient::new(ClientSettings::default()).expect("a client");
            Arc::new(RestClient::new(url, revision, http).expect("a client"))
        }
        JsonRpcOf(revision) => {
            let http = HttpClient::new(ClientSettings::default()).expect("a client");
            Arc::new(JsonRpcClient::new(url, revision, http).expect("a client"))
        }
    }
}

/// A server of the agent under test.
fn server(agent: Arc<dyn Agent>) -> Server {
    Server::new(agent, AgentCard::new("Public", "is the public card"))
}

/// Another agent with a store of its own.
fn other() -> Engine {
    engine(&Options::default(), &Control::default())
}

/// Agents with `agent` at a place, and others around it.
fn beside_others(agent: Arc<dyn Agent>, agents: Agents, place: &str) -> Agents {
    agents.at(place, server(agent)).at("/under", other()).tenant("other-agent", other())
}

/// The routes of agents that run until the end of the test.
fn mounted(agents: Agents, address: SocketAddr) -> Router {
    agents.mount(address, std::future::pending()).expect("a router").router()
}

/// Puts the tenant of each request below that of an agent.
struct BelowTenant(Arc<dyn Agent>, &'static str);

impl BelowTenant {
    async fn put_below<R: Request, T>(
        &self,
        _: Operation,
        mut call: Call<R>,
        next: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        let Self(agent, place) = self;
        let tenant = match call.request.tenant() {
            "" => (*place).to_owned(),
            tenant => format!("{place}/{tenant}"),
        };
        call.request.set_tenant(tenant);
        next(&**agent, call).await
    }
}

impl Agent for BelowTenant {
    intercept_agent!(put_below);
}

impl Drop for Fixture {
    fn drop(&mut self) {
        for server in &self.servers {
            server.abort();
        }
    }
}

impl std::fmt::Debug for Fixture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fixture").finish_non_exhaustive()
    }
}

/// Runs a behaviour in a topology, with a timeout.
///
/// Prints `SKIPPED` and returns if a required server is unavailable.
pub async fn run<F: Future<Output = ()>>(
    behaviour: impl FnOnce(Topology) -> F,
    topology: Topology,
) {
    if !topology.backend().is_available().await {
        return;
    }
    let limit = std::time::Duration::from_secs(60);
    tokio::time::timeout(limit, behaviour(topology)).await.expect("the behaviour ends in time");
}
