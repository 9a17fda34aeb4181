//! Faults in the responses with the agent card.

use std::sync::Arc;

use a2a_kit_http::card::WELL_KNOWN_PATH;
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;

use super::{fault::injected, file::Script, schedule::Target};

/// The paths of agent cards: of this revision, and of those before 0.3.
const CARD_PATHS: [&str; 2] = [WELL_KNOWN_PATH, "/.well-known/agent.json"];

/// Injects the faults of a script into the responses with its card.
pub(crate) async fn layer(
    State(script): State<Arc<Script>>,
    request: Request,
    next: Next,
) -> Response {
    let is_card = CARD_PATHS.contains(&request.uri().path());
    let fault = if is_card { script.schedule.due(Target::Card) } else { None };
    let Some(fault) = fault else { return next.run(request).await };
    injected(async {
        match fault.arm().await {
            Ok(()) => next.run(request).await,
            // The card has no errors of the protocol.
            Err(error) => StatusCode::from_u16(error.kind().codes().http)
                .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
                .into_response(),
        }
    })
    .await
}
