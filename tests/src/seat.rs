//! The places from which an agent is called.

use std::{future::Future, sync::Arc};

use a2a_operations::Agent;
use tokio::task::JoinHandle;

use crate::agent::{Control, Options, engine};

/// One way to reach the agent under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat(&'static [Binding]);

/// A binding, as server and client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    JsonRpc,
    Rest,
    Grpc,
    /// No binding: a gateway between two, or before an agent of this process.
    Gateway,
}

use Binding::{Gateway, Grpc, JsonRpc, Rest};

impl Seat {
    pub const ENGINE: Self = Self(&[]);
    pub const JSONRPC: Self = Self(&[JsonRpc]);
    pub const REST: Self = Self(&[Rest]);
    pub const GRPC: Self = Self(&[Grpc]);
    pub const JSONRPC_OVER_REST: Self = Self(&[Rest, JsonRpc]);
    pub const JSONRPC_OVER_GRPC: Self = Self(&[Grpc, JsonRpc]);
    pub const REST_OVER_JSONRPC: Self = Self(&[JsonRpc, Rest]);
    pub const REST_OVER_GRPC: Self = Self(&[Grpc, Rest]);
    pub const GRPC_OVER_JSONRPC: Self = Self(&[JsonRpc, Grpc]);
    pub const GRPC_OVER_REST: Self = Self(&[Rest, Grpc]);

    pub const GATEWAY: Self = Self(&[Gateway]);
    pub const GATEWAY_GRPC_OVER_JSONRPC: Self = Self(&[JsonRpc, Gateway, Grpc]);
    pub const GATEWAY_REST_OVER_GRPC: Self = Self(&[Grpc, Gateway, Rest]);
    pub const TWO_GATEWAYS: Self = Self(&[Rest, Gateway, JsonRpc, Gateway, Grpc]);

    /// The bindings between caller and engine, the one nearest to the engine first.
    pub fn bindings(self) -> &'static [Binding] {
        self.0
    }

    /// Sets the agent up, and a caller at this seat.
    pub async fn agent(self, options: Options) -> Fixture {
        let control = Control::default();
        let engine: Arc<dyn Agent> = Arc::new(engine(&options, &control));
        let mut fixture =
            Fixture { agent: Arc::clone(&engine), engine, control, servers: Vec::new() };
        for binding in self.0 {
            fixture.put_behind(*binding).await;
        }
        fixture
    }
}

/// An agent, and what keeps it going. Its servers end with it.
pub struct Fixture {
    /// The agent, as called from the seat.
    pub agent: Arc<dyn Agent>,
    /// The engine itself.
    pub engine: Arc<dyn Agent>,
    /// Opens the gates of the agent.
    pub control: Control,
    servers: Vec<JoinHandle<()>>,
}

impl Fixture {
    async fn put_behind(&mut self, binding: Binding) {
        let agent = Arc::clone(&self.agent);
        if binding == Gateway {
            self.agent = Arc::new(a2a_gateway::Forward::new(agent));
            return;
        }
        let listener = a2a_http::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let url = format!("http://{address}");
        let router = match binding {
            JsonRpc => a2a_jsonrpc::router(agent),
            Rest => a2a_rest::router(agent),
            Grpc => a2a_grpc::router(agent),
            Gateway => unreachable!("it is no server"),
        };
        self.servers.push(tokio::spawn(
            a2a_http::Server::new(router).serve(listener, std::future::pending()),
        ));
        self.agent = match binding {
            JsonRpc => Arc::new(a2a_jsonrpc::Client::new(&url).expect("a client")),
            Rest => Arc::new(a2a_rest::Client::new(&url).expect("a client")),
            Grpc => Arc::new(a2a_grpc::Client::connect(&url).expect("a client")),
            Gateway => unreachable!("it is no client"),
        };
    }
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

/// Runs a behaviour at a seat, with a limit that only a hang reaches.
pub async fn run<F: Future<Output = ()>>(behaviour: impl FnOnce(Seat) -> F, seat: Seat) {
    let limit = std::time::Duration::from_secs(60);
    tokio::time::timeout(limit, behaviour(seat)).await.expect("the behaviour does not hang");
}
