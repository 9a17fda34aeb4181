//! The service as a router.

use std::sync::Arc;
#[cfg(feature = "reflection")]
use std::sync::LazyLock;

use a2a_core::{DESCRIPTOR, Error, ErrorKind, ProtocolVersion, SERVICE};
use a2a_kit_http::{
    BindError, BindingOptions, DirectHandler, Limits, VersionPolicy, serve_binding,
};
use a2a_kit_operations::{Agent, Engine};
#[cfg(feature = "reflection")]
use axum::routing::any;
use axum::{
    Router,
    extract::Request,
    response::{IntoResponse as _, Response},
};
use derive_setters::Setters;
#[cfg(feature = "health")]
use futures_util::FutureExt as _;
use http::{StatusCode, request::Parts};
use tonic::service::Routes;
#[cfg(feature = "health")]
use tonic_health::ServingStatus;
#[cfg(feature = "reflection")]
use tonic_reflection::{
    pb::{v1, v1alpha},
    server::{Builder, Error as ReflectionError},
};
#[cfg(feature = "reflection")]
use tower::ServiceExt as _;

#[cfg(feature = "health")]
use super::watch_limit::WatchLimit;
use super::{
    message::reject,
    method,
    service::{AgentService, METHODS},
};
use crate::{metadata::is_grpc, status};

/// Options of the service.
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct GrpcOptions {
    /// Limits of requests; the limit of a message is that of a body.
    pub limits: Limits,
    /// The meaning of a call without `a2a-version`. Default: revision 0.3, which is rejected.
    pub version_policy: VersionPolicy,
    /// The revisions that version errors list: all that are served at the same address. Default: 1.0.
    pub served_versions: Vec<ProtocolVersion>,
    /// Largest response message, in bytes; larger ones fail the call. Default: only gRPC's limit of
    /// 4 GiB.
    pub max_response_bytes: usize,
    /// Whether reflection (`grpc.reflection.v1` and `v1alpha`) is served, with the feature
    /// `reflection`. Default: yes.
    pub reflection: bool,
    /// Whether `grpc.health.v1` is served, with the feature `health`. Default: yes.
    pub health: bool,
    /// Names and encoded descriptors of further services, for health and reflection. Default: none.
    #[setters(skip)]
    pub services: Vec<(&'static str, &'static [u8])>,
}

impl Default for GrpcOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            version_policy: VersionPolicy::default(),
            served_versions: vec![ProtocolVersion::V1_0],
            max_response_bytes: usize::MAX,
            reflection: true,
            health: true,
            services: Vec::new(),
        }
    }
}

impl GrpcOptions {
    /// Adds a service that is mounted next to this one, such as `a2a.v1.A2AService`, with its
    /// encoded descriptor.
    #[must_use]
    pub fn with_service(mut self, name: &'static str, descriptor: &'static [u8]) -> Self {
        self.services.push((name, descriptor));
        self
    }
}

/// Serves `agent` over gRPC (spec §10), with health and reflection.
///
/// The router has no fallback, so that it can be merged with others. Use [`fallback`] for the
/// merged router, or call it from another fallback.
pub fn router(agent: impl Agent) -> Router {
    router_with(agent, GrpcOptions::default())
}

/// Serves `agent` over gRPC like [`router`], with `options`.
pub fn router_with(agent: impl Agent, options: GrpcOptions) -> Router {
    routes(Arc::new(agent), &options)
}

fn routes(agent: Arc<dyn Agent>, options: &GrpcOptions) -> Router {
    let service = service(agent, options);
    let methods = method::routes(SERVICE, service, &options.limits, &METHODS);
    let services = [(SERVICE, DESCRIPTOR)].into_iter().chain(options.services.iter().copied());
    with_operations(methods.into(), options, services.collect())
}

fn service(agent: Arc<dyn Agent>, options: &GrpcOptions) -> AgentService {
    let binding = BindingOptions::default()
        .with_limits(options.limits.clone())
        .with_version_policy(options.version_policy)
        .with_served_versions(options.served_versions.clone());
    AgentService::new(agent, binding, options.max_response_bytes)
}

/// Selects what responds to a call, as [`router_with`] does, by its head: for a server that calls it
/// without a router.
pub fn handlers(agent: impl Agent, options: &GrpcOptions) -> Handlers {
    Box::new(method::handlers(SERVICE, service(Arc::new(agent), options), &METHODS))
}

/// Selects a handler by the head of a request.
type Handlers = Box<dyn Fn(&Parts) -> Option<DirectHandler> + Send + Sync>;

/// Serves an engine over gRPC only, at `address`, until Ctrl-C or SIGTERM. Then shuts down
/// gracefully, and the engine with it; a second signal ends the grace period. For other agents and
/// settings, serve the [`router`] by [`a2a_kit_http::HttpServer`].
///
/// # Errors
///
/// [`BindError`] if listening fails.
pub async fn serve(engine: Engine, address: &str) -> Result<(), BindError> {
    serve_binding(router(engine.clone()).fallback(fallback), engine, address).await
}

/// Serves health and reflection of the services in `options`, without the current one, for servers
/// that only mount services of older revisions.
pub fn operations_router(options: &GrpcOptions) -> Router {
    with_operations(Routes::default(), options, options.services.clone())
}

/// Adds health and reflection to services.
#[cfg_attr(
    not(all(feature = "health", feature = "reflection")),
    allow(unused_mut, unused_variables, reason = "for the services of features")
)]
fn with_operations(
    mut routes: Routes,
    options: &GrpcOptions,
    services: Vec<(&'static str, &'static [u8])>,
) -> Router {
    #[cfg(feature = "health")]
    if options.health {
        let (reporter, health) = tonic_health::server::health_reporter();
        for (name, _) in &services {
            // Completes immediately: the lock of the reporter is not shared yet.
            let _ = reporter.set_service_status(name, ServingStatus::Serving).now_or_never();
        }
        routes = routes.add_service(WatchLimit::new(health, &options.limits));
    }
    // Routers with fallbacks can't be merged.
    let router = routes.into_axum_router().reset_fallback();
    #[cfg(feature = "reflection")]
    if options.reflection {
        return router.merge(reflection(services, options.health));
    }
    router
}

/// Serves reflection of services. Its tables are built at the first call: this takes a quarter of the
/// instructions of a server that starts.
#[cfg(feature = "reflection")]
fn reflection(services: Vec<(&'static str, &'static [u8])>, has_health: bool) -> Router {
    let reflected = Arc::new(LazyLock::new(move || {
        let reflected = reflected(&services, has_health).unwrap_or_else(|error| {
            tracing::error!("failed to set up reflection: {error}");
            Router::new()
        });
        reflected.fallback(fallback)
    }));
    let respond = async move |request: Request| -> Response {
        Router::clone(&reflected).oneshot(request).await.into_response()
    };
    let names = [
        v1::server_reflection_server::SERVICE_NAME,
        v1alpha::server_reflection_server::SERVICE_NAME,
    ];
    names.into_iter().fold(Router::new(), |router, name| {
        router.route(&format!("/{name}/{{*method}}"), any(respond.clone()))
    })
}

#[cfg(feature = "reflection")]
fn reflected(
    services: &[(&'static str, &'static [u8])],
    #[cfg_attr(
        not(feature = "health"),
        expect(unused_variables, reason = "the service it may add")
    )]
    has_health: bool,
) -> Result<Router, ReflectionError> {
    let builder = || {
        let mut builder = Builder::configure();
        for (_, descriptor) in services {
            builder = builder.register_encoded_file_descriptor_set(descriptor);
        }
        #[cfg(feature = "health")]
        if has_health {
            builder =
                builder.register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET);
        }
        builder
    };
    let routes = Routes::new(builder().build_v1()?).add_service(builder().build_v1alpha()?);
    Ok(routes.into_axum_router().reset_fallback())
}

/// Handles unknown paths: UNIMPLEMENTED for gRPC calls, 404 for anything else.
pub async fn fallback(request: Request) -> Response {
    if is_grpc(request.headers()) {
        let message = format!("unknown method {}", request.uri().path());
        return reject(status::encode(Error::new(ErrorKind::MethodNotFound, message)));
    }
    StatusCode::NOT_FOUND.into_response()
}
