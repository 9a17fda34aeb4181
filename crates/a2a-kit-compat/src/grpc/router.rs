//! The service as a router, to merge with that of 1.0.

use std::sync::Arc;

use a2a_core::v1::AgentCard;
use a2a_kit_grpc::wire;
use a2a_kit_operations::Agent;
use axum::Router;
use tonic::service::Routes;

use super::service::AgentService;
use crate::{ServerOptions, proto::a2_a_service_server::A2AServiceServer};

/// Serves `agent` over gRPC in 0.2, 0.3 and the draft of 1.0, as `a2a.v1.A2AService`.
///
/// `GetAgentCard` returns `card` if the agent has no extended card.
///
/// The router has no fallback, so that it can be merged with others, such as that of 1.0. Use
/// [`a2a_kit_grpc::fallback`] for the merged router.
pub fn router(agent: impl Agent, card: AgentCard, options: ServerOptions) -> Router {
    routes(Arc::new(agent), card, options)
}

fn routes(agent: Arc<dyn Agent>, card: AgentCard, options: ServerOptions) -> Router {
    let limit = options.binding.limits.max_body_bytes;
    let service = A2AServiceServer::new(AgentService::new(agent, card, options));
    let guarded = wire::guarded(service.max_decoding_message_size(limit));
    // Routers with fallbacks can't be merged.
    Routes::new(guarded).into_axum_router().reset_fallback()
}
