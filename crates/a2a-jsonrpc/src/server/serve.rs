//! Serving this binding on a port of its own.

use a2a_http::{ServeError, Server};
use a2a_operations::Agent;

use super::router;

/// Serves `agent` over this binding alone, until the process ends. There is no card at the
/// address: add `a2a_http::card::router` to [`router`] for one.
///
/// # Errors
///
/// [`ServeError::Bind`] where the address can't be listened on.
pub async fn serve(agent: impl Agent, address: &str) -> Result<(), ServeError> {
    let listener = a2a_http::bind(address).await?;
    Server::new(router(agent)).serve(listener, std::future::pending()).await;
    Ok(())
}
