//! The agent on every binding, at each node of a store.

use std::{net::SocketAddr, sync::Arc};

use a2a_operations::Caller;
use axum::{
    extract::Request,
    middleware::{self, Next},
    response::Response,
};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::{
    counted::{Calls, Counted},
    wire::{Answer, Ask, Client, Until},
};
use crate::{Control, Options, agent::engine_on, kept::Kept};

/// The header that says who calls: what authenticates is not what is tested here.
pub const CALLER: &str = "x-test-caller";

/// The nodes of an agent.
#[derive(Debug)]
pub struct Place {
    pub(super) nodes: Vec<Node>,
    client: Client,
    _control: Control,
    _file: Option<TempDir>,
}

/// One node, with a server of its own.
#[derive(Debug)]
pub(super) struct Node {
    address: SocketAddr,
    calls: Calls,
    server: JoinHandle<()>,
}

impl Place {
    /// Starts a server for each node of a store, which tells callers from each other or does not.
    pub async fn start(kept: Kept, identifies: bool) -> Self {
        let control = Control::default();
        let options = Options { webhooks_of_all_revisions: true, ..Options::default() };
        let (stores, file) = kept.stores().await;
        let mut nodes = Vec::new();
        for store in stores {
            let (store, calls) = Counted::new(store);
            let engine = engine_on(&options, &control, Arc::new(store));
            let listener = a2a_http::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("an address");
            let server = a2a::Server::from(engine)
                .with_public_url("http://agent.test")
                .with_layers(move |router| match identifies {
                    true => router.layer(middleware::from_fn(identify)),
                    false => router,
                });
            let server = tokio::spawn(async move {
                server.serve(listener, std::future::pending()).await.expect("serving");
            });
            nodes.push(Node { address, calls, server });
        }
        Self { nodes, client: Client::default(), _control: control, _file: file }
    }

    /// Asks a node.
    pub async fn ask(&self, node: usize, caller: Option<&str>, ask: &Ask, until: Until) -> Answer {
        self.client.ask(self.nodes[node].address, caller, ask, until).await
    }

    /// Asks a node, and says which calls of its store that took.
    pub(super) async fn ask_counted(
        &self,
        node: usize,
        caller: Option<&str>,
        ask: &Ask,
    ) -> (Answer, Vec<&'static str>) {
        let calls = &self.nodes[node].calls;
        calls.take();
        let answer = self.ask(node, caller, ask, Until::End).await;
        (answer, calls.take())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for node in &self.nodes {
            node.server.abort();
        }
    }
}

/// Says who makes a request.
async fn identify(mut request: Request, next: Next) -> Response {
    let name = request.headers().get(CALLER).and_then(|name| name.to_str().ok());
    let caller = name.map_or(Caller::ANONYMOUS, Caller::authenticated);
    request.extensions_mut().insert(caller);
    next.run(request).await
}
