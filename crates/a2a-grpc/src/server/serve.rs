//! An agent on a port of its own.

use a2a_http::{ServeError, Server, bind};
use a2a_operations::Agent;

use super::router::{fallback, router};

/// Serves `agent` over gRPC, and nothing else, at `address`, until the future is dropped.
///
/// # Errors
///
/// If the address can't be listened at.
pub async fn serve(agent: impl Agent, address: &str) -> Result<(), ServeError> {
    let listener = bind(address).await?;
    Server::new(router(agent).fallback(fallback)).serve(listener, std::future::pending()).await;
    Ok(())
}
