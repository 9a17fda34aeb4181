//! All bindings as one router.

use std::{net::SocketAddr, sync::Arc};

use a2a_core::{AgentCard, Result};
use a2a_kit_http::{
    card_page::{self, CardPage},
    error_response::is_grpc,
    rate::AddressRate,
    repeated_fields,
};
use a2a_kit_operations::{Agent, AgentLabel};
use axum::{
    Extension, Router,
    extract::{OriginalUri, Request},
    response::{IntoResponse as _, Response},
};
use http::Uri;
use tower::ServiceExt as _;

use crate::{
    agents::Admission, config::Config, interface, older::Revisions, ready::Readiness, sites::cors,
};

/// Path of the card before 0.3.
const OLD_CARD_PATH: &str = "/.well-known/agent.json";

pub(crate) type Layers = Box<dyn Fn(Router) -> Router + Send + Sync>;
pub(crate) type CustomBinding = Box<dyn Fn(Arc<dyn Agent>) -> Router + Send + Sync>;

/// Everything that routes are made of.
pub(crate) struct Parts {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) card: AgentCard,
    pub(crate) config: Config,
    /// Around the bindings, innermost first.
    pub(crate) layers: Vec<Layers>,
    /// Around the card, innermost first.
    pub(crate) card_layers: Vec<Layers>,
    pub(crate) address_rate: Option<AddressRate>,
    pub(crate) custom_bindings: Vec<CustomBinding>,
    pub(crate) extra_routes: Router,
    pub(crate) readiness: Readiness,
    /// Decides for several agents on a port.
    pub(crate) admission: Admission,
}

impl Parts {
    /// All routes of a server that listens at `address`.
    pub(crate) fn router(&self, address: SocketAddr) -> Result<Router> {
        let mut router = self.http_bindings();
        if self.config.bindings.grpc {
            router = router.merge(self.with_layers(self.grpc()));
        }
        let own = &self.extra_routes;
        let router = router.merge(self.with_card_layers(self.card_document()?)).merge(own.clone());
        let router = if self.config.has_page {
            let url = interface::base(&self.config, address);
            let page = CardPage::new(&self.card, &url, &self.config.others)?.into_router();
            card_page::layer(router, own.clone(), self.with_card_layers(page))
        } else {
            router
        };
        // Probes may use any host name, and learn nothing about the agent.
        Ok(self.with_site_guard(address, router).merge(self.readiness.clone().router()))
    }

    /// JSON-RPC and HTTP+JSON, which pages in a browser can call, and the response to unknown
    /// paths.
    fn http_bindings(&self) -> Router {
        let Config { bindings, paths, .. } = &self.config;
        let rest = self.current_rest();
        let mut router = Router::new();
        if bindings.rest {
            // Routers that both have a fallback don't merge; the fallback is added below.
            let rest = rest.clone().unwrap_or_default().reset_fallback().merge(self.older_rest());
            router = match &paths.rest_prefix {
                None => router.merge(rest),
                Some(prefix) => router.nest(prefix, rest),
            };
        }
        if bindings.jsonrpc {
            let jsonrpc = self.jsonrpc();
            if let Some(path) = &paths.rpc_path {
                router = router.nest_service(path, jsonrpc.clone());
            }
            router = router.merge(jsonrpc).merge(self.older_extended_card());
        }
        let custom = self.custom_bindings.iter().map(|routes| routes(Arc::clone(&self.agent)));
        let router = custom.fold(router, Router::merge);
        let fallback = async move |mut request: Request| -> Response {
            match rest {
                Some(rest) if !is_grpc(request.headers()) => {
                    // Only the binding's response to unknown paths is wanted. With a prefix, this
                    // path could be one of its routes, which would bypass the layers.
                    let uri = std::mem::replace(request.uri_mut(), Uri::from_static("/"));
                    request.extensions_mut().insert(OriginalUri(uri));
                    rest.oneshot(request).await.into_response()
                }
                _ => unknown_path(request).await,
            }
        };
        let router = self.with_layers(router).fallback(fallback);
        match self.config.origins() {
            Some(origins) => router.layer(cors(origins)),
            None => router,
        }
    }

    /// The card at its well-known path, and at the one before 0.3 if older revisions are served.
    fn card_document(&self) -> Result<Router> {
        let has_older = self.config.revisions != Revisions::latest();
        let mut document = self.served_card()?;
        let origins = self.config.origins();
        let is_restricted = origins.is_none() || self.config.allowed_origins.is_some();
        if is_restricted {
            document = document.without_cors();
        }
        let mut router = Router::new();
        if has_older {
            router = document.clone().into_router_at(OLD_CARD_PATH);
        }
        router = router.merge(document.into_router());
        Ok(match origins {
            Some(origins) if is_restricted => router.layer(cors(origins)),
            _ => router,
        })
    }

    fn with_card_layers(&self, card: Router) -> Router {
        self.card_layers.iter().fold(card, |router, layers| layers(router))
    }

    fn with_layers(&self, bindings: Router) -> Router {
        let bindings = self.layers.iter().fold(bindings, |router, layers| layers(router));
        let bindings = match self.config.metrics_label {
            AgentLabel::NONE => bindings,
            label => bindings.layer(Extension(label)),
        };
        let bindings = repeated_fields::layer(bindings);
        match &self.address_rate {
            Some(rate) => rate.layer(bindings),
            None => bindings,
        }
    }

    /// Rejects requests from pages of other sites, unless callers authenticate.
    fn with_site_guard(&self, address: SocketAddr, router: Router) -> Router {
        match self.config.site_guard(address) {
            Some(guard) => guard.layer(router),
            None => router,
        }
    }
}

/// Responds to unknown paths.
async fn unknown_path(request: Request) -> Response {
    #[cfg(feature = "grpc")]
    return a2a_kit_grpc::fallback(request).await;
    #[cfg(not(feature = "grpc"))]
    {
        drop(request);
        http::StatusCode::NOT_FOUND.into_response()
    }
}
