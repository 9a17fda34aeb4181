//! Serves this binding on its own port.

use a2a_kit_http::{BindError, HttpServer, bind};
use a2a_kit_operations::Engine;

use super::router::{fallback, router};

/// Serves an engine over gRPC only, at `address`, until Ctrl-C or SIGTERM. Then shuts down
/// gracefully, and the engine with it; a second signal ends the grace period. For other agents and
/// settings, serve the [`router`] by [`a2a_kit_http::HttpServer`].
///
/// # Errors
///
/// [`BindError`] if listening fails.
pub async fn serve(engine: Engine, address: &str) -> Result<(), BindError> {
    let listener = bind(address).await?;
    tracing::info!(agent = engine.card().name, address, "serving");
    let server = HttpServer::new(router(engine.clone()).fallback(fallback));
    let stop = server.drain().signalled();
    server.serve_engine(listener, engine, stop).await;
    Ok(())
}
