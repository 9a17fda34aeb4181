//! Serves this binding on its own port.

use a2a_kit_http::{ServeError, Server};
use a2a_kit_operations::Agent;

use super::router;

/// Serves `agent` over this binding only, until the process ends. The agent card is not served: add
/// `a2a_kit_http::card::router` to [`router`] for it.
///
/// # Errors
///
/// [`ServeError::Bind`] if listening fails.
pub async fn serve(agent: impl Agent, address: &str) -> Result<(), ServeError> {
    let listener = a2a_kit_http::bind(address).await?;
    Server::new(router(agent)).serve(listener, std::future::pending()).await;
    Ok(())
}
