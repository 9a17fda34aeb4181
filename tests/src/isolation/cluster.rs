//! A server for each node of a store, with every binding.

use std::{net::SocketAddr, sync::Arc};

use a2a_kit_operations::Caller;
use axum::{
    extract::Request,
    middleware::{self, Next},
    response::Response,
};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::{
    recording_store::{Calls, RecordingStore},
    wire::{Answer, Client, Until, WireRequest},
};
use crate::{
    Control, Options,
    agent::{self, engine_on},
    backend::Backend,
};

/// The header with the name of the caller, in place of authentication.
pub const CALLER: &str = "x-test-caller";

/// How an agent identifies its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// By [`CALLER`].
    ByName,
    /// By the token of `Authorization`, as an agent behind a gateway that forwards it.
    ByToken,
    /// Not at all: they are all one, as for an agent behind a gateway.
    Unknown,
}

/// The nodes of an agent.
#[derive(Debug)]
pub struct Cluster {
    pub(super) nodes: Vec<Node>,
    /// The nodes of the agent behind them, if they are gateways.
    upstream: Vec<Node>,
    client: Client,
    _control: Control,
    _file: Option<TempDir>,
}

/// One node with its server.
#[derive(Debug)]
pub(super) struct Node {
    address: SocketAddr,
    /// The calls of its store, if it is in this process.
    calls: Calls,
    server: Option<JoinHandle<()>>,
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(server) = &self.server {
            server.abort();
        }
    }
}

impl Cluster {
    /// Starts a server for each node of a store, next to another agent at `/another-agent`.
    pub async fn start(backend: Backend, callers: Callers) -> Self {
        let control = Control::default();
        let options = Options { webhooks_of_all_revisions: true, ..Options::default() };
        let (stores, file) = backend.stores().await;
        let mut nodes = Vec::new();
        for store in stores {
            let (store, calls) = RecordingStore::new(store);
            let engine = engine_on(&options, &control, Arc::new(store));
            let listener = a2a_kit_http::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("an address");
            let identified = move |engine| {
                a2a_kit::Server::from(engine).with_layers(move |router| match callers {
                    Callers::ByName => router.layer(middleware::from_fn(identify)),
                    Callers::ByToken => router.layer(middleware::from_fn(identify_by_token)),
                    Callers::Unknown => router,
                })
            };
            let other = identified(agent::engine(&Options::default(), &Control::default()));
            let agents =
                a2a_kit::Agents::new().at("/", identified(engine)).at("/another-agent", other);
            let server = tokio::spawn(async move {
                agents.serve(listener, std::future::pending()).await.expect("serving");
            });
            nodes.push(Node { address, calls, server: Some(server) });
        }
        let client = Client::default();
        Self { nodes, upstream: Vec::new(), client, _control: control, _file: file }
    }

    /// A gateway whose agent runs elsewhere; see [`behind`](Self::behind).
    pub(super) fn of_gateway(
        gateway: SocketAddr,
        credential: fn(&str) -> (&'static str, String),
    ) -> Self {
        let agent = Self {
            nodes: Vec::new(),
            upstream: Vec::new(),
            client: Client::default(),
            _control: Control::default(),
            _file: None,
        };
        agent.behind(&[gateway], credential)
    }

    /// The URL of the first node.
    pub fn url(&self) -> String {
        format!("http://{}", self.nodes[0].address)
    }

    /// Puts the agent behind gateways at these addresses, to which `credential` identifies a
    /// caller: a header and its value.
    #[must_use]
    pub fn behind(
        mut self,
        gateways: &[SocketAddr],
        credential: fn(&str) -> (&'static str, String),
    ) -> Self {
        let gateway = |address: &SocketAddr| Node {
            address: *address,
            calls: Calls::default(),
            server: None,
        };
        self.upstream = std::mem::replace(&mut self.nodes, gateways.iter().map(gateway).collect());
        self.client.credential = credential;
        self
    }

    /// Whether the nodes are gateways, or agents of one port.
    pub(super) fn is_behind_gateways(&self) -> bool {
        !self.upstream.is_empty()
    }

    /// Sends a request to a node.
    pub async fn request(
        &self,
        node: usize,
        caller: Option<&str>,
        request: &WireRequest,
        until: Until,
    ) -> Answer {
        self.client.request(self.nodes[node].address, caller, request, until).await
    }

    /// Sends a request to a node, and returns the store calls that it caused.
    pub(super) async fn request_recorded(
        &self,
        node: usize,
        caller: Option<&str>,
        request: &WireRequest,
    ) -> (Answer, Vec<&'static str>) {
        let calls = &self.nodes[node].calls;
        calls.take();
        let answer = self.request(node, caller, request, Until::End).await;
        (answer, calls.take())
    }
}

/// Inserts the caller of a request.
async fn identify(mut request: Request, next: Next) -> Response {
    let name = request.headers().get(CALLER).and_then(|name| name.to_str().ok());
    let caller = name.map_or(Caller::ANONYMOUS, Caller::authenticated);
    request.extensions_mut().insert(caller);
    next.run(request).await
}

/// Inserts the caller whose name is the token of a request.
async fn identify_by_token(mut request: Request, next: Next) -> Response {
    let token = request.headers().get("authorization").and_then(|header| header.to_str().ok());
    let name = token.and_then(|token| token.strip_prefix("Bearer "));
    let caller = name.map_or(Caller::ANONYMOUS, Caller::authenticated);
    request.extensions_mut().insert(caller);
    next.run(request).await
}
