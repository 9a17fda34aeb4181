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

/// The nodes of an agent.
#[derive(Debug)]
pub struct Cluster {
    pub(super) nodes: Vec<Node>,
    client: Client,
    _control: Control,
    _file: Option<TempDir>,
}

/// One node with its server.
#[derive(Debug)]
pub(super) struct Node {
    address: SocketAddr,
    calls: Calls,
    server: JoinHandle<()>,
}

impl Cluster {
    /// Starts a server for each node of a store, optionally with identification of callers, next to
    /// another agent.
    pub async fn start(backend: Backend, identifies: bool) -> Self {
        let control = Control::default();
        let options = Options { webhooks_of_all_revisions: true, ..Options::default() };
        let (stores, file) = backend.stores().await;
        let mut nodes = Vec::new();
        for store in stores {
            let (store, calls) = RecordingStore::new(store);
            let engine = engine_on(&options, &control, Arc::new(store));
            let listener = a2a_kit_http::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("an address");
            let server = a2a_kit::Server::from(engine)
                .with_public_url("http://agent.test")
                .with_layers(move |router| match identifies {
                    true => router.layer(middleware::from_fn(identify)),
                    false => router,
                });
            let other = agent::engine(&Options::default(), &Control::default());
            let agents = a2a_kit::Agents::new().at("/", server).at("/another-agent", other);
            let server = tokio::spawn(async move {
                agents.serve(listener, std::future::pending()).await.expect("serving");
            });
            nodes.push(Node { address, calls, server });
        }
        Self { nodes, client: Client::default(), _control: control, _file: file }
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

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in &self.nodes {
            node.server.abort();
        }
    }
}

/// Inserts the caller of a request.
async fn identify(mut request: Request, next: Next) -> Response {
    let name = request.headers().get(CALLER).and_then(|name| name.to_str().ok());
    let caller = name.map_or(Caller::ANONYMOUS, Caller::authenticated);
    request.extensions_mut().insert(caller);
    next.run(request).await
}
