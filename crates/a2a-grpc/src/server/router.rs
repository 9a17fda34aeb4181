//! The service as a router.

use std::sync::Arc;

use a2a_core::{DESCRIPTOR, Error, ErrorKind, SERVICE};
use a2a_http::{Limits, VersionPolicy};
use a2a_operations::Agent;
use axum::{Router, extract::Request, response::Response};
use futures_util::FutureExt as _;
use http::StatusCode;
use tonic::{body::Body, service::Routes};
use tonic_health::ServingStatus;
use tonic_reflection::server::{Builder, Error as ReflectionError};

use super::{guard::Guard, service::AgentService, watch_limit::WatchLimit};
use crate::{generated::a2_a_service_server::A2AServiceServer, metadata::is_grpc, status};

/// Options of the service.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Limits of requests; the limit of a message is that of a body.
    pub limits: Limits,
    /// The meaning of a call without `a2a-version`. Default: revision 0.3, which is rejected.
    pub versions: VersionPolicy,
    /// Largest response message, in bytes; larger ones fail the call. Default: only gRPC's limit of
    /// 4 GiB.
    pub max_answer_bytes: usize,
    /// Whether reflection (`grpc.reflection.v1` and `v1alpha`) is served. Default: yes.
    pub reflection: bool,
    /// Whether `grpc.health.v1` is served. Default: yes.
    pub health: bool,
    /// Names and encoded descriptors of further services, for health and reflection. Default: none.
    pub services: Vec<(&'static str, &'static [u8])>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            versions: VersionPolicy::default(),
            max_answer_bytes: usize::MAX,
            reflection: true,
            health: true,
            services: Vec::new(),
        }
    }
}

impl Options {
    /// Sets the limits of requests.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the meaning of a call without `a2a-version`.
    #[must_use]
    pub fn with_versions(mut self, versions: VersionPolicy) -> Self {
        self.versions = versions;
        self
    }

    /// Sets the largest response message, in bytes.
    #[must_use]
    pub fn with_max_answer_bytes(mut self, bytes: usize) -> Self {
        self.max_answer_bytes = bytes;
        self
    }

    /// Sets whether reflection is served.
    #[must_use]
    pub fn with_reflection(mut self, reflection: bool) -> Self {
        self.reflection = reflection;
        self
    }

    /// Adds a service that is mounted next to this one, such as `a2a.v1.A2AService`, with its
    /// encoded descriptor.
    #[must_use]
    pub fn with_service(mut self, name: &'static str, descriptor: &'static [u8]) -> Self {
        self.services.push((name, descriptor));
        self
    }

    /// Sets whether health checks are served.
    #[must_use]
    pub fn with_health(mut self, health: bool) -> Self {
        self.health = health;
        self
    }
}

/// Serves `agent` over gRPC (spec §10), with health and reflection.
///
/// The router has no fallback, so that it can be merged with others. Use [`fallback`] for the
/// merged router, or call it from another fallback.
pub fn router(agent: impl Agent) -> Router {
    router_with(agent, Options::default())
}

/// Serves `agent` over gRPC like [`router`], with `options`.
pub fn router_with(agent: impl Agent, options: Options) -> Router {
    routes(Arc::new(agent), &options)
}

fn routes(agent: Arc<dyn Agent>, options: &Options) -> Router {
    let service = AgentService::new(
        agent,
        options.versions,
        options.max_answer_bytes,
        options.limits.max_json_values,
    );
    let service =
        A2AServiceServer::new(service).max_decoding_message_size(options.limits.max_body_bytes);
    let services = [(SERVICE, DESCRIPTOR)].into_iter().chain(options.services.iter().copied());
    with_operations(Routes::new(Guard(service)), options, services.collect())
}

/// Serves health and reflection of the services in `options`, without the current one, for servers
/// that only mount services of older revisions.
pub fn operations_router(options: &Options) -> Router {
    with_operations(Routes::default(), options, options.services.clone())
}

/// Adds health and reflection to services.
fn with_operations(
    mut routes: Routes,
    options: &Options,
    services: Vec<(&'static str, &'static [u8])>,
) -> Router {
    if options.health {
        let (reporter, health) = tonic_health::server::health_reporter();
        for (name, _) in &services {
            // Completes immediately: the lock of the reporter is not shared yet.
            let _ = reporter.set_service_status(name, ServingStatus::Serving).now_or_never();
        }
        routes = routes.add_service(WatchLimit::new(health, &options.limits));
    }
    if options.reflection {
        let descriptors: Vec<_> = services.into_iter().map(|(_, descriptor)| descriptor).collect();
        routes = match reflected(routes.clone(), options, &descriptors) {
            Ok(reflected) => reflected,
            Err(error) => {
                tracing::error!("failed to set up reflection: {error}");
                routes
            }
        };
    }
    // Routers with fallbacks can't be merged.
    routes.into_axum_router().reset_fallback()
}

fn reflected(
    routes: Routes,
    options: &Options,
    descriptors: &[&'static [u8]],
) -> Result<Routes, ReflectionError> {
    let builder = || {
        let mut builder = Builder::configure();
        for descriptor in descriptors {
            builder = builder.register_encoded_file_descriptor_set(descriptor);
        }
        if options.health {
            builder.register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        } else {
            builder
        }
    };
    Ok(routes.add_service(builder().build_v1()?).add_service(builder().build_v1alpha()?))
}

/// Handles unknown paths: UNIMPLEMENTED for gRPC calls, 404 for anything else.
pub async fn fallback(request: Request) -> Response {
    let response = if is_grpc(request.headers()) {
        let message = format!("unknown method {}", request.uri().path());
        status::encode(Error::new(ErrorKind::MethodNotFound, message)).into_http::<Body>()
    } else {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_FOUND;
        response
    };
    response.map(axum::body::Body::new)
}
