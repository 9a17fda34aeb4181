//! All bindings as one router.

use std::net::SocketAddr;

use a2a_compat::{Revisions, ServerOptions};
use a2a_core::{ProtocolVersion, Result};
use a2a_http::{Options, card::CardDocument};
use axum::{
    Router,
    extract::Request,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, Uri, header};
use tower::ServiceExt as _;

use crate::{Server, origin::cors};

/// Where cards were before 0.3.
const OLDER_CARD_PATH: &str = "/.well-known/agent.json";

/// Everything that `server` serves.
pub(crate) fn all(server: &Server, address: SocketAddr) -> Result<Router> {
    let mut router = http(server);
    if server.grpc {
        router = router.merge(layered(server, grpc_bindings(server)));
    }
    let mut card = card_document(server)?;
    if let Some(layers) = &server.card_layers {
        card = layers(card);
    }
    let router = guarded(server, address, router.merge(card).merge(server.routes.clone()));
    // Probes come by whatever name they like, and learn nothing but that somebody is here.
    Ok(router.merge(server.readiness.clone().router()))
}

/// gRPC alone, for a port of its own.
pub(crate) fn grpc(server: &Server, address: SocketAddr) -> Router {
    let bindings = layered(server, grpc_bindings(server));
    guarded(server, address, bindings.fallback(a2a_grpc::fallback))
}

/// Keeps pages of other sites away where nobody authenticates.
fn guarded(server: &Server, address: SocketAddr, router: Router) -> Router {
    match server.site_guard(address) {
        Some(guard) => guard.layer(router),
        None => router,
    }
}

/// The two bindings that pages in a browser can call, and the answer to unknown paths.
fn http(server: &Server) -> Router {
    let options = options(server);
    let rest = (server.rest && serves_current(server))
        .then(|| a2a_rest::router_with(server.agent.clone(), options.clone()));
    let mut bindings = Router::new();
    if server.rest {
        let agent = server.agent.clone();
        let older = a2a_compat::server::rest(agent, older(server));
        let rest = rest.clone().unwrap_or_default().reset_fallback().merge(older);
        // Routers that both have a fallback don't merge; its answer comes back below.
        bindings = match &server.rest_prefix {
            None => bindings.merge(rest),
            Some(prefix) => bindings.nest(prefix, rest),
        };
    }
    if server.jsonrpc {
        // Where there is one revision, nothing has to find out which one a request is in.
        let jsonrpc = if server.revisions == Revisions::latest() {
            a2a_jsonrpc::router_with(server.agent.clone(), options)
        } else {
            a2a_compat::server::jsonrpc(server.agent.clone(), older(server))
        };
        if let Some(path) = &server.rpc_path {
            bindings = bindings.nest_service(path, jsonrpc.clone());
        }
        let agent = server.agent.clone();
        bindings = bindings.merge(jsonrpc);
        bindings = bindings.merge(a2a_compat::server::extended_card(agent, older(server)));
    }
    let fallback = async move |mut request: Request| -> Response {
        match rest {
            Some(rest) if !is_grpc(request.headers()) => {
                // Only the binding's answer to unknown paths is wanted: under a prefix this path
                // might be one of its routes, and no layer is around it here.
                *request.uri_mut() = Uri::from_static("/");
                rest.oneshot(request).await.into_response()
            }
            _ => a2a_grpc::fallback(request).await,
        }
    };
    let bindings = layered(server, bindings).fallback(fallback);
    match server.origins() {
        Some(origins) => bindings.layer(cors(origins)),
        None => bindings,
    }
}

/// What the bindings of the current revision are served with.
fn options(server: &Server) -> Options {
    Options::default().with_limits(server.limits.clone()).with_version_policy(server.versions)
}

/// The options of the servers for older revisions.
fn older(server: &Server) -> ServerOptions {
    ServerOptions::default()
        .with_revisions(server.revisions.clone())
        .with_binding(options(server))
        .with_task_origins(server.task_origins.clone())
}

/// The card at its address, and at the one that it had before 0.3 where older readers may come.
fn card_document(server: &Server) -> Result<Router> {
    let has_older = server.revisions != Revisions::latest();
    let mut document = if has_older {
        CardDocument::from_json(a2a_compat::card::write(&server.card).to_string())
    } else {
        CardDocument::new(&server.card)?
    };
    let origins = server.origins();
    let is_limited = origins.is_none() || server.allowed_origins.is_some();
    if is_limited {
        document = document.without_cors();
    }
    let mut router = Router::new();
    if has_older {
        router = document.clone().into_router_at(OLDER_CARD_PATH);
    }
    router = router.merge(document.into_router());
    Ok(match origins {
        Some(origins) if is_limited => router.layer(cors(origins)),
        _ => router,
    })
}

fn grpc_bindings(server: &Server) -> Router {
    let agent = || server.agent.clone();
    let has_older = server.revisions.contains_v0_2_or_v0_3()
        || server.revisions.contains(ProtocolVersion::V1Draft);
    let mut options = a2a_grpc::Options::default()
        .with_limits(server.limits.clone())
        .with_versions(server.versions);
    if has_older {
        options = options.with_service(a2a_compat::grpc::SERVICE, a2a_compat::grpc::DESCRIPTOR);
    }
    let mut router = match (serves_current(server), has_older) {
        (true, _) => a2a_grpc::router_with(agent(), options),
        (false, true) => a2a_grpc::operations_router(&options),
        (false, false) => Router::new(),
    };
    if has_older {
        let card = server.card.clone();
        router = router.merge(a2a_compat::grpc::router(agent(), card, older(server)));
    }
    router
}

fn serves_current(server: &Server) -> bool {
    server.revisions.contains(ProtocolVersion::LATEST)
}

fn layered(server: &Server, bindings: Router) -> Router {
    let bindings = server.layers.iter().fold(bindings, |router, layers| layers(router));
    match &server.address_rate {
        Some(rate) => rate.layer(bindings),
        None => bindings,
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).map(|value| value.as_bytes());
    media_type.is_some_and(|media_type| media_type.starts_with(b"application/grpc"))
}
