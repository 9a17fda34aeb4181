//! Agents and proxies on free local ports.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use a2a_core::{AgentCard, Artifact};
use a2a_kit_client::Transport;
use a2a_kit_operations::{AgentExecutor, BoxError, Engine, RequestContext, TaskUpdater};
use axum::Router;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::AbortHandle,
};

/// Serves a router on a free port.
pub(crate) async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = a2a_kit_http::HttpServer::new(router);
    tokio::spawn(server.serve(listener, std::future::pending()));
    address
}

/// Routes an engine on every binding.
pub(crate) fn routes(engine: &Engine) -> Router {
    let rest = a2a_kit_rest::router(engine.clone());
    let router =
        a2a_kit_jsonrpc::router(engine.clone()).merge(a2a_kit_grpc::router(engine.clone()));
    router.merge(rest)
}

/// Serves an engine on every binding.
pub(crate) async fn serve_engine(engine: &Engine) -> SocketAddr {
    serve(routes(engine)).await
}

/// Returns an address without a listener.
pub(crate) async fn unused_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

pub(crate) fn url(transport: Transport, address: SocketAddr) -> String {
    match transport {
        Transport::Grpc => address.to_string(),
        Transport::JsonRpc | Transport::Rest => format!("http://{address}"),
    }
}

/// Returns a card with one interface.
pub(crate) fn card(transport: Transport, address: SocketAddr) -> AgentCard {
    AgentCard::new("Counter", "Counts").with_interface(transport.as_str(), url(transport, address))
}

/// Emits the chunks `1 ` to `n `, one per permit, and completes with `done`.
#[derive(Clone)]
pub(crate) struct Counter {
    pub(crate) permits: Arc<Semaphore>,
    /// Gets a permit for each message received.
    pub(crate) arrived: Arc<Semaphore>,
    pub(crate) chunks: usize,
}

impl Counter {
    pub(crate) fn new(chunks: usize) -> Self {
        let none = || Arc::new(Semaphore::new(0));
        Self { permits: none(), arrived: none(), chunks }
    }

    pub(crate) fn permit(&self, chunks: usize) {
        self.permits.add_permits(chunks);
    }

    pub(crate) fn engine(&self) -> Engine {
        Engine::new(AgentCard::new("Counter", "Counts"), self.clone())
    }
}

impl AgentExecutor for Counter {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        self.arrived.add_permits(1);
        updates.start().await?;
        for number in 1..=self.chunks {
            tokio::select! {
                permit = self.permits.acquire() => permit?.forget(),
                () = context.cancelled() => return Ok(()),
            }
            let chunk = Artifact::new("count", format!("{number} ")).with_id("count");
            if number == 1 { updates.begin(chunk).await? } else { updates.append(chunk).await? }
        }
        updates.complete("done").await?;
        Ok(())
    }
}

/// A TCP proxy whose connections can be dropped.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    connections: Arc<Mutex<Vec<AbortHandle>>>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(Mutex::new(Vec::new()));
        let opened = Arc::clone(&connections);
        let accepting = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let forward = tokio::spawn(async move {
                    let mut server = TcpStream::connect(target).await.unwrap();
                    drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
                });
                opened.lock().unwrap().push(forward.abort_handle());
            }
        });
        Self { address, connections, accepting }
    }

    /// Drops all connections and returns their number.
    pub(crate) fn disconnect(&self) -> usize {
        let connections = std::mem::take(&mut *self.connections.lock().unwrap());
        connections.iter().for_each(AbortHandle::abort);
        connections.len()
    }

    /// Drops all connections and stops listening.
    pub(crate) async fn stop(self) {
        self.accepting.abort();
        // The port is closed once the task has ended.
        drop(self.accepting.await);
        let connections = std::mem::take(&mut *self.connections.lock().unwrap());
        connections.iter().for_each(AbortHandle::abort);
    }
}
