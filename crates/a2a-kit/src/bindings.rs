//! The routers of the bindings that are compiled in.

#[cfg(any(feature = "compat", feature = "grpc", feature = "jsonrpc", feature = "rest"))]
use std::sync::Arc;

#[cfg(feature = "grpc")]
use a2a_core::ProtocolVersion;
use a2a_core::Result;
use a2a_kit_http::card::CardDocument;
use axum::Router;

#[cfg(feature = "compat")]
use crate::older::Revisions;
use crate::routes::Parts;

impl Parts {
    /// HTTP+JSON of the current revision.
    pub(crate) fn current_rest(&self) -> Option<Router> {
        #[cfg(feature = "rest")]
        if self.config.bindings.rest && self.config.serves_current() {
            let agent = Arc::clone(&self.agent);
            return Some(a2a_kit_rest::router_with(agent, self.config.options()));
        }
        None
    }

    /// HTTP+JSON of older revisions.
    pub(crate) fn older_rest(&self) -> Router {
        #[cfg(feature = "compat")]
        return a2a_kit_compat::server::rest(Arc::clone(&self.agent), self.config.compat_options());
        #[cfg(not(feature = "compat"))]
        Router::new()
    }

    /// JSON-RPC of all revisions, which have one path.
    pub(crate) fn jsonrpc(&self) -> Router {
        #[cfg(feature = "compat")]
        if self.config.revisions != Revisions::latest() {
            let options = self.config.compat_options();
            return a2a_kit_compat::server::jsonrpc(Arc::clone(&self.agent), options);
        }
        // A single revision needs no detection.
        #[cfg(feature = "jsonrpc")]
        return a2a_kit_jsonrpc::router_with(Arc::clone(&self.agent), self.config.options());
        #[cfg(not(feature = "jsonrpc"))]
        Router::new()
    }

    /// The extended card of older revisions, next to JSON-RPC.
    pub(crate) fn older_extended_card(&self) -> Router {
        #[cfg(feature = "compat")]
        return a2a_kit_compat::server::extended_card(
            Arc::clone(&self.agent),
            self.config.compat_options(),
        );
        #[cfg(not(feature = "compat"))]
        Router::new()
    }

    /// gRPC, with the service of older revisions.
    #[cfg(feature = "grpc")]
    pub(crate) fn grpc(&self) -> Router {
        let revisions = &self.config.revisions;
        let has_older =
            revisions.contains_v0_2_or_v0_3() || revisions.contains(ProtocolVersion::V1Draft);
        let options = self.grpc_options();
        #[cfg(feature = "compat")]
        let options = if has_older {
            options.with_service(a2a_kit_compat::grpc::SERVICE, a2a_kit_compat::grpc::DESCRIPTOR)
        } else {
            options
        };
        let agent = || Arc::clone(&self.agent);
        let router = match (self.config.serves_current(), has_older) {
            (true, _) => a2a_kit_grpc::router_with(agent(), options),
            (false, true) => a2a_kit_grpc::operations_router(&options),
            (false, false) => Router::new(),
        };
        #[cfg(feature = "compat")]
        if has_older {
            let options = self.config.compat_options();
            let older = a2a_kit_compat::grpc::router(agent(), self.card.clone(), options);
            return router.merge(older);
        }
        router
    }

    #[cfg(feature = "grpc")]
    pub(crate) fn grpc_options(&self) -> a2a_kit_grpc::GrpcOptions {
        a2a_kit_grpc::GrpcOptions::default()
            .with_limits(self.config.limits.clone())
            .with_version_policy(self.config.versions)
            .with_served_versions(self.config.served_versions())
    }

    #[cfg(not(feature = "grpc"))]
    pub(crate) fn grpc(&self) -> Router {
        Router::new()
    }

    /// The card, in the form that clients of the served revisions read.
    pub(crate) fn served_card(&self) -> Result<CardDocument> {
        #[cfg(feature = "compat")]
        if self.config.revisions != Revisions::latest() {
            let card = a2a_kit_compat::card::write(&self.card).to_string();
            return Ok(CardDocument::from_json(card));
        }
        CardDocument::new(&self.card)
    }
}
