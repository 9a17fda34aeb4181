//! Serves this binding on its own port.

use a2a_kit_http::{ServeError, Server, bind};
use a2a_kit_operations::Agent;

use super::router::{fallback, router};

/// Serves `agent` over gRPC only, at `address`, until the future is dropped.
///
/// # Errors
///
/// If listening fails.
pub async fn serve(agent: impl Agent, address: &str) -> Result<(), ServeError> {
    let listener = bind(address).await?;
    Server::new(router(agent).fallback(fallback)).serve(listener, std::future::pending()).await;
    Ok(())
}
