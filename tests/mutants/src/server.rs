//! Serving a mutant, or the faultless agent.

use std::{future, net::SocketAddr};

use a2a_kit::Server;
use a2a_kit_auth::server::{BearerTokens, Guard};
use a2a_kit_http::HttpServer;
use a2a_kit_operations::{BoxError, Caller};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{Fault, FaultyAgent, Mutant, agent::SCHEME, demo_engine, wire};

/// The bearer tokens of two callers.
pub const TOKENS: [&str; 2] = ["token-of-ann", "token-of-ben"];

/// A server on a free port of this machine, stopped on drop.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Running {
    /// The URL under which the card is found.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Starts a mutant, or without one the faultless agent, on all bindings and revisions.
///
/// # Errors
///
/// If no port is free, or the agent cannot be created.
pub async fn start(mutant: Option<&Mutant>) -> Result<Running, BoxError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let engine = demo_engine()?;
    let card = engine.card().clone();
    let fault = mutant.map(|mutant| mutant.fault);
    let server = match fault {
        Some(Fault::Agent(fault)) => {
            Server::new(FaultyAgent::new(engine.clone(), fault), card).with_engine(engine)
        }
        _ => Server::from(engine),
    };
    let callers =
        if matches!(fault, Some(Fault::SharedTasks)) { ["all", "all"] } else { ["ann", "ben"] };
    let tokens = TOKENS.iter().zip(callers).fold(BearerTokens::new(), |tokens, (token, caller)| {
        tokens.with_token(token, Caller::authenticated(caller))
    });
    let guard = Guard::new().with_verifier(SCHEME, tokens);
    let router = server.with_auth(guard).mount(address, future::pending())?.router();
    let router = match fault {
        None | Some(Fault::Agent(_) | Fault::SharedTasks) => router,
        Some(fault) => wire::apply(fault, router),
    };
    let serving = HttpServer::new(router).serve(listener, future::pending());
    Ok(Running { address, serving: tokio::spawn(serving) })
}
